/* watch.c - every wait has a bound: silence, attempts that do not end, gates, peers of a host that fell. */
#include <inttypes.h>
#include <string.h>

#include "common/base/duration.h"
#include "coordinator/core/state.h"

enum { CLOSE_MS = 60000 }; /* sealing, or looking over what was read, may take as long as the program, and this at least */
enum { LATE_MS = 15000 }; /* beyond its own timeout and stop budget, a worker that still beats is told; then given up */
enum { OVERSLEPT_MS = 1000 }; /* as late as a busy machine wakes this process; later, and it was stopped itself */

void watch_stop_part (struct coord *coord, uint32_t at, bool hard, struct text why, uint64_t now_ms, struct outbox *out)
{
    struct part *part = &coord->pass.parts[at];
    if (part->ended)
        return;
    struct msg *msg = coord_say (coord, part->host, MSG_CANCEL, out);
    msg->of.cancel = (struct msg_cancel) { .key = coord->pass.key, .hard = hard, .why = why };
    part->stopped = true;
    part->killed |= hard;
    coord->hosts[part->host].stop_said_ms = coord_clock (coord, now_ms);
}

static void stop_all (struct coord *coord, bool hard, struct text why, uint64_t now_ms, struct outbox *out)
{
    for (uint32_t i = 0; i < coord->pass.n; i++)
        watch_stop_part (coord, i, hard, why, now_ms, out);
}

/* ---- a slice-wide program whose member fell: its peers cannot finish ---- */

static bool cascading (const struct coord *coord)
{
    return coord->pass.active && coord->pass.fell_ms != UINT64_MAX && !part_is_alone (coord);
}

void watch_fallen (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    if (!cascading (coord))
        return;
    for (uint32_t i = 0; i < coord->pass.n; i++) /* at a gate they wait for one that will not come */
        if (coord->pass.parts[i].at_gate && !coord->pass.parts[i].stopped)
            watch_stop_part (coord, i, false, TEXT_LIT ("a peer fell"), now_ms, out);
}

static uint64_t cascade_at (const struct coord *coord)
{
    return cascading (coord) ? coord->pass.fell_ms + coord->plan.limits.cascade_ms : UINT64_MAX;
}

static void watch_cascade (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    if (coord_clock (coord, now_ms) < cascade_at (coord))
        return;
    for (uint32_t i = 0; i < coord->pass.n; i++)
        if (!coord->pass.parts[i].stopped)
            watch_stop_part (coord, i, false, TEXT_LIT ("a peer fell"), now_ms, out);
}

/* ---- gates ---- */

static struct gate *gate_of (struct pass_state *pass, const struct holding *held)
{
    for (uint32_t i = 0; i < pass->gates_n; i++)
        if (text_is (held->gate, pass->gates[i].name))
            return &pass->gates[i];
    if (pass->gates_n == GATES_MAX || held->gate.len >= sizeof (pass->gates[0].name))
        return NULL;
    struct gate *gate = &pass->gates[pass->gates_n++];
    memcpy (gate->name, held->gate.ptr, held->gate.len);
    gate->values = arena_array (&pass->arena, pass->n, sizeof (struct text));
    gate->mode = held->gate_mode;
    return gate;
}

static void say_go (struct coord *coord, uint32_t at, const struct gate *gate, uint64_t now_ms, struct outbox *out)
{
    uint32_t host = coord->pass.parts[at].host;
    struct msg *msg = coord_say (coord, host, MSG_GO, out);
    msg->of.go = (struct msg_go) { .key = coord->pass.key, .gate = text_of (gate->name), .value = text_of (gate->value) };
    coord->hosts[host].go_said_ms = coord_clock (coord, now_ms);
}

/* How many parts said the same as part `at`. */
static uint32_t supporters (const struct coord *coord, const struct gate *gate, uint32_t at)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < coord->pass.n; i++)
        n += text_equal (gate->values[i], gate->values[at]);
    return n;
}

static uint32_t majority (const struct coord *coord, const struct gate *gate)
{
    uint32_t best = 0, most = 0;
    for (uint32_t i = 0; i < coord->pass.n && most * 2 <= coord->pass.n; i++) {
        uint32_t n = supporters (coord, gate, i);
        if (n > most) {
            most = n;
            best = i;
        }
    }
    return best;
}

