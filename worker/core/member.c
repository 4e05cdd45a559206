/* member.c - see member.h. Two states change independently: the link to the coordinator and the one running attempt. */
#include "worker/core/member_state.h"

#include <assert.h>

enum {
    HELLO_EVERY_MS = 1000,
    HEARTBEAT_DEFAULT_MS = 1000,
    EXIT_UNWELCOMED_MS = 5 * 60 * 1000, /* a worker that was never welcomed has nothing to lose */
    LEAVE_MS = 15 * 1000,               /* how long a leaving worker waits for the end of its killed program */
    LEAVE_POLITE_MAX_MS = 60 * 1000,    /* and until the kill: a signal's sender does not wait for a long limits.stop */
    CLOCK_READ_MS = 2,                  /* what whole milliseconds of five readings of clocks are wrong at most */
};

#define STATE(s) (1u << (s))

/* From each state, the states it may move to. */
static const uint32_t link_moves[] = { [LINK_NONE] = STATE (LINK_JOINING),
                                       [LINK_JOINING] = STATE (LINK_JOINED) | STATE (LINK_LEAVING),
                                       [LINK_JOINED] = STATE (LINK_JOINING) | STATE (LINK_LEAVING),
                                       [LINK_LEAVING] = STATE (LINK_LEFT),
                                       [LINK_LEFT] = 0 };

static void link_move (struct member *member, enum link_state to)
{
    assert (link_moves[member->link] & STATE (to));
    member->link = to;
}

static uint64_t member_after (uint64_t from_ms, uint64_t wait_ms)
{
    return wait_ms ? from_ms + wait_ms : UINT64_MAX; /* a limit of 0 is no limit */
}

static uint64_t exit_at_ms (const struct member *member)
{
    return member->welcomed ? member_after (member->received_ms, member->limits.exit_ms)
                            : member->received_ms + EXIT_UNWELCOMED_MS;
}

static uint64_t orphan_at_ms (const struct member *member)
{
    bool waits = current_alive (member) && member->current.holding.state != ATTEMPT_STOPPING;
    return waits && member->welcomed ? member_after (member->received_ms, member->limits.orphan_ms) : UINT64_MAX;
}

/* ---- the link ---- */

static void rejoin (struct member *member, uint64_t now_ms)
{
    if (member->link == LINK_JOINED)
        link_move (member, LINK_JOINING);
    member->session = 0;
    member->seen_seq = 0;
    member->hello_at_ms = now_ms;
    current_forget_pending (member); /* its coordinator may want something else by now */
}

static void member_leave (struct member *member, bool hard, enum ending ending, struct text why, uint64_t now_ms,
                          struct member_outbox *out)
{
    if (member->link == LINK_LEFT)
        return;
    if (member->link != LINK_LEAVING) {
        link_move (member, LINK_LEAVING);
        member->why = text_copy (&member->arena, why);
        uint64_t polite_ms = hard ? 0 : least_u64 (member->limits.stop_ms, LEAVE_POLITE_MAX_MS / 2) * 2;
        member->leave_by_ms = now_ms + polite_ms + LEAVE_MS;
    }
    current_forget_pending (member);
    current_stop (member, hard, ending, why, now_ms, out);
}

static void leave_when_alone (struct member *member, uint64_t now_ms, struct member_outbox *out)
{
    if (member->link != LINK_LEAVING || (current_alive (member) && now_ms < member->leave_by_ms))
        return;
    if (member->session)
        member_send_bye (member, out);
    link_move (member, LINK_LEFT);
    struct text why = text_copy (&out->arena, member->why);
    member_outbox_add (out, MEMBER_EXIT)->text = why;
}

/* ---- messages ---- */

/* Remembered for a coordinator that lost its journal; messages tell only durable facts. */
static void member_note_told (struct member *member, const struct msg *msg)
{
    uint64_t index = msg_recorded_index (msg);
    if (msg->epoch < member->told_epoch || (msg->epoch == member->told_epoch && index <= member->told_index) || !index)
        return;
    member->told_epoch = msg->epoch;
    member->told_index = index;
}

