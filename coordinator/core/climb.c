/* climb.c - from pass to pass: what the state calls for next. Each call does the next thing, if anything is due. */
#include <stdio.h>
#include <string.h>

#include "common/base/rng.h"
#include "coordinator/core/blame.h"
#include "coordinator/core/state.h"

static bool uses_cache (const struct coord *coord, const struct rung *rung)
{
    return rung->warm != WARM_NONE && coord->plan.cache.mode == CACHE_SINGLE_WRITER;
}

static bool covered (const struct coord *coord, const struct rung *rung, struct arena *arena)
{
    struct text cover = bundle_cover (&coord->plan, rung, arena);
    for (uint32_t i = 0; i < coord->generation.covers.n; i++)
        if (text_equal (coord->generation.covers.items[i], cover))
            return true;
    return false;
}

static uint32_t writer_rank (const struct coord *coord)
{
    int rank = plan_rank (&coord->plan, coord->plan.cache.writer);
    return rank < 0 ? 0 : (uint32_t) rank;
}

static struct attempt_key next_key (const struct coord *coord, enum pass pass)
{
    return (struct attempt_key) { coord->rung, pass, coord->rungs[coord->rung].attempts[pass] + 1 };
}

static void begin_pass (struct coord *coord, enum pass pass, uint64_t now_ms, struct outbox *out)
{
    struct fact *fact = outbox_fact (out, FACT_PASS_BEGAN);
    struct fact_pass_began *began = &fact->of.pass_began;
    bool writer_only = pass == PASS_COLD && coord->plan.rungs.items[coord->rung].warm == WARM_SOLO;
    began->key = next_key (coord, pass);
    began->seed = rng_fold (rng_fold (coord->seed, began->key.rung), (uint64_t) pass << 32 | began->key.attempt);
    uint32_t n = writer_only ? 1 : coord->plan.hosts.n;
    uint32_t *hosts = arena_array (&out->arena, n, sizeof (*hosts));
    for (uint32_t i = 0; i < n; i++)
        hosts[i] = writer_only ? writer_rank (coord) : i;
    began->hosts.items = hosts;
    began->hosts.n = n;
    coord_commit (coord, fact, now_ms);
    for (uint32_t i = 0; i < coord->pass.n; i++)
        order_run (coord, i, now_ms, out);
}

static void skip_cold (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    struct fact *fact = outbox_fact (out, FACT_PASS_SKIPPED);
    fact->of.pass_skipped.key = (struct attempt_key) { coord->rung, PASS_COLD, 0 };
    fact->of.pass_skipped.why = text_format (&out->arena, "generation %llu, sealed earlier, holds its programs",
                                             (unsigned long long) coord->generation.token);
    coord_commit (coord, fact, now_ms);
}

static void ask_cache (struct coord *coord, struct outbox *out)
{
    if (coord->asked_cache)
        return;
    coord->asked_cache = true;
    outbox_effect (out, FX_CACHE_FIND)->text = coord->bundle;
}

static void ask_token (struct coord *coord, struct outbox *out)
{
    if (coord->asked_token)
        return;
    coord->asked_token = true;
    outbox_effect (out, FX_TOKEN)->text = coord->bundle;
}

static bool granted_for (const struct coord *coord, const struct attempt_key *key)
{
    return coord->grant.token != 0 && attempt_key_equal (&coord->grant.key, key);
}

static void begin_cold (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    struct attempt_key key = next_key (coord, PASS_COLD);
    if (granted_for (coord, &key))
        begin_pass (coord, PASS_COLD, now_ms, out);
    else
        ask_token (coord, out);
}

/* What the rung calls for: once, or cold (unless a sealed generation covers it) and then restored. */
static void begin_next (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    const struct rung *rung = &coord->plan.rungs.items[coord->rung];
    struct rung_state *state = &coord->rungs[coord->rung];
    if (!uses_cache (coord, rung)) {
        begin_pass (coord, PASS_ONCE, now_ms, out);
        return;
    }
    if (coord->bundle.len == 0)
        coord->bundle = bundle_name (&coord->plan, coord->env_fingerprint, &coord->arena);
    if (!coord->cache_known) {
        ask_cache (coord, out);
        return;
    }
    if (!state->cold_done && !state->refitted && covered (coord, rung, &out->arena))
        skip_cold (coord, now_ms, out);
    if (!state->cold_done)
        begin_cold (coord, now_ms, out);
    else
        begin_pass (coord, PASS_RESTORED, now_ms, out);
}

static uint32_t exit_status_of (const struct coord *coord, enum outcome outcome)
{
    if (outcome == OUTCOME_PASSED)
        return 0;
    if (coord->cancel_level > 0)
        return 130;
    return outcome == OUTCOME_COULD_NOT_RUN ? 3 : 1;
}

