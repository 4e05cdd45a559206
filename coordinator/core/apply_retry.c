/* apply_again.c - facts about what is run again. */
#include "coordinator/core/apply.h"

#include "coordinator/verdict/retry.h"

/* Never what the coordinator stopped itself, nor what the user did; and everybody has to be there still. */
static bool may_retry (const struct coord *coord, const struct rung_state *rung, const struct fact_pass_ended *ended)
{
    return retry_all_transient (ended->verdicts.items, ended->verdicts.n) && coord->cancel_level == 0 &&
           !coord->pass.stopped && !coord->pass.dropped && coord->joined_n == coord->plan.hosts.n &&
           rung->retries[ended->key.pass] < coord->plan.limits.retries;
}

bool apply_retry_called (struct coord *coord, const struct fact_pass_ended *ended)
{
    if (!may_retry (coord, &coord->rungs[ended->key.rung], ended))
        return false;
    const struct verdict *verdicts = ended->verdicts.items;
    coord->retry = (struct retry_state){
        .stage = RETRY_CALLED_FOR,
        .failed = ended->key,
        .signature = text_copy (&coord->arena, retry_signature (verdicts, ended->verdicts.n)),
        .why = retry_why (&coord->plan, verdicts, ended->verdicts.n, &coord->arena),
    };
    return true;
}

void apply_retry_planned (struct coord *coord, const struct fact_retry_planned *planned)
{
    struct rung_state *rung = &coord->rungs[planned->key.rung];
    rung->retries[planned->key.pass]++;
    rung->retried_for = text_copy (&coord->arena, planned->why);
    coord->retry.stage = RETRY_PLANNED;
    coord->retry.failed = planned->key;
    coord->retry.due_ms = planned->due_ms;
}
