/* going_on.h - a climb that goes on without some hosts, or past a rung that is not run. */
#ifndef SLICEUP_COORDINATOR_CORE_GOING_ON_H
#define SLICEUP_COORDINATOR_CORE_GOING_ON_H

#include "coordinator/core/outbox.h"

/* Those that are lost and were to take part, with a verdict each; `outcome` none: `lost` for one that had joined, else
 * `blocked`. */
void going_on_list_lost (const struct coord *coord, enum outcome outcome, struct arena *arena,
                         struct fact_pass_ended *out);
/* Nobody is awaited any more, and hosts are lost. False: too few are here, or nobody asked to go on with fewer. */
bool going_on_without_lost (struct coord *coord, uint64_t now_ms, struct outbox *out);
/* The rung is not run: recorded as a pass with attempt 0 that is blocked for all who take part. */
void going_on_block_rung (struct coord *coord, enum owner owner, struct text cause, struct text next, uint64_t now_ms,
                          struct outbox *out);
/* The same, as the mesh of the rung needs hosts that the climb went on without. */
void going_on_block_for_hosts (struct coord *coord, uint64_t now_ms, struct outbox *out);

#endif
