/* isolation.c - parts of the slice by themselves, after a pass that failed without a cause of its own: what state calls
 * for next. What to run and what it means is isolate.h's affair. docs/spec/retries.md. */
#include "coordinator/core/isolation.h"

#include <assert.h>

#include "common/base/rng.h"
#include "coordinator/core/run_message.h"

bool isolation_goes_on (const struct coord *coord)
{
    bool lost = false;
    for (uint32_t i = 0; i < coord->state->plan.hosts.n; i++)
        lost = lost || host_is_lost (coord, i);
    return coord->state->isolation.called_for && !coord->state->isolation.over && !lost;
}

static struct text others_text (const struct coord *coord, const struct isolate_set *set, struct arena *arena)
{
    return text_format (arena, "%u of %u hosts by themselves, because %.*s failed and no host reports a cause", set->n,
                        coord->state->plan.hosts.n,
                        TEXT_ARG (coord->state->plan.rungs.items[coord->state->isolation.failed.key.rung].id));
}

static void begin_part (struct coord *coord, const struct isolate_set *set, uint64_t now_ms, struct outbox *out)
{
    uint32_t rung = coord->state->isolation.failed.key.rung;
    struct fact *fact = outbox_fact (out, FACT_PASS_BEGAN);
    struct fact_pass_began *began = &fact->of.pass_began;
    began->key = (struct attempt_key){ rung, PASS_ONCE, coord->state->rungs.items[rung].attempts[PASS_ONCE] + 1 };
    began->seed = rng_fold (rng_fold (coord->state->seed, rung), (uint64_t) PASS_ONCE << 32 | began->key.attempt);
    began->purpose = PURPOSE_ISOLATION;
    began->why = others_text (coord, set, &out->arena);
    began->hosts.items = set->items;
    began->hosts.n = set->n;
    bool formed = isolate_mesh (&coord->state->plan.mesh, coord->state->plan.profile.devices_per_host, set->n,
                                &out->arena, &began->mesh);
    assert (formed);
    (void) formed;
    coord_commit (coord, fact, now_ms);
    run_message_send_all (coord, now_ms, out);
}

static void name_suspects (struct coord *coord, const struct isolate_step *found, uint64_t now_ms, struct outbox *out)
{
    struct isolate_case of = isolation_case (coord);
    struct fact *fact = outbox_fact (out, FACT_SUSPECTS_NAMED);
    struct fact_suspects_named *named = &fact->of.suspects_named;
    named->key = coord->state->isolation.failed.key;
    named->suspects.items = found->hosts.items;
    named->suspects.n = found->hosts.n;
    named->passes = coord->state->isolation.trials.n;
    named->why = isolate_why (&coord->state->plan, &of, found, &out->arena);
    coord_commit (coord, fact, now_ms);
}

static bool everybody_is_here (const struct coord *coord)
{
    for (uint32_t i = 0; i < coord->state->plan.hosts.n; i++)
        if (coord->state->hosts.items[i].life != HOST_JOINED ||
            coord->state->hosts.items[i].joined_epoch != coord->state->epoch)
            return false;
    return true;
}

bool isolation_advance (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    struct isolate_case of = isolation_case (coord);
    struct isolate_step step;
    if (!everybody_is_here (coord))
        return false;
    isolate_next (&of, &out->arena, &step);
    if (step.kind == ISOLATE_RUN)
        begin_part (coord, &step.hosts, now_ms, out);
    else
        name_suspects (coord, &step, now_ms, out);
    return step.kind != ISOLATE_RUN;
}
