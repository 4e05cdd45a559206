/* member_current.c - the attempt whose program is alive, and the one that waits for it to be gone. */
#include "worker/core/member_state.h"

#include <assert.h>

enum { BEAT_APART_MS = 20 }; /* a change is told at once, a storm of changes is not */

#define STATE(s) (1u << (s))

/* From each state, the states it may move to. */
static const uint32_t current_moves[] = {
    [ATTEMPT_NONE] = STATE (ATTEMPT_RUNNING),
    [ATTEMPT_RUNNING] = STATE (ATTEMPT_AT_GATE) | STATE (ATTEMPT_STOPPING) | STATE (ATTEMPT_NONE),
    [ATTEMPT_AT_GATE] = STATE (ATTEMPT_RUNNING) | STATE (ATTEMPT_STOPPING) | STATE (ATTEMPT_NONE),
    [ATTEMPT_STOPPING] = STATE (ATTEMPT_NONE),
    [ATTEMPT_ENDED] = 0,        /* an ended attempt is on the shelf, and the place is free */
};

static void current_move (struct member *member, enum attempt_state to)
{
    assert (current_moves[member->current.holding.state] & STATE (to));
    member->current.holding.state = to;
}

void member_hurry (struct member *member, uint64_t now_ms)
{
    uint64_t earliest_ms = member->beaten_ms + BEAT_APART_MS;
    if (earliest_ms < now_ms)
        earliest_ms = now_ms;
    if (earliest_ms < member->beat_at_ms)
        member->beat_at_ms = earliest_ms;
}

bool current_alive (const struct member *member)
{
    return member->current.holding.state != ATTEMPT_NONE;
}

bool current_is (const struct member *member, const struct attempt_key *key)
{
    return current_alive (member) && attempt_key_equal (&member->current.holding.key, key);
}

void current_forget_pending (struct member *member)
{
    member->pending = false;
    arena_reset (&member->pending_arena);
}

static void forget_gate (struct member *member)
{
    struct holding *holding = &member->current.holding;
    holding->gate = holding->gate_value = (struct text) { 0 };
    holding->gate_mode = GATE_NONE;
    arena_reset (&member->current.gate_arena);
}

void current_begin (struct member *member, const struct msg *msg, uint64_t now_ms, struct member_outbox *out)
{
    assert (!current_alive (member) && !shelf_full (&member->shelf));
    member->current.holding = (struct holding) { .key = msg->of.run.key, .phase_ms = now_ms };
    member->current.hard = false;
    current_move (member, ATTEMPT_RUNNING);
    shelf_see (&member->shelf, &msg->of.run.key);
    struct msg *copy = member_outbox_msg (out, msg);
    member_outbox_add (out, MEMBER_START)->msg = copy;
}

void current_begin_pending (struct member *member, uint64_t now_ms, struct member_outbox *out)
{
    if (!member->pending || current_alive (member) || shelf_full (&member->shelf) || member->link == LINK_LEAVING)
        return;
    current_begin (member, &member->pending_msg, now_ms, out);
    current_forget_pending (member);
}

void current_stop (struct member *member, bool hard, enum ending ending, struct text why, struct member_outbox *out)
{
    if (!current_alive (member))
        return;
    bool stopping = member->current.holding.state == ATTEMPT_STOPPING;
    if (stopping && (member->current.hard || !hard))
        return;
    if (!stopping) {
        current_move (member, ATTEMPT_STOPPING);
        forget_gate (member);
    }
    member->current.hard = hard;
    struct text reason = text_copy (&out->arena, why);
    struct member_effect *effect = member_outbox_add (out, MEMBER_STOP);
    effect->hard = hard;
    effect->ending = ending;
    effect->text = reason;
}

static void current_keep (struct member *member, uint64_t now_ms, const struct result *result,
                          struct member_outbox *out)
{
    struct held *held = shelf_put (&member->shelf, result);
    struct result *copy = member_outbox_result (out, result);
    member_outbox_add (out, MEMBER_KEEP)->result = copy;
    if (member->link == LINK_JOINED || (member->link == LINK_LEAVING && member->session))
        member_say_result (held, now_ms, out);
}

void current_pass_gate (struct member *member, struct text gate, struct text value, uint64_t now_ms,
                        struct member_outbox *out)
{
    struct holding *holding = &member->current.holding;
    if (holding->state != ATTEMPT_AT_GATE || !text_equal (holding->gate, gate))
        return;
    struct text name = text_copy (&out->arena, gate), answer = text_copy (&out->arena, value);
    struct member_effect *effect = member_outbox_add (out, MEMBER_GO);
    effect->text = name;
    effect->value = answer;
    current_move (member, ATTEMPT_RUNNING);
    forget_gate (member);
    member_hurry (member, now_ms);
}

void current_see_phase (struct member *member, struct text phase, uint64_t now_ms)
{
    if (!current_alive (member))
        return;
    struct holding *holding = &member->current.holding;
    arena_reset (&member->current.phase_arena);
    holding->phase = text_copy (&member->current.phase_arena, phase);
    holding->phase_ms = now_ms;
    member_hurry (member, now_ms);
}

void current_see_gate (struct member *member, const struct member_input *in, uint64_t now_ms)
{
    struct holding *holding = &member->current.holding;
    if (holding->state != ATTEMPT_RUNNING)
        return;
    current_move (member, ATTEMPT_AT_GATE);
    holding->gate = text_copy (&member->current.gate_arena, in->text);
    holding->gate_value = text_copy (&member->current.gate_arena, in->gate_value);
    holding->gate_mode = in->gate_mode;
    member_hurry (member, now_ms);
}

void current_see_end (struct member *member, const struct result *result, uint64_t now_ms, struct member_outbox *out)
{
    assert (current_is (member, &result->key));
    current_move (member, ATTEMPT_NONE);
    forget_gate (member);
    member->current.holding.phase = (struct text) { 0 };
    current_keep (member, now_ms, result, out);
    current_begin_pending (member, now_ms, out);
}
