/* climb.c - moves from pass to pass: each call does the next thing that the state requires, if any is due. */

#include <assert.h>

#include "coordinator/core/steps.h"
#include "coordinator/verdict/agree.h"
#include "coordinator/verdict/going_on.h"

/* ---- going on ---- */

/* A climb that goes on without some hosts, or past a rung that is not run. */

/* Lists lost hosts that should take part, with a verdict each; `outcome` none: `lost` if it had joined, else
 * `blocked`. */
static void going_on_list_lost (const struct coord *coord, enum outcome outcome, struct arena *arena,
                                struct fact_pass_ended *out)
{
    struct verdict *verdicts = arena_array (arena, coord->state->plan.hosts.n, sizeof (*verdicts));
    for (uint32_t i = 0; i < coord->state->plan.hosts.n; i++) {
        const struct host *host = &coord->state->hosts.items[i];
        if (host->life == HOST_LOST && takes_part (coord, i))
            verdicts[out->verdicts.n++] = (struct verdict){
                .host = i,
                .outcome = outcome         ? outcome
                           : host->session ? OUTCOME_LOST
                                           : OUTCOME_BLOCKED,
                .owner = going_on_is_of_launch (host->lost_why) ? OWNER_LAUNCH : OWNER_HOST,
                .likely = true,
                .cause = host->lost_why,
                .next = going_on_advice (&coord->state->plan, &host->asked, i, 0, host->lost_why, arena),
            };
    }
    pass_close_complete_commands (&coord->state->plan, verdicts, out->verdicts.n, arena);
    pass_close_fit_verdicts (verdicts, out->verdicts.n);
    out->verdicts.items = verdicts;
}

/* --keep-going alone goes on without a host that had joined, but not without one that never came. */
static bool may_do_without (const struct coord *coord, const struct fact_pass_ended *lost)
{
    const struct climb_policy *policy = &coord->state->plan.climb;
    uint32_t hosts = coord->state->plan.hosts.n, gone = lost->verdicts.n;
    for (uint32_t i = 0; i < hosts; i++)
        gone += coord->state->hosts.items[i].left == LEFT_ABSENT;
    for (uint32_t i = 0; i < lost->verdicts.n && !policy->min_hosts; i++)
        if (!policy->keep_going || lost->verdicts.items[i].outcome != OUTCOME_LOST)
            return false;
    return hosts - gone >= policy->min_hosts && coord->state->left_n + lost->verdicts.n < hosts;
}

/* Goes on without lost hosts, once none is awaited. False: too few are here, or no option allows fewer. */
static bool going_on_without_lost (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    struct fact_pass_ended lost = { 0 };
    going_on_list_lost (coord, OUTCOME_NONE, &out->arena, &lost);
    if (!may_do_without (coord, &lost))
        return false;
    bool unused = write_lease_is_unused (coord);
    struct fact *fact = outbox_add_fact (out, FACT_HOSTS_LEFT_BEHIND);
    fact->of.hosts_left_behind = (struct fact_hosts_left_behind){ .rung = coord->state->rung };
    fact->of.hosts_left_behind.verdicts.items = lost.verdicts.items;
    fact->of.hosts_left_behind.verdicts.n = lost.verdicts.n;
    coord_commit_fact (coord, fact, now_ms);
    if (unused && !coord->state->granted) {
        lease_note_released (&coord->soft.lease, coord->state->grant.token);
        write_lease_return_token (coord->state->grant.token, out);
    }
    return true;
}

/* Skips the rung: records a pass with attempt 0, blocked for all that take part. */
static void going_on_block_rung (struct coord *coord, enum owner owner, struct text cause, struct text next,
                                 uint64_t now_ms, struct outbox *out)
{
    struct fact *fact = outbox_add_fact (out, FACT_PASS_ENDED);
    struct fact_pass_ended *ended = &fact->of.pass_ended;
    struct verdict *verdicts = arena_array (&out->arena, coord->state->plan.hosts.n, sizeof (*verdicts));
    ended->key = (struct attempt_key){ coord->state->rung, PASS_ONCE, 0 };
    ended->outcome = OUTCOME_BLOCKED;
    for (uint32_t i = 0; i < coord->state->plan.hosts.n; i++)
        if (takes_part (coord, i))
            verdicts[ended->verdicts.n++] =
                (struct verdict){ .host = i, .outcome = OUTCOME_BLOCKED, .owner = owner, .cause = cause, .next = next };
    ended->verdicts.items = verdicts;
    coord_commit_fact (coord, fact, now_ms);
}

