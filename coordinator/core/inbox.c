/* inbox.c - handles workers' messages, one function a kind; inbox_handle_message decides which are valid in which
 * state. * Nothing here waits for an answer: a worker repeats its state with every heartbeat, and each is compared with
 * what the coordinator wants. Lost messages are then sent again. */
#include "coordinator/core/steps.h"

#include "coordinator/verdict/agree.h"

/* ---- gate ---- */

/* Gates, where the hosts of a slice-wide program wait for each other. */

enum { GO_AGAIN_MS = 1000 };

static struct gate_arrivals *queue_of (struct coord *coord, const struct holding *held)
{
    struct soft_state *soft = &coord->soft;
    for (uint32_t i = 0; i < soft->gates_n; i++)
        if (text_equal (held->gate, soft->gates[i].name))
            return &soft->gates[i];
    if (soft->gates_n == GATES_MAX || coord->state->pass.gates.n == GATES_MAX || held->gate.len > WORD_MAX_BYTES)
        return NULL;
    struct gate_arrivals *queue = &soft->gates[soft->gates_n++];
    *queue = (struct gate_arrivals){ .name = text_copy (&soft->pass_arena, held->gate), .mode = held->gate_mode };
    queue->values = arena_array (&soft->pass_arena, coord->state->pass.parts.n, sizeof (struct text));
    return queue;
}

static void send_go (struct coord *coord, uint32_t at, struct text gate, struct text value, uint64_t now_ms,
                     struct outbox *out)
{
    uint32_t host = coord->state->pass.parts.items[at].host;
    struct msg *msg = coord_add_message (coord, host, MSG_GO, out);
    msg->of.go = (struct msg_go){ .key = coord->state->pass.key, .gate = gate, .value = value };
    coord->soft.hosts[host].go_sent_ms = coord_to_run_clock (coord, now_ms);
}

/* `told`: the reason for the stopped hosts. */
static void stop_pass (struct coord *coord, const struct fact_pass_stopped *why, struct text told, uint64_t now_ms,
                       struct outbox *out)
{
    struct fact *fact = outbox_add_fact (out, FACT_PASS_STOPPED);
    fact->of.pass_stopped = *why;
    fact->of.pass_stopped.key = coord->state->pass.key;
    fact->of.pass_stopped.owner = OWNER_PROGRAM;
    coord_commit_fact (coord, fact, now_ms);
    stop_all_parts (coord, false, told, now_ms, out);
}

/* Without a majority no program is known to be right: then all hosts differ. */
static void refuse_gate (struct coord *coord, const struct gate_arrivals *gate, uint32_t agreed, uint64_t now_ms,
                         struct outbox *out)
{
    uint32_t all = coord->state->pass.parts.n, same = majority_count_equal (gate->values, all, agreed), n = 0;
    uint32_t *culprits = arena_array (&out->arena, all, sizeof (*culprits));
    for (uint32_t i = 0; i < all; i++)
        if (same * 2 <= all || !text_equal (gate->values[i], gate->values[agreed]))
            culprits[n++] = coord->state->pass.parts.items[i].host;
    struct fact_pass_stopped why = { .culprits = { culprits, n } };
    why.cause =
        n == all ? text_format (&out->arena,
                                "at gate %.*s the programs or flags of the %u hosts differ, and most hosts share none; "
                                "stopped, as devices would hang",
                                TEXT_ARG (gate->name), all)
                 : text_format (&out->arena,
                                "at gate %.*s its program or flags differ from those of %u of %u hosts; stopped, as "
                                "devices would hang",
                                TEXT_ARG (gate->name), same, all);
    why.next = TEXT_LIT ("compare the arguments, flags and versions of this host with those of the other hosts");
    stop_pass (coord, &why, TEXT_LIT ("the programs or flags of the hosts differ"), now_ms, out);
}

