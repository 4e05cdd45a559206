/* member_send.c - the messages a member sends, and when the next heartbeat is due. */
#include <assert.h>

#include "worker/core/member_state.h"

enum { STAND_TOLD_MS = 5000 }; /* long enough that lost heartbeats do not matter */
enum { BEAT_APART_MS = 20 };   /* a change is sent at once, but many changes are not */

/* The same words for HELLO and HEARTBEAT: the coordinator compares them with what it wants. */
static uint32_t holdings_of (const struct member *member, uint64_t now_ms, struct holding *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < member->pending_results.held_n; i++) {
        const struct result *result = &member->pending_results.held[i]->result;
        out[n++] = (struct holding){ .key = result->key, .state = ATTEMPT_ENDED, .phase = result->phase };
    }
    const struct holding *current = &member->current.holding;
    if (current->state != ATTEMPT_NONE) {
        out[n] = *current;
        out[n].phase_ms = now_ms - current->phase_ms; /* kept as an instant, told as a duration */
        out[n].stand_ms = now_ms - current->stand_ms;
        if (!current->stand.len || out[n].stand_ms > STAND_TOLD_MS) {
            out[n].stand = (struct text){ 0 };
            out[n].stand_ms = 0;
        }
        n++;
    }
    assert (n <= HELD_MAX);
    return n;
}

static void send_msg (struct member_outbox *out, const struct msg *msg)
{
    struct msg *copy = member_outbox_copy_msg (out, msg);
    member_outbox_add (out, MEMBER_SEND)->msg = copy;
}

void member_send_hello (struct member *member, uint64_t now_ms, struct member_outbox *out)
{
    struct holding holdings[HELD_MAX];
    struct msg msg = { .kind = MSG_HELLO };
    struct msg_hello *hello = &msg.of.hello;
    hello->host = member->host;
    hello->version = member->version;
    hello->pid = member->pid;
    hello->pid_start = member->pid_start;
    hello->boot_id = member->boot_id;
    hello->told_epoch = member->told_epoch;
    hello->told_index = member->told_index;
    hello->asked_ms = now_ms;
    hello->holdings.items = holdings;
    hello->holdings.n = holdings_of (member, now_ms, holdings);
    send_msg (out, &msg);
}

void member_send_heartbeat (struct member *member, uint64_t now_ms, struct member_outbox *out)
{
    struct holding holdings[HELD_MAX];
    struct msg msg = { .kind = MSG_HEARTBEAT };
    msg.of.heartbeat.beat = ++member->beat;
    msg.of.heartbeat.asked_ms = now_ms;
    msg.of.heartbeat.lease_ask = lease_client_begin_ask (&member->lease_client, now_ms);
    msg.of.heartbeat.lease_token = msg.of.heartbeat.lease_ask ? member->lease_client.token : 0;
    msg.of.heartbeat.holdings.items = holdings;
    msg.of.heartbeat.holdings.n = holdings_of (member, now_ms, holdings);
    send_msg (out, &msg);
}

void member_send_result (struct pending_result *held, uint64_t now_ms, struct member_outbox *out)
{
    struct msg msg = { .kind = MSG_RESULT, .of.result = held->result };
    send_msg (out, &msg);
    held->sent_ms = now_ms;
}

void member_send_bye (struct member *member, struct member_outbox *out)
{
    struct msg msg = { .kind = MSG_BYE, .of.bye.why = member->why };
    send_msg (out, &msg);
}

/* ---- when the next heartbeat is due ---- */

void member_hasten_heartbeat (struct member *member, uint64_t now_ms)
{
    uint64_t earliest_ms = member->beaten_ms + BEAT_APART_MS;
    if (earliest_ms < now_ms)
        earliest_ms = now_ms;
    if (earliest_ms < member->beat_at_ms)
        member->beat_at_ms = earliest_ms;
}

uint64_t member_beat_at_ms (const struct member *member)
{
    uint64_t ask_at_ms = lease_client_ask_at_ms (&member->lease_client),
             earliest_ms = member->beaten_ms + BEAT_APART_MS;
    if (ask_at_ms < earliest_ms)
        ask_at_ms = earliest_ms;
    return ask_at_ms < member->beat_at_ms ? ask_at_ms : member->beat_at_ms;
}

/* ---- the effects of one step, in order ---- */

void member_outbox_init (struct member_outbox *out)
{
    *out = (struct member_outbox){ 0 };
    arena_init (&out->arena);
}

void member_outbox_clear (struct member_outbox *out)
{
    out->n = 0;
    arena_reset (&out->arena);
}

void member_outbox_release (struct member_outbox *out)
{
    mem_free (out->items);
    arena_release (&out->arena);
    *out = (struct member_outbox){ 0 };
}

struct member_effect *member_outbox_add (struct member_outbox *out, enum member_effect_kind kind)
{
    out->items = mem_room (out->items, out->n, &out->capacity, 8, sizeof out->items[0]);
    struct member_effect *effect = &out->items[out->n++];
    *effect = (struct member_effect){ .kind = kind };
    return effect;
}

/* Copied, because a later step can drop a held result while the outbox is still performed. */
struct result *member_outbox_copy_result (struct member_outbox *out, const struct result *result)
{
    struct result *copy = arena_alloc (&out->arena, sizeof *copy);
    record_copy (&result_record, copy, result, &out->arena);
    return copy;
}

struct msg *member_outbox_copy_msg (struct member_outbox *out, const struct msg *msg)
{
    struct msg *copy = arena_copy (&out->arena, msg, sizeof *msg);
    const struct record *body = msg_record_of_kind (msg->kind);
    if (body)
        record_copy (body, &copy->of, &msg->of, &out->arena);
    return copy;
}
