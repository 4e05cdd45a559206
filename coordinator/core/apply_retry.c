/* apply_retry.c - facts about what is run again. */
#include "coordinator/core/apply.h"

#include "coordinator/verdict/retry.h"

/* Never what the coordinator stopped itself, nor what the user did; and everybody has to be there still. */
static bool may_retry (struct engine *to, const struct rung_state *rung, const struct fact_pass_ended *ended)
{
    return retry_all_transient (ended->verdicts.items, ended->verdicts.n) && to->state.cancel_level == 0 &&
           !to->state.pass.stopped && !to->state.pass.dropped && to->state.joined_n == to->state.plan.hosts.n &&
           rung->retries[ended->key.pass] < to->state.plan.limits.retries;
}

bool apply_retry_called (struct engine *to, const struct fact_pass_ended *ended)
{
    if (!may_retry (to, &to->state.rungs.items[ended->key.rung], ended))
        return false;
    const struct verdict *verdicts = ended->verdicts.items;
    to->coord.soft.retry_waited = false;
    to->state.retry = (struct retry_state){
        .stage = RETRY_CALLED_FOR,
        .failed = ended->key,
        .signature = text_copy (&to->arena, retry_signature (verdicts, ended->verdicts.n)),
        .why = retry_why (&to->state.plan, verdicts, ended->verdicts.n, &to->arena),
    };
    return true;
}

void apply_retry_planned (struct engine *to, const struct fact_retry_planned *planned)
{
    struct rung_state *rung = &to->state.rungs.items[planned->key.rung];
    rung->retries[planned->key.pass]++;
    rung->retried_for = text_copy (&to->arena, planned->why);
    to->state.retry.stage = RETRY_PLANNED;
    to->state.retry.failed = planned->key;
    to->state.retry.due_ms = planned->due_ms;
}
