/* sample.h - small, valid values for tests: plans, results. */
#ifndef SLICEUP_TESTS_LIB_SAMPLE_H
#define SLICEUP_TESTS_LIB_SAMPLE_H

#include "common/base/digest.h"
#include "common/model/fact.h"

/* host0.. with two devices each, mesh data x model, three rungs: `facts` (host, once), `tiny` (host, solo cold,
 * restored), `all` (slice, gang cold, restored, metric loss). Frontend jax. */
void sample_plan (struct plan *plan, uint32_t hosts, struct arena *arena);
extern const struct digest sample_deal_key; /* for coord_open and coord_resume */
/* What a good worker would answer to this order. Metrics are proved with the secrets dealt: `secrets` of all ranks. */
void sample_result (const struct msg_run *run, const uint64_t *secrets, struct result *result, struct arena *arena);

#endif
