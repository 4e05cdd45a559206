/* receipt_fold.h - the run's facts -> its slice receipt. A fold like every view: same facts, same receipt. */
#ifndef SLICEUP_COORDINATOR_RECEIPT_RECEIPT_FOLD_H
#define SLICEUP_COORDINATOR_RECEIPT_RECEIPT_FOLD_H

#include "common/model/receipt.h"

struct receipt_fold;
struct receipt_fold *receipt_fold_create (void);
void receipt_fold_destroy (struct receipt_fold *fold);
void receipt_fold_apply (struct receipt_fold *fold, const struct fact *fact);
/* What the run was to do, as its first fact says; empty before that. Lives as long as the fold. */
const struct plan *receipt_fold_plan (const struct receipt_fold *fold);
/* The receipt as of the facts applied, normalised; lives in `arena`, except for texts, which live as long as the fold.
 * It fits its record's bounds, so that it can be read back; it says what full lists leave out. */
void receipt_fold_build (const struct receipt_fold *fold, struct arena *arena, struct slice_receipt *out);

#endif
