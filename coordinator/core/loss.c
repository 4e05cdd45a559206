/* loss.c - hosts that are gone, attempts that nobody will ever report, and the peers of those that failed. */
#include "coordinator/core/loss.h"

#include "coordinator/core/outbox.h"

/* A host that is lost is no failure where the climb may go on without it. */
static bool fails_fast (const struct coord *coord)
{
    const struct pass_state *pass = &coord->state->pass;
    for (uint32_t i = 0; i < pass->parts.n && coord->state->plan.climb.fail_fast; i++) {
        const struct result *result = &pass->parts.items[i].result;
        bool lost = result->ending == ENDING_LOST && coord->state->plan.climb.min_hosts;
        if (pass->parts.items[i].ended && result_ended_badly (result) && !lost)
            return true;
    }
    return false;
}

static bool cascading (const struct coord *coord)
{
    return coord->state->pass.active && coord->state->pass.failing &&
           (!parts_are_independent (coord) || fails_fast (coord));
}

void loss_stop_waiting_peers (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    if (!cascading (coord))
        return;
    for (uint32_t i = 0; i < coord->state->pass.parts.n; i++) /* at a gate they wait for one that will not come */
        if (coord->soft.parts[i].at_gate && !coord->soft.parts[i].stopped)
            stop_part (coord, i, false, TEXT_LIT ("another host failed"), now_ms, out);
}

uint64_t loss_cascade_at (const struct coord *coord)
{
    uint64_t grace_ms = coord->state->plan.climb.fail_fast ? 0 : coord->state->plan.limits.cascade_ms;
    return cascading (coord) ? coord->state->pass.failed_ms + grace_ms : UINT64_MAX;
}

void loss_stop_peers_when_due (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    if (coord_to_run_clock (coord, now_ms) < loss_cascade_at (coord))
        return;
    for (uint32_t i = 0; i < coord->state->pass.parts.n; i++)
        if (!coord->soft.parts[i].stopped)
            stop_part (coord, i, false, TEXT_LIT ("another host failed"), now_ms, out);
}

/* The running attempt died with the worker process that held it. */
void loss_end_running_attempt (struct coord *coord, uint32_t host, struct text why, uint64_t now_ms, struct outbox *out)
{
    const struct pass_state *pass = &coord->state->pass;
    uint32_t at = pass->active ? coord->soft.part_of_host[host] : NONE;
    if (at == NONE || pass->parts.items[at].ended)
        return;
    struct fact *fact = outbox_add_fact (out, FACT_ATTEMPT_ENDED);
    fact->of.attempt_ended = (struct fact_attempt_ended){
        .host = host,
        .at_gate = coord->soft.hosts[host].at_gate,
        .result = { .key = pass->key, .ending = ENDING_LOST, .problem = why },
    };
    coord_commit_fact (coord, fact, now_ms);
    loss_stop_waiting_peers (coord, now_ms, out);
}

void loss_end_host (struct coord *coord, uint32_t host, struct text why, uint64_t now_ms, struct outbox *out)
{
    struct fact *fact = outbox_add_fact (out, FACT_HOST_LOST);
    why = text_clip (why, SENTENCE_MAX_BYTES);
    fact->of.host_lost = (struct fact_host_lost){ .host = host, .why = why };
    coord_commit_fact (coord, fact, now_ms);
    loss_end_running_attempt (coord, host, why, now_ms, out);
}

void loss_end_attempt (struct coord *coord, uint32_t host, enum ending ending, struct text why, uint64_t now_ms,
                       struct outbox *out)
{
    struct fact *fact = outbox_add_fact (out, FACT_ATTEMPT_ENDED);
    fact->of.attempt_ended.host = host;
    fact->of.attempt_ended.result = (struct result){ .key = coord->state->pass.key, .ending = ending, .problem = why };
    coord_commit_fact (coord, fact, now_ms);
}
