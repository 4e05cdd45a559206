#include "common/model/number_set_pool.h"

#include <stdlib.h>
#include <string.h>

/* The finalizer of splitmix64. */
uint64_t hash_number (uint64_t x)
{
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
}

static bool is_set (const struct pooled_number_set *set, const struct number_set_builder *set_builder)
{
    return set->hash == set_builder->hash && set->is.n == set_builder->n &&
           memcmp (set->is.ids, set_builder->ids, set_builder->n * sizeof *set_builder->ids) == 0;
}

static void put (struct number_set_pool *sets, uint32_t set)
{
    uint32_t mask = 2 * sets->capacity - 1, slot = (uint32_t) hash_number (sets->items[set].hash) & mask;
    while (sets->slots[slot])
        slot = (slot + 1) & mask;
    sets->slots[slot] = set + 1;
}

static void resize (struct number_set_pool *sets, uint32_t capacity)
{
    mem_free (sets->slots);
    sets->capacity = capacity;
    sets->items = mem_grow (sets->items, capacity, sizeof *sets->items);
    sets->slots = mem_array (2 * (size_t) capacity, sizeof *sets->slots);
    for (uint32_t i = 0; i < sets->n; i++)
        put (sets, i);
}

static uint32_t add (struct number_set_pool *sets, const uint32_t *ids, uint32_t n, uint64_t hash)
{
    if (sets->n == sets->capacity)
        resize (sets, 2 * sets->capacity);
    sets->items[sets->n] = (struct pooled_number_set){ { arena_copy (sets->arena, ids, n * sizeof *ids), n }, hash };
    put (sets, sets->n);
    return sets->n++;
}

void number_set_pool_init (struct number_set_pool *sets, uint32_t values_n, struct arena *arena)
{
    uint32_t capacity = 16;
    while (capacity < 2 * values_n)
        capacity *= 2;
    *sets = (struct number_set_pool){ .arena = arena };
    resize (sets, capacity);
    uint32_t *ids = arena_array (arena, values_n, sizeof *ids);
    for (uint32_t i = 0; i < values_n; i++) {
        ids[i] = i;
        sets->items[i] = (struct pooled_number_set){ { &ids[i], 1 }, hash_number (i) };
        put (sets, i);
    }
    sets->n = values_n;
}

void number_set_pool_release (struct number_set_pool *sets)
{
    mem_free (sets->items);
    mem_free (sets->slots);
    *sets = (struct number_set_pool){ 0 };
}

void number_set_builder_release (struct number_set_builder *set_builder)
{
    mem_free (set_builder->ids);
    *set_builder = (struct number_set_builder){ 0 };
}

void number_set_builder_begin (struct number_set_builder *set_builder, const struct number_set_pool *sets, uint32_t set)
{
    set_builder->n = 0;
    set_builder->hash = 0;
    number_set_builder_add (set_builder, sets, set);
    set_builder->known = set;
    set_builder->sorted = true;
}

void number_set_builder_add (struct number_set_builder *set_builder, const struct number_set_pool *sets, uint32_t set)
{
    const struct number_set *more = &sets->items[set].is;
    if (set_builder->capacity - set_builder->n < more->n) {
        set_builder->capacity = 2 * (set_builder->n + more->n);
        set_builder->ids = mem_grow (set_builder->ids, set_builder->capacity, sizeof *set_builder->ids);
    }
    set_builder->sorted = set_builder->sorted &&
                          (set_builder->n == 0 || set_builder->ids[set_builder->n - 1] < more->ids[0]);
    memcpy (set_builder->ids + set_builder->n, more->ids, more->n * sizeof *set_builder->ids);
    set_builder->n += more->n;
    set_builder->hash += sets->items[set].hash;
    set_builder->known = NUMBER_SET_NONE;
}

static int by_number (const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *) a, right = *(const uint32_t *) b;
    return (left > right) - (left < right);
}

static void sort (struct number_set_builder *set_builder)
{
    if (!set_builder->sorted)
        qsort (set_builder->ids, set_builder->n, sizeof *set_builder->ids, by_number);
    set_builder->sorted = true;
}

uint32_t number_set_builder_find (struct number_set_builder *set_builder, const struct number_set_pool *sets)
{
    uint32_t mask = 2 * sets->capacity - 1, slot = (uint32_t) hash_number (set_builder->hash) & mask;
    for (; set_builder->known == NUMBER_SET_NONE && sets->slots[slot]; slot = (slot + 1) & mask) {
        const struct pooled_number_set *set = &sets->items[sets->slots[slot] - 1];
        if (set->hash != set_builder->hash || set->is.n != set_builder->n)
            continue;
        sort (set_builder);
        if (is_set (set, set_builder))
            set_builder->known = sets->slots[slot] - 1;
    }
    return set_builder->known;
}

uint32_t number_set_builder_find_or_add (struct number_set_builder *set_builder, struct number_set_pool *sets)
{
    if (number_set_builder_find (set_builder, sets) != NUMBER_SET_NONE)
        return set_builder->known;
    sort (set_builder);
    return set_builder->known = add (sets, set_builder->ids, set_builder->n, set_builder->hash);
}
