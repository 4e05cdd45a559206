/* rng.h - seeded pseudo-random numbers (splitmix64): same seed, same numbers, on every machine.
 * For dealing and simulation; never for keys. */
#ifndef SLICEUP_COMMON_BASE_RNG_H
#define SLICEUP_COMMON_BASE_RNG_H

#include <stdint.h>

struct rng {
    uint64_t state;
};

struct rng rng_seed (uint64_t seed);
uint64_t rng_next (struct rng *rng);
uint64_t rng_below (struct rng *rng, uint64_t bound); /* 0 <= result < bound; bound > 0; unbiased */
/* A seed for a named purpose below another seed, so that streams do not run into one another. */
uint64_t rng_derive_seed (uint64_t seed, uint64_t purpose);

#endif
