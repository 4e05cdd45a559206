#include "common/base/rng.h"

#include <assert.h>

/* splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014), constants of Vigna's
 * public-domain version. */
static const uint64_t golden_gamma = UINT64_C (0x9E3779B97F4A7C15);

static uint64_t mix (uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C (0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C (0x94D049BB133111EB);
    return z ^ (z >> 31);
}

struct rng rng_seed (uint64_t seed)
{
    return (struct rng){ .state = seed };
}

uint64_t rng_next (struct rng *rng)
{
    rng->state += golden_gamma;
    return mix (rng->state);
}

uint64_t rng_below (struct rng *rng, uint64_t bound)
{
    assert (bound > 0);
    /* Numbers below 2^64 mod bound would come up once too often. */
    uint64_t unfair = (UINT64_C (0) - bound) % bound;
    uint64_t number;
    do
        number = rng_next (rng);
    while (number < unfair);
    return number % bound;
}

uint64_t rng_derive_seed (uint64_t seed, uint64_t purpose)
{
    /* Both are mixed first: a sum of the raw numbers would give (1, 2) and (2, 1) one stream, and a seed that is
     * another's next state would give two streams that run one behind the other. */
    return mix (mix (seed + golden_gamma) ^ mix (~purpose + 2 * golden_gamma) * golden_gamma);
}
