/* apply.h - only facts change state. A replay runs this, too: coord_apply of coord.h. */
#ifndef SLICEUP_COORDINATOR_CORE_APPLY_H
#define SLICEUP_COORDINATOR_CORE_APPLY_H

#include "coordinator/core/state.h"

/* The whole engine, for coord.c, which makes it, and for apply*.c: the only way to write `state`. */
struct engine {
    struct coord coord; /* first: coord_create returns it. Its `state` is the one below */
    struct state state;
    struct arena arena;      /* lives as long as the run */
    struct arena pass_arena; /* of the running pass */
    struct arena pass_before;
};

static inline struct engine *engine_of (struct coord *coord)
{
    return (struct engine *) coord;
}

/* apply_retry.c, for apply.c alone. */
void apply_cache_fact (struct engine *to, const struct fact *fact);
void apply_writer_ended (struct engine *to, const struct fact_attempt_ended *ended, uint64_t index);
/* False: the failed pass is not run again. */
bool apply_call_for_retry (struct engine *to, const struct fact_pass_ended *ended);
void apply_retry_planned (struct engine *to, const struct fact_retry_planned *planned);
void apply_call_for_isolation (struct engine *to, const struct fact_pass_ended *ended);
void apply_trial_ended (struct engine *to, const struct fact_pass_ended *ended);
void apply_suspects_named (struct engine *to, const struct fact_suspects_named *named);
/* False: the failed pass ends the climb. */
bool apply_going_on (struct engine *to, const struct fact_pass_ended *ended);
void apply_rung_blocked (struct engine *to, const struct fact_pass_ended *ended);
void apply_hosts_left_behind (struct engine *to, const struct fact_hosts_left_behind *left);

#endif
