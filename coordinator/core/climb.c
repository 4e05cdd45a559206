/* climb.c - from pass to pass: what the state calls for next. Each call does the next thing, if anything is due. */
#include "coordinator/core/climb.h"

#include <stdio.h>
#include <string.h>

#include "common/base/duration.h"
#include "common/base/rng.h"
#include "coordinator/core/bundle.h"
#include "coordinator/core/close.h"
#include "coordinator/core/commit.h"
#include "coordinator/core/isolation.h"
#include "coordinator/core/outbox.h"
#include "coordinator/core/run_message.h"
#include "coordinator/core/sentence.h"
#include "coordinator/core/violation.h"
#include "coordinator/core/write_lease.h"
#include "coordinator/verdict/blame.h"
#include "coordinator/verdict/covers.h"
#include "coordinator/verdict/retry.h"

/* Generations, as opposed to a cache that every host keeps for itself. */
static bool is_shared (const struct coord *coord)
{
    return cache_mode_writes (coord->plan.cache.mode) || coord->plan.cache.mode == CACHE_READ_ONLY;
}

static bool covered (const struct coord *coord, const struct rung *rung, struct arena *arena)
{
    return covers_have (&coord->generation.covers, bundle_cover (&coord->plan, rung, arena));
}

static struct attempt_key next_key (const struct coord *coord, enum pass pass)
{
    return (struct attempt_key){ coord->rung, pass, coord->rungs[coord->rung].attempts[pass] + 1 };
}

static bool is_retry (const struct coord *coord, enum pass pass)
{
    return coord->retry.stage == RETRY_PLANNED && coord->retry.failed.rung == coord->rung &&
           coord->retry.failed.pass == pass;
}

static void begin_pass (struct coord *coord, enum pass pass, uint64_t now_ms, struct outbox *out)
{
    struct fact *fact = outbox_fact (out, FACT_PASS_BEGAN);
    struct fact_pass_began *began = &fact->of.pass_began;
    bool writer_only = pass == PASS_COLD && coord->plan.rungs.items[coord->rung].warm != WARM_GANG && is_shared (coord);
    began->key = next_key (coord, pass);
    began->seed = rng_fold (rng_fold (coord->seed, began->key.rung), (uint64_t) pass << 32 | began->key.attempt);
    began->purpose = PURPOSE_CLIMB;
    if (is_retry (coord, pass)) {
        began->purpose = PURPOSE_RETRY;
        began->why = coord->rungs[coord->rung].retried_for;
    }
    uint32_t n = writer_only ? 1 : coord->plan.hosts.n;
    uint32_t *hosts = arena_array (&out->arena, n, sizeof (*hosts));
    for (uint32_t i = 0; i < n; i++)
        hosts[i] = writer_only ? coord->grant.host : i;
    began->hosts.items = hosts;
    began->hosts.n = n;
    coord_commit (coord, fact, now_ms);
    run_message_send_all (coord, now_ms, out);
}

static void skip_cold (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    struct fact *fact = outbox_fact (out, FACT_PASS_SKIPPED);
    fact->of.pass_skipped.key = (struct attempt_key){ coord->rung, PASS_COLD, 0 };
    fact->of.pass_skipped.why = text_format (&out->arena, "generation %llu, sealed earlier, holds its programs",
                                             (unsigned long long) coord->generation.token);
    coord_commit (coord, fact, now_ms);
    write_lease_wait_no_more (coord);
}

static void skip_restored (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    struct fact *fact = outbox_fact (out, FACT_PASS_SKIPPED);
    fact->of.pass_skipped.key = (struct attempt_key){ coord->rung, PASS_RESTORED, 0 };
    fact->of.pass_skipped.why = TEXT_LIT ("mode warm-only: nothing is restored here");
    coord_commit (coord, fact, now_ms);
    climb_advance (coord, now_ms, out);
}

