/* rng_unit.h - a random number between 0 and 1, and seeds below a seed, for tests. */
#ifndef SLICEUP_TESTS_RNG_UNIT_H
#define SLICEUP_TESTS_RNG_UNIT_H

#include "common/base/rng.h"

/* 0 <= result < 1 */
static inline double rng_unit (struct rng *rng)
{
    return (double) (rng_next (rng) >> 11) * 0x1p-53;
}

/* A seed for a named purpose below another seed. Both are mixed first: a sum of the raw numbers would give (1, 2) and
 * (2, 1) one stream, and a seed that is another's next state would give two streams that run one behind the other. */
static inline uint64_t rng_derive_seed (uint64_t seed, uint64_t purpose)
{
    static const uint64_t gamma = UINT64_C (0x9E3779B97F4A7C15); /* what rng_next adds before it mixes */
    struct rng a = { seed }, b = { ~purpose + gamma };
    struct rng both = { (rng_next (&a) ^ rng_next (&b) * gamma) - gamma };
    return rng_next (&both);
}

#endif
