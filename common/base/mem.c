#include "common/base/mem.h"

#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Arenas grow from one page to blocks that malloc maps by itself; a larger request gets a block of its own size. */
enum { ARENA_ALIGN = 16, FIRST_BLOCK_BYTES = 4096 - 64, LARGEST_BLOCK_BYTES = 256 * 1024 };

struct arena_block {
    struct arena_block *older;
    size_t size;
    size_t used;
    alignas (ARENA_ALIGN) unsigned char bytes[];
};

enum { COULD_NOT_RUN = 3 };

static void (*last_words) (void);

void mem_set_last (void (*last) (void))
{
    last_words = last;
}

/* Nothing is flushed or freed: other threads are in the middle of something. */
_Noreturn void mem_exit_exhausted (size_t bytes)
{
    char asked[48] = "";
    if (last_words)
        last_words ();
    if (bytes)
        snprintf (asked, sizeof asked, " (asked for %zu bytes)", bytes);
    fprintf (stderr,
             "sliceup: out of memory%s: raise this process's limits (ulimit -v, ulimit -d), or free memory on this "
             "machine, then resume; everything recorded so far is safe\n",
             asked);
    _exit (COULD_NOT_RUN);
}

static void *allocated (void *p, size_t bytes)
{
    if (!p)
        mem_exit_exhausted (bytes);
    return p;
}

static size_t product (size_t items, size_t item_bytes)
{
    size_t bytes;
    if (__builtin_mul_overflow (items, item_bytes, &bytes))
        allocated (NULL, SIZE_MAX);
    return bytes;
}

void *mem_alloc (size_t bytes)
{
    return allocated (calloc (1, bytes ? bytes : 1), bytes);
}

void *mem_array (size_t items, size_t item_bytes)
{
    return mem_alloc (product (items, item_bytes));
}

void *mem_grow (void *old, size_t items, size_t item_bytes)
{
    size_t bytes = product (items, item_bytes);
    return allocated (realloc (old, bytes ? bytes : 1), bytes);
}

void *mem_room (void *items, uint32_t n, uint32_t *capacity, uint32_t first, size_t item_bytes)
{
    if (n < *capacity)
        return items;
    *capacity = *capacity ? 2 * *capacity : first;
    return mem_grow (items, *capacity, item_bytes);
}

void sort_items (void *items, size_t n, size_t item_bytes, int (*order) (const void *a, const void *b))
{
    if (n > 0)
        qsort (items, n, item_bytes, order);
}

int u32_order (const void *a, const void *b)
{
    return order_u64 (*(const uint32_t *) a, *(const uint32_t *) b);
}

int u64_order (const void *a, const void *b)
{
    return order_u64 (*(const uint64_t *) a, *(const uint64_t *) b);
}

char *mem_text (const char *text)
{
    return allocated (strdup (text), strlen (text) + 1);
}

void mem_free (void *p)
{
    free (p);
}

void mem_free_local (void *at)
{
    void *p;
    memcpy (&p, at, sizeof p); /* whatever it points to */
    free (p);
}

void arena_init (struct arena *arena)
{
    *arena = (struct arena){ 0 };
}

static size_t next_block_size (const struct arena *arena, size_t bytes)
{
    size_t size = arena->newest ? 2 * arena->newest->size : FIRST_BLOCK_BYTES;
    if (size > LARGEST_BLOCK_BYTES)
        size = LARGEST_BLOCK_BYTES;
    return bytes > size ? bytes : size;
}

static void add_block (struct arena *arena, size_t bytes)
{
    size_t size = next_block_size (arena, bytes);
    if (size > SIZE_MAX - sizeof (struct arena_block))
        allocated (NULL, size);
    struct arena_block *block = allocated (malloc (sizeof *block + size), size);
    block->older = arena->newest;
    block->size = size;
    block->used = 0;
    arena->newest = block;
}

void *arena_alloc (struct arena *arena, size_t bytes)
{
    if (bytes > SIZE_MAX - ARENA_ALIGN)
        allocated (NULL, bytes);
    size_t rounded = bytes ? (bytes + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN : ARENA_ALIGN;
    if (!arena->newest || arena->newest->size - arena->newest->used < rounded)
        add_block (arena, rounded);
    void *p = arena->newest->bytes + arena->newest->used;
    arena->newest->used += rounded;
    arena->used_bytes += rounded;
    return memset (p, 0, rounded);
}

void *arena_array (struct arena *arena, size_t items, size_t item_bytes)
{
    return arena_alloc (arena, product (items, item_bytes));
}

void *arena_room (struct arena *arena, const void *items, uint32_t n, uint32_t *capacity, uint32_t first,
                  size_t item_bytes)
{
    if (n < *capacity)
        return (void *) (uintptr_t) items;
    *capacity = *capacity ? 2 * *capacity : first;
    void *grown = arena_array (arena, *capacity, item_bytes);
    return n ? memcpy (grown, items, n * item_bytes) : grown;
}

void *arena_copy (struct arena *arena, const void *from, size_t bytes)
{
    if (bytes == 0)
        return NULL;
    return memcpy (arena_alloc (arena, bytes), from, bytes);
}

static struct arena_block *largest_of (struct arena_block *block)
{
    struct arena_block *largest = block;
    for (; block; block = block->older)
        if (block->size > largest->size)
            largest = block;
    return largest;
}

static void free_blocks_but (struct arena_block *block, const struct arena_block *kept)
{
    while (block) {
        struct arena_block *older = block->older;
        if (block != kept)
            free (block);
        block = older;
    }
}

void arena_reset (struct arena *arena)
{
    struct arena_block *kept = largest_of (arena->newest);
    free_blocks_but (arena->newest, kept);
    if (kept) {
        kept->older = NULL;
        kept->used = 0;
    }
    arena->newest = kept;
    arena->used_bytes = 0;
}

void arena_release (struct arena *arena)
{
    free_blocks_but (arena->newest, NULL);
    arena_init (arena);
}