static void ask_cache (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    if (coord->asked_cache)
        return;
    coord->asked_cache = true;
    coord->answer_by_ms = now_ms + ANSWER_MS;
    struct effect *effect = outbox_effect (out, FX_CACHE_FIND);
    effect->text = coord->bundle;
    effect->covers = bundle_covers (coord, &out->arena);
}

static bool granted_for (const struct coord *coord, const struct attempt_key *key)
{
    return coord->granted && attempt_key_equal (&coord->grant.key, key);
}

static void stop_for_cache (struct coord *coord, struct text problem, uint64_t now_ms, struct outbox *out)
{
    coord->stop = (char *) text_format (&coord->arena, "could not use the compile cache: %.*s", TEXT_ARG (problem)).ptr;
    coord->stop_outcome = OUTCOME_BLOCKED;
    climb_advance (coord, now_ms, out);
}

static void stop_uncovered (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    const struct rung *rung = &coord->plan.rungs.items[coord->rung];
    stop_for_cache (coord,
                    text_format (&out->arena,
                                 "mode read-only, and no published generation of %.*s holds the programs of "
                                 "rung %.*s; next: warm them with mode single-writer, or import a generation that does",
                                 TEXT_ARG (coord->bundle), TEXT_ARG (rung->id)),
                    now_ms, out);
}

static void wait_for_token (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    coord->wants_token = true;
    if (write_lease_waited_too_long (coord, now_ms))
        stop_for_cache (coord,
                        text_format (&out->arena,
                                     "other runs have held the lease to write it for an hour, now run %.*s, "
                                     "which is alive; next: see what it does, or give this run a cache root of its own",
                                     TEXT_ARG (coord->lease_owner.run)),
                        now_ms, out);
    else if (coord->look_again && now_ms >= coord->ask_again_ms)
        ask_cache (coord, now_ms, out); /* it may have published meanwhile what this rung needs */
    else if (!coord->look_again)
        write_lease_ask (coord, now_ms, out);
}

static void begin_cold (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    struct attempt_key key = next_key (coord, PASS_COLD);
    if (!is_shared (coord) || granted_for (coord, &key))
        begin_pass (coord, PASS_COLD, now_ms, out);
    else if (coord->plan.cache.mode == CACHE_READ_ONLY)
        stop_uncovered (coord, now_ms, out);
    else
        wait_for_token (coord, now_ms, out);
}

/* The catalogue knows what earlier runs published, and the root is looked over before anything of it is used. */
static bool cache_is_known (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    if (coord->bundle.len == 0)
        coord->bundle = bundle_name (coord, &coord->arena);
    if (!is_shared (coord))
        return true;
    if (!coord->cache_known) {
        ask_cache (coord, now_ms, out);
        return false;
    }
    return violation_audit_is_done (coord, now_ms, out);
}

/* The same launch failed before, in a way that it would fail again: it is not paid for twice. */
static void stop_known_bad (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    const struct rung *rung = &coord->plan.rungs.items[coord->rung];
    coord->stop = (char *) text_format (
                      &coord->arena,
                      "rung %.*s was not started: %.*s; next: change what failed there, or try it all the "
                      "same with --again",
                      TEXT_ARG (rung->id), TEXT_ARG (rung->known_bad))
                      .ptr;
    coord->stop_outcome = OUTCOME_BLOCKED;
    climb_advance (coord, now_ms, out);
}

static bool untried (const struct rung_state *state)
{
    return !state->attempts[PASS_ONCE] && !state->attempts[PASS_COLD] && !state->attempts[PASS_RESTORED];
}

