/* write_lease.c - who may write the cache now: the lease of this run's writer, the catalogue's lease among runs,
 * candidates.
 *
 * Times are the caller's `now_ms`, on a clock that counts suspend. The next process begins anew with lease_restart. */
#include "coordinator/core/steps.h"

#include <inttypes.h>

#include "common/base/duration.h"

enum { LEASE_OWNER_MAX_MS = 60 * 60 * 1000 }; /* a run that beats holds the lease for one cold pass at a time */

static uint64_t term_ms (const struct coord *coord)
{
    uint64_t term = coord->state->plan.limits.lease_ms;
    return term ? term : LEASE_TERM_MS;
}

uint32_t write_lease_candidate (const struct coord *coord)
{
    const struct cache_plan *cache = &coord->state->plan.cache;
    uint32_t lost = coord->state->rung < coord->state->plan.rungs.n
                        ? coord->state->rungs.items[coord->state->rung].leases_lost
                        : 0;
    uint32_t n = cache->writers.n ? cache->writers.n : 1;
    for (uint32_t i = 0; i < n; i++) {
        struct text name = cache->writers.n ? cache->writers.items[(lost + i) % n] : cache->writer;
        int rank = plan_host_rank (&coord->state->plan, name);
        if (takes_part (coord, rank < 0 ? 0 : (uint32_t) rank))
            return rank < 0 ? 0 : (uint32_t) rank;
    }
    return NONE;
}

void write_lease_resume (struct coord *coord, uint64_t now_ms)
{
    lease_init (&coord->soft.lease, term_ms (coord));
    if (coord->state->unreleased)
        lease_restart (&coord->soft.lease, coord->state->grant.token, coord->state->grant.host, now_ms);
}

/* ---- asking for a token ---- */

static bool lease_owner_is_silent (const struct coord *coord, uint64_t now_ms)
{
    return coord->soft.lease_owner.token && now_ms - coord->soft.lease_owner_beat_ms >=
                                                lease_grantor_ms (term_ms (coord)) + lease_delay_ms (term_ms (coord));
}

bool write_lease_is_free (const struct coord *coord, uint64_t now_ms)
{
    return now_ms >= coord->soft.ask_again_ms && lease_state (&coord->soft.lease, now_ms) == LEASE_FREE;
}

void write_lease_ask_token (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    struct effect *effect = outbox_add_effect (out, FX_TOKEN);
    effect->text = coord->state->bundle;
    effect->storage = coord->state->storage;
    effect->token = coord->state->grant.token > coord->state->generation.token ? coord->state->grant.token
                                                                               : coord->state->generation.token;
    if (lease_owner_is_silent (coord, now_ms))
        effect->lease_owner = coord->soft.lease_owner;
}

/* Another run writes: looks again for its generation, and measures how long its beat stands still. */
void write_lease_note_owner (struct coord *coord, const struct lease_owner *lease_owner, uint64_t now_ms)
{
    if (!coord->soft.lease_owner.token)
        coord->soft.lease_owner_since_ms = now_ms;
    if (coord->soft.lease_owner.token != lease_owner->token || coord->soft.lease_owner.beat != lease_owner->beat) {
        arena_reset (&coord->soft.lease_owner_arena);
        coord->soft.lease_owner = (struct lease_owner){ text_copy (&coord->soft.lease_owner_arena, lease_owner->run),
                                                        lease_owner->token, lease_owner->beat };
        coord->soft.lease_owner_beat_ms = now_ms;
    }
    coord->soft.ask_again_ms = now_ms + lease_ask_ms (term_ms (coord));
    coord->soft.reported_wait = (struct text){ 0 }; /* new watchers have not got it */
}

void write_lease_clear_owner (struct coord *coord)
{
    coord->soft.lease_owner = (struct lease_owner){ 0 };
}

bool write_lease_waited_too_long (const struct coord *coord, uint64_t now_ms)
{
    return coord->soft.lease_owner.token && now_ms - coord->soft.lease_owner_since_ms >= LEASE_OWNER_MAX_MS;
}

void write_lease_grant (struct coord *coord, uint64_t token, uint64_t now_ms, struct outbox *out)
{
    write_lease_clear_owner (coord);
    struct fact *fact = outbox_add_fact (out, FACT_WRITER_GRANTED);
    fact->of.writer_granted = (struct fact_writer_granted){
        .token = token,
        .base = coord->state->generation.entries > GENERATION_BASE_MAX_ENTRIES ? 0 : coord->state->generation.token,
        .host = write_lease_candidate (coord),
        .key = { coord->state->rung, PASS_COLD, coord->state->rungs.items[coord->state->rung].attempts[PASS_COLD] + 1 },
    };
    coord_commit_fact (coord, fact, now_ms);
    lease_grant (&coord->soft.lease, token, coord->state->grant.host, now_ms);
}

void write_lease_return_token (uint64_t token, struct outbox *out)
{
    struct effect *effect = outbox_add_effect (out, FX_LEASE_END);
    effect->token = token;
    effect->flag = true;
}

/* ---- while it is held ---- */

/* The writer's part in the running pass. */
static uint32_t writer_part (const struct coord *coord)
{
    const struct pass_state *pass = &coord->state->pass;
    bool writes = pass->active && attempt_key_equal (&pass->key, &coord->state->grant.key);
    return writes ? coord->soft.part_of_host[coord->state->grant.host] : NONE;
}

