/* clean.c - see clean.h. */
#include "worker/io/clean.h"

#include <string.h>
#include "common/base/utf8.h"

static const struct text replacement = TEXT_LIT ("\xEF\xBF\xBD"); /* U+FFFD */

/* The next character, or the replacement; how many bytes of `raw` it stands for. */
static uint32_t next_character (struct text raw, uint32_t at, struct text *out)
{
    uint32_t character = 0, len = utf8_next (raw, at, &character);
    if (len && character) {
        *out = (struct text) { raw.ptr + at, len };
        return len;
    }
    *out = replacement;
    return 1;
}

struct text text_clean (struct arena *arena, struct text raw, uint32_t max_bytes)
{
    uint64_t worst_bytes = (uint64_t) raw.len * replacement.len;
    char *out = arena_alloc (arena, (worst_bytes < max_bytes ? worst_bytes : max_bytes) + 1);
    uint32_t len = 0;
    for (uint32_t at = 0; at < raw.len;) {
        struct text piece;
        at += next_character (raw, at, &piece);
        if (piece.len > max_bytes - len)
            break;
        memcpy (out + len, piece.ptr, piece.len);
        len += piece.len;
    }
    return (struct text) { out, len };
}