static void open_gate (struct coord *coord, struct gate_arrivals *gate, uint64_t now_ms, struct outbox *out)
{
    uint32_t agreed = gate->mode == GATE_AGREE ? majority_index (gate->values, coord->state->pass.parts.n) : 0;
    if (gate->mode == GATE_AGREE &&
        majority_count_equal (gate->values, coord->state->pass.parts.n, agreed) < coord->state->pass.parts.n) {
        if (!coord->state->pass.stopped)
            refuse_gate (coord, gate, agreed, now_ms, out);
        return;
    }
    struct fact *fact = outbox_add_fact (out, FACT_GATE_OPENED);
    fact->of.gate_opened =
        (struct fact_gate_opened){ .key = coord->state->pass.key, .gate = gate->name, .value = gate->values[agreed] };
    coord_commit_fact (coord, fact, now_ms);
    for (uint32_t i = 0; i < coord->state->pass.parts.n; i++)
        if (!coord->state->pass.parts.items[i].ended)
            send_go (coord, i, gate->name, gate->values[agreed], now_ms, out);
}

/* Did the part end well without reaching the gate at which others wait? */
static bool passed_it_by (const struct coord *coord, const struct gate_arrivals *gate, uint32_t at)
{
    const struct part *part = &coord->state->pass.parts.items[at];
    return part->ended && gate->values[at].ptr == NULL && !result_ended_badly (&part->result);
}

static bool passed_by (const struct coord *coord, const struct gate_arrivals *gate)
{
    for (uint32_t i = 0; i < coord->state->pass.parts.n && coord->state->pass.ended_n; i++)
        if (passed_it_by (coord, gate, i))
            return true;
    return false;
}

static void refuse_absence (struct coord *coord, const struct gate_arrivals *gate, uint64_t now_ms, struct outbox *out)
{
    uint32_t *culprits = arena_array (&out->arena, coord->state->pass.parts.n, sizeof (*culprits)), n = 0;
    for (uint32_t i = 0; i < coord->state->pass.parts.n; i++)
        if (passed_it_by (coord, gate, i))
            culprits[n++] = coord->state->pass.parts.items[i].host;
    struct fact_pass_stopped why = { .culprits = { culprits, n } };
    why.cause = text_format (&out->arena, "its program ended before gate %.*s, where the other hosts waited",
                             TEXT_ARG (gate->name));
    why.next = TEXT_LIT ("compare the program and arguments of this host with those of the other hosts");
    stop_pass (coord, &why, TEXT_LIT ("another host's program ended before the gate"), now_ms, out);
}

static void arrive (struct coord *coord, struct gate_arrivals *gate, uint32_t at, const struct holding *held)
{
    if (gate->values[at].ptr != NULL)
        return;
    if (gate->arrived_n == 0 || held->gate_mode == GATE_AGREE)
        gate->mode = held->gate_mode; /* one host that asks for agreement suffices */
    gate->values[at] = text_copy (&coord->soft.pass_arena, held->gate_value);
    if (gate->values[at].ptr == NULL)
        gate->values[at].ptr = ""; /* arrived, with nothing to share */
    gate->arrived_n++;
}

/* `part` waits at the gate of `held`; its worker repeats this. */
static void gate_arrive (struct coord *coord, uint32_t at, const struct holding *held, uint64_t now_ms,
                         struct outbox *out)
{
    const struct pass_state *pass = &coord->state->pass;
    const struct gate *open = gate_find_opened (pass, held->gate);
    if (parts_are_independent (coord)) {
        send_go (coord, at, held->gate, held->gate_value, now_ms, out);
        return;
    }
    if (open) {
        if (coord_to_run_clock (coord, now_ms) >=
            coord->soft.hosts[pass->parts.items[at].host].go_sent_ms + GO_AGAIN_MS)
            send_go (coord, at, open->name, open->value, now_ms, out);
        return;
    }
    struct gate_arrivals *gate = queue_of (coord, held);
    if (gate == NULL)
        return; /* more gates than allowed: the attempt's timeout ends it */
    arrive (coord, gate, at, held);
    if (gate->arrived_n == pass->parts.n)
        open_gate (coord, gate, now_ms, out);
    else if (!pass->stopped && passed_by (coord, gate))
        refuse_absence (coord, gate, now_ms, out);
    else
        loss_stop_waiting_peers (coord, now_ms, out);
}

/* ---- inbox ---- */

