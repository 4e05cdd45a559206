/* mem.h - allocation that ends the process when memory runs out, and arenas.
 *
 * Out of memory ends the process here, in one place, with a sentence and exit status 3: the journal makes a restart
 * cheap. The counterpart is a promise: nothing that comes from outside decides an allocation before it was bounded.
 * An arena owns everything allocated from it and frees it at once; it is not thread-safe. */
#ifndef SLICEUP_COMMON_BASE_MEM_H
#define SLICEUP_COMMON_BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

void *mem_alloc (size_t bytes);                              /* zeroed; never NULL, also for 0 */
void *mem_array (size_t items, size_t item_bytes);           /* zeroed; overflow checked */
void *mem_grow (void *old, size_t items, size_t item_bytes); /* realloc; new bytes undefined */
/* Makes room for one more item after `n`: a full array is doubled, an empty one gets `first` items. */
void *mem_room (void *items, uint32_t n, uint32_t *capacity, uint32_t first, size_t item_bytes);
/* qsort, also of no items, whose address is NULL. */
void sort_items (void *items, size_t n, size_t item_bytes, int (*order) (const void *a, const void *b));
/* For it: the smaller first, of items that begin with such a number. */
int u32_order (const void *a, const void *b);
int u64_order (const void *a, const void *b);
char *mem_text (const char *text); /* strdup */
void mem_free (void *p);           /* NULL is fine */
void mem_free_local (void *at);
#define LOCAL_MEM __attribute__ ((cleanup (mem_free_local))) /* before a pointer: freed at the end of its block */
/* Called when memory runs out, before the message is printed, on any thread: async-signal-safe; restores a terminal. */
void mem_set_last (void (*last) (void));
_Noreturn void mem_exit_exhausted (size_t bytes); /* when a library ran out of memory; 0: size unknown */

static inline uint64_t least_u64 (uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* For qsort: the smaller first. */
static inline int order_u64 (uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

struct arena_block;
struct text;
struct arena {
    struct arena_block *newest;
    size_t used_bytes; /* in all blocks, for limits and tests */
    struct text *shared;
};

void arena_init (struct arena *arena);                 /* {0} is an initialised arena as well */
void *arena_alloc (struct arena *arena, size_t bytes); /* zeroed, 16-byte aligned */
void *arena_array (struct arena *arena, size_t items, size_t item_bytes);
/* As mem_room; what it outgrows stays in the arena. */
void *arena_room (struct arena *arena, const void *items, uint32_t n, uint32_t *capacity, uint32_t first,
                  size_t item_bytes);
void *arena_copy (struct arena *arena, const void *from, size_t bytes); /* NULL when bytes is 0 */
void arena_reset (struct arena *arena);                                 /* keeps the largest block for reuse */
void arena_release (struct arena *arena);
#define LOCAL_ARENA __attribute__ ((cleanup (arena_release))) struct arena /* released at the end of its block */

#endif