/* The coordinator read its clock at some time of the round trip. The shortest one of its epoch tells most. */
static void note_clock (struct member *member, const struct msg_welcome *welcome, bool fresh, uint64_t now_ms)
{
    uint64_t half_ms = (now_ms - welcome->asked_ms) / 2, error_ms = half_ms + CLOCK_READ_MS;
    if (!welcome->asked_ms || !welcome->wall_ms || welcome->asked_ms > now_ms ||
        (member->clock_error_ms && !fresh && error_ms > member->clock_error_ms))
        return;
    member->clock_error_ms = error_ms;
    member->clock_ahead_ms = (int64_t) (welcome->wall_ms + half_ms - now_ms);
}

static void receive_welcome (struct member *member, const struct msg *msg, uint64_t now_ms, struct member_outbox *out)
{
    const struct msg_welcome *welcome = &msg->of.welcome;
    bool newer = msg->epoch > member->epoch || msg->session > member->session;
    bool refresh = msg->session == member->session && msg->seq > member->seen_seq;
    if (!msg->session || member->link == LINK_LEAVING || (member->link == LINK_JOINED && !newer && !refresh))
        return;
    bool fresh = member->link == LINK_JOINING || newer;
    if (member->link == LINK_JOINING)
        link_move (member, LINK_JOINED);
    member->epoch = msg->epoch;
    member->session = msg->session;
    member->seen_seq = msg->seq;
    member->heartbeat_ms = welcome->heartbeat_ms ? welcome->heartbeat_ms : HEARTBEAT_DEFAULT_MS;
    member->limits = welcome->limits;
    member->welcomed = true;
    member_note_told (member, msg);
    note_clock (member, welcome, fresh, now_ms);
    if (!fresh)
        return;
    lease_client_ask_again (&member->lease_client); /* who hears a session anew does not answer what was asked before */
    for (uint32_t i = 0; i < member->pending_results.held_n; i++)
        member_send_result (member->pending_results.held[i], now_ms, out);
    member->beat_at_ms = now_ms;
}

static void receive_run (struct member *member, const struct msg *msg, uint64_t now_ms, struct member_outbox *out)
{
    const struct attempt_key *key = &msg->of.run.key;
    struct pending_result *held = pending_results_find (&member->pending_results, key);
    if (held)
        member_send_result (held, now_ms, out);
    if (current_is (member, key))
        member_hasten_heartbeat (member, now_ms);
    if (pending_results_has_seen (&member->pending_results, key) || member->link != LINK_JOINED)
        return;
    current_forget_pending (member);
    /* The coordinator gave up the old attempt. Its evidence is still useful, so it ends politely and reports. */
    current_stop (member, false, ENDING_CANCELLED, TEXT_LIT ("the coordinator sent another attempt"), now_ms, out);
    if (!current_alive (member) && !pending_results_full (&member->pending_results)) {
        current_begin (member, msg, now_ms, out);
        return;
    }
    member->pending = true;
    member->pending_msg = *msg;
    record_copy (msg_record_of_kind (MSG_RUN), &member->pending_msg.of, &msg->of, &member->pending_arena);
}

static void receive_go (struct member *member, const struct msg *msg, uint64_t now_ms, struct member_outbox *out)
{
    const struct msg_go *go = &msg->of.go;
    if (current_is (member, &go->key))
        current_pass_gate (member, go->gate, go->value, now_ms, out);
}

static void receive_cancel (struct member *member, const struct msg *msg, uint64_t now_ms, struct member_outbox *out)
{
    const struct msg_cancel *cancel = &msg->of.cancel;
    if (member->pending && attempt_key_equal (&member->pending_msg.of.run.key, &cancel->key))
        current_forget_pending (member);
    if (current_is (member, &cancel->key))
        current_stop (member, cancel->hard, ENDING_CANCELLED, cancel->why, now_ms, out);
    member_hasten_heartbeat (member, now_ms);
}

static void receive_look (struct member *member, const struct msg *msg, struct member_outbox *out)
{
    if (current_is (member, &msg->of.look.key) && member->current.started &&
        member->current.holding.state == ATTEMPT_RUNNING)
        member_outbox_add (out, MEMBER_LOOK);
}

static void receive_ack (struct member *member, const struct msg *msg, uint64_t now_ms, struct member_outbox *out)
{
    const struct result named = { .key = msg->of.ack_result.key };
    if (!pending_results_drop (&member->pending_results, &named.key))
        return;
    struct result *copy = member_outbox_copy_result (out, &named);
    member_outbox_add (out, MEMBER_FORGET)->result = copy;
    current_begin_pending (member, now_ms, out);
}

