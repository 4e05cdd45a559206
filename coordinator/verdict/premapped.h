/* premapped.h - may this host set aside the premapped buffer that the profile asks for?
 *
 * libtpu maps TPU_PREMAPPED_BUFFER_SIZE bytes of host memory for each process
 * (docs.cloud.google.com/tpu/docs/performance-guide). What is left must be enough for data loaders and the system. How
 * much that is, nobody documents: a quarter of the memory, and at least PREMAPPED_LEAST_LEFT_BYTES, is our judgement.
 * Pure. */
#ifndef SLICEUP_COORDINATOR_VERDICT_PREMAPPED_H
#define SLICEUP_COORDINATOR_VERDICT_PREMAPPED_H

#include "common/model/plan.h"

#define PREMAPPED_VAR "TPU_PREMAPPED_BUFFER_SIZE"
#define PREMAPPED_LEAST_LEFT_BYTES (UINT64_C (2) << 30)

/* True: it fits, or none is asked for, or the host does not say how much memory it has. Else `why` is one sentence. */
bool premapped_fits (const struct profile *profile, const struct var *facts, uint32_t facts_n, struct arena *arena,
                     struct text *why);

#endif