enum {
    RESEND_MS = 2000,     /* an order that no heartbeat shows after this is sent again */
    JOINS_MAX = 16,       /* of one host under one coordinator */
    RETURNS_MAX = 64,     /* of one host, that are recorded */
    STILL_HERE_MS = 5000, /* sends WELCOME again to an idle worker, which silence would orphan */
    SAID_PER_ORPHAN = 4,  /* at least this often within the orphan limit, so that a lost message does not matter */
    BEAT_MS = 1000,
    BEATS_PER_SUSPECT = 2, /* a timely heartbeat is no silence */
};

static bool same_incarnation (const struct host *host, const struct msg_hello *hello)
{
    return host->pid == hello->pid && host->pid_start == hello->pid_start;
}

/* Why another process speaks for the host now. No two boots of a kernel have the same id (random(4), boot_id). */
static struct text rebirth (const struct host *host, const struct msg_hello *hello)
{
    bool known = host->boot_id.len && hello->boot_id.len;
    return known && !text_equal (hello->boot_id, host->boot_id) ? TEXT_LIT ("the host was rebooted during the run")
                                                                : TEXT_LIT ("its worker was restarted during the run");
}

static uint64_t beat_ms (const struct limits *limits)
{
    uint64_t most_ms = limits->suspect_ms / BEATS_PER_SUSPECT, ask_ms = lease_ask_ms (limits->lease_ms);
    if (!most_ms || most_ms > BEAT_MS)
        most_ms = BEAT_MS;
    return ask_ms && ask_ms < most_ms ? ask_ms : most_ms;
}

static uint64_t still_here_ms (const struct limits *limits)
{
    uint64_t most_ms = limits->orphan_ms / SAID_PER_ORPHAN;
    return most_ms && most_ms < STILL_HERE_MS ? most_ms : STILL_HERE_MS; /* a limit of 0 is no limit */
}

static void send_welcome (struct coord *coord, uint32_t host, struct outbox *out)
{
    struct msg *msg = coord_add_message (coord, host, MSG_WELCOME, out);
    msg->of.welcome.heartbeat_ms = beat_ms (&coord->state->plan.limits);
    msg->of.welcome.limits = coord->state->plan.limits;
    msg->of.welcome.asked_ms = coord->soft.hosts[host].own_ms;
    msg->of.welcome.pid = coord->state->hosts.items[host].pid;
    msg->of.welcome.pid_start = coord->state->hosts.items[host].pid_start;
}

/* A worker that runs counts a beat each period, also those that are lost, and sends each with its time. What waited in the
 * way comes with an early time; so does what a machine sends whose clock stood still with it. */
static enum silence silence_of (const struct coord *coord, uint32_t host, uint64_t beat, uint64_t own_ms,
                                uint64_t silent_ms)
{
    const struct host_soft_state *link = &coord->soft.hosts[host];
    if (!link->beat || !link->own_ms || beat <= link->beat || own_ms < link->own_ms)
        return SILENCE_NONE;
    uint64_t passed_ms = own_ms - link->own_ms, period_ms = beat_ms (&coord->state->plan.limits);
    uint64_t beats = least_u64 (beat - link->beat, passed_ms / period_ms + 1);
    if ((beats - 1) * period_ms >= silent_ms / 2)
        return SILENCE_CUT_OFF;
    return passed_ms >= silent_ms / 2 + beats * period_ms ? SILENCE_STOOD : SILENCE_LATE;
}

/* `beat` 0: of a HELLO. Returns are limited, so that a host that comes and goes does not fill the journal. */
static void note_heard (struct coord *coord, uint32_t host, uint64_t beat, uint64_t own_ms, uint64_t now_ms,
                        struct outbox *out)
{
    struct host_soft_state *link = &coord->soft.hosts[host];
    uint64_t now = coord_to_run_clock (coord, now_ms),
             silent_ms = now > link->received_ms ? now - link->received_ms : 0;
    if (link->suspected && coord->state->hosts.items[host].returns < RETURNS_MAX) {
        struct fact *fact = outbox_add_fact (out, FACT_HOST_RETURNED);
        fact->of.host_suspected = (struct fact_host_suspected){ host, silent_ms,
                                                                silence_of (coord, host, beat, own_ms, silent_ms) };
        coord_commit_fact (coord, fact, now_ms);
    }
    link->beat = beat;
    link->own_ms = own_ms;
}