/* The same, because the rung's mesh needs hosts that were left behind. */
static void going_on_block_for_hosts (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    struct text names = names_left_behind (coord, &out->arena);
    struct text cause = text_format (&out->arena,
                                     "its programs need all %u hosts of the mesh, and the climb went on without %.*s",
                                     coord->state->plan.hosts.n, TEXT_ARG (names));
    going_on_block_rung (
        coord, OWNER_PEER, cause,
        TEXT_LIT ("repair or replace those hosts and run the slice again; the mesh is fixed, so a part "
                  "of the slice cannot form it"),
        now_ms, out);
}

/* ---- climb ---- */

static struct attempt_key next_key (const struct coord *coord, uint32_t rung, enum pass pass)
{
    return (struct attempt_key){ rung, pass, coord->state->rungs.items[rung].attempts[pass] + 1 };
}

static bool is_retry (const struct coord *coord, enum pass pass)
{
    return coord->state->retry.stage == RETRY_PLANNED && coord->state->retry.failed.rung == coord->state->rung &&
           coord->state->retry.failed.pass == pass;
}

static void begin_pass (struct coord *coord, enum pass pass, uint64_t now_ms, struct outbox *out)
{
    struct fact *fact = outbox_add_fact (out, FACT_PASS_BEGAN);
    struct fact_pass_began *began = &fact->of.pass_began;
    bool writer_only = pass == PASS_COLD && coord->state->plan.rungs.items[coord->state->rung].warm != WARM_GANG &&
                       cache_has_generations (coord);
    began->key = next_key (coord, coord->state->rung, pass);
    began->purpose = PURPOSE_CLIMB;
    if (is_retry (coord, pass)) {
        began->purpose = PURPOSE_RETRY;
        began->why = coord->state->rungs.items[coord->state->rung].retried_for;
    }
    uint32_t *hosts = arena_array (&out->arena, coord->state->plan.hosts.n, sizeof (*hosts));
    for (uint32_t i = 0; i < coord->state->plan.hosts.n; i++)
        if (writer_only ? i == coord->state->grant.host : takes_part (coord, i))
            hosts[began->hosts.n++] = i;
    began->hosts.items = hosts;
    coord_commit_fact (coord, fact, now_ms);
    run_message_send_all (coord, now_ms, out);
}

static void skip_cold (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    struct fact *fact = outbox_add_fact (out, FACT_PASS_SKIPPED);
    fact->of.pass_skipped.key = (struct attempt_key){ coord->state->rung, PASS_COLD, 0 };
    fact->of.pass_skipped.why = text_format (&out->arena, "generation %llu already holds the programs of this rung",
                                             (unsigned long long) coord->state->generation.token);
    coord_commit_fact (coord, fact, now_ms);
    write_lease_clear_owner (coord);
}

static void skip_restored (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    struct fact *fact = outbox_add_fact (out, FACT_PASS_SKIPPED);
    fact->of.pass_skipped.key = (struct attempt_key){ coord->state->rung, PASS_RESTORED, 0 };
    fact->of.pass_skipped.why = TEXT_LIT ("cache.mode is warm-only, which only compiles");
    coord_commit_fact (coord, fact, now_ms);
    climb_advance (coord, now_ms, out);
}

static void stop_uncovered (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    const struct rung *rung = &coord->state->plan.rungs.items[coord->state->rung];
    struct text next = TEXT_LIT ("compile them with cache.mode single-writer, or import a generation that has them");
    struct text why = text_format (
        &out->arena, "cache.mode is read-only, and no published generation of %.*s holds the programs of rung %.*s",
        TEXT_ARG (coord->state->bundle), TEXT_ARG (rung->id));
    if (coord->state->plan.climb.keep_going)
        going_on_block_rung (coord, OWNER_CACHE, why, next, now_ms, out);
    else
        acquire_give_up (coord, text_format (&out->arena, "%.*s; next: %.*s", TEXT_ARG (why), TEXT_ARG (next)), now_ms,
                         out);
}