static void refuse_gate (struct coord *coord, const struct gate *gate, uint32_t agreed, uint64_t now_ms, struct outbox *out)
{
    struct fact *fact = outbox_fact (out, FACT_PASS_STOPPED);
    struct fact_pass_stopped *stopped = &fact->of.pass_stopped;
    uint32_t *culprits = arena_array (&out->arena, coord->pass.n, sizeof (*culprits)), n = 0;
    for (uint32_t i = 0; i < coord->pass.n; i++)
        if (!text_equal (gate->values[i], gate->values[agreed]))
            culprits[n++] = coord->pass.parts[i].host;
    stopped->key = coord->pass.key;
    stopped->culprits.items = culprits;
    stopped->culprits.n = n;
    stopped->layer = LAYER_PROGRAM;
    stopped->cause = text_format (&out->arena, "at gate %s it would run another program than %u of %u hosts; stopped before the devices wait",
                                  gate->name, coord->pass.n - n, coord->pass.n);
    stopped->next = TEXT_LIT ("compare arguments, flags and versions of this host with the others");
    coord_commit (coord, fact, now_ms);
    stop_all (coord, false, TEXT_LIT ("hosts would run different programs"), now_ms, out);
}

static void open_gate (struct coord *coord, struct gate *gate, uint64_t now_ms, struct outbox *out)
{
    uint32_t agreed = gate->mode == GATE_AGREE ? majority (coord, gate) : 0;
    if (gate->mode == GATE_AGREE && supporters (coord, gate, agreed) < coord->pass.n) {
        if (!coord->pass.stopped)
            refuse_gate (coord, gate, agreed, now_ms, out);
        return;
    }
    struct fact *fact = outbox_fact (out, FACT_GATE_OPENED);
    fact->of.gate_opened = (struct fact_gate_opened) {
        .key = coord->pass.key, .gate = text_of (gate->name), .value = gate->values[agreed],
    };
    coord_commit (coord, fact, now_ms);
    for (uint32_t i = 0; i < coord->pass.n; i++)
        if (!coord->pass.parts[i].ended)
            say_go (coord, i, gate, now_ms, out);
}

static void let_through_alone (struct coord *coord, uint32_t at, const struct holding *held, uint64_t now_ms, struct outbox *out)
{
    uint32_t host = coord->pass.parts[at].host;
    struct msg *msg = coord_say (coord, host, MSG_GO, out);
    msg->of.go = (struct msg_go) { .key = coord->pass.key, .gate = held->gate, .value = held->gate_value };
    coord->hosts[host].go_said_ms = coord_clock (coord, now_ms);
}

/* A part that ended well without coming to the gate at which the others wait. */
static bool passed_it_by (const struct coord *coord, const struct gate *gate, uint32_t at)
{
    const struct part *part = &coord->pass.parts[at];
    return part->ended && gate->values[at].ptr == NULL && part->result.ending == ENDING_EXITED && part->result.code == 0;
}

static bool passed_by (const struct coord *coord, const struct gate *gate)
{
    for (uint32_t i = 0; i < coord->pass.n; i++)
        if (passed_it_by (coord, gate, i))
            return true;
    return false;
}

static void refuse_absence (struct coord *coord, const struct gate *gate, uint64_t now_ms, struct outbox *out)
{
    struct fact *fact = outbox_fact (out, FACT_PASS_STOPPED);
    struct fact_pass_stopped *stopped = &fact->of.pass_stopped;
    uint32_t *culprits = arena_array (&out->arena, coord->pass.n, sizeof (*culprits)), n = 0;
    for (uint32_t i = 0; i < coord->pass.n; i++)
        if (passed_it_by (coord, gate, i))
            culprits[n++] = coord->pass.parts[i].host;
    stopped->key = coord->pass.key;
    stopped->culprits.items = culprits;
    stopped->culprits.n = n;
    stopped->layer = LAYER_PROGRAM;
    stopped->cause = text_format (&out->arena, "ended without coming to gate %s, where the others waited", gate->name);
    stopped->next = TEXT_LIT ("compare its program and arguments with the others'");
    coord_commit (coord, fact, now_ms);
    stop_all (coord, false, TEXT_LIT ("a peer ended without coming to the gate"), now_ms, out);
}

