/* state.c - questions that the state answers. */
#include "coordinator/core/state.h"

/* Sealing, or looking over what was read, may take as long as the program, and this at least. */
enum { CLOSE_MS = 60000 };

uint64_t coord_to_run_clock (const struct coord *coord, uint64_t now_ms)
{
    uint64_t at = (uint64_t) ((int64_t) now_ms + coord->soft.clock_offset_ms);
    return at > coord->soft.clock_ms ? at : coord->soft.clock_ms; /* the run's clock never goes back */
}

/* What a worker does about the cache beside the program: worker/attempt/attempt_close.c; and it waits for its lease. */
static uint64_t cache_ms (const struct coord *coord)
{
    uint64_t timeout_ms = coord->state->pass.timeout_ms, close_ms = timeout_ms > CLOSE_MS ? timeout_ms : CLOSE_MS;
    switch (coord->state->pass.key.pass) {
    case PASS_COLD: return close_ms + coord->state->plan.limits.lease_ms;
    case PASS_RESTORED: return close_ms;
    default: return 0;
    }
}

uint64_t coord_longest_attempt_ms (const struct coord *coord)
{
    return coord->state->pass.timeout_ms + 2 * coord->state->plan.limits.stop_ms + cache_ms (coord);
}

bool parts_are_independent (const struct coord *coord)
{
    return coord->state->plan.rungs.items[coord->state->pass.key.rung].scope != SCOPE_SLICE;
}

bool host_is_lost (const struct coord *coord, uint32_t host)
{
    return coord->state->hosts.items[host].life == HOST_LOST &&
           coord->state->hosts.items[host].lost_epoch == coord->state->epoch;
}

bool takes_part (const struct coord *coord, uint32_t host)
{
    return coord->state->hosts.items[host].left == LEFT_NOT;
}

bool host_is_awaited (const struct coord *coord, uint32_t host)
{
    return takes_part (coord, host) && coord->state->hosts.items[host].life != HOST_JOINED &&
           !host_is_lost (coord, host);
}

bool all_are_here (const struct coord *coord)
{
    if (coord->state->left_n == 0)
        return coord->state->joined_n == coord->state->plan.hosts.n;
    for (uint32_t i = 0; i < coord->state->plan.hosts.n; i++)
        if (takes_part (coord, i) && coord->state->hosts.items[i].life != HOST_JOINED)
            return false;
    return true;
}

struct text names_left_behind (const struct coord *coord, struct arena *arena)
{
    struct text *names = arena_array (arena, coord->state->left_n, sizeof (*names));
    uint32_t n = 0;
    for (uint32_t i = 0; i < coord->state->plan.hosts.n; i++)
        if (!takes_part (coord, i))
            names[n++] = coord->state->plan.hosts.items[i].name;
    return hostset_folded (names, n, NAME_MAX_BYTES, arena);
}

bool climb_uses_cache (const struct coord *coord, const struct rung *rung)
{
    return rung->warm != WARM_NONE && coord->state->plan.cache.mode != CACHE_OFF &&
           coord->state->plan.cache.mode != CACHE_NONE;
}

bool cache_has_generations (const struct coord *coord)
{
    return cache_mode_has_writer (coord->state->plan.cache.mode) || coord->state->plan.cache.mode == CACHE_READ_ONLY;
}

uint64_t write_lease_end_index (const struct coord *coord, uint64_t token)
{
    for (uint32_t i = 0; i < coord->state->writings.n; i++)
        if (coord->state->writings.items[i].token == token)
            return coord->state->writings.items[i].over_at;
    return 0;
}

bool write_lease_is_unused (const struct coord *coord)
{
    return coord->state->granted && coord->state->rungs.items[coord->state->grant.key.rung].attempts[PASS_COLD] <
                                        coord->state->grant.key.attempt;
}

struct isolate_case isolation_make_case (const struct coord *coord)
{
    return (struct isolate_case){
        .hosts = coord->state->plan.hosts.n,
        .unit = isolate_unit (&coord->state->plan.mesh, coord->state->plan.profile.devices_per_host),
        .trials = coord->state->isolation.trials.items,
        .trials_n = coord->state->isolation.trials.n,
    };
}

const struct gate *gate_find_opened (const struct pass_state *pass, struct text name)
{
    for (uint32_t i = 0; i < pass->gates.n; i++)
        if (text_equal (name, pass->gates.items[i].name))
            return &pass->gates.items[i];
    return NULL;
}
