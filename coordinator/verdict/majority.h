/* majority.h - which of several values most hosts have. Pure. */
#ifndef SLICEUP_COORDINATOR_VERDICT_MAJORITY_H
#define SLICEUP_COORDINATOR_VERDICT_MAJORITY_H

#include "common/base/text.h"

/* How many of the `n` values equal the one at `at`, itself included. */
uint32_t majority_count_equal (const struct text *values, uint32_t n, uint32_t at);
/* Index of a value that more than half share, or else of the first of the most frequent ones. */
uint32_t majority_index (const struct text *values, uint32_t n);
/* The value of more than half of the hosts that have one; empty: there is none. In time linear in `n`. */
struct text majority_value (const struct text *values, uint32_t n);

#endif
