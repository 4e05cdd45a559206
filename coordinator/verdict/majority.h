/* majority.h - finds the value that most hosts have. Pure. */
#ifndef SLICEUP_COORDINATOR_VERDICT_MAJORITY_H
#define SLICEUP_COORDINATOR_VERDICT_MAJORITY_H

#include "common/base/text.h"
#include "common/model/fact.h"

/* How many of the `n` values equal values[at], itself included. */
uint32_t majority_count_equal (const struct text *values, uint32_t n, uint32_t at);
/* Index of a value that more than half share, else of the first most frequent one. */
uint32_t majority_index (const struct text *values, uint32_t n);
/* The value of more than half of the hosts with a value; empty: none. Linear in `n`. */
struct text majority_value (const struct text *values, uint32_t n);

/* ---- covers ---- */

/* The covers of a generation: a text for each rung and program that it holds (cache_family_rung_cover), the longest
 * unused first.
 *
 * A generation inherits the covers of its base, so they would grow without end. The longest unused are dropped, long
 * before a record is full. A run that needs a dropped one runs a cold pass again; the program's counters, never a
 * cover, decide whether it restored. Pure. */

/* Room for several ladders, so that no run drops a cover that it will use. */
enum { COVERS_KEPT = GENERATION_COVERS_MAX / 4 };

bool covers_have (const text_list *covers, struct text cover);
/* The covers of a generation built on one with `base`, by a run with the covers `ladder`, that newly holds `made`. */
text_list covers_carry_over (const text_list *base, const text_list *ladder, struct text made, struct arena *arena);

#endif
