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

void path_index_make (struct path_index *index, uint32_t paths, struct arena *arena)
{
    uint32_t n = 16;
    assert (paths <= UINT32_MAX / 4);
    while (n < 2 * paths)
        n *= 2;
    *index = (struct path_index) { .mask = n - 1 };
    index->slots = arena_array (arena, n, sizeof *index->slots);
    /* Without random bits only speed is lost. */
    if (getrandom (&index->seed, sizeof index->seed, GRND_NONBLOCK) != sizeof index->seed)
        index->seed = (uint64_t) (uintptr_t) index->slots;
}

bool path_index_add (struct path_index *index, struct text path, uint32_t number, uint32_t *twin)
{
    uint32_t hash = hash_of (index, path), at = hash & index->mask;
    for (; index->slots[at].path.ptr; at = (at + 1) & index->mask)
        if (index->slots[at].hash == hash && are_twins (index->slots[at].path, path)) {
            *twin = index->slots[at].number;
            return false;
        }
    index->slots[at] = (struct path_slot) { path, hash, number };
    return true;
}

bool path_index_find (const struct path_index *index, struct text path, uint32_t *number)
{
    uint32_t hash = hash_of (index, path), at = hash & index->mask;
    for (; index->slots[at].path.ptr; at = (at + 1) & index->mask)
        if (index->slots[at].hash == hash && text_equal (index->slots[at].path, path)) {
            *number = index->slots[at].number;
            return true;
        }
    return false;
}