/* ---- comparing what a worker holds with what is wanted ---- */

static void acknowledge (struct coord *coord, uint32_t host, const struct attempt_key *key, struct outbox *out)
{
    coord_add_message (coord, host, MSG_RESULT_ACK, out)->of.ack_result.key = *key;
}

static void dismiss (struct coord *coord, uint32_t host, const struct holding *held, struct outbox *out)
{
    if (held->state == ATTEMPT_ENDED) {
        acknowledge (coord, host, &held->key, out); /* recorded or given up: the worker need not keep it */
        return;
    }
    struct msg *msg = coord_add_message (coord, host, MSG_CANCEL, out);
    msg->of.cancel = (struct msg_cancel){ .key = held->key, .hard = true, .why = TEXT_LIT ("this attempt is over") };
}

void inbox_handle_undeliverable (struct coord *coord, const struct core_input *in, uint64_t now_ms, struct outbox *out)
{
    const struct pass_state *pass = &coord->state->pass;
    uint32_t at = pass->active && attempt_key_equal (&in->key, &pass->key) ? coord->soft.part_of_host[in->host] : NONE;
    if (at == NONE || pass->parts.items[at].ended)
        return;
    loss_end_attempt (coord, in->host, ENDING_NOT_STARTED, in->text, now_ms, out);
    loss_stop_waiting_peers (coord, now_ms, out);
}

/* A lost RUN of a writer must be sent again while its lease lives. */
static uint64_t run_again_ms (const struct coord *coord)
{
    uint64_t ask_ms = lease_ask_ms (coord->soft.lease.term_ms);
    return coord->state->granted && ask_ms < RESEND_MS ? ask_ms : RESEND_MS;
}

/* An attempt before it lives on, though its worker was told to kill it: for longer than killing it and reading the rest of
 * its output may take, or when the others' time ran out while they waited for this host. */
static bool never_begins (const struct coord *coord, uint32_t host, bool stop, uint64_t now)
{
    enum { KILL_MS = 3 * LATE_MS };
    const struct pass_state *pass = &coord->state->pass;
    uint64_t since_ms = coord->soft.hosts[host].dismissed_ms;
    bool awaited = !stop && !parts_are_independent (coord) && pass->failing && !pass->failed_in_time;
    return since_ms > 0 && now > since_ms && (awaited || now >= since_ms + KILL_MS);
}

static void end_unbegun (struct coord *coord, uint32_t host, const struct holding *before, uint64_t now_ms,
                         struct outbox *out)
{
    struct text rung = before->key.rung < coord->state->plan.rungs.n
                           ? coord->state->plan.rungs.items[before->key.rung].id
                           : TEXT_LIT ("?");
    loss_end_attempt (coord, host, ENDING_LOST,
                      text_format (&out->arena,
                                   "it did not begin: attempt %u of rung %.*s still runs there, though its worker was "
                                   "told to kill it",
                                   (unsigned) before->key.attempt, TEXT_ARG (rung)),
                      now_ms, out);
    loss_stop_waiting_peers (coord, now_ms, out);
}

/* `before`: an earlier attempt that has not ended there, or NULL. */
static void reconcile_part (struct coord *coord, uint32_t at, const struct holding *held, const struct holding *before,
                            uint64_t now_ms, struct outbox *out)
{
    const struct part *part = &coord->state->pass.parts.items[at];
    const struct host_soft_state *link = &coord->soft.hosts[part->host];
    uint64_t now = coord_to_run_clock (coord, now_ms);
    coord->soft.parts[at].at_gate = link->at_gate;
    /* Decisions from before a restart still hold, because they are durable; sent messages are not. */
    bool stop = coord->soft.parts[at].stopped || coord->state->cancel_level > 0 || coord->state->pass.stopped;
    if (held == NULL && before != NULL && never_begins (coord, part->host, stop, now)) {
        end_unbegun (coord, part->host, before, now_ms, out);
        return;
    }
    if (held == NULL && now < link->run_sent_ms + (stop ? RESEND_MS : run_again_ms (coord)))
        return;
    if (held == NULL && stop)
        loss_end_attempt (coord, part->host, ENDING_CANCELLED,
                          TEXT_LIT ("the attempt was stopped before its program started"), now_ms, out);
    else if (held == NULL)
        run_message_send (coord, at, now_ms, out);
    else if (held->state == ATTEMPT_AT_GATE && !stop)
        gate_arrive (coord, at, held, now_ms, out);
    if (held != NULL && stop && held->state != ATTEMPT_ENDED && now >= link->stop_sent_ms + RESEND_MS)
        stop_part (coord, at, coord->state->cancel_level > 1 || coord->soft.parts[at].killed, TEXT_LIT ("told to stop"),
                   now_ms, out);
}

