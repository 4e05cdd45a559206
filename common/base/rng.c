#include "common/base/rng.h"

#include <assert.h>
#include <stdio.h>
#include <sys/random.h>

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

int random_hex (char *out, uint32_t digits, const char *what, struct err *err)
{
    unsigned char random[RANDOM_DIGITS_MAX / 2];
    uint32_t n = digits / 2;
    assert (n <= sizeof random);
    if (getrandom (random, n, 0) != (ssize_t) n)
        return err_errno (err, ERR_IO, "cannot get random numbers for %s", what);
    for (uint32_t i = 0; i < n; i++)
        snprintf (out + 2 * (size_t) i, 3, "%02x", random[i]);
    return 0;
}
