/* member_current.c - the running attempt, with a writer's lease, and the pending RUN. */
#include "worker/core/member_state.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define STATE(s) (1u << (s))

/* From each state, the states it may move to. */
static const uint32_t current_moves[] = {
    [ATTEMPT_NONE] = STATE (ATTEMPT_RUNNING),
    [ATTEMPT_RUNNING] = STATE (ATTEMPT_AT_GATE) | STATE (ATTEMPT_STOPPING) | STATE (ATTEMPT_NONE),
    [ATTEMPT_AT_GATE] = STATE (ATTEMPT_RUNNING) | STATE (ATTEMPT_STOPPING) | STATE (ATTEMPT_NONE),
    [ATTEMPT_STOPPING] = STATE (ATTEMPT_NONE),
    [ATTEMPT_ENDED] = 0, /* an ended attempt is on the store, and the place is free */
};

static void current_move (struct member *member, enum attempt_state to)
{
    assert (current_moves[member->current.holding.state] & STATE (to));
    member->current.holding.state = to;
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
    holding->gate = holding->gate_value = (struct text){ 0 };
    holding->gate_mode = GATE_NONE;
    arena_reset (&member->current.gate_arena);
}

static void current_start (struct member *member, struct member_outbox *out)
{
    assert (current_alive (member) && !member->current.started);
    struct msg *copy = member_outbox_copy_msg (out, &member->current.run);
    member_outbox_add (out, MEMBER_START)->msg = copy;
    member->current.started = true;
}

/* Ends an attempt that never started, for which no program will report an end. */
static void end_unstarted (struct member *member, enum ending ending, struct text why, uint64_t now_ms,
                           struct member_outbox *out)
{
    const struct holding *holding = &member->current.holding;
    struct result result = {
        .key = holding->key, .ending = ending, .phase = holding->phase, .problem = text_clip (why, SENTENCE_MAX_BYTES)
    };
    current_see_end (member, &result, now_ms, out);
}

void current_begin (struct member *member, const struct msg *msg, uint64_t now_ms, struct member_outbox *out)
{
    assert (!current_alive (member) && !pending_results_full (&member->pending_results));
    member->current.holding = (struct holding){ .key = msg->of.run.key, .phase_ms = now_ms };
    member->current.hard = member->current.started = false;
    current_move (member, ATTEMPT_RUNNING);
    pending_results_note_seen (&member->pending_results, &msg->of.run.key);
    member->current.run = *msg;
    arena_reset (&member->current.run_arena);
    record_copy (msg_record_of_kind (MSG_RUN), &member->current.run.of, &msg->of, &member->current.run_arena);
    const struct cache_access *cache = &msg->of.run.cache;
    if (cache->role != CACHE_ROLE_WRITER) {
        current_start (member, out);
        return;
    }
    lease_client_want (&member->lease_client, cache->token, cache->lease_ms);
    current_see_phase (member, TEXT_LIT ("lease"), now_ms);
    if (!cache->token)
        end_unstarted (member, ENDING_NOT_STARTED,
                       TEXT_LIT ("the coordinator named no generation for this host to write"), now_ms, out);
}

void current_begin_pending (struct member *member, uint64_t now_ms, struct member_outbox *out)
{
    if (!member->pending || current_alive (member) || pending_results_full (&member->pending_results) ||
        member->link == LINK_LEAVING)
        return;
    member->pending = false; /* first: it may be over at once */
    current_begin (member, &member->pending_msg, now_ms, out);
    arena_reset (&member->pending_arena);
}

void current_stop (struct member *member, bool hard, enum ending ending, struct text why, uint64_t now_ms,
                   struct member_outbox *out)
{
    if (!current_alive (member))
        return;
    if (!member->current.started) {
        end_unstarted (member, ending, why, now_ms, out);
        return;
    }
    bool stopping = member->current.holding.state == ATTEMPT_STOPPING;
    if (stopping && (member->current.hard || !hard))
        return;
    if (!stopping)
        current_move (member, ATTEMPT_STOPPING); /* kept: the result names this gate as the reason */
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
    struct pending_result *held = pending_results_put (&member->pending_results, result);
    struct result *copy = member_outbox_copy_result (out, result);
    member_outbox_add (out, MEMBER_KEEP)->result = copy;
    if (member->link == LINK_JOINED || (member->link == LINK_LEAVING && member->session))
        member_send_result (held, now_ms, out);
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
    member_hasten_heartbeat (member, now_ms);
}

void current_see_phase (struct member *member, struct text phase, uint64_t now_ms)
{
    if (!current_alive (member))
        return;
    struct holding *holding = &member->current.holding;
    arena_reset (&member->current.phase_arena);
    holding->phase = text_copy (&member->current.phase_arena, phase);
    holding->phase_ms = now_ms;
    member_hasten_heartbeat (member, now_ms);
}