static void inbox_receive (struct coord *coord, uint32_t host, const struct holding *items, uint32_t n, uint64_t now_ms,
                           struct outbox *out)
{
    struct fact *fact = outbox_add_fact (out, FACT_HOST_REPORTED);
    fact->of.host_reported.host = host;
    fact->of.host_reported.holdings.items = (struct holding *) items;
    fact->of.host_reported.holdings.n = n;
    coord_commit_fact (coord, fact, now_ms);

    const struct pass_state *pass = &coord->state->pass;
    uint32_t at = pass->active ? coord->soft.part_of_host[host] : NONE;
    bool wanted = at != NONE && !pass->parts.items[at].ended;
    const struct holding *held = NULL, *before = NULL;
    for (uint32_t i = 0; i < n; i++) {
        if (wanted && attempt_key_equal (&items[i].key, &pass->key))
            held = &items[i];
        else
            dismiss (coord, host, &items[i], out);
        if (held != &items[i] && items[i].state != ATTEMPT_ENDED)
            before = &items[i];
    }
    uint64_t *dismissed_ms = &coord->soft.hosts[host].dismissed_ms;
    *dismissed_ms = before == NULL ? 0 : *dismissed_ms ? *dismissed_ms : coord_to_run_clock (coord, now_ms);
    if (wanted)
        reconcile_part (coord, at, held, before, now_ms, out);
    if (coord->soft.clock_ms >= coord->soft.hosts[host].sent_ms + still_here_ms (&coord->state->plan.limits))
        send_welcome (coord, host, out);
}

static bool inbox_holds (const struct msg_hello *hello, const struct attempt_key *key)
{
    for (uint32_t i = 0; i < hello->holdings.n; i++)
        if (attempt_key_equal (&hello->holdings.items[i].key, key))
            return true;
    return false;
}

/* Each new process of a worker is a durable fact, so restarts are limited, else they would fill the journal. */
static void take_hello (struct coord *coord, uint32_t host, const struct msg *msg, uint64_t now_ms, struct outbox *out)
{
    const struct msg_hello *hello = &msg->of.hello;
    const struct host *state = &coord->state->hosts.items[host];
    bool again = state->life == HOST_JOINED && state->joined_epoch == coord->state->epoch &&
                 same_incarnation (state, hello);
    struct text why = rebirth (state, hello); /* before what is known of it changes */
    if (!again && state->joined_epoch == coord->state->epoch && state->joins >= JOINS_MAX) {
        if (!host_is_lost (coord, host))
            loss_end_host (coord, host, TEXT_LIT ("new worker processes keep joining for this host"), now_ms, out);
        return;
    }
    if (!again) {
        struct fact *fact = outbox_add_fact (out, FACT_HOST_JOINED);
        fact->of.host_joined = (struct fact_host_joined){ .host = host,
                                                          .session = coord->state->next_index,
                                                          .version = hello->version,
                                                          .boot_id = hello->boot_id,
                                                          .pid = hello->pid,
                                                          .pid_start = hello->pid_start };
        coord_commit_fact (coord, fact, now_ms);
    }
    coord->soft.hosts[host].seen_seq = 0; /* it counts anew from its WELCOME */
    note_heard (coord, host, 0, hello->asked_ms, now_ms, out);
    send_welcome (coord, host, out);
    /* Now, or under a coordinator that died before it recorded the end of the attempt. */
    if (state->reborn_at > coord->state->pass.began_at && !inbox_holds (hello, &coord->state->pass.key))
        loss_end_running_attempt (coord, host, why, now_ms, out);
    inbox_receive (coord, host, hello->holdings.items, hello->holdings.n, now_ms, out);
}

