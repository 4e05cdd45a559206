/* drift_place.c - values that name the host they are of: paths that hold its name or its rank, and its name as a word. */
#include "coordinator/receipt/drift_private.h"

#include <ctype.h>
#include <string.h>

static bool word_at (struct text value, uint32_t at, struct text word)
{
    uint32_t end = at + word.len;
    return word.len && end <= value.len && memcmp (value.ptr + at, word.ptr, word.len) == 0 &&
           (at == 0 || !isalnum ((unsigned char) value.ptr[at - 1])) &&
           (end == value.len || !isalnum ((unsigned char) value.ptr[end]));
}

/* The digits that begin here, where they are the rank; 0: they are not. */
static uint32_t rank_at (struct text value, uint32_t at, uint32_t rank)
{
    uint32_t end = at;
    uint64_t number;
    if (at && isdigit ((unsigned char) value.ptr[at - 1]))
        return 0;
    while (end < value.len && isdigit ((unsigned char) value.ptr[end]))
        end++;
    return text_to_u64 ((struct text){ value.ptr + at, end - at }, &number) && number == rank ? end - at : 0;
}

struct text drift_without_place (struct text value, struct text host, uint32_t rank, struct arena *arena)
{
    struct buf out;
    bool path = false;
    buf_init (&out, 16 + 8 * (size_t) value.len);
    for (uint32_t i = 0, taken = 1; i < value.len; i += taken) {
        path = value.ptr[i] == '/' || (path && !strchr (" \n=,;'\"", value.ptr[i]));
        taken = word_at (value, i, host) ? host.len : path ? rank_at (value, i, rank) : 0;
        if (taken)
            buf_puts (&out, "{}");
        else
            buf_byte (&out, (uint8_t) value.ptr[i]);
        taken = taken ? taken : 1;
    }
    return buf_finish (&out, arena);
}
