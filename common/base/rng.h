/* rng.h - seeded pseudo-random numbers (splitmix64): same seed, same numbers, on every machine.
 * For samples and simulation; never for keys or secrets: from one number all others follow. And random digits for
 * those, from the kernel. */
#ifndef SLICEUP_COMMON_BASE_RNG_H
#define SLICEUP_COMMON_BASE_RNG_H

#include "common/base/err.h"
#include <stdint.h>

struct rng {
    uint64_t state;
};

struct rng rng_seed (uint64_t seed);
uint64_t rng_next (struct rng *rng);
uint64_t rng_below (struct rng *rng, uint64_t bound); /* 0 <= result < bound; bound > 0; unbiased */
/* An even number of hexadecimal digits, at most RANDOM_DIGITS_MAX, and a NUL. `what` they are for, in the error. */
enum { RANDOM_DIGITS_MAX = 64 };
int random_hex (char *out, uint32_t digits, const char *what, struct err *err);

#endif
