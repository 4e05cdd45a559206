/* merge.h - receipts of the same or of different runs into one: the union of their sets.
 *
 * Commutative, associative, idempotent. Different receipts of one host in a run both stay (merge_host_has_conflict). */
#ifndef SLICEUP_COORDINATOR_STORY_MERGE_H
#define SLICEUP_COORDINATOR_STORY_MERGE_H

#include "common/model/receipt.h"

/* Sorts every set and drops repeated items. What the other functions give and take is in this form. */
void merge_normalise (struct slice_receipt *receipt);
/* The union, in `arena`; shares what `a` and `b` point at. */
void merge_receipts (const struct slice_receipt *a, const struct slice_receipt *b, struct arena *arena,
                     struct slice_receipt *out);
/* Does host `i` disagree with another receipt of the same run and host in this slice receipt? */
bool merge_host_has_conflict (const struct slice_receipt *receipt, uint32_t i);

#endif
