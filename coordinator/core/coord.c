#include "coordinator/core/coord.h"

#include <inttypes.h>

#include "common/base/duration.h"
#include "common/base/utf8.h"
#include "coordinator/core/steps.h"
#include "coordinator/verdict/going_on.h"

/* ---- deadlines: every wait has a bound: silence, joining, gates, questions, attempts and peers that do not end ---- */

enum { ASKS_MAX = 16 };       /* of one host by one coordinator: each answer is a durable fact */
enum { OVERSLEPT_MS = 1000 }; /* a longer delay than a busy machine's: this process was suspended */

/* ---- time ---- */

static uint64_t overdue_at (const struct coord *coord)
{
    if (!coord->state->pass.active)
        return UINT64_MAX;
    return coord->state->pass.began_ms + coord->soft.pass_slept_ms + coord_longest_attempt_ms (coord) + LATE_MS;
}

static void watch_overdue (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    uint64_t at = overdue_at (coord), now = coord_to_run_clock (coord, now_ms);
    if (now < at)
        return;
    for (uint32_t i = 0; i < coord->state->pass.parts.n; i++) {
        if (coord->state->pass.parts.items[i].ended)
            continue;
        if (now >= at + LATE_MS)
            loss_end_attempt (
                coord, coord->state->pass.parts.items[i].host, ENDING_LOST,
                TEXT_LIT ("its worker sends heartbeats, but did not end the attempt, even on an order to kill it"),
                now_ms, out);
        else if (!coord->soft.parts[i].killed)
            stop_part (coord, i, true, TEXT_LIT ("its worker did not stop the attempt at the time limit of the rung"),
                       now_ms, out);
    }
}

/* Long before the host is given up, so that the answer is a part of the reason. */
static uint64_t ask_after_ms (const struct limits *limits)
{
    return limits->lost_ms / 2 > limits->suspect_ms ? limits->lost_ms / 2 : limits->suspect_ms;
}

static void ask_host (struct coord *coord, uint32_t host, struct outbox *out)
{
    struct host_soft_state *link = &coord->soft.hosts[host];
    link->asked = true;
    if (coord->state->plan.launcher != LAUNCHER_LOCAL && link->asked_n++ < ASKS_MAX)
        outbox_add_effect (out, FX_ASK_HOST)->host = host;
}

static struct text silence_why (const struct coord *coord, uint32_t host, uint64_t silent_ms, struct arena *arena)
{
    const struct fact_host_asked *asked = &coord->state->hosts.items[host].asked;
    char span[DURATION_TEXT_BYTES];
    duration_print (silent_ms, span);
    return asked->ssh
               ? text_format (arena, "silent for %s; it %.*s", span, TEXT_ARG (host_asked_text (asked, false, arena)))
               : text_format (arena, "silent for %s", span);
}

/* It is told again while it lasts, for whoever began to watch meanwhile. What was heard since counts, also where the
 * silence is not over by it: a host that claims lost facts. */
static uint64_t silence_told_at (const struct coord *coord, uint32_t host)
{
    const struct host_soft_state *link = &coord->soft.hosts[host];
    uint64_t from_ms = link->suspected && link->told_ms > link->received_ms ? link->told_ms : link->received_ms;
    return from_ms + coord->state->plan.limits.suspect_ms;
}

static void watch_host (struct coord *coord, uint32_t host, uint64_t now_ms, struct outbox *out)
{
    const struct limits *limits = &coord->state->plan.limits;
    const struct host_soft_state *link = &coord->soft.hosts[host];
    uint64_t now = coord_to_run_clock (coord, now_ms);
    uint64_t silent = now > link->received_ms ? now - link->received_ms : 0;
    if (silent < limits->suspect_ms)
        return;
    if (silent >= limits->lost_ms) {
        loss_end_host (coord, host, silence_why (coord, host, silent, &out->arena), now_ms, out);
    } else if (silence_told_at (coord, host) <= now) {
        struct fact *fact = outbox_add_fact (out, FACT_HOST_SUSPECTED);
        fact->of.host_suspected = (struct fact_host_suspected){ .host = host, .silent_ms = silent };
        coord_commit_fact (coord, fact, now_ms);
    } else if (!link->asked && silent >= ask_after_ms (limits)) {
        ask_host (coord, host, out);
    }
}

