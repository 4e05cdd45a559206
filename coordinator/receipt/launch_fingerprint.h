/* launch_fingerprint.h - what is known of a launch before anything is started: code, bundle, hardware, shape,
 * parallelism, feature toggles. Launches with equal fingerprints ask for the same memory and fail in the same way.
 * Pure.
 */
#ifndef SLICEUP_COORDINATOR_RECEIPT_LAUNCH_FINGERPRINT_H
#define SLICEUP_COORDINATOR_RECEIPT_LAUNCH_FINGERPRINT_H

#include "common/model/plan.h"

/* 16 hexadecimal digits, of the arena; empty for what is no canary: commands and builtins tell nothing of memory. */
struct text launch_fingerprint (const struct plan *plan, const struct rung *rung, struct arena *arena);
/* The same without the bundle: after a change of it these are to be measured anew. */
struct text launch_shape (const struct plan *plan, const struct rung *rung, struct arena *arena);

#endif
