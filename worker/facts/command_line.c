/* command_line.c - see command_line.h. */
#include "worker/facts/command_line.h"

#include "common/base/buf.h"
#include "common/model/secret.h"
#include "worker/facts/variable_family.h"
#include <string.h>

enum { SHOWN_MAX_BYTES = 64 * 1024, PROGRAM_BYTES = 63 };
#define HIDDEN "***"

/* A blank parts words as well: daemons write a sentence over their arguments, and shells get a whole script as one. */
static bool next_word (struct text *rest, struct text *word)
{
    static const char parting[] = " \t\r\n"; /* with its NUL */
    while (rest->len && memchr (parting, rest->ptr[0], sizeof parting))
        rest->ptr++, rest->len--;
    *word = (struct text){ rest->ptr, 0 };
    while (rest->len && !memchr (parting, rest->ptr[0], sizeof parting))
        rest->ptr++, rest->len--, word->len++;
    return word->len > 0;
}

/* An option without a value of its own: the next word is its value. */
static bool asks_for_secret (struct text word)
{
    return word.len > 1 && word.ptr[0] == '-' && !memchr (word.ptr, '=', word.len) && secret_by_name (word);
}

static void add_word (struct arena *arena, struct buf *line, struct text word)
{
    const char *sign = memchr (word.ptr, '=', word.len);
    struct text name = { word.ptr, sign ? (uint32_t) (sign - word.ptr) : 0 };
    bool secret = sign && secret_by_name (name);
    buf_text (line, variable_shown (arena, secret ? name : word));
    buf_puts (line, secret ? "=" HIDDEN : "");
}

struct text command_line_shown (struct arena *arena, struct text raw, uint32_t max_bytes)
{
    struct buf line;
    struct text word;
    buf_init (&line, SHOWN_MAX_BYTES);
    for (bool hidden = false; line.len <= max_bytes && next_word (&raw, &word);) {
        buf_puts (&line, line.len ? " " : "");
        if (hidden)
            buf_puts (&line, HIDDEN);
        else
            add_word (arena, &line, word);
        hidden = !hidden && asks_for_secret (word);
    }
    struct text out = text_copy (arena, text_clip (buf_as_text (&line), max_bytes));
    buf_release (&line);
    return out;
}

struct text command_line_program (struct arena *arena, struct text raw)
{
    struct text name;
    next_word (&raw, &name);
    const char *slash = name.len ? memrchr (name.ptr, '/', name.len) : NULL;
    if (slash)
        name = (struct text){ slash + 1, (uint32_t) (name.ptr + name.len - slash - 1) };
    return text_clip (variable_shown (arena, name), PROGRAM_BYTES);
}