static void end_run (struct coord *coord, enum outcome outcome, uint64_t now_ms, struct outbox *out)
{
    struct fact *fact = outbox_fact (out, FACT_RUN_ENDED);
    fact->of.run_ended = (struct fact_run_ended) {
        .outcome = outcome, .exit_status = exit_status_of (coord, outcome), .sentence = sentence_of_run (coord, &out->arena),
    };
    coord_commit (coord, fact, now_ms);
    for (uint32_t i = 0; i < coord->plan.hosts.n; i++)
        if (coord->hosts[i].life == HOST_JOINED)
            coord_say (coord, i, MSG_SHUTDOWN, out)->of.shutdown.why = TEXT_LIT ("the run is over");
    outbox_effect (out, FX_END)->exit_status = coord->exit_status;
}

/* Hosts that are gone while nothing runs: the next rung cannot have everybody. One line for all with the same reason. */
static void end_without_hosts (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    struct fact_pass_ended gone = { .key = { coord->rung, PASS_ONCE, 0 } };
    struct verdict *verdicts = arena_array (&out->arena, coord->plan.hosts.n, sizeof (*verdicts));
    bool joined_once = coord->climbing;
    for (uint32_t i = 0; i < coord->plan.hosts.n; i++)
        if (coord->hosts[i].life == HOST_LOST)
            verdicts[gone.verdicts.n++] = (struct verdict) {
                .host = i, .outcome = joined_once ? OUTCOME_NO_REPORT : OUTCOME_COULD_NOT_RUN, .layer = LAYER_HOST,
                .cause = text_of (coord->hosts[i].lost_why), .next = blame_next_of_lost (coord->plan.launcher),
            };
    gone.verdicts.items = verdicts;
    coord->stop = (char *) sentence_of_verdicts (&coord->plan, &gone, &coord->arena).ptr;
    end_run (coord, joined_once ? OUTCOME_NO_REPORT : OUTCOME_COULD_NOT_RUN, now_ms, out);
}

static uint32_t lost_n (const struct coord *coord)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < coord->plan.hosts.n; i++)
        n += host_is_lost (coord, i);
    return n;
}

static bool back_in_this_epoch (const struct coord *coord)
{
    for (uint32_t i = 0; i < coord->plan.hosts.n; i++)
        if (coord->hosts[i].life == HOST_JOINED && coord->hosts[i].joined_epoch != coord->epoch)
            return false;
    return true;
}

/* Everybody must be here before anything is begun; somebody lost ends the climb once nobody else is awaited. */
static void begin_or_wait (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    if (coord->joined_n < coord->plan.hosts.n) {
        if (coord->joined_n + lost_n (coord) == coord->plan.hosts.n)
            end_without_hosts (coord, now_ms, out);
        return;
    }
    if (!back_in_this_epoch (coord))
        return;
    coord->climbing = true;
    begin_next (coord, now_ms, out);
}

void climb_advance (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    if (coord->ended)
        return;
    if (coord->pass.active && coord->pass.ended_n == coord->pass.n)
        close_pass (coord, now_ms, out);
    if (coord->pass.active)
        return;
    if (coord->rung == coord->plan.rungs.n)
        end_run (coord, OUTCOME_PASSED, now_ms, out);
    else if (coord->cancel_level > 0)
        end_run (coord, OUTCOME_COULD_NOT_RUN, now_ms, out);
    else if (coord->stop)
        end_run (coord, coord->stop_outcome, now_ms, out);
    else
        begin_or_wait (coord, now_ms, out);
}

static void stop_for_cache (struct coord *coord, struct text problem, uint64_t now_ms, struct outbox *out)
{
    coord->stop = (char *) text_format (&coord->arena, "could not use the compile cache: %.*s", TEXT_ARG (problem)).ptr;
    coord->stop_outcome = OUTCOME_COULD_NOT_RUN;
    climb_advance (coord, now_ms, out);
}

void climb_token (struct coord *coord, uint64_t token, struct text problem, uint64_t now_ms, struct outbox *out)
{
    coord->asked_token = false;
    if (token == 0) {
        stop_for_cache (coord, problem, now_ms, out);
        return;
    }
    struct fact *fact = outbox_fact (out, FACT_WRITER_GRANTED);
    fact->of.writer_granted = (struct fact_writer_granted) {
        .token = token, .base = coord->generation.token, .host = writer_rank (coord), .key = next_key (coord, PASS_COLD),
    };
    coord_commit (coord, fact, now_ms);
    climb_advance (coord, now_ms, out);
}

void climb_cache_found (struct coord *coord, const struct fact_generation *found, uint64_t now_ms, struct outbox *out)
{
    coord->asked_cache = false;
    struct fact *fact = outbox_fact (out, FACT_GENERATION_ADOPTED);
    if (found)
        fact->of.generation = *found;
    fact->of.generation.bundle = coord->bundle;
    coord_commit (coord, fact, now_ms);
    climb_advance (coord, now_ms, out);
}
