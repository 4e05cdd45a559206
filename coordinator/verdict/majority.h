/* majority.h - which of several values most hosts have. Pure. */
#ifndef SLICEUP_COORDINATOR_VERDICT_MAJORITY_H
#define SLICEUP_COORDINATOR_VERDICT_MAJORITY_H

#include "common/base/text.h"
#include "common/model/fact.h"

/* How many of the `n` values equal the one at `at`, itself included. */
uint32_t majority_count_equal (const struct text *values, uint32_t n, uint32_t at);
/* Index of a value that more than half share, or else of the first of the most frequent ones. */
uint32_t majority_index (const struct text *values, uint32_t n);
/* The value of more than half of the hosts that have one; empty: there is none. In time linear in `n`. */
struct text majority_value (const struct text *values, uint32_t n);

/* ---- covers ---- */

/* What a generation is known to hold: a text for each rung and what its program is made of
 * (cache_family_rung_cover), the longest unused first.
 *
 * A generation built upon another one takes over its covers, so they would grow for as long as a cache root lives. The
 * longest unused are dropped, long before a record is full. A run that needs a dropped one runs a cold pass again:
 * whether something was restored is decided by the program's counters, never by a cover. Pure. */

/* Several ladders fit, so no run drops a cover that it is about to use. */
enum { COVERS_KEPT = GENERATION_COVERS_MAX / 4 };

bool covers_have (const text_list *covers, struct text cover);
/* Of a generation built upon one with the covers `base` by a run whose ladder has `ladder`; it newly holds `made`. */
text_list covers_carry_over (const text_list *base, const text_list *ladder, struct text made, struct arena *arena);

#endif