static void block_for_writer (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    struct text cause = text_format (&out->arena,
                                     "no host that may write the cache is left; the climb went on without %.*s",
                                     TEXT_ARG (names_left_behind (coord, &out->arena)));
    going_on_block_rung (coord, OWNER_CACHE, cause, TEXT_LIT ("name several hosts in cache.writer"), now_ms, out);
}

static void begin_cold (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    struct attempt_key key = next_key (coord, coord->state->rung, PASS_COLD);
    if (!cache_has_generations (coord) || (coord->state->granted && attempt_key_equal (&coord->state->grant.key, &key)))
        begin_pass (coord, PASS_COLD, now_ms, out);
    else if (coord->state->plan.cache.mode == CACHE_READ_ONLY)
        stop_uncovered (coord, now_ms, out);
    else if (write_lease_candidate (coord) == NONE)
        block_for_writer (coord, now_ms, out);
    else
        acquire_writer_grant (coord, now_ms, out);
}

/* Stops at a launch that failed before and would fail again. */
static void stop_known_bad (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    const struct rung *rung = &coord->state->plan.rungs.items[coord->state->rung];
    struct text next = TEXT_LIT ("change what made it fail, or start it anyway with --again");
    if (rung->next_best.len) /* a command, so it stands last */
        next = text_format (&out->arena, "start it anyway with --again, or better: %.*s", TEXT_ARG (rung->next_best));
    if (coord->state->plan.climb.keep_going)
        going_on_block_rung (coord, OWNER_PROGRAM, rung->known_bad, next, now_ms, out);
    else
        stop_climb (coord, OUTCOME_BLOCKED,
                    text_format (&out->arena, "rung %.*s was not started: %.*s; next: %.*s", TEXT_ARG (rung->id),
                                 TEXT_ARG (rung->known_bad), TEXT_ARG (next)),
                    now_ms, out);
}

/* Begins the rung's next pass: once, or cold (unless a sealed generation covers it) and then restored. */
static void begin_next (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    const struct rung *rung = &coord->state->plan.rungs.items[coord->state->rung];
    const struct rung_state *state = &coord->state->rungs.items[coord->state->rung];
    if (rung->scope == SCOPE_SLICE && coord->state->left_n > 0) {
        going_on_block_for_hosts (coord, now_ms, out);
        return;
    }
    if (rung->known_bad.len) { /* so it was never begun */
        stop_known_bad (coord, now_ms, out);
        return;
    }
    if (!climb_uses_cache (coord, rung)) {
        begin_pass (coord, PASS_ONCE, now_ms, out);
        return;
    }
    if (cache_has_generations (coord) && !acquire_audited_generation (coord, now_ms, out))
        return;
    if (!state->cold_done && cache_has_generations (coord) &&
        text_is_among (cache_family_rung_cover (&coord->state->plan, rung, &out->arena),
                       coord->state->generation.covers.items, coord->state->generation.covers.n))
        skip_cold (coord, now_ms, out);
    if (!state->cold_done)
        begin_cold (coord, now_ms, out);
    else if (coord->state->plan.cache.mode == CACHE_WARM_ONLY)
        skip_restored (coord, now_ms, out);
    else
        begin_pass (coord, PASS_RESTORED, now_ms, out);
}

static uint32_t exit_status_of (const struct coord *coord, enum outcome outcome)
{
    if (coord->state->cancel_level > 0 && outcome != OUTCOME_PASSED)
        return 130;
    if (coord->state->counted_violations > 0)
        return 4;
    bool stopped = coord->state->stop.len > 0; /* else it reached the top despite a shortfall */
    return outcome == OUTCOME_PASSED ? 0 : outcome == OUTCOME_BLOCKED && stopped ? 3 : 1;
}

static bool back_in_this_epoch (const struct coord *coord)
{
    for (uint32_t i = 0; i < coord->state->plan.hosts.n; i++)
        if (takes_part (coord, i) && coord->state->hosts.items[i].life == HOST_JOINED &&
            coord->state->hosts.items[i].joined_epoch != coord->state->epoch)
            return false;
    return true;
}

/* After a resume, workers that have not come back cannot get the end, and would wait for a coordinator: so it waits
 * until they are here or lost. */
static bool workers_may_come (const struct coord *coord)
{
    bool keyed = false;
    for (uint32_t i = 0; i < coord->state->plan.hosts.n && coord->soft.launch_late_ms != UINT64_MAX; i++)
        keyed |= coord->state->hosts.items[i].life == HOST_KEYED && takes_part (coord, i);
    return keyed || !back_in_this_epoch (coord);
}