void watch_gate (struct coord *coord, uint32_t at, const struct holding *held, uint64_t now_ms, struct outbox *out)
{
    struct pass_state *pass = &coord->pass;
    if (part_is_alone (coord)) {
        let_through_alone (coord, at, held, now_ms, out);
        return;
    }
    struct gate *gate = gate_of (pass, held);
    if (gate == NULL)
        return; /* more gates than allowed: the attempt's timeout ends it */
    if (gate->open) {
        if (coord_clock (coord, now_ms) >= coord->hosts[pass->parts[at].host].go_said_ms + 1000)
            say_go (coord, at, gate, now_ms, out);
        return;
    }
    if (gate->values[at].ptr == NULL) {
        if (gate->arrived_n == 0 || held->gate_mode == GATE_AGREE)
            gate->mode = held->gate_mode; /* who wants agreement is not overruled by one who does not */
        gate->values[at] = text_copy (&pass->arena, held->gate_value);
        if (gate->values[at].ptr == NULL)
            gate->values[at].ptr = ""; /* arrived, with nothing to share */
        gate->arrived_n++;
    }
    if (gate->arrived_n == pass->n)
        open_gate (coord, gate, now_ms, out);
    else if (!pass->stopped && passed_by (coord, gate))
        refuse_absence (coord, gate, now_ms, out);
    else
        watch_fallen (coord, now_ms, out);
}

/* ---- time ---- */

/* What a worker does about the cache beside the program: worker/io/attempt.c, begin_closing; and it waits for its lease. */
static uint64_t cache_ms (const struct coord *coord)
{
    uint64_t timeout_ms = coord->pass.timeout_ms, close_ms = timeout_ms > CLOSE_MS ? timeout_ms : CLOSE_MS;
    switch (coord->pass.key.pass) {
    case PASS_COLD: return close_ms + coord->plan.limits.lease_ms;
    case PASS_RESTORED: return close_ms;
    default: return 0;
    }
}

static uint64_t overdue_at (const struct coord *coord)
{
    const struct limits *limits = &coord->plan.limits;
    if (!coord->pass.active)
        return UINT64_MAX;
    uint64_t began_ms = coord->pass.began_ms + coord->pass.slept_ms;
    return began_ms + coord->pass.timeout_ms + 2 * limits->stop_ms + cache_ms (coord) + LATE_MS;
}

static void give_up_part (struct coord *coord, uint32_t at, uint64_t now_ms, struct outbox *out)
{
    struct fact *fact = outbox_fact (out, FACT_ATTEMPT_ENDED);
    fact->of.attempt_ended.host = coord->pass.parts[at].host;
    fact->of.attempt_ended.result = (struct result) {
        .key = coord->pass.key, .ending = ENDING_LOST,
        .problem = TEXT_LIT ("its worker beats, but never ended the attempt, even when told to kill it"),
    };
    coord_commit (coord, fact, now_ms);
}

static void watch_overdue (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    uint64_t at = overdue_at (coord), now = coord_clock (coord, now_ms);
    if (now < at)
        return;
    for (uint32_t i = 0; i < coord->pass.n && coord->pass.active; i++) {
        if (coord->pass.parts[i].ended)
            continue;
        if (now >= at + LATE_MS)
            give_up_part (coord, i, now_ms, out);
        else if (!coord->pass.parts[i].killed)
            watch_stop_part (coord, i, true, TEXT_LIT ("past every time limit"), now_ms, out);
    }
}

bool host_is_lost (const struct coord *coord, uint32_t host)
{
    return coord->hosts[host].life == HOST_LOST && coord->hosts[host].lost_epoch == coord->epoch;
}

static bool expected_to_speak (const struct host *host)
{
    return host->life == HOST_JOINED;
}

