/* apply_cache.c - what facts about the cache change: the generation in use, who writes the next, what was violated. */
#include "coordinator/core/apply.h"

#include <string.h>

static void apply_generation (struct engine *to, const struct fact *fact)
{
    const struct fact_generation *generation = &fact->of.generation;
    const struct record *record = fact_record_of_kind (FACT_GENERATION_PUBLISHED);
    to->state.cache_known = true;
    if (!to->state.bundle.len)
        to->state.bundle = text_copy (&to->arena, generation->bundle);
    record_copy (record, &to->state.generation, generation, &to->arena);
    to->state.right_at = fact->kind == FACT_GENERATION_PUBLISHED ? to->state.pass.began_at : 0;
}

static void apply_writer_granted (struct engine *to, const struct fact_writer_granted *granted)
{
    to->state.grant = *granted;
    to->state.granted = to->state.unreleased = true;
    to->coord.soft.wants_token = false;
}

static void note_write_lease_over (struct engine *to, uint64_t index)
{
    struct ended_write *items = to->state.writings.items;
    if (!items)
        items = to->state.writings.items = arena_array (&to->arena, WRITINGS_MAX, sizeof (*items));
    if (to->state.writings.n == WRITINGS_MAX)
        memmove (items, items + 1, (--to->state.writings.n) * sizeof (*items));
    items[to->state.writings.n++] = (struct ended_write){ to->state.grant.token, index };
}

/* While its host was only lost, nobody knows whether the writer is dead. */
void apply_writer_ended (struct engine *to, const struct fact_attempt_ended *ended, uint64_t index)
{
    const struct fact_writer_granted *grant = &to->state.grant;
    if (!grant->token || ended->host != grant->host || !attempt_key_equal (&grant->key, &ended->result.key))
        return;
    if (to->state.granted)
        note_write_lease_over (to, index);
    if (ended->result.ending != ENDING_LOST)
        to->state.granted = false;
    if (ended->sha256.len) /* of a worker's own message: not made up for it by a coordinator */
        to->state.unreleased = false;
    if (ended->result.ending != ENDING_LEASE_LOST)
        return;
    to->state.rungs.items[grant->key.rung].leases_lost++;
    to->state.rungs.items[grant->key.rung].lease_lost_attempt = grant->key.attempt;
}

static void apply_lease_lost (struct engine *to, uint64_t index)
{
    if (to->state.granted)
        note_write_lease_over (to, index);
    to->state.granted = false;
}

static void apply_violated (struct engine *to, const struct fact_cache_violated *violated)
{
    if (to->state.violations.n == VIOLATIONS_MAX)
        return;
    if (!to->state.violations.items)
        to->state.violations.items = arena_array (&to->arena, VIOLATIONS_MAX, sizeof (*to->state.violations.items));
    to->state.violations.items[to->state.violations.n++] = (struct seen_violation){
        .kind = violated->finding.kind,
        .token = violated->finding.token,
        .path = text_copy (&to->arena, violated->finding.path),
    };
    to->state.counted_violations += finding_is_violation (violated->finding.kind);
}

/* What it held has to be compiled again: nothing is built upon it, and the rung that met it begins anew, once. */
static void apply_dropped (struct engine *to, const struct fact_generation_dropped *dropped)
{
    for (uint32_t i = 0; i < to->state.violations.n; i++)
        to->state.violations.items[i].dropped |= to->state.violations.items[i].token == dropped->token;
    if (to->state.generation.token != dropped->token)
        return;
    to->state.generation = (struct fact_generation){ 0 };
    to->state.pass.dropped = to->state.pass.active;
    if (to->state.rung >= to->state.plan.rungs.n)
        return;
    struct rung_state *rung = &to->state.rungs.items[to->state.rung];
    rung->cold_done = rung->cold_skipped = false;
}

void apply_cache_fact (struct engine *to, const struct fact *fact)
{
    switch (fact->kind) {
    case FACT_GENERATION_ADOPTED:
    case FACT_GENERATION_PUBLISHED: apply_generation (to, fact); break;
    case FACT_WRITER_GRANTED:
        if (fact->of.writer_granted.host < to->state.plan.hosts.n)
            apply_writer_granted (to, &fact->of.writer_granted);
        break;
    case FACT_LEASE_LOST: apply_lease_lost (to, fact->index); break;
    case FACT_CACHE_VIOLATED: apply_violated (to, &fact->of.cache_violated); break;
    case FACT_GENERATION_DROPPED: apply_dropped (to, &fact->of.generation_dropped); break;
    default: break;
    }
}
