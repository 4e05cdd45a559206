/* rng.h - seeded pseudo-random numbers (splitmix64): same seed, same numbers, on every machine.
 * For samples and simulation; never for keys or secrets: from one number all others follow. */
#ifndef SLICEUP_COMMON_BASE_RNG_H
#define SLICEUP_COMMON_BASE_RNG_H

#include <stdint.h>

struct rng {
    uint64_t state;
};

struct rng rng_seed (uint64_t seed);
uint64_t rng_next (struct rng *rng);
uint64_t rng_below (struct rng *rng, uint64_t bound); /* 0 <= result < bound; bound > 0; unbiased */

#endif