static void watch_silence (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    const struct limits *limits = &coord->plan.limits;
    for (uint32_t i = 0; i < coord->plan.hosts.n; i++) {
        struct host *host = &coord->hosts[i];
        uint64_t now = coord_clock (coord, now_ms);
        uint64_t silent = now > host->heard_ms ? now - host->heard_ms : 0;
        if (!expected_to_speak (host) || silent < limits->suspect_ms)
            continue;
        if (silent >= limits->lost_ms) {
            char span[DURATION_TEXT_BYTES];
            watch_lost (coord, i, text_format (&out->arena, "silent for %s", duration_print (silent, span)), now_ms, out);
        } else if (!host->suspected) {
            struct fact *fact = outbox_fact (out, FACT_HOST_SUSPECTED);
            fact->of.host_suspected = (struct fact_host_suspected) { .host = i, .silent_ms = silent };
            coord_commit (coord, fact, now_ms);
        }
    }
}

static uint64_t join_by (const struct coord *coord)
{
    return coord->climbing ? UINT64_MAX : coord->began_ms + coord->slept_ms + coord->plan.limits.join_ms;
}

static void watch_joining (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    if (coord_clock (coord, now_ms) < join_by (coord))
        return;
    char span[DURATION_TEXT_BYTES];
    duration_print (coord->plan.limits.join_ms, span);
    for (uint32_t i = 0; i < coord->plan.hosts.n; i++)
        if (coord->hosts[i].life != HOST_JOINED && !host_is_lost (coord, i))
            watch_lost (coord, i, text_format (&out->arena, "its worker did not join within %s", span), now_ms, out);
}

static void watch_late (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    if (coord_clock (coord, now_ms) < coord->launch_late_ms)
        return;
    coord->launch_late_ms = UINT64_MAX;
    launch_hosts (coord, HOST_KEYED, out);
}

void watch_time (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    watch_late (coord, now_ms, out);
    watch_joining (coord, now_ms, out);
    watch_silence (coord, now_ms, out);
    watch_cascade (coord, now_ms, out);
    watch_overdue (coord, now_ms, out);
    writing_watch (coord, now_ms, out);
    violation_watch (coord, now_ms, out);
    climb_watch (coord, now_ms, out);
}

static uint64_t least (uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t watch_deadline (const struct coord *coord)
{
    uint64_t at = coord->launch_late_ms;
    bool awaited = false;
    for (uint32_t i = 0; i < coord->plan.hosts.n; i++) {
        const struct host *host = &coord->hosts[i];
        awaited |= host->life != HOST_JOINED && !host_is_lost (coord, i);
        if (expected_to_speak (host))
            at = least (at, host->heard_ms + (host->suspected ? coord->plan.limits.lost_ms : coord->plan.limits.suspect_ms));
    }
    if (awaited)
        at = least (at, join_by (coord));
    at = least (at, climb_retry_at (coord));
    if (!coord->pass.active)
        return at;
    bool unstopped = false, unkilled = false, unended = false;
    for (uint32_t i = 0; i < coord->pass.n; i++) {
        const struct part *part = &coord->pass.parts[i];
        unended |= !part->ended;
        unstopped |= !part->ended && !part->stopped;
        unkilled |= !part->ended && !part->killed;
    }
    if (unstopped)
        at = least (at, cascade_at (coord));
    if (unkilled)
        at = least (at, overdue_at (coord));
    if (unended)
        at = least (at, overdue_at (coord) + LATE_MS);
    return at;
}

/* What hosts said while this process stood still (stopped, its machine asleep) is not read yet: it was not their silence. */
void watch_awake (struct coord *coord, uint64_t now_ms)
{
    uint64_t now = coord_clock (coord, now_ms), wanted = watch_deadline (coord);
    bool overslept = coord->stepped_ms && now > wanted && now - wanted > OVERSLEPT_MS;
    uint64_t slept_ms = overslept ? now - coord->stepped_ms : 0;
    for (uint32_t i = 0; i < coord->plan.hosts.n; i++)
        coord->hosts[i].heard_ms += slept_ms;
    coord->slept_ms += slept_ms;
    coord->pass.slept_ms += slept_ms;
    coord->stepped_ms = now;
}