/* ---- results ---- */

static void note_conflict (struct coord *coord, uint32_t host, uint64_t now_ms, struct outbox *out)
{
    struct fact *fact = outbox_add_fact (out, FACT_CONFLICT_SEEN);
    fact->of.conflict_seen = (struct fact_conflict_seen){ .host = host, .key = coord->state->pass.key };
    coord_commit_fact (coord, fact, now_ms);
}

static void take_result (struct coord *coord, uint32_t host, const struct msg *msg, uint64_t now_ms, struct outbox *out)
{
    const struct result *result = &msg->of.result;
    const struct pass_state *pass = &coord->state->pass;
    uint32_t at = pass->active && attempt_key_equal (&result->key, &pass->key) ? coord->soft.part_of_host[host] : NONE;
    if (at == NONE) { /* of an ended pass: it does not count any more */
        acknowledge (coord, host, &result->key, out);
        return;
    }
    struct part *part = &pass->parts.items[at];
    if (!part->ended) {
        struct fact *fact = outbox_add_fact (out, FACT_ATTEMPT_ENDED);
        fact->of.attempt_ended = (struct fact_attempt_ended){
            .host = host, .result = *result, .told = true, .at_gate = coord->soft.hosts[host].at_gate
        };
        fact->of.attempt_ended.result.encoded = msg->body;
        write_lease_note_result (coord, host, result);
        coord_commit_fact (coord, fact, now_ms);
        acknowledge (coord, host, &result->key, out);
        if (result_ended_badly (result))
            loss_stop_waiting_peers (coord, now_ms, out);
        return;
    }
    /* Not told before: it was given up, and a late result is no conflict. */
    if (part->told && !part->conflict && !record_equal (&result_record, &part->result, result))
        note_conflict (coord, host, now_ms, out);
    acknowledge (coord, host, &result->key, out);
}

void inbox_handle_message (struct coord *coord, uint32_t host, const struct msg *msg, uint64_t now_ms,
                           struct outbox *out)
{
    const struct host *state = &coord->state->hosts.items[host];
    if (coord->state->ended) {
        coord_add_message (coord, host, MSG_SHUTDOWN, out)->of.shutdown.why = TEXT_LIT ("the run is over");
        return;
    }
    if (state->left == LEFT_ABSENT) {
        coord_add_message (coord, host, MSG_SHUTDOWN, out)->of.shutdown.why = TEXT_LIT (
            "the run went on without this host");
        return;
    }
    if (journal_loss_detect (coord, host, msg, now_ms, out))
        return;
    if (msg->kind == MSG_HELLO) {
        take_hello (coord, host, msg, now_ms, out);
        return;
    }
    if (state->life != HOST_JOINED || state->joined_epoch != coord->state->epoch || msg->session != state->session) {
        coord_add_message (coord, host, MSG_REHELLO, out);
        return;
    }
    if (msg->seq <= coord->soft.hosts[host].seen_seq)
        return; /* repeated or overtaken by a later message */
    coord->soft.hosts[host].seen_seq = msg->seq;
    switch (msg->kind) {
    case MSG_HEARTBEAT:
        write_lease_answer_heartbeat (coord, host, &msg->of.heartbeat, now_ms, out);
        note_heard (coord, host, msg->of.heartbeat.beat, msg->of.heartbeat.asked_ms, now_ms, out);
        inbox_receive (coord, host, msg->of.heartbeat.holdings.items, msg->of.heartbeat.holdings.n, now_ms, out);
        break;
    case MSG_RESULT: take_result (coord, host, msg, now_ms, out); break;
    case MSG_BYE: /* it leaves while it is needed */
        loss_end_host (coord, host, text_format (&out->arena, "its worker left: %.*s", TEXT_ARG (msg->of.bye.why)),
                       now_ms, out);
        break;
    default: break; /* the driver lets only workers' kinds through; logs never come here */
    }
}