static void end_run (struct coord *coord, enum outcome outcome, uint64_t now_ms, struct outbox *out)
{
    if (workers_may_come (coord))
        return;
    if (coord->state->cancel_level == 0 && cache_has_generations (coord) && !acquire_final_audit (coord, now_ms, out))
        return; /* the answer brings us here again */
    struct fact *fact = outbox_add_fact (out, FACT_RUN_ENDED);
    fact->of.run_ended = (struct fact_run_ended){ .outcome = outcome,
                                                  .exit_status = exit_status_of (coord, outcome),
                                                  .sentence = status_sentence_of_run (coord, &out->arena) };
    coord_commit_fact (coord, fact, now_ms);
    if (write_lease_is_unused (coord))
        write_lease_return_token (coord->state->grant.token, out);
    for (uint32_t i = 0; i < coord->state->plan.hosts.n; i++)
        if (coord->state->hosts.items[i].life == HOST_JOINED)
            coord_add_message (coord, i, MSG_SHUTDOWN, out)->of.shutdown.why = TEXT_LIT ("the run is over");
    outbox_add_effect (out, FX_END)->exit_status = coord->state->exit_status;
}

/* Ends because hosts were lost between rungs. One line for all with one reason. */
static void end_without_hosts (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    struct fact_pass_ended gone = { .key = { coord->state->rung, PASS_ONCE, 0 } };
    bool joined_once = coord->soft.climbing;
    going_on_list_lost (coord, joined_once ? OUTCOME_LOST : OUTCOME_BLOCKED, &out->arena, &gone);
    stop_climb (coord, joined_once ? OUTCOME_LOST : OUTCOME_BLOCKED,
                status_sentence_of_verdicts (&coord->state->plan, &gone, &out->arena), now_ms, out);
    end_run (coord, coord->state->stop_outcome, now_ms, out);
}

/* Who was awaited last mostly still is. */
static bool awaits_anybody (struct coord *coord)
{
    for (uint32_t i = 0; i < coord->state->plan.hosts.n; i++) {
        if (host_is_awaited (coord, coord->soft.awaited))
            return true;
        coord->soft.awaited = (coord->soft.awaited + 1) % coord->state->plan.hosts.n;
    }
    return false;
}

/* Nothing begins before all that take part are here. Once none is awaited, the climb goes on without the lost ones, or
 * ends. */
static void begin_or_wait (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    coord->soft.retry_waited = coord->soft.retry_waited ||
                               coord_to_run_clock (coord, now_ms) >= coord->state->retry.due_ms;
    if (!all_are_here (coord)) {
        if (awaits_anybody (coord))
            return;
        if (!going_on_without_lost (coord, now_ms, out)) {
            end_without_hosts (coord, now_ms, out);
            return;
        }
    }
    if (!back_in_this_epoch (coord))
        return;
    coord->soft.climbing = true;
    uint32_t rung = coord->state->rung;
    if (climb_retry_at (coord) == UINT64_MAX)
        begin_next (coord, now_ms, out);
    if (coord->state->stop.len || coord->state->rung != rung) /* it cannot begin: end, or try the next rung */
        climb_advance (coord, now_ms, out);
}

uint64_t climb_retry_at (const struct coord *coord)
{
    bool over = coord->state->stop.len || coord->state->cancel_level > 0 || coord->soft.undecided;
    bool waits = coord->state->retry.stage == RETRY_PLANNED && !coord->soft.retry_waited && !over;
    return waits ? coord->state->retry.due_ms : UINT64_MAX;
}

static void plan_retry (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    const struct limits *limits = &coord->state->plan.limits;
    uint32_t nth = coord->state->rungs.items[coord->state->retry.failed.rung].retries[coord->state->retry.failed.pass] +
                   1;
    struct fact *fact = outbox_add_fact (out, FACT_RETRY_PLANNED);
    fact->of.retry_planned = (struct fact_retry_planned){
        .key = coord->state->retry.failed,
        .due_ms = coord_to_run_clock (coord, now_ms) + retry_wait_ms (limits, nth),
        .left = limits->retries - nth,
        .signature = coord->state->retry.signature,
        .why = coord->state->retry.why,
    };
    coord_commit_fact (coord, fact, now_ms);
}

