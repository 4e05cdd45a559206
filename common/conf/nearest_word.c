#include "common/conf/nearest_word.h"

enum { WORD_MAX_BYTES = 63 };

static uint32_t least (uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* Optimal string alignment: inserts, drops, changes, and swaps of two neighbours, one step each. */
static uint32_t distance (struct text a, struct text b)
{
    uint32_t row[3][WORD_MAX_BYTES + 1];
    for (uint32_t j = 0; j <= b.len; j++)
        row[0][j] = j;
    for (uint32_t i = 1; i <= a.len; i++) {
        uint32_t *now = row[i % 3], *before = row[(i + 2) % 3], *earlier = row[(i + 1) % 3];
        now[0] = i;
        for (uint32_t j = 1; j <= b.len; j++) {
            now[j] = least (before[j] + 1, now[j - 1] + 1, before[j - 1] + (a.ptr[i - 1] != b.ptr[j - 1]));
            bool swapped = i > 1 && j > 1 && a.ptr[i - 1] == b.ptr[j - 2] && a.ptr[i - 2] == b.ptr[j - 1];
            if (swapped && earlier[j - 2] + 1 < now[j])
                now[j] = earlier[j - 2] + 1;
        }
    }
    return row[a.len % 3][b.len];
}

const char *nearest_word (struct text word, const char *const known[], uint32_t n)
{
    /* At most one mistake in three letters. */
    uint32_t best = word.len / 3 + 1;
    const char *nearest = NULL;
    if (word.len == 0 || word.len > WORD_MAX_BYTES)
        return NULL;
    for (uint32_t i = 0; i < n; i++) {
        struct text candidate = text_of (known[i]);
        if (candidate.len > WORD_MAX_BYTES)
            continue;
        uint32_t steps = distance (word, candidate);
        if (steps <= best && (steps < best || !nearest)) {
            best = steps;
            nearest = known[i];
        }
    }
    return nearest;
}
