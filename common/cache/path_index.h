/* path_index.h - finds a path among many, and two that differ only in upper and lower case.
 *
 * On a file system that folds case such twins would be one file, and a seal would mean two things. Only ASCII letters
 * are folded. The paths are the caller's: what an array's items begin with; it outlives the index and does not move;
 * its memory is the arena's. Where a path lies differs by process: nobody can choose names that share one place. */
#ifndef SLICEUP_COMMON_CACHE_PATH_INDEX_H
#define SLICEUP_COMMON_CACHE_PATH_INDEX_H

#include "common/base/text.h"
#include <stdbool.h>
#include <stdint.h>

struct path_index_slot {
    uint32_t hash, at;
}; /* at: number + 1; 0: free */
struct path_index {
    struct path_index_slot *slots;
    const void *items;
    size_t item_bytes;
    uint32_t mask;
    uint64_t seed;
};

/* Each item begins with its path, a struct text, which may be written until it is added. */
void path_index_make (struct path_index *index, const void *items, size_t item_bytes, uint32_t n, struct arena *arena);
/* The item of that number. False: one that differs at most in case is there, `*twin` is its number. */
bool path_index_add (struct path_index *index, uint32_t number, uint32_t *twin);
bool path_index_find (const struct path_index *index, struct text path, uint32_t *number);

#endif