static uint64_t silence_next (const struct coord *coord, uint32_t host)
{
    const struct limits *limits = &coord->state->plan.limits;
    const struct host_soft_state *link = &coord->soft.hosts[host];
    uint64_t ask_ms = link->asked ? limits->lost_ms : least_u64 (ask_after_ms (limits), limits->lost_ms);
    return least_u64 (silence_told_at (coord, host), link->received_ms + ask_ms);
}

/* Each message begins the silence of its host anew, so the ends are looked through only when the earliest has come. */
static void watch_silence (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    if (coord_to_run_clock (coord, now_ms) < coord->soft.silence_ms)
        return;
    coord->soft.silence_ms = UINT64_MAX;
    for (uint32_t i = 0; i < coord->state->plan.hosts.n; i++) {
        if (coord->state->hosts.items[i].life == HOST_JOINED)
            watch_host (coord, i, now_ms, out);
        if (coord->state->hosts.items[i].life == HOST_JOINED)
            coord->soft.silence_ms = least_u64 (coord->soft.silence_ms, silence_next (coord, i));
    }
}

static uint64_t join_by (const struct coord *coord)
{
    return coord->soft.climbing ? UINT64_MAX
                                : coord->state->began_ms + coord->soft.slept_ms + coord->state->plan.limits.join_ms;
}

static void watch_joining (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    if (coord_to_run_clock (coord, now_ms) < join_by (coord))
        return;
    char span[DURATION_TEXT_BYTES];
    duration_print (coord->state->plan.limits.join_ms, span);
    for (uint32_t i = 0; i < coord->state->plan.hosts.n; i++)
        if (host_is_awaited (coord, i))
            loss_end_host (coord, i, text_format (&out->arena, "its worker did not join within %s", span), now_ms, out);
}

static void watch_late (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    if (coord_to_run_clock (coord, now_ms) < coord->soft.launch_late_ms)
        return;
    coord->soft.launch_late_ms = UINT64_MAX;
    launch_hosts (coord, HOST_KEYED, out);
}

static void deadlines_check (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    watch_late (coord, now_ms, out);
    watch_joining (coord, now_ms, out);
    watch_silence (coord, now_ms, out);
    loss_stop_peers_when_due (coord, now_ms, out);
    watch_overdue (coord, now_ms, out);
    write_lease_check_expiry (coord, now_ms, out);
    acquire_check_timeout (coord, now_ms, out);
}

static bool some_awaited (const struct coord *coord)
{
    for (uint32_t i = 0; i < coord->state->plan.hosts.n; i++)
        if (host_is_awaited (coord, i))
            return true;
    return false;
}

static bool some_unstopped (const struct coord *coord)
{
    for (uint32_t i = 0; i < coord->state->pass.parts.n; i++)
        if (!coord->state->pass.parts.items[i].ended && !coord->soft.parts[i].stopped)
            return true;
    return false;
}

static bool some_unkilled (const struct coord *coord)
{
    for (uint32_t i = 0; i < coord->state->pass.parts.n; i++)
        if (!coord->state->pass.parts.items[i].ended && !coord->soft.parts[i].killed)
            return true;
    return false;
}

/* Whether anybody is waited for is looked through once the time has come: until then it is as if. */
static uint64_t if_any (const struct coord *coord, uint64_t at, bool (*some) (const struct coord *))
{
    return at > coord->soft.stepped_ms || some (coord) ? at : UINT64_MAX;
}

/* When the next wait ends, if it lasts so long; run clock. */
static uint64_t deadlines_next (const struct coord *coord)
{
    uint64_t at = least_u64 (coord->soft.launch_late_ms, coord->soft.silence_ms);
    at = least_u64 (at, if_any (coord, join_by (coord), some_awaited));
    at = least_u64 (at, climb_retry_at (coord));
    if (!coord->state->pass.active)
        return at;
    at = least_u64 (at, if_any (coord, loss_cascade_at (coord), some_unstopped));
    at = least_u64 (at, if_any (coord, overdue_at (coord), some_unkilled));
    bool unended = coord->state->pass.ended_n < coord->state->pass.parts.n;
    return unended ? least_u64 (at, overdue_at (coord) + LATE_MS) : at;
}

/* Call it first in a step. Messages that came while this process was suspended are not read yet, so hosts were not
 * silent. */