/* ---- parts of the slice, after a failed pass without a cause; isolate.h says what runs (docs/spec/retries.md) ---- */

static bool isolation_goes_on (const struct coord *coord)
{
    bool over = coord->state->stop.len || coord->state->rung == coord->state->plan.rungs.n;
    bool goes_on = over && coord->state->isolation.called_for && !coord->state->isolation.over && !coord->state->left_n;
    for (uint32_t i = 0; i < coord->state->plan.hosts.n && goes_on; i++)
        goes_on = !host_is_lost (coord, i);
    return goes_on;
}

static struct text others_text (const struct coord *coord, const struct isolate_set *set, struct arena *arena)
{
    return text_format (arena, "%u of %u hosts run by themselves, because rung %.*s failed and no host reports a cause",
                        set->n, coord->state->plan.hosts.n,
                        TEXT_ARG (coord->state->plan.rungs.items[coord->state->isolation.failed.key.rung].id));
}

static void begin_part (struct coord *coord, const struct isolate_set *set, uint64_t now_ms, struct outbox *out)
{
    uint32_t rung = coord->state->isolation.failed.key.rung;
    struct fact *fact = outbox_add_fact (out, FACT_PASS_BEGAN);
    struct fact_pass_began *began = &fact->of.pass_began;
    began->key = next_key (coord, rung, PASS_ONCE);
    began->purpose = PURPOSE_ISOLATION;
    began->why = others_text (coord, set, &out->arena);
    began->hosts.items = set->items;
    began->hosts.n = set->n;
    bool formed = isolate_mesh (&coord->state->plan.mesh, coord->state->plan.profile.devices_per_host, set->n,
                                &out->arena, &began->mesh);
    assert (formed);
    (void) formed;
    coord_commit_fact (coord, fact, now_ms);
    run_message_send_all (coord, now_ms, out);
}

static void name_suspects (struct coord *coord, const struct isolate_step *found, uint64_t now_ms, struct outbox *out)
{
    struct isolate_case of = isolation_make_case (coord);
    struct fact *fact = outbox_add_fact (out, FACT_SUSPECTS_NAMED);
    struct fact_suspects_named *named = &fact->of.suspects_named;
    named->key = coord->state->isolation.failed.key;
    named->suspects.items = found->hosts.items;
    named->suspects.n = found->hosts.n;
    named->passes = coord->state->isolation.trials.n;
    named->alone = isolate_failed_alone (&of, found);
    named->why = isolate_explain (&coord->state->plan, &of, found, &out->arena);
    coord_commit_fact (coord, fact, now_ms);
}

/* True: the suspects are named, and the climb goes on at once. */
static bool isolation_advance (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    struct isolate_case of = isolation_make_case (coord);
    struct isolate_step step;
    if (coord->state->joined_n < coord->state->plan.hosts.n || !back_in_this_epoch (coord))
        return false;
    isolate_next (&of, &out->arena, &step);
    if (step.kind == ISOLATE_RUN)
        begin_part (coord, &step.hosts, now_ms, out);
    else
        name_suspects (coord, &step, now_ms, out);
    return step.kind != ISOLATE_RUN;
}

/* ---- all of it ---- */

static void advance_isolation (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    if (isolation_advance (coord, now_ms, out))
        climb_advance (coord, now_ms, out);
}

void climb_advance (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    if (coord->state->ended)
        return;
    if (coord->state->pass.active && coord->state->pass.ended_n == coord->state->pass.parts.n)
        close_pass (coord, now_ms, out);
    coord->soft.wants_token = false;
    if (coord->state->pass.active)
        return;
    if (coord->state->retry.stage == RETRY_CALLED_FOR)
        plan_retry (coord, now_ms, out);
    bool top = coord->state->rung == coord->state->plan.rungs.n;
    if (top && !coord->state->shortfall_outcome)
        end_run (coord, OUTCOME_PASSED, now_ms, out);
    else if (coord->state->cancel_level > 0)
        end_run (coord, OUTCOME_CANCELLED, now_ms, out);
    else if (isolation_goes_on (coord))
        advance_isolation (coord, now_ms, out);
    else if (coord->state->stop.len)
        end_run (coord, coord->state->stop_outcome, now_ms, out);
    else if (top)
        end_run (coord, coord->state->shortfall_outcome, now_ms, out);
    else
        begin_or_wait (coord, now_ms, out);
}
