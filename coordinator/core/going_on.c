#include "coordinator/core/going_on.h"

#include "coordinator/core/write_lease.h"
#include "coordinator/verdict/blame.h"

void going_on_list_lost (const struct coord *coord, enum outcome outcome, struct arena *arena,
                         struct fact_pass_ended *out)
{
    struct verdict *verdicts = arena_array (arena, coord->state->plan.hosts.n, sizeof (*verdicts));
    for (uint32_t i = 0; i < coord->state->plan.hosts.n; i++) {
        const struct host *host = &coord->state->hosts.items[i];
        if (host->life == HOST_LOST && takes_part (coord, i))
            verdicts[out->verdicts.n++] = (struct verdict){
                .host = i,
                .outcome = outcome         ? outcome
                           : host->session ? OUTCOME_LOST
                                           : OUTCOME_BLOCKED,
                .owner = OWNER_HOST,
                .cause = host->lost_why,
                .next = blame_advice_for_lost (coord->state->plan.launcher),
            };
    }
    out->verdicts.items = verdicts;
}

/* --keep-going alone goes on without a host that was there, and not without one that never came. */
static bool may_do_without (const struct coord *coord, const struct fact_pass_ended *lost)
{
    const struct climb_policy *policy = &coord->state->plan.climb;
    uint32_t hosts = coord->state->plan.hosts.n, gone = lost->verdicts.n;
    for (uint32_t i = 0; i < hosts; i++)
        gone += coord->state->hosts.items[i].left == LEFT_ABSENT;
    for (uint32_t i = 0; i < lost->verdicts.n && !policy->min_hosts; i++)
        if (!policy->keep_going || lost->verdicts.items[i].outcome != OUTCOME_LOST)
            return false;
    return hosts - gone >= policy->min_hosts && coord->state->left_n + lost->verdicts.n < hosts;
}

bool going_on_without_lost (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    struct fact_pass_ended lost = { 0 };
    going_on_list_lost (coord, OUTCOME_NONE, &out->arena, &lost);
    if (!may_do_without (coord, &lost))
        return false;
    bool unused = write_lease_is_unused (coord);
    struct fact *fact = outbox_add_fact (out, FACT_HOSTS_LEFT_BEHIND);
    fact->of.hosts_left_behind = (struct fact_hosts_left_behind){ .rung = coord->state->rung };
    fact->of.hosts_left_behind.verdicts.items = lost.verdicts.items;
    fact->of.hosts_left_behind.verdicts.n = lost.verdicts.n;
    coord_commit_fact (coord, fact, now_ms);
    if (unused && !coord->state->granted) {
        lease_note_released (&coord->soft.lease, coord->state->grant.token);
        write_lease_return_token (coord->state->grant.token, out);
    }
    return true;
}

void going_on_block_rung (struct coord *coord, enum owner owner, struct text cause, struct text next, uint64_t now_ms,
                          struct outbox *out)
{
    struct fact *fact = outbox_add_fact (out, FACT_PASS_ENDED);
    struct fact_pass_ended *ended = &fact->of.pass_ended;
    struct verdict *verdicts = arena_array (&out->arena, coord->state->plan.hosts.n, sizeof (*verdicts));
    ended->key = (struct attempt_key){ coord->state->rung, PASS_ONCE, 0 };
    ended->outcome = OUTCOME_BLOCKED;
    for (uint32_t i = 0; i < coord->state->plan.hosts.n; i++)
        if (takes_part (coord, i))
            verdicts[ended->verdicts.n++] =
                (struct verdict){ .host = i, .outcome = OUTCOME_BLOCKED, .owner = owner, .cause = cause, .next = next };
    ended->verdicts.items = verdicts;
    coord_commit_fact (coord, fact, now_ms);
}

void going_on_block_for_hosts (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    struct text names = names_left_behind (coord, &out->arena);
    struct text cause = text_format (&out->arena,
                                     "its programs need all %u hosts of the mesh, and the climb went on without %.*s",
                                     coord->state->plan.hosts.n, TEXT_ARG (names));
    going_on_block_rung (
        coord, OWNER_HOST, cause,
        TEXT_LIT ("repair or replace those hosts and run the slice again; the mesh is fixed, so a part "
                  "of the slice cannot form it"),
        now_ms, out);
}
