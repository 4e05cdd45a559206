/* hostset_set_pool.h - private to host sets: sets of small numbers, each kept once, so that equal sets have equal
 * indices.
 *
 * A set is known by the sum of its members' hashes, which a union of disjoint sets has for nothing; what is found by
 * its hash is still compared member by member. */
#ifndef SLICEUP_COMMON_MODEL_HOSTSET_SET_POOL_H
#define SLICEUP_COMMON_MODEL_HOSTSET_SET_POOL_H

#include "common/model/hostset_box.h"
#include <stdbool.h>
#include <stdint.h>

enum { SET_NONE = UINT32_MAX };
struct pooled_set {
    struct id_set is;
    uint64_t hash;
};
struct set_pool {
    struct pooled_set *items;
    uint32_t n, capacity;
    uint32_t *slots;     /* index + 1; twice the capacity, a power of two */
    struct arena *arena; /* of the members */
};

/* Set i is {i}, for all i < values_n. */
void set_pool_init (struct set_pool *sets, uint32_t values_n, struct arena *arena);
void set_pool_release (struct set_pool *sets);

/* A union that grows; its members are in no order until they are asked for. */
struct set_builder {
    uint32_t *ids;
    uint32_t n, capacity;
    uint64_t hash;
    uint32_t known;
    bool sorted;
};
void set_builder_release (struct set_builder *set_builder);
void set_builder_begin (struct set_builder *set_builder, const struct set_pool *sets, uint32_t set);
void set_builder_add (struct set_builder *set_builder, const struct set_pool *sets, uint32_t set); /* disjoint */
uint32_t set_builder_find (struct set_builder *set_builder,
                           const struct set_pool *sets); /* the known set that equals it, or SET_NONE */
uint32_t set_builder_intern (struct set_builder *set_builder, struct set_pool *sets); /* the same, made known */

uint64_t hash_mix (uint64_t x);

#endif