static void receive_in_session (struct member *member, const struct msg *msg, uint64_t now_ms,
                                struct member_outbox *out)
{
    const struct msg_lease *lease = &msg->of.lease;
    if (!member->session || msg->session != member->session || msg->seq <= member->seen_seq)
        return;
    member->seen_seq = msg->seq;
    member_note_told (member, msg);
    switch (msg->kind) {
    case MSG_RUN: receive_run (member, msg, now_ms, out); break;
    case MSG_GO: receive_go (member, msg, now_ms, out); break;
    case MSG_CANCEL: receive_cancel (member, msg, now_ms, out); break;
    case MSG_RESULT_ACK: receive_ack (member, msg, now_ms, out); break;
    case MSG_LOOK: receive_look (member, msg, out); break;
    case MSG_LEASE:
        lease_client_receive (&member->lease_client, lease->token, lease->ask, lease->term_ms, now_ms);
        break;
    default: break; /* kinds that only a worker may send */
    }
}

/* The HELLO of a process that died may be read after it: then its answer comes to the next one of the host. */
static bool is_for_us (const struct member *member, const struct msg_welcome *welcome)
{
    return !welcome->pid || (welcome->pid == member->pid && welcome->pid_start == member->pid_start);
}

static void member_receive (struct member *member, const struct msg *msg, uint64_t now_ms, struct member_outbox *out)
{
    /* Ignores other runs, and older epochs, whose coordinators were replaced. */
    if (!text_equal (msg->run_id, member->run_id) || msg->epoch < member->epoch || msg_is_from_worker (msg->kind))
        return;
    if (msg->kind == MSG_REFUSE) { /* its bytes never change: it is valid in any version, session and number */
        member_leave (member, true, ENDING_CANCELLED, msg->of.refuse.why, now_ms, out);
        return;
    }
    if (msg->major != PROTOCOL_MAJOR)
        return;
    member->received_ms = now_ms;
    if (msg->kind == MSG_WELCOME) {
        if (is_for_us (member, &msg->of.welcome))
            receive_welcome (member, msg, now_ms, out);
        return;
    }
    if (msg->kind == MSG_SHUTDOWN) { /* for all sessions: a run that is over stays over */
        member_leave (member, true, ENDING_CANCELLED, msg->of.shutdown.why, now_ms, out);
        return;
    }
    bool replaced = msg->epoch > member->epoch;
    member->epoch = msg->epoch;
    if (replaced || msg->kind == MSG_REHELLO) {
        if (member->link == LINK_JOINED || (member->link == LINK_JOINING && replaced))
            rejoin (member, now_ms);
        return;
    }
    receive_in_session (member, msg, now_ms, out);
}

/* ---- time ---- */

static void pass_time (struct member *member, uint64_t now_ms, struct member_outbox *out)
{
    if (now_ms >= orphan_at_ms (member)) {
        current_stop (member, true, ENDING_ORPHANED, TEXT_LIT ("the coordinator was silent for too long"), now_ms, out);
        member_hasten_heartbeat (member, now_ms);
    }
    if (now_ms >= exit_at_ms (member))
        member_leave (member, true, ENDING_ORPHANED, TEXT_LIT ("the coordinator was silent for too long"), now_ms, out);
    if (member->link == LINK_JOINING && now_ms >= member->hello_at_ms) {
        member_send_hello (member, now_ms, out);
        member->hello_at_ms = now_ms + HELLO_EVERY_MS;
    }
    if (member->link != LINK_JOINED || now_ms < member_beat_at_ms (member))
        return;
    member_send_heartbeat (member, now_ms, out);
    member->beaten_ms = now_ms;
    member->beat_at_ms = now_ms + member->heartbeat_ms;
    /* Half a beat, so that a result sent just before this beat does not go twice. */
    for (uint32_t i = 0; i < member->pending_results.held_n; i++)
        if (now_ms - member->pending_results.held[i]->sent_ms >= member->heartbeat_ms / 2)
            member_send_result (member->pending_results.held[i], now_ms, out);
}