static bool is_sealed_in_pass (const struct coord *coord)
{
    uint32_t at = writer_part (coord);
    return !coord->state->granted && at != NONE && coord->state->pass.parts.items[at].result.seal.token;
}

/* Its writer has ended, but others of the pass run: it beats until it is published, so that other runs do not take the
 * lease. */
static void beat_till_published (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    if (now_ms < coord->soft.beat_again_ms || !is_sealed_in_pass (coord))
        return;
    coord->soft.beat_again_ms = now_ms + lease_ask_ms (term_ms (coord));
    outbox_add_effect (out, FX_LEASE_BEAT)->token = coord->state->grant.token;
}

void write_lease_answer_heartbeat (struct coord *coord, uint32_t host, const struct msg_heartbeat *beat,
                                   uint64_t now_ms, struct outbox *out)
{
    beat_till_published (coord, now_ms, out);
    if (!beat->lease_token)
        return;
    bool renewed = coord->state->granted && lease_grant_renewal (&coord->soft.lease, beat->lease_token, host, now_ms);
    struct msg *msg = coord_add_message (coord, host, MSG_LEASE, out);
    msg->of.lease = (struct msg_lease){ .token = beat->lease_token,
                                        .ask = beat->lease_ask,
                                        .term_ms = renewed ? term_ms (coord) : 0 };
    if (renewed)
        outbox_add_effect (out, FX_LEASE_BEAT)->token = beat->lease_token;
}

/* The writer's result came, so nothing of its program is left. */
void write_lease_note_result (struct coord *coord, uint32_t host, const struct result *result)
{
    if (coord->state->grant.host == host && attempt_key_equal (&coord->state->grant.key, &result->key) &&
        result->ending != ENDING_LOST)
        lease_note_released (&coord->soft.lease, coord->state->grant.token);
}

static void give_up_writer (struct coord *coord, struct text why, uint64_t now_ms, struct outbox *out)
{
    const struct pass_state *pass = &coord->state->pass;
    uint32_t at = writer_part (coord);
    if (at == NONE || pass->parts.items[at].ended)
        return;
    stop_part (coord, at, true, why, now_ms, out);
    loss_end_attempt (coord, coord->state->grant.host, ENDING_LEASE_LOST, why, now_ms, out);
    for (uint32_t i = 0; i < pass->parts.n; i++)
        stop_part (coord, i, false, TEXT_LIT ("the writer of the cache lost its lease"), now_ms, out);
}

static void write_lease_lose (struct coord *coord, struct text why, uint64_t now_ms, struct outbox *out)
{
    if (!coord->state->granted)
        return;
    struct fact *fact = outbox_add_fact (out, FACT_LEASE_LOST);
    fact->of.lease_lost =
        (struct fact_lease_lost){ .token = coord->state->grant.token, .host = coord->state->grant.host, .why = why };
    coord_commit_fact (coord, fact, now_ms);
    give_up_writer (coord, why, now_ms, out);
}

/* Also for a lost host, since its writer may live until its lease is over. */
void write_lease_check_expiry (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    if (!coord->state->granted || lease_state (&coord->soft.lease, now_ms) == LEASE_HELD)
        return; /* FREE: this process slept past the end and the lock-delay */
    char span[DURATION_TEXT_BYTES];
    duration_print (term_ms (coord), span);
    write_lease_lose (coord,
                      text_format (&out->arena,
                                   "its lease to write generation %" PRIu64
                                   " expired, because its worker did not ask to renew it within %s",
                                   coord->state->grant.token, span),
                      now_ms, out);
}

const struct fact_generation *write_lease_base_generation (const struct coord *coord)
{
    static const struct fact_generation nothing;
    return coord->state->grant.base ? &coord->state->generation : &nothing;
}

void write_lease_publish_generation (const struct coord *coord, struct outbox *out)
{
    struct effect *effect = outbox_add_effect (out, FX_CACHE_PUBLISH);
    effect->generation = &coord->state->generation;
    effect->covers = cache_family_all_covers (coord, &out->arena);
}

/* The grant's pass published nothing. While the writer may live the catalogue keeps the lease, and other runs wait as
 * long as we would. */
void write_lease_abandon (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    if (coord->state->granted || lease_state (&coord->soft.lease, now_ms) != LEASE_FREE)
        return;
    write_lease_return_token (coord->state->grant.token, out);
}

uint64_t write_lease_deadline_ms (const struct coord *coord)
{
    bool idle = coord->soft.acquisition == ACQUISITION_READY || coord->soft.acquisition == ACQUISITION_OWNED;
    if (coord->state->granted)
        return coord->soft.lease.held ? coord->soft.lease.over_at_ms : UINT64_MAX;
    if (!coord->soft.wants_token || !idle || coord->soft.undecided)
        return UINT64_MAX;
    uint64_t at_ms = coord->soft.lease.token ? lease_free_at (&coord->soft.lease) : 0;
    return at_ms < coord->soft.ask_again_ms ? coord->soft.ask_again_ms : at_ms;
}

/* Our writer's generation is not published then. */
void write_lease_note_lost (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    write_lease_lose (
        coord,
        TEXT_LIT ("another run or import took over the lease of the cache: this coordinator did not renew it in time"),
        now_ms, out);
}
