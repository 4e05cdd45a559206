/* apply_cache.c - what facts about the cache change: which generation is used, who writes the next one, what was
 * violated. */
#include "coordinator/core/apply.h"

static void apply_generation (struct coord *coord, const struct fact *fact)
{
    const struct fact_generation *generation = &fact->of.generation;
    const struct record *record = fact_body (FACT_GENERATION_PUBLISHED);
    coord->cache_known = true;
    record_copy (record, &coord->generation, generation, &coord->arena);
    coord->right_at = fact->kind == FACT_GENERATION_PUBLISHED ? coord->pass.began_at : 0;
}

static void apply_writer_granted (struct coord *coord, const struct fact_writer_granted *granted)
{
    coord->grant = *granted;
    coord->granted = coord->unreleased = true;
    coord->wants_token = false;
}

static void note_write_lease_over (struct coord *coord, uint64_t index)
{
    uint32_t at = coord->writings_n++ % WRITINGS_MAX;
    coord->writings[at].token = coord->grant.token;
    coord->writings[at].over_at = index;
}

/* While its host was only lost, nobody knows whether the writer is dead. */
void apply_writer_ended (struct coord *coord, const struct fact_attempt_ended *ended, uint64_t index)
{
    const struct fact_writer_granted *grant = &coord->grant;
    if (!grant->token || ended->host != grant->host || !attempt_key_equal (&grant->key, &ended->result.key))
        return;
    if (coord->granted)
        note_write_lease_over (coord, index);
    if (ended->result.ending != ENDING_LOST)
        coord->granted = false;
    if (ended->sha256.len) /* of a worker's own message: not made up for it by a coordinator */
        coord->unreleased = false;
    if (ended->result.ending != ENDING_LEASE_LOST)
        return;
    coord->rungs[grant->key.rung].leases_lost++;
    coord->rungs[grant->key.rung].lease_lost_attempt = grant->key.attempt;
}

static void apply_lease_lost (struct coord *coord, uint64_t index)
{
    if (coord->granted)
        note_write_lease_over (coord, index);
    coord->granted = false;
}

static void apply_violated (struct coord *coord, const struct fact_cache_violated *violated)
{
    if (coord->violations.n == VIOLATIONS_MAX)
        return;
    if (!coord->violations.items)
        coord->violations.items = arena_array (&coord->arena, VIOLATIONS_MAX, sizeof (*coord->violations.items));
    coord->violations.items[coord->violations.n++] = (struct seen_violation){
        .kind = violated->finding.kind,
        .token = violated->finding.token,
        .path = text_copy (&coord->arena, violated->finding.path),
    };
    coord->counted_violations += finding_counts (violated->finding.kind);
}

/* What it held has to be compiled again: nothing is built upon it, and the rung that met it begins anew, once. */
static void apply_dropped (struct coord *coord, const struct fact_generation_dropped *dropped)
{
    for (uint32_t i = 0; i < coord->violations.n; i++)
        coord->violations.items[i].dropped |= coord->violations.items[i].token == dropped->token;
    if (coord->generation.token != dropped->token)
        return;
    coord->generation = (struct fact_generation){ 0 };
    coord->pass.dropped = coord->pass.active;
    if (coord->rung >= coord->plan.rungs.n)
        return;
    struct rung_state *rung = &coord->rungs[coord->rung];
    rung->cold_done = rung->cold_skipped = false;
}

void apply_cache_fact (struct coord *coord, const struct fact *fact)
{
    switch (fact->kind) {
    case FACT_GENERATION_ADOPTED:
    case FACT_GENERATION_PUBLISHED: apply_generation (coord, fact); break;
    case FACT_WRITER_GRANTED:
        if (fact->of.writer_granted.host < coord->plan.hosts.n)
            apply_writer_granted (coord, &fact->of.writer_granted);
        break;
    case FACT_LEASE_LOST: apply_lease_lost (coord, fact->index); break;
    case FACT_CACHE_VIOLATED: apply_violated (coord, &fact->of.cache_violated); break;
    case FACT_GENERATION_DROPPED: apply_dropped (coord, &fact->of.generation_dropped); break;
    default: break;
    }
}
