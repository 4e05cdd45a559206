#include "coordinator/verdict/flag_set.h"

#include <stdlib.h>

#include "common/base/buf.h"

enum { TOKENS_MAX = 256 };

static int by_text (const void *a, const void *b)
{
    return text_compare (*(const struct text *) a, *(const struct text *) b);
}

static uint32_t split (struct text flags, struct text tokens[])
{
    uint32_t n = 0, from = 0;
    for (uint32_t i = 0; i <= flags.len; i++) {
        if (i < flags.len && flags.ptr[i] != ' ' && flags.ptr[i] != '\n')
            continue;
        if (i > from && n < TOKENS_MAX)
            tokens[n++] = (struct text){ flags.ptr + from, i - from };
        from = i + 1;
    }
    return n;
}

struct text flag_set_normalise (struct text flags, struct arena *arena)
{
    struct text tokens[TOKENS_MAX];
    uint32_t n = split (flags, tokens);
    qsort (tokens, n, sizeof (*tokens), by_text);
    struct buf joined;
    buf_init (&joined, flags.len + 1);
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0 && text_equal (tokens[i], tokens[i - 1]))
            continue;
        if (joined.len)
            buf_byte (&joined, ' ');
        buf_add_text (&joined, tokens[i]);
    }
    return buf_finish (&joined, arena);
}

bool flag_set_next (struct text *rest, struct text *word)
{
    uint32_t end = 0;
    while (end < rest->len && rest->ptr[end] != ' ')
        end++;
    *word = (struct text){ rest->ptr, end };
    uint32_t past = end < rest->len ? end + 1 : end;
    *rest = (struct text){ rest->ptr + past, rest->len - past };
    return end > 0;
}

bool flag_set_has (struct text set, struct text word)
{
    struct text one;
    while (flag_set_next (&set, &one))
        if (text_equal (one, word))
            return true;
    return false;
}

struct text flag_set_subtract (struct text set, struct text other, struct arena *arena)
{
    struct text left = { 0 }, word;
    while (flag_set_next (&set, &word))
        if (!flag_set_has (other, word))
            left = text_format (arena, "%.*s%s%.*s", TEXT_ARG (left), left.len ? " " : "", TEXT_ARG (word));
    return left;
}
