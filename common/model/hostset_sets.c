#include "common/model/hostset_sets.h"

#include <stdlib.h>
#include <string.h>

/* The finalizer of splitmix64. */
uint64_t hash_mix (uint64_t x)
{
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
}

static bool is_set (const struct known_set *set, const struct growth *growth)
{
    return set->hash == growth->hash && set->is.n == growth->n &&
           memcmp (set->is.ids, growth->ids, growth->n * sizeof *growth->ids) == 0;
}

static void put (struct sets *sets, uint32_t set)
{
    uint32_t mask = 2 * sets->capacity - 1, slot = (uint32_t) hash_mix (sets->items[set].hash) & mask;
    while (sets->slots[slot])
        slot = (slot + 1) & mask;
    sets->slots[slot] = set + 1;
}

static void resize (struct sets *sets, uint32_t capacity)
{
    mem_free (sets->slots);
    sets->capacity = capacity;
    sets->items = mem_grow (sets->items, capacity, sizeof *sets->items);
    sets->slots = mem_array (2 * (size_t) capacity, sizeof *sets->slots);
    for (uint32_t i = 0; i < sets->n; i++)
        put (sets, i);
}

static uint32_t add (struct sets *sets, const uint32_t *ids, uint32_t n, uint64_t hash)
{
    if (sets->n == sets->capacity)
        resize (sets, 2 * sets->capacity);
    sets->items[sets->n] = (struct known_set){ { arena_copy (sets->arena, ids, n * sizeof *ids), n }, hash };
    put (sets, sets->n);
    return sets->n++;
}

void sets_init (struct sets *sets, uint32_t values_n, struct arena *arena)
{
    uint32_t capacity = 16;
    while (capacity < 2 * values_n)
        capacity *= 2;
    *sets = (struct sets){ .arena = arena };
    resize (sets, capacity);
    uint32_t *ids = arena_array (arena, values_n, sizeof *ids);
    for (uint32_t i = 0; i < values_n; i++) {
        ids[i] = i;
        sets->items[i] = (struct known_set){ { &ids[i], 1 }, hash_mix (i) };
        put (sets, i);
    }
    sets->n = values_n;
}

void sets_release (struct sets *sets)
{
    mem_free (sets->items);
    mem_free (sets->slots);
    *sets = (struct sets){ 0 };
}

void growth_release (struct growth *growth)
{
    mem_free (growth->ids);
    *growth = (struct growth){ 0 };
}

void growth_begin (struct growth *growth, const struct sets *sets, uint32_t set)
{
    growth->n = 0;
    growth->hash = 0;
    growth_add (growth, sets, set);
    growth->known = set;
    growth->sorted = true;
}

void growth_add (struct growth *growth, const struct sets *sets, uint32_t set)
{
    const struct value_set *more = &sets->items[set].is;
    if (growth->capacity - growth->n < more->n) {
        growth->capacity = 2 * (growth->n + more->n);
        growth->ids = mem_grow (growth->ids, growth->capacity, sizeof *growth->ids);
    }
    growth->sorted = growth->sorted && (growth->n == 0 || growth->ids[growth->n - 1] < more->ids[0]);
    memcpy (growth->ids + growth->n, more->ids, more->n * sizeof *growth->ids);
    growth->n += more->n;
    growth->hash += sets->items[set].hash;
    growth->known = SET_NONE;
}

static int by_number (const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *) a, right = *(const uint32_t *) b;
    return (left > right) - (left < right);
}

static void sort (struct growth *growth)
{
    if (!growth->sorted)
        qsort (growth->ids, growth->n, sizeof *growth->ids, by_number);
    growth->sorted = true;
}

uint32_t growth_find (struct growth *growth, const struct sets *sets)
{
    uint32_t mask = 2 * sets->capacity - 1, slot = (uint32_t) hash_mix (growth->hash) & mask;
    for (; growth->known == SET_NONE && sets->slots[slot]; slot = (slot + 1) & mask) {
        const struct known_set *set = &sets->items[sets->slots[slot] - 1];
        if (set->hash != growth->hash || set->is.n != growth->n)
            continue;
        sort (growth);
        if (is_set (set, growth))
            growth->known = sets->slots[slot] - 1;
    }
    return growth->known;
}

uint32_t growth_keep (struct growth *growth, struct sets *sets)
{
    if (growth_find (growth, sets) != SET_NONE)
        return growth->known;
    sort (growth);
    return growth->known = add (sets, growth->ids, growth->n, growth->hash);
}
