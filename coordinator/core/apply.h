/* apply.h - facts change state, and nothing else does. Also what a replay runs: coord_apply of coord.h. */
#ifndef SLICEUP_COORDINATOR_CORE_APPLY_H
#define SLICEUP_COORDINATOR_CORE_APPLY_H

#include "coordinator/core/state.h"

/* apply_cache.c, apply_retry.c and apply_isolation.c, for apply.c alone. */
void apply_cache_fact (struct coord *coord, const struct fact *fact);
void apply_writer_ended (struct coord *coord, const struct fact_attempt_ended *ended, uint64_t index);
/* False: the pass that fell is not run again. */
bool apply_retry_called (struct coord *coord, const struct fact_pass_ended *ended);
void apply_retry_planned (struct coord *coord, const struct fact_retry_planned *planned);
void isolation_call (struct coord *coord, const struct fact_pass_ended *ended);
void isolation_take (struct coord *coord, const struct fact_pass_ended *ended);
void isolation_close (struct coord *coord, const struct fact_suspects_named *named);

#endif
