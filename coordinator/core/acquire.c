#include "coordinator/core/steps.h"

#include <assert.h>

#include "common/base/duration.h"

enum {
    ANSWER_MS = 10 * 60 * 1000, /* a catalogue that answers no sooner hangs with its storage; looking over a large root
                                   on a slow one is part of an answer */
    AUDIT_MS = 60 * 1000,       /* the answer is not waited for longer than this; the missing audit is recorded */
};

static void move (struct coord *coord, enum acquisition_event event)
{
    bool legal = acquisition_next (coord->soft.acquisition, event, &coord->soft.acquisition);
    assert (legal);
    (void) legal;
}

/* ---- questions ---- */

static void acquire_find (struct coord *coord, enum acquisition_event event, uint64_t now_ms, struct outbox *out)
{
    move (coord, event);
    coord->soft.answer_by_ms = now_ms + ANSWER_MS;
    struct effect *effect = outbox_add_effect (out, FX_CACHE_FIND);
    effect->text = cache_family_name (coord, &out->arena);
    effect->covers = cache_family_all_covers (coord, &out->arena);
}

static void acquire_audit (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    move (coord, ACQUISITION_AUDIT);
    coord->soft.answer_by_ms = now_ms + AUDIT_MS;
    struct effect *effect = outbox_add_effect (out, FX_CACHE_AUDIT);
    effect->text = coord->state->bundle;
    effect->storage = coord->state->storage;
}

static void acquire_ask (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    move (coord, ACQUISITION_ASK);
    coord->soft.answer_by_ms = now_ms + ANSWER_MS;
    write_lease_ask_token (coord, now_ms, out);
}

bool acquire_audited_generation (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    switch (coord->soft.acquisition) {
    case ACQUISITION_UNKNOWN: acquire_find (coord, ACQUISITION_FIND, now_ms, out); return false;
    case ACQUISITION_FOUND: acquire_audit (coord, now_ms, out); return false;
    case ACQUISITION_READY:
    case ACQUISITION_ASKING:
    case ACQUISITION_OWNED:
    case ACQUISITION_LOOKING: return true;
    default: return false;
    }
}

bool acquire_final_audit (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    if (coord->soft.acquisition == ACQUISITION_FOUND)
        acquire_audit (coord, now_ms, out);
    return coord->soft.acquisition != ACQUISITION_AUDITING;
}

static bool waited_too_long (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    if (!write_lease_waited_too_long (coord, now_ms))
        return false;
    acquire_give_up (
        coord,
        text_format (&out->arena,
                     "other runs have held the lease to write this cache for an hour; run %.*s holds it now and is "
                     "alive; next: wait until that run ends, or give this run another cache.root",
                     TEXT_ARG (coord->soft.lease_owner.run)),
        now_ms, out);
    return true;
}

void acquire_writer_grant (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    bool ready = coord->soft.acquisition == ACQUISITION_READY, owned = coord->soft.acquisition == ACQUISITION_OWNED;
    coord->soft.wants_token = true;
    if ((!ready && !owned) || waited_too_long (coord, now_ms, out))
        return;
    if (ready && write_lease_is_free (coord, now_ms))
        acquire_ask (coord, now_ms, out);
    else if (owned && now_ms >= coord->soft.ask_again_ms)
        acquire_find (coord, ACQUISITION_LOOK, now_ms, out); /* the other run may have published what this rung needs */
}

void acquire_give_up (struct coord *coord, struct text problem, uint64_t now_ms, struct outbox *out)
{
    move (coord, ACQUISITION_FAIL);
    stop_climb (coord, OUTCOME_BLOCKED,
                text_format (&out->arena, "could not use the compile cache: %.*s", TEXT_ARG (problem)), now_ms, out);
}

/* ---- answers; one that is not awaited any more changes nothing here ---- */

static void adopt (struct coord *coord, const struct fact_generation *found, uint64_t now_ms, struct outbox *out)
{
    struct fact *fact = outbox_add_fact (out, FACT_GENERATION_ADOPTED);
    if (found)
        fact->of.generation = *found;
    fact->of.generation.bundle = cache_family_name (coord, &out->arena);
    coord_commit_fact (coord, fact, now_ms);
}

void acquire_receive_generation (struct coord *coord, const struct core_input *in, uint64_t now_ms, struct outbox *out)
{
    bool looking = coord->soft.acquisition == ACQUISITION_LOOKING;
    if (!looking && coord->soft.acquisition != ACQUISITION_FINDING)
        return;
    if (!in->generation && in->text.len && coord->state->plan.cache.mode == CACHE_READ_ONLY) {
        acquire_give_up (coord, in->text, now_ms, out); /* a writer learns it when it asks for a token */
        return;
    }
    if (looking && (!in->generation || in->generation->token <= coord->state->generation.token ||
                    in->generation->token <= coord->state->misfit)) {
        move (coord, ACQUISITION_NOTHING_NEW);
        return;
    }
    move (coord, ACQUISITION_ANSWER);
    adopt (coord, in->generation, now_ms, out);
}

void acquire_receive_audit (struct coord *coord, const struct core_input *in, uint64_t now_ms, struct outbox *out)
{
    if (coord->soft.acquisition == ACQUISITION_AUDITING)
        move (coord, ACQUISITION_AUDITED);
    violation_record_audit (coord, in, now_ms, out);
}

void acquire_receive_token (struct coord *coord, const struct core_input *in, uint64_t now_ms, struct outbox *out)
{
    if (coord->soft.acquisition != ACQUISITION_ASKING) {
        if (in->token)
            write_lease_return_token (in->token, out); /* other runs need not wait for it */
        return;
    }
    if (in->token) {
        move (coord, ACQUISITION_GRANTED);
        write_lease_grant (coord, in->token, now_ms, out);
    } else if (in->lease_owner.token) {
        move (coord, ACQUISITION_TAKEN);
        write_lease_note_owner (coord, &in->lease_owner, now_ms);
    } else {
        acquire_give_up (coord, in->text, now_ms, out);
    }
}

/* ---- time ---- */

bool acquire_is_pending (const struct coord *coord)
{
    enum acquisition now = coord->soft.acquisition;
    return now == ACQUISITION_FINDING || now == ACQUISITION_ASKING || now == ACQUISITION_LOOKING;
}

void acquire_check_timeout (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    char span[DURATION_TEXT_BYTES];
    if (now_ms < acquire_deadline_ms (coord))
        return;
    if (coord->soft.acquisition == ACQUISITION_AUDITING) {
        move (coord, ACQUISITION_AUDITED);
        finding_record_unaudited (coord, TEXT_LIT ("the storage did not answer in time"), now_ms, out);
        return;
    }
    acquire_give_up (coord,
                     text_format (&out->arena,
                                  "its catalogue under %.*s could not be read within %s; next: check that storage",
                                  TEXT_ARG (coord->state->plan.cache.root), duration_print (ANSWER_MS, span)),
                     now_ms, out);
}

uint64_t acquire_deadline_ms (const struct coord *coord)
{
    bool asked = acquire_is_pending (coord) || coord->soft.acquisition == ACQUISITION_AUDITING;
    return asked ? coord->soft.answer_by_ms : UINT64_MAX;
}