static void take_in (struct member *member, const struct member_input *in, uint64_t now_ms, struct member_outbox *out)
{
    switch (in->kind) {
    case MEMBER_TICK: break;
    case MEMBER_MSG: member_receive (member, in->msg, now_ms, out); break;
    case MEMBER_PHASE: current_see_phase (member, in->text, now_ms); break;
    case MEMBER_GATE: current_see_gate (member, in, now_ms); break;
    case MEMBER_STAND: current_see_stand (member, in->text, now_ms); break;
    case MEMBER_ENDED: current_see_end (member, in->result, now_ms, out); break;
    case MEMBER_LEAVE: member_leave (member, member->link == LINK_LEAVING, in->ending, in->text, now_ms, out); break;
    }
}

void member_step (struct member *member, const struct member_input *in, uint64_t now_ms, struct member_outbox *out)
{
    if (member->link == LINK_LEFT)
        return;
    if (!member->stepped) {
        member->stepped = true;
        member->received_ms = member->hello_at_ms = now_ms;
    }
    if (in->kind != MEMBER_ENDED) /* then nothing is left to stop, and current_see_end checks the lease */
        member_stop_without_lease (member, now_ms, out);
    take_in (member, in, now_ms, out);
    member_stop_without_lease (member, now_ms, out);
    member_start_with_lease (member, now_ms, out);
    pass_time (member, now_ms, out);
    leave_when_alone (member, now_ms, out);
}

uint64_t member_deadline_ms (const struct member *member)
{
    if (!member->stepped)
        return 0;
    if (member->link == LINK_LEFT)
        return UINT64_MAX;
    uint64_t stop_ms = lease_client_stop_at_ms (&member->lease_client);
    if (member->link == LINK_LEAVING)
        return least_u64 (stop_ms, member->leave_by_ms);
    uint64_t speak_ms = member->link == LINK_JOINED ? member_beat_at_ms (member) : member->hello_at_ms;
    return least_u64 (least_u64 (speak_ms, stop_ms), least_u64 (orphan_at_ms (member), exit_at_ms (member)));
}

/* ---- life ---- */

struct member *member_create (struct text host, struct text run_id, struct text version, uint64_t pid,
                              uint64_t pid_start, struct text boot_id)
{
    assert (run_id.len == RUN_ID_BYTES);
    struct member *member = mem_alloc (sizeof *member);
    member->host = text_copy (&member->arena, host);
    member->run_id = text_copy (&member->arena, run_id);
    member->version = text_copy (&member->arena, version);
    member->boot_id = text_copy (&member->arena, boot_id);
    member->pid = pid;
    member->pid_start = pid_start;
    member->heartbeat_ms = HEARTBEAT_DEFAULT_MS;
    link_move (member, LINK_JOINING);
    return member;
}

void member_destroy (struct member *member)
{
    if (!member)
        return;
    pending_results_release (&member->pending_results);
    arena_release (&member->pending_arena);
    arena_release (&member->current.run_arena);
    arena_release (&member->current.gate_arena);
    arena_release (&member->current.phase_arena);
    arena_release (&member->current.stand_arena);
    arena_release (&member->arena);
    mem_free (member);
}

void member_recall (struct member *member, const struct result *result)
{
    assert (!member->stepped);
    if (!pending_results_full (&member->pending_results) &&
        !pending_results_find (&member->pending_results, &result->key))
        pending_results_put (&member->pending_results, result);
}

uint64_t member_epoch (const struct member *member)
{
    return member->epoch;
}

uint64_t member_session (const struct member *member)
{
    return member->session;
}

uint64_t member_seen_seq (const struct member *member)
{
    return member->seen_seq;
}

const struct limits *member_limits (const struct member *member)
{
    return &member->limits;
}

struct clock_offset member_clock_offset (const struct member *member, uint64_t now_ms, uint64_t wall_ms)
{
    struct clock_offset offset = { (int64_t) (wall_ms - now_ms) - member->clock_ahead_ms, member->clock_error_ms };
    int64_t told_ms = 4 * (int64_t) offset.error_ms; /* an error that is a small part of it */
    if (told_ms && (offset.ms > told_ms || offset.ms < -told_ms))
        return offset;
    return (struct clock_offset){ 0, offset.error_ms < CLOCK_OFF_MS ? offset.error_ms : 0 };
}