static void deadlines_discount_sleep (struct coord *coord, uint64_t now_ms)
{
    uint64_t now = coord_to_run_clock (coord, now_ms), awake_ms = now > OVERSLEPT_MS ? now - OVERSLEPT_MS : 0;
    bool overslept = coord->soft.stepped_ms < awake_ms && deadlines_next (coord) < awake_ms;
    uint64_t slept_ms = overslept ? now - coord->soft.stepped_ms : 0;
    for (uint32_t i = 0; i < coord->state->plan.hosts.n && slept_ms; i++)
        coord->soft.hosts[i].received_ms += slept_ms;
    coord->soft.slept_ms += slept_ms;
    coord->soft.pass_slept_ms += slept_ms;
    coord->soft.stepped_ms = now;
}

/* ---- what is told ---- */

/* What the climb waits for beside the run's hosts. */
static struct text wait_of (const struct coord *coord, uint64_t now_ms, struct arena *arena)
{
    struct text run = text_clip (coord->soft.lease_owner.run, RUN_SHOWN_BYTES);
    if (coord->state->ended || coord->state->pass.active)
        return (struct text){ 0 };
    if (coord->soft.wants_token && coord->soft.lease_owner.token)
        return text_format (arena, "run %.*s, which writes this cache now (generation %" PRIu64 ")", TEXT_ARG (run),
                            coord->soft.lease_owner.token);
    if (coord->soft.acquisition == ACQUISITION_AUDITING)
        return TEXT_LIT ("the audit of the cache root");
    if (acquire_is_pending (coord))
        return TEXT_LIT ("an answer of the cache's catalogue");
    if (coord->soft.wants_token && lease_state (&coord->soft.lease, now_ms) != LEASE_FREE)
        return text_format (arena, "the lease to write generation %" PRIu64 " to expire", coord->soft.lease.token);
    return (struct text){ 0 };
}

/* Reports to watchers a change of that wait. Call it last in a step. */
static void deadlines_report_wait (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    struct text now = wait_of (coord, now_ms, &out->arena);
    if (text_equal (now, coord->soft.reported_wait))
        return;
    arena_reset (&coord->soft.reported_arena);
    coord->soft.reported_wait = text_copy (&coord->soft.reported_arena, now);
    struct fact *fact = outbox_add_fact (out, FACT_CACHE_AWAITED);
    fact->of.cache_awaited.what = now;
    coord_commit_fact (coord, fact, now_ms);
}

/* ---- coord ---- */

struct coord *coord_create (void)
{
    struct engine *engine = mem_alloc (sizeof (*engine));
    engine->coord.state = &engine->state;
    engine->state.next_index = 1;
    engine->coord.soft.launch_late_ms = engine->coord.soft.silence_ms = UINT64_MAX;
    return &engine->coord;
}

void coord_destroy (struct coord *coord)
{
    if (coord == NULL)
        return;
    struct engine *engine = engine_of (coord);
    arena_release (&coord->soft.lease_owner_arena);
    arena_release (&coord->soft.reported_arena);
    arena_release (&coord->soft.pass_arena);
    arena_release (&coord->soft.pass_before);
    arena_release (&engine->pass_arena);
    arena_release (&engine->pass_before);
    arena_release (&engine->arena);
    mem_free (engine);
}

static void begin_epoch (struct coord *coord, uint64_t pid, uint64_t away_ms, uint64_t now_ms, struct outbox *out)
{
    struct fact *fact = outbox_add_fact (out, FACT_EPOCH_BEGAN);
    fact->of.epoch_began =
        (struct fact_epoch_began){ .epoch = coord->state->epoch + 1, .pid = pid, .away_ms = away_ms };
    coord_commit_fact (coord, fact, now_ms);
    coord->soft.stepped_ms = coord_to_run_clock (coord, now_ms);
}

void coord_open (struct coord *coord, struct text run_id_hex, const struct plan *plan, const struct digest *deal_key,
                 struct text version, uint64_t pid, uint64_t now_ms, struct outbox *out)
{
    coord->soft.run_key = *deal_key;
    coord->soft.clock_offset_ms = -(int64_t) now_ms;
    struct fact *fact = outbox_add_fact (out, FACT_RUN_OPENED);
    fact->of.run_opened = (struct fact_run_opened){ .run = run_id_hex, .plan = *plan, .version = version };
    coord_commit_fact (coord, fact, now_ms);
    write_lease_resume (coord, now_ms);
    begin_epoch (coord, pid, 0, now_ms, out);
    launch_hosts (coord, HOST_EXPECTED, out);
}

