/* state.c - questions that the state answers. */
#include "coordinator/core/state.h"

#include "common/base/digest.h"

uint64_t coord_clock (const struct coord *coord, uint64_t now_ms)
{
    uint64_t at = (uint64_t) ((int64_t) now_ms + coord->clock_offset_ms);
    return at > coord->clock_ms ? at : coord->clock_ms; /* the run's clock never goes back */
}

bool part_is_alone (const struct coord *coord)
{
    return coord->plan.rungs.items[coord->pass.key.rung].scope != SCOPE_SLICE;
}

bool host_is_lost (const struct coord *coord, uint32_t host)
{
    return coord->hosts[host].life == HOST_LOST && coord->hosts[host].lost_epoch == coord->epoch;
}

bool climb_uses_cache (const struct coord *coord, const struct rung *rung)
{
    return rung->warm != WARM_NONE && coord->plan.cache.mode != CACHE_OFF && coord->plan.cache.mode != CACHE_NONE;
}

uint64_t write_lease_over_at (const struct coord *coord, uint64_t token)
{
    for (uint32_t i = 0; i < coord->writings_n && i < WRITINGS_MAX; i++)
        if (coord->writings[i].token == token)
            return coord->writings[i].over_at;
    return 0;
}

struct isolate_case isolation_case (const struct coord *coord)
{
    return (struct isolate_case){
        .hosts = coord->plan.hosts.n,
        .unit = isolate_unit (&coord->plan.mesh, coord->plan.profile.devices_per_host),
        .trials = coord->isolation.trials,
        .trials_n = coord->isolation.trials_n,
    };
}

/* ---- the digest of what replay rebuilds ---- */

static void add_u64 (struct digest_state *state, uint64_t value)
{
    digest_add (state, &value, sizeof (value));
}

static void digest_hosts (const struct coord *coord, struct digest_state *state)
{
    for (uint32_t i = 0; i < coord->plan.hosts.n; i++) {
        const struct host *host = &coord->hosts[i];
        add_u64 (state, host->life);
        add_u64 (state, host->session);
        add_u64 (state, host->pid);
        add_u64 (state, host->reborn_at);
        add_u64 (state, host->joined_until);
        digest_add (state, host->key, sizeof (host->key));
    }
}

static void digest_isolation (const struct coord *coord, struct digest_state *state)
{
    const struct isolation *isolation = &coord->isolation;
    add_u64 (state, isolation->called_for + 2 * isolation->over);
    for (uint32_t i = 0; i < isolation->trials_n; i++) {
        const struct isolate_trial *trial = &isolation->trials[i];
        add_u64 (state, trial->answer);
        digest_add (state, trial->hosts.items, trial->hosts.n * sizeof (trial->hosts.items[0]));
    }
}

static void digest_climb (const struct coord *coord, struct digest_state *state)
{
    for (uint32_t i = 0; i < coord->plan.rungs.n; i++) {
        add_u64 (state, coord->rungs[i].outcome);
        for (uint32_t pass = 0; pass <= PASS_RESTORED; pass++)
            add_u64 (state, coord->rungs[i].attempts[pass]);
        add_u64 (state, coord->rungs[i].cold_done + 2 * coord->rungs[i].refitted + 4 * coord->rungs[i].rewarmed);
        add_u64 (state, coord->rungs[i].leases_lost);
        for (uint32_t pass = 0; pass <= PASS_RESTORED; pass++)
            add_u64 (state, coord->rungs[i].retries[pass]);
    }
    add_u64 (state, coord->retry.stage);
    add_u64 (state, coord->retry.due_ms);
    digest_isolation (coord, state);
    add_u64 (state, coord->rung);
    add_u64 (state, coord->generation.token);
    add_u64 (state, coord->grant.token);
    add_u64 (state, coord->granted);
    add_u64 (state, coord->right_at);
    add_u64 (state, coord->writings_n);
    add_u64 (state, coord->misfit);
    add_u64 (state, coord->violations.n);
    add_u64 (state, coord->counted_violations);
    add_u64 (state, coord->cancel_level);
    add_u64 (state, coord->ended);
    add_u64 (state, coord->doubt.len);
}

static void digest_pass (const struct coord *coord, struct digest_state *state)
{
    const struct pass_state *pass = &coord->pass;
    add_u64 (state, pass->active);
    add_u64 (state, pass->active && pass->stopped);
    add_u64 (state, pass->active ? pass->timeout_ms : 0);
    for (uint32_t i = 0; pass->active && i < pass->n; i++) {
        add_u64 (state, pass->parts[i].host);
        add_u64 (state, pass->parts[i].ended);
        add_u64 (state, pass->parts[i].ended ? pass->parts[i].order + 2 * (uint64_t) pass->parts[i].at_gate : 0);
        add_u64 (state, pass->secrets[i]);
    }
}

void coord_digest (const struct coord *coord, struct digest *out)
{
    struct digest_state *state = digest_begin ();
    add_u64 (state, coord->next_index);
    add_u64 (state, coord->epoch);
    digest_hosts (coord, state);
    digest_climb (coord, state);
    digest_pass (coord, state);
    *out = digest_end (state);
}
