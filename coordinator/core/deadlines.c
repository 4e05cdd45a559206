/* deadlines.c - every wait has a bound: silence, attempts that do not end, gates, peers of a host that failed. */
#include "coordinator/core/deadlines.h"

#include <inttypes.h>

#include "common/base/duration.h"
#include "coordinator/core/acquire.h"
#include "coordinator/core/climb.h"
#include "coordinator/core/loss.h"
#include "coordinator/core/outbox.h"
#include "coordinator/core/write_lease.h"

enum { LATE_MS = 15000 };     /* how late after its timeout and stop budget an attempt is killed; and later given up */
enum { OVERSLEPT_MS = 1000 }; /* as late as a busy machine wakes this process; later, and it was stopped itself */

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
    for (uint32_t i = 0; i < coord->state->pass.parts.n && coord->state->pass.active; i++) {
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

static bool expected_to_speak (const struct host *host)
{
    return host->life == HOST_JOINED;
}

static void watch_silence (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    const struct limits *limits = &coord->state->plan.limits;
    for (uint32_t i = 0; i < coord->state->plan.hosts.n; i++) {
        const struct host *host = &coord->state->hosts.items[i];
        const struct host_soft_state *link = &coord->soft.hosts[i];
        uint64_t now = coord_to_run_clock (coord, now_ms);
        uint64_t silent = now > link->received_ms ? now - link->received_ms : 0;
        if (!expected_to_speak (host) || silent < limits->suspect_ms)
            continue;
        if (silent >= limits->lost_ms) {
            char span[DURATION_TEXT_BYTES];
            loss_end_host (coord, i, text_format (&out->arena, "silent for %s", duration_print (silent, span)), now_ms,
                           out);
        } else if (!link->suspected) {
            struct fact *fact = outbox_add_fact (out, FACT_HOST_SUSPECTED);
            fact->of.host_suspected = (struct fact_host_suspected){ .host = i, .silent_ms = silent };
            coord_commit_fact (coord, fact, now_ms);
        }
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

void deadlines_check (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    watch_late (coord, now_ms, out);
    watch_joining (coord, now_ms, out);
    watch_silence (coord, now_ms, out);
    loss_stop_peers_when_due (coord, now_ms, out);
    watch_overdue (coord, now_ms, out);
    write_lease_check_expiry (coord, now_ms, out);
    acquire_check_timeout (coord, now_ms, out);
}

static uint64_t least (uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t deadlines_next (const struct coord *coord)
{
    uint64_t at = coord->soft.launch_late_ms;
    bool awaited = false;
    for (uint32_t i = 0; i < coord->state->plan.hosts.n; i++) {
        const struct host *host = &coord->state->hosts.items[i];
        const struct host_soft_state *link = &coord->soft.hosts[i];
        awaited |= host_is_awaited (coord, i);
        if (expected_to_speak (host))
            at = least (at, link->received_ms + (link->suspected ? coord->state->plan.limits.lost_ms
                                                                 : coord->state->plan.limits.suspect_ms));
    }
    if (awaited)
        at = least (at, join_by (coord));
    at = least (at, climb_retry_at (coord));
    if (!coord->state->pass.active)
        return at;
    bool unstopped = false, unkilled = false, unended = false;
    for (uint32_t i = 0; i < coord->state->pass.parts.n; i++) {
        const struct part *part = &coord->state->pass.parts.items[i];
        unended |= !part->ended;
        unstopped |= !part->ended && !coord->soft.parts[i].stopped;
        unkilled |= !part->ended && !coord->soft.parts[i].killed;
    }
    if (unstopped)
        at = least (at, loss_cascade_at (coord));
    if (unkilled)
        at = least (at, overdue_at (coord));
    if (unended)
        at = least (at, overdue_at (coord) + LATE_MS);
    return at;
}

/* What hosts said while this process stood still (stopped, or asleep) is not read yet: they were not silent. */
void deadlines_discount_sleep (struct coord *coord, uint64_t now_ms)
{
    uint64_t now = coord_to_run_clock (coord, now_ms), wanted = deadlines_next (coord);
    bool overslept = coord->soft.stepped_ms && now > wanted && now - wanted > OVERSLEPT_MS;
    uint64_t slept_ms = overslept ? now - coord->soft.stepped_ms : 0;
    for (uint32_t i = 0; i < coord->state->plan.hosts.n; i++)
        coord->soft.hosts[i].received_ms += slept_ms;
    coord->soft.slept_ms += slept_ms;
    coord->soft.pass_slept_ms += slept_ms;
    coord->soft.stepped_ms = now;
}

/* ---- what is told ---- */

/* What the climb waits for that no host of this run has to do. */
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

void deadlines_report_wait (struct coord *coord, uint64_t now_ms, struct outbox *out)
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