static void admit_known (struct coord *coord, struct outbox *out)
{
    for (uint32_t i = 0; i < coord->state->plan.hosts.n; i++) {
        if (!coord->state->hosts.items[i].keyed)
            continue;
        struct effect *effect = outbox_add_effect (out, FX_ADMIT);
        effect->host = i;
        effect->text = coord->state->hosts.items[i].key;
    }
}

void coord_resume (struct coord *coord, const struct digest *deal_key, uint64_t pid, uint64_t wall_ms, uint64_t now_ms,
                   struct outbox *out)
{
    coord->soft.clock_offset_ms = (int64_t) coord->soft.clock_ms - (int64_t) now_ms;
    coord->soft.run_key = *deal_key;
    run_message_deal (coord);
    if (coord->state->lost_facts.len) {
        outbox_add_effect (out, FX_FACTS_LOST)->text = coord->state->lost_facts;
        return;
    }
    if (coord->state->ended) {
        outbox_add_effect (out, FX_END)->exit_status = coord->state->exit_status;
        return;
    }
    coord->soft.climbing = coord->state->next_index > 1 && all_are_here (coord);
    write_lease_resume (coord, now_ms);
    coord->soft.acquisition = coord->state->cache_known ? ACQUISITION_FOUND : ACQUISITION_UNKNOWN;
    uint64_t since_ms = coord->soft.wall_ms;
    begin_epoch (coord, pid, since_ms && wall_ms > since_ms ? wall_ms - since_ms : 0, now_ms, out);
    for (uint32_t i = 0; i < coord->state->plan.hosts.n && coord->state->plan.limits.lost_ms < COORD_COME_BACK_MS; i++)
        coord->soft.hosts[i].received_ms += COORD_COME_BACK_MS -
                                            coord->state->plan.limits.lost_ms; /* they are connecting */
    admit_known (coord, out);
    violation_repeat_drops (coord, now_ms, out);
    if (coord->state->generation.token && text_equal (coord->state->generation.from_run, coord->state->run))
        write_lease_publish_generation (coord, out); /* an earlier process may not have done it */
    launch_hosts (coord, HOST_EXPECTED, out);
    launch_hosts (coord, HOST_LOST, out);
    coord->soft.launch_late_ms = coord->soft.clock_ms +
                                 COORD_COME_BACK_MS; /* a keyed worker that got GO is connecting */
}

static void coord_take_key (struct coord *coord, const struct core_input *in, uint64_t now_ms, struct outbox *out)
{
    struct fact *fact = outbox_add_fact (out, FACT_HOST_KEYED);
    fact->of.host_keyed = (struct fact_host_keyed){ .host = in->host, .public_key = in->text };
    coord_commit_fact (coord, fact, now_ms);
    struct effect *effect = outbox_add_effect (out, FX_ADMIT);
    effect->host = in->host;
    effect->text = coord->state->hosts.items[in->host].key;
}

/* Only for watchers; decides nothing. */
static void coord_take_step (struct coord *coord, const struct core_input *in, uint64_t now_ms, struct outbox *out)
{
    if (coord->state->hosts.items[in->host].life == HOST_JOINED)
        return;
    struct fact *fact = outbox_add_fact (out, FACT_HOST_STEPPED);
    fact->of.host_stepped = (struct fact_host_stepped){ .host = in->host, .step = in->text };
    coord_commit_fact (coord, fact, now_ms);
}

/* Who lags shows while it lasts, so all are asked at one moment, once no host prints any more; later if nothing was printed yet, since programs that
 * begin import and compile for long, each at its own pace. With rising waits between, as a look costs each host
 * a heartbeat of a KiB. */
enum {
    LOOK_QUIET_MS = 8000,
    LOOK_BEGIN_MS = 20000,
    LOOK_LEAST_MS = 2000,
    LOOK_AGAIN_MS = 20000,
    LOOK_AGAIN_MOST_MS = 320000
};