/* What the rung calls for: once, or cold (unless a sealed generation covers it) and then restored. */
static void begin_next (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    const struct rung *rung = &coord->plan.rungs.items[coord->rung];
    struct rung_state *state = &coord->rungs[coord->rung];
    if (rung->known_bad.len && untried (state)) {
        stop_known_bad (coord, now_ms, out);
        return;
    }
    if (!climb_uses_cache (coord, rung)) {
        begin_pass (coord, PASS_ONCE, now_ms, out);
        return;
    }
    if (!cache_is_known (coord, now_ms, out))
        return;
    if (!state->cold_done && is_shared (coord) && covered (coord, rung, &out->arena))
        skip_cold (coord, now_ms, out);
    if (!state->cold_done)
        begin_cold (coord, now_ms, out);
    else if (coord->plan.cache.mode == CACHE_WARM_ONLY)
        skip_restored (coord, now_ms, out);
    else
        begin_pass (coord, PASS_RESTORED, now_ms, out);
}

static uint32_t exit_status_of (const struct coord *coord, enum outcome outcome)
{
    if (coord->cancel_level > 0 && outcome != OUTCOME_PASSED)
        return 130;
    if (coord->counted_violations > 0)
        return 4;
    if (outcome == OUTCOME_PASSED)
        return 0;
    return outcome == OUTCOME_BLOCKED ? 3 : 1;
}

static void end_run (struct coord *coord, enum outcome outcome, uint64_t now_ms, struct outbox *out)
{
    if (coord->cancel_level == 0 && is_shared (coord) && !violation_audit_is_done (coord, now_ms, out))
        return; /* the answer brings us here again */
    struct fact *fact = outbox_fact (out, FACT_RUN_ENDED);
    fact->of.run_ended = (struct fact_run_ended){
        .outcome = outcome,
        .exit_status = exit_status_of (coord, outcome),
        .sentence = sentence_of_run (coord, &out->arena),
    };
    coord_commit (coord, fact, now_ms);
    if (write_lease_unbegun (coord))
        write_lease_decline (coord->grant.token, out);
    for (uint32_t i = 0; i < coord->plan.hosts.n; i++)
        if (coord->hosts[i].life == HOST_JOINED)
            coord_send (coord, i, MSG_SHUTDOWN, out)->of.shutdown.why = TEXT_LIT ("the run is over");
    outbox_effect (out, FX_END)->exit_status = coord->exit_status;
}

/* Hosts that are gone while nothing runs: the next rung cannot have everybody. One line for all with the same reason.
 */
static void end_without_hosts (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    struct fact_pass_ended gone = { .key = { coord->rung, PASS_ONCE, 0 } };
    struct verdict *verdicts = arena_array (&out->arena, coord->plan.hosts.n, sizeof (*verdicts));
    bool joined_once = coord->climbing;
    for (uint32_t i = 0; i < coord->plan.hosts.n; i++)
        if (coord->hosts[i].life == HOST_LOST)
            verdicts[gone.verdicts.n++] = (struct verdict){
                .host = i,
                .outcome = joined_once ? OUTCOME_LOST : OUTCOME_BLOCKED,
                .owner = OWNER_HOST,
                .cause = text_of (coord->hosts[i].lost_why),
                .next = blame_next_of_lost (coord->plan.launcher),
            };
    gone.verdicts.items = verdicts;
    coord->stop = (char *) sentence_of_verdicts (&coord->plan, &gone, &coord->arena).ptr;
    coord->stop_outcome = joined_once ? OUTCOME_LOST : OUTCOME_BLOCKED;
    end_run (coord, coord->stop_outcome, now_ms, out);
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
    coord->retry.waited = coord->retry.waited || coord_clock (coord, now_ms) >= coord->retry.due_ms;
    if (coord->joined_n < coord->plan.hosts.n) {
        if (coord->joined_n + lost_n (coord) == coord->plan.hosts.n)
            end_without_hosts (coord, now_ms, out);
        return;
    }
    if (!back_in_this_epoch (coord))
        return;
    coord->climbing = true;
    if (climb_retry_at (coord) == UINT64_MAX)
        begin_next (coord, now_ms, out);
}

