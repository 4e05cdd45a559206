/* number_set_pool.h - private to host sets: sets of small numbers, each kept once, so equal sets have equal indices.
 *
 * A set is known by the sum of its members' hashes, which a union of disjoint sets has for nothing; what is found by
 * its hash is still compared member by member. */
#ifndef SLICEUP_COMMON_MODEL_NUMBER_SET_POOL_H
#define SLICEUP_COMMON_MODEL_NUMBER_SET_POOL_H

#include "common/model/hostset_box.h"
#include <stdbool.h>
#include <stdint.h>

enum { NUMBER_SET_NONE = UINT32_MAX };
struct pooled_number_set {
    struct number_set is;
    uint64_t hash;
};
struct number_set_pool {
    struct pooled_number_set *items;
    uint32_t n, capacity;
    uint32_t *slots;     /* index + 1; twice the capacity, a power of two */
    struct arena *arena; /* of the members */
};

/* Set i is {i}, for all i < values_n. */
void number_set_pool_init (struct number_set_pool *sets, uint32_t values_n, struct arena *arena);
void number_set_pool_release (struct number_set_pool *sets);

/* A union that grows; its members are in no order until they are asked for. */
struct number_set_builder {
    uint32_t *ids;
    uint32_t n, capacity;
    uint64_t hash;
    uint32_t known;
    bool sorted;
};
void number_set_builder_release (struct number_set_builder *set_builder);
void number_set_builder_begin (struct number_set_builder *set_builder, const struct number_set_pool *sets,
                               uint32_t set);
void number_set_builder_add (struct number_set_builder *set_builder, const struct number_set_pool *sets,
                             uint32_t set); /* disjoint */
uint32_t number_set_builder_find (
    struct number_set_builder *set_builder,
    const struct number_set_pool *sets); /* the known set that equals it, or NUMBER_SET_NONE */
uint32_t number_set_builder_find_or_add (struct number_set_builder *set_builder,
                                         struct number_set_pool *sets); /* the same, made known */

uint64_t hash_number (uint64_t x);

#endif