static void look_at_all (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    const struct pass_state *pass = &coord->state->pass;
    uint64_t now = coord_to_run_clock (coord, now_ms);
    if (coord->soft.looked_ms && now < coord->soft.looked_ms + LOOK_LEAST_MS)
        return; /* they are telling it */
    coord->soft.looked_ms = now;
    for (uint32_t i = 0; pass->active && i < pass->parts.n; i++) {
        uint32_t host = pass->parts.items[i].host;
        if (!pass->parts.items[i].ended && !coord->soft.parts[i].stopped && !coord->soft.parts[i].at_gate &&
            coord->state->hosts.items[host].life == HOST_JOINED)
            coord_add_message (coord, host, MSG_LOOK, out)->of.look.key = pass->key;
    }
}

/* Has no host that is awaited printed anything for a while? Hosts that print are in no group. */
static bool all_are_quiet (const struct coord *coord, const struct fact_output_awaited *output)
{
    uint32_t quiet = 0, awaited = 0;
    for (uint32_t i = 0; i < output->groups.n; i++) {
        const struct last_output *group = &output->groups.items[i];
        if (group->quiet_ms < (group->line.len ? LOOK_QUIET_MS : LOOK_BEGIN_MS))
            return false;
        quiet += group->hosts.n;
    }
    for (uint32_t i = 0; i < coord->state->pass.parts.n; i++)
        awaited += !coord->state->pass.parts.items[i].ended && !coord->soft.parts[i].at_gate;
    return quiet && (quiet >= awaited || output->groups.n == OUTPUT_GROUPS_MAX); /* more groups are not told */
}

static void look_when_quiet (struct coord *coord, const struct fact_output_awaited *output, uint64_t now_ms,
                             struct outbox *out)
{
    struct soft_state *soft = &coord->soft;
    uint64_t now = coord_to_run_clock (coord, now_ms);
    if (now < soft->look_at_ms || !coord->state->pass.active || parts_are_independent (coord) ||
        !all_are_quiet (coord, output))
        return;
    soft->look_wait_ms = soft->look_wait_ms ? least_u64 (2 * soft->look_wait_ms, LOOK_AGAIN_MOST_MS) : LOOK_AGAIN_MS;
    soft->look_at_ms = now + soft->look_wait_ms;
    look_at_all (coord, now_ms, out);
}

/* As take_step. */
static void take_output (struct coord *coord, const struct fact_output_awaited *output, uint64_t now_ms,
                         struct outbox *out)
{
    struct fact *fact = outbox_add_fact (out, FACT_OUTPUT_AWAITED);
    fact->of.output_awaited = *output;
    coord_commit_fact (coord, fact, now_ms);
    look_when_quiet (coord, output, now_ms, out);
}

/* An answer about a silence that is over says nothing. */
static void take_asked (struct coord *coord, const struct fact_host_asked *asked, uint64_t now_ms, struct outbox *out)
{
    if (!coord->soft.hosts[asked->host].asked)
        return;
    struct fact *fact = outbox_add_fact (out, FACT_HOST_ASKED);
    fact->of.host_asked = *asked;
    coord_commit_fact (coord, fact, now_ms);
}

/* A host may send output of an attempt that never began. */
static void take_output_lost (struct coord *coord, const struct core_input *in, uint64_t now_ms, struct outbox *out)
{
    if (in->key.attempt > coord->state->rungs.items[in->key.rung].attempts[in->key.pass])
        return;
    struct fact *fact = outbox_add_fact (out, FACT_OUTPUT_LOST);
    fact->of.output_lost = (struct fact_output_lost){ .host = in->host, .key = in->key };
    fact->of.output_lost.why = text_repair_utf8 (&out->arena, in->text, SENTENCE_MAX_BYTES);
    coord_commit_fact (coord, fact, now_ms);
}

static void take_cancel (struct coord *coord, uint32_t level, uint64_t now_ms, struct outbox *out)
{
    if (level <= coord->state->cancel_level)
        return;
    struct fact *fact = outbox_add_fact (out, FACT_CANCEL_ASKED);
    fact->of.cancel_asked.level = level;
    coord_commit_fact (coord, fact, now_ms);
    for (uint32_t i = 0; coord->state->pass.active && i < coord->state->pass.parts.n; i++)
        stop_part (coord, i, level > 1, TEXT_LIT ("the run was cancelled"), now_ms, out);
}

