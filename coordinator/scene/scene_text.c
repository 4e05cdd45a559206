/* scene_text.c - texts that can do no harm to a terminal. */
#include "common/base/utf8.h"
#include "coordinator/scene/scene_private.h"

static bool is_safe (struct text text, uint32_t columns)
{
    uint32_t wide = 0;
    for (uint32_t at = 0, len; at < text.len; at += len) {
        uint32_t character = 0;
        len = utf8_next (text, at, &character);
        if (len == 0 || !utf8_is_printable (character))
            return false;
        wide += utf8_columns (character);
        if (wide > columns)
            return false;
    }
    return true;
}

struct text scene_text (struct arena *arena, struct text from, uint32_t columns)
{
    struct buf safe;
    if (is_safe (from, columns))
        return from;
    buf_init (&safe, 4 * (size_t) columns + 16); /* no character of a column has more than four bytes */
    buf_escaped (&safe, from, columns);
    return buf_finish (&safe, arena);
}