void current_see_stand (struct member *member, struct text stand, uint64_t now_ms)
{
    if (!current_alive (member))
        return;
    struct holding *holding = &member->current.holding;
    arena_reset (&member->current.stand_arena);
    holding->stand = text_copy (&member->current.stand_arena, text_clip (stand, STAND_MAX_BYTES));
    holding->stand_ms = now_ms;
    member_hasten_heartbeat (member, now_ms);
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
    member_hasten_heartbeat (member, now_ms);
}

static bool writes (const struct member *member)
{
    return current_alive (member) && member->lease_client.token;
}

static struct text why_lost (const struct member *member, struct arena *arena)
{
    const char *started = member->current.started ? "the program was stopped" : "no program was started";
    const char *how = member->lease_client.refused
                          ? "was refused: the coordinator ended it or gave it to another host"
                          : "expired: no answer came in time; check whether this host reaches the coordinator";
    return text_format (arena, "the lease to write generation %" PRIu64 " of the cache %s; %s",
                        member->lease_client.token, how, started);
}

/* A program that failed by itself keeps its failure; a success without the lease becomes LEASE_LOST. */
static void judge_end (struct member *member, struct result *result, uint64_t now_ms, struct member_outbox *out)
{
    if (!writes (member) || !lease_client_must_stop (&member->lease_client, now_ms))
        return;
    result->seal = (struct seal){ 0 };
    if (result_ended_badly (result))
        return;
    result->ending = ENDING_LEASE_LOST;
    if (!result->problem.len)
        result->problem = why_lost (member, &out->arena);
}

void current_see_end (struct member *member, const struct result *result, uint64_t now_ms, struct member_outbox *out)
{
    assert (current_is (member, &result->key));
    struct result told = *result;
    judge_end (member, &told, now_ms, out);
    lease_client_drop (&member->lease_client);
    current_move (member, ATTEMPT_NONE);
    forget_gate (member);
    current_keep (member, now_ms, &told, out);
    member->current.holding.phase = (struct text){ 0 };
    current_begin_pending (member, now_ms, out);
}

/* ---- its lease ---- */

void member_stop_without_lease (struct member *member, uint64_t now_ms, struct member_outbox *out)
{
    if (writes (member) && lease_client_must_stop (&member->lease_client, now_ms) && !member->current.hard)
        current_stop (member, true, ENDING_LEASE_LOST, why_lost (member, &out->arena), now_ms, out);
}

void member_start_with_lease (struct member *member, uint64_t now_ms, struct member_outbox *out)
{
    if (writes (member) && !member->current.started && lease_client_may_write (&member->lease_client, now_ms))
        current_start (member, out);
}

/* ---- results that are not acknowledged ---- */

static void held_destroy (struct pending_result *held)
{
    arena_release (&held->arena);
    mem_free (held);
}

void pending_results_release (struct pending_results *pending_results)
{
    for (uint32_t i = 0; i < pending_results->held_n; i++)
        held_destroy (pending_results->held[i]);
    pending_results->held_n = 0;
}

bool pending_results_full (const struct pending_results *pending_results)
{
    return pending_results->held_n == HELD_MAX;
}

struct pending_result *pending_results_put (struct pending_results *pending_results, const struct result *result)
{
    assert (!pending_results_full (pending_results) && !pending_results_find (pending_results, &result->key));
    struct pending_result *held = mem_alloc (sizeof *held);
    record_copy (&result_record, &held->result, result, &held->arena);
    pending_results->held[pending_results->held_n++] = held;
    pending_results_note_seen (pending_results, &result->key);
    return held;
}

struct pending_result *pending_results_find (const struct pending_results *pending, const struct attempt_key *key)
{
    for (uint32_t i = 0; i < pending->held_n; i++)
        if (attempt_key_equal (&pending->held[i]->result.key, key))
            return pending->held[i];
    return NULL;
}

bool pending_results_drop (struct pending_results *pending, const struct attempt_key *key)
{
    for (uint32_t at = 0; at < pending->held_n; at++)
        if (attempt_key_equal (&pending->held[at]->result.key, key)) {
            held_destroy (pending->held[at]);
            memmove (&pending->held[at], &pending->held[at + 1], (--pending->held_n - at) * sizeof pending->held[0]);
            return true;
        }
    return false;
}

void pending_results_note_seen (struct pending_results *pending_results, const struct attempt_key *key)
{
    if (pending_results_has_seen (pending_results, key))
        return;
    pending_results->seen[pending_results->seen_next] = *key;
    pending_results->seen_next = (pending_results->seen_next + 1) % SEEN_MAX;
    pending_results->seen_n += pending_results->seen_n < SEEN_MAX;
}

bool pending_results_has_seen (const struct pending_results *pending_results, const struct attempt_key *key)
{
    for (uint32_t i = 0; i < pending_results->seen_n; i++)
        if (attempt_key_equal (&pending_results->seen[i], key))
            return true;
    return false;
}