void coord_step (struct coord *coord, const struct core_input *in, uint64_t now_ms, struct outbox *out)
{
    if (coord->state->lost_facts.len)
        return;
    if (coord->state->ended && in->kind == IN_TOKEN && in->token)
        write_lease_return_token (in->token, out); /* other runs need not wait for an ended one */
    if (coord->state->ended && in->kind != IN_MSG)
        return; /* nothing is recorded after the end */
    if (!coord->state->ended)
        deadlines_discount_sleep (coord, now_ms);
    switch (in->kind) {
    case IN_TICK: deadlines_check (coord, now_ms, out); break;
    case IN_MSG: inbox_handle_message (coord, in->host, in->msg, now_ms, out); break;
    case IN_WORKER_KEYED: coord_take_key (coord, in, now_ms, out); break;
    case IN_WORKER_EXITED:
        if (!host_is_lost (coord, in->host))
            loss_end_host (coord, in->host, in->text, now_ms, out);
        break;
    case IN_WORKER_STEP: coord_take_step (coord, in, now_ms, out); break;
    case IN_RUN_UNDELIVERABLE: inbox_handle_undeliverable (coord, in, now_ms, out); break;
    case IN_CACHE_FOUND: acquire_receive_generation (coord, in, now_ms, out); break;
    case IN_TOKEN: acquire_receive_token (coord, in, now_ms, out); break;
    case IN_LEASE_TAKEN:
        if (coord->state->granted && coord->state->grant.token == in->token)
            write_lease_note_lost (coord, now_ms, out);
        break;
    case IN_CACHE_AUDITED: acquire_receive_audit (coord, in, now_ms, out); break;
    case IN_CANCEL: take_cancel (coord, in->level, now_ms, out); break;
    case IN_LOOK: look_at_all (coord, now_ms, out); break;
    case IN_OUTPUT: take_output (coord, in->output, now_ms, out); break;
    case IN_HOST_ASKED: take_asked (coord, in->asked, now_ms, out); break;
    case IN_OUTPUT_LOST: take_output_lost (coord, in, now_ms, out); break;
    }
    coord->soft.undecided = journal_loss_weigh (coord, now_ms, out);
    if (coord->soft.undecided)
        return;
    climb_advance (coord, now_ms, out);
    deadlines_report_wait (coord, now_ms, out);
}

uint64_t coord_deadline_ms (const struct coord *coord)
{
    if (coord->state->ended || coord->state->lost_facts.len)
        return UINT64_MAX;
    uint64_t at = deadlines_next (coord), write_ms = write_lease_deadline_ms (coord),
             answer_ms = acquire_deadline_ms (coord);
    uint64_t at_ms = at == UINT64_MAX ? at : (uint64_t) ((int64_t) at - coord->soft.clock_offset_ms);
    return least_u64 (least_u64 (at_ms, write_ms), answer_ms);
}

const struct plan *coord_plan (const struct coord *coord)
{
    return &coord->state->plan;
}

uint64_t coord_epoch (const struct coord *coord)
{
    return coord->state->epoch;
}

uint64_t coord_seen_seq (const struct coord *coord, uint32_t host)
{
    return coord->soft.hosts[host].seen_seq;
}

struct text coord_worker_key (const struct coord *coord, uint32_t host)
{
    return coord->state->hosts.items[host].key;
}

bool coord_worker_process (const struct coord *coord, uint32_t host, uint64_t *pid, uint64_t *pid_start)
{
    *pid = coord->state->hosts.items[host].pid;
    *pid_start = coord->state->hosts.items[host].pid_start;
    return coord->state->hosts.items[host].life == HOST_JOINED;
}

uint32_t coord_awaited_hosts (const struct coord *coord, struct attempt_key *key, uint32_t *hosts)
{
    const struct pass_state *pass = &coord->state->pass;
    uint32_t n = 0;
    *key = pass->key;
    for (uint32_t i = 0; pass->active && i < pass->parts.n; i++)
        if (!pass->parts.items[i].ended) {
            if (!hosts)
                return 1;
            hosts[n++] = pass->parts.items[i].host;
        }
    return n;
}

bool coord_is_cancelled (const struct coord *coord)
{
    return coord->state->cancel_level > 0;
}

bool coord_ended (const struct coord *coord, uint32_t *exit_status)
{
    if (coord->state->ended && exit_status)
        *exit_status = coord->state->exit_status;
    return coord->state->ended;
}
