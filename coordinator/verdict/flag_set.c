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

struct text flag_set (struct text flags, struct arena *arena)
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
        buf_text (&joined, tokens[i]);
    }
    struct text text = text_copy (arena, buf_as_text (&joined));
    buf_release (&joined);
    return text;
}
