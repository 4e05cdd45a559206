#include "common/cache/path_index.h"

#include <assert.h>
#include <string.h>
#include <sys/random.h>

static unsigned char fold (char c)
{
    return c >= 'A' && c <= 'Z' ? (unsigned char) (c - 'A' + 'a') : (unsigned char) c;
}

/* Eight bytes at a time, each with the bit set that upper and lower case differ in; begun at a secret place. That
 * others than letters lose that bit as well is found when paths are compared. */
static uint32_t hash_of (const struct path_index *index, struct text path)
{
    const uint64_t odd = 0x9e3779b97f4a7c15ull;
    uint64_t hash = index->seed ^ path.len;
    for (uint32_t i = 0; i < path.len; i += 8) {
        uint64_t piece = 0;
        memcpy (&piece, path.ptr + i, path.len - i < 8 ? path.len - i : 8);
        hash = (hash ^ (piece | 0x2020202020202020ull)) * odd;
        hash ^= hash >> 29;
    }
    return (uint32_t) (hash ^ hash >> 32);
}

static bool are_twins (struct text a, struct text b)
{
    if (a.len != b.len)
        return false;
    for (uint32_t i = 0; i < a.len; i++)
        if (fold (a.ptr[i]) != fold (b.ptr[i]))
            return false;
    return true;
}

static struct text path_of (const struct path_index *index, uint32_t number)
{
    return *(const struct text *) (const void *) ((const char *) index->items + number * index->item_bytes);
}

void path_index_make (struct path_index *index, const void *items, size_t item_bytes, uint32_t n, struct arena *arena)
{
    uint32_t slots = 16;
    assert (n <= UINT32_MAX / 4);
    while (slots < 2 * n)
        slots *= 2;
    *index = (struct path_index){ .items = items, .item_bytes = item_bytes, .mask = slots - 1 };
    index->slots = arena_array (arena, slots, sizeof *index->slots);
    /* Without random bits only speed is lost. */
    if (getrandom (&index->seed, sizeof index->seed, GRND_NONBLOCK) != sizeof index->seed)
        index->seed = (uint64_t) (uintptr_t) index->slots;
}

bool path_index_add (struct path_index *index, uint32_t number, uint32_t *twin)
{
    struct text path = path_of (index, number);
    uint32_t hash = hash_of (index, path), at = hash & index->mask;
    for (; index->slots[at].at; at = (at + 1) & index->mask)
        if (index->slots[at].hash == hash && are_twins (path_of (index, index->slots[at].at - 1), path)) {
            *twin = index->slots[at].at - 1;
            return false;
        }
    index->slots[at] = (struct path_index_slot){ hash, number + 1 };
    return true;
}

bool path_index_find (const struct path_index *index, struct text path, uint32_t *number)
{
    uint32_t hash = hash_of (index, path), at = hash & index->mask;
    for (; index->slots[at].at; at = (at + 1) & index->mask)
        if (index->slots[at].hash == hash && text_equal (path_of (index, index->slots[at].at - 1), path)) {
            *number = index->slots[at].at - 1;
            return true;
        }
    return false;
}
