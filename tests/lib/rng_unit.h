/* rng_unit.h - a random number between 0 and 1, for tests. */
#ifndef SLICEUP_TESTS_RNG_UNIT_H
#define SLICEUP_TESTS_RNG_UNIT_H

#include "common/base/rng.h"

/* 0 <= result < 1 */
static inline double rng_unit (struct rng *rng)
{
    return (double) (rng_next (rng) >> 11) * 0x1p-53;
}

#endif