uint64_t climb_retry_at (const struct coord *coord)
{
    return coord->retry.stage == RETRY_PLANNED && !coord->retry.waited ? coord->retry.due_ms : UINT64_MAX;
}

static void plan_retry (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    const struct limits *limits = &coord->plan.limits;
    uint32_t nth = coord->rungs[coord->retry.failed.rung].retries[coord->retry.failed.pass] + 1;
    struct fact *fact = outbox_fact (out, FACT_RETRY_PLANNED);
    fact->of.retry_planned = (struct fact_retry_planned){
        .key = coord->retry.failed,
        .due_ms = coord_clock (coord, now_ms) + retry_wait_ms (limits, nth),
        .left = limits->retries - nth,
        .signature = coord->retry.signature,
        .why = coord->retry.why,
    };
    coord_commit (coord, fact, now_ms);
}

static void advance_isolation (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    if (isolation_advance (coord, now_ms, out))
        climb_advance (coord, now_ms, out);
}

void climb_advance (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    if (coord->ended)
        return;
    if (coord->pass.active && coord->pass.ended_n == coord->pass.n)
        close_pass (coord, now_ms, out);
    coord->wants_token = false;
    if (coord->pass.active)
        return;
    if (coord->retry.stage == RETRY_CALLED_FOR)
        plan_retry (coord, now_ms, out);
    if (coord->rung == coord->plan.rungs.n)
        end_run (coord, OUTCOME_PASSED, now_ms, out);
    else if (coord->cancel_level > 0)
        end_run (coord, OUTCOME_CANCELLED, now_ms, out);
    else if (isolation_goes_on (coord))
        advance_isolation (coord, now_ms, out);
    else if (coord->stop)
        end_run (coord, coord->stop_outcome, now_ms, out);
    else
        begin_or_wait (coord, now_ms, out);
}

void climb_watch (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    char span[DURATION_TEXT_BYTES];
    if (!(coord->asked_cache || coord->asked_token) || now_ms < coord->answer_by_ms)
        return;
    coord->asked_cache = coord->asked_token = false;
    stop_for_cache (coord,
                    text_format (&out->arena,
                                 "its catalogue under %.*s has not answered for %s; next: see whether that "
                                 "storage hangs",
                                 TEXT_ARG (coord->plan.cache.root), duration_print (ANSWER_MS, span)),
                    now_ms, out);
}

void climb_token (struct coord *coord, const struct input *in, uint64_t now_ms, struct outbox *out)
{
    coord->asked_token = false;
    if (in->token)
        write_lease_grant (coord, in->token, now_ms, out);
    else if (in->lease_owner.token)
        write_lease_wait (coord, &in->lease_owner, now_ms);
    else
        stop_for_cache (coord, in->text, now_ms, out);
}

/* The catalogue's lease went to another run, which had not seen ours move: what our writer makes is not published. */
void climb_lease_taken (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    write_lease_lose (
        coord,
        TEXT_LIT ("another run took the lease of the cache over: this coordinator had not shown for too long "
                  "that its writer lives"),
        now_ms, out);
}

void climb_cache_found (struct coord *coord, const struct input *in, uint64_t now_ms, struct outbox *out)
{
    const struct fact_generation *found = in->generation;
    coord->asked_cache = false;
    coord->look_again = false;
    if (!found && in->text.len &&
        coord->plan.cache.mode == CACHE_READ_ONLY) { /* a writer is told so when it asks for a token */
        stop_for_cache (coord, in->text, now_ms, out);
        return;
    }
    if (coord->cache_known && (!found || found->token <= coord->generation.token || found->token <= coord->misfit))
        return; /* asked again, and nothing new */
    coord->audited = false;
    struct fact *fact = outbox_fact (out, FACT_GENERATION_ADOPTED);
    if (found)
        fact->of.generation = *found;
    fact->of.generation.bundle = coord->bundle;
    coord_commit (coord, fact, now_ms);
}
