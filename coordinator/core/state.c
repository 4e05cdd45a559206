/* state.c - questions that the state answers. */
#include "coordinator/core/state.h"

#include "coordinator/verdict/failure.h"
#include "coordinator/verdict/flag_set.h"
#include "coordinator/verdict/stands.h"

/* Sealing or auditing may take as long as the program, and at least this. */
enum { CLOSE_MS = 60000 };

uint64_t coord_to_run_clock (const struct coord *coord, uint64_t now_ms)
{
    uint64_t at = (uint64_t) ((int64_t) now_ms + coord->soft.clock_offset_ms);
    return at > coord->soft.clock_ms ? at : coord->soft.clock_ms; /* the run's clock never goes back */
}

/* Time of a worker's cache work beside the program (worker/attempt/attempt_close.c), and of its wait for the lease. */
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
    const struct plan *plan = &coord->state->plan;
    uint32_t *hosts = arena_array (arena, coord->state->left_n, sizeof (*hosts)), n = 0;
    for (uint32_t i = 0; i < plan->hosts.n; i++)
        if (!takes_part (coord, i))
            hosts[n++] = i;
    return text_format (arena, "%.*s%.*s", TEXT_ARG (plan_fold_hosts (plan, hosts, n, NAME_MAX_BYTES, arena)),
                        TEXT_ARG (plan_name_slices (plan, hosts, n, arena)));
}

bool climb_uses_cache (const struct coord *coord, const struct rung *rung)
{
    return rung->warm != WARM_NONE && coord->state->plan.cache.mode > CACHE_OFF;
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
    return LIST_FIND (pass->gates, struct gate, name, name);
}

/* ---- acquisition ---- */

static const struct {
    enum acquisition from;
    enum acquisition_event event;
    enum acquisition to;
} moves[] = { { ACQUISITION_UNKNOWN, ACQUISITION_FIND, ACQUISITION_FINDING },
              { ACQUISITION_FINDING, ACQUISITION_ANSWER, ACQUISITION_FOUND },
              { ACQUISITION_FINDING, ACQUISITION_FAIL, ACQUISITION_GIVEN_UP },
              { ACQUISITION_FOUND, ACQUISITION_AUDIT, ACQUISITION_AUDITING },
              { ACQUISITION_AUDITING, ACQUISITION_AUDITED, ACQUISITION_READY },
              { ACQUISITION_READY, ACQUISITION_USED, ACQUISITION_FOUND },
              { ACQUISITION_READY, ACQUISITION_ASK, ACQUISITION_ASKING },
              { ACQUISITION_READY, ACQUISITION_FAIL, ACQUISITION_READY },
              { ACQUISITION_ASKING, ACQUISITION_GRANTED, ACQUISITION_READY },
              { ACQUISITION_ASKING, ACQUISITION_TAKEN, ACQUISITION_OWNED },
              { ACQUISITION_ASKING, ACQUISITION_FAIL, ACQUISITION_READY },
              { ACQUISITION_OWNED, ACQUISITION_LOOK, ACQUISITION_LOOKING },
              { ACQUISITION_OWNED, ACQUISITION_FAIL, ACQUISITION_READY },
              { ACQUISITION_LOOKING, ACQUISITION_ANSWER, ACQUISITION_FOUND },
              { ACQUISITION_LOOKING, ACQUISITION_NOTHING_NEW, ACQUISITION_READY },
              { ACQUISITION_LOOKING, ACQUISITION_FAIL, ACQUISITION_READY } };

bool acquisition_next (enum acquisition from, enum acquisition_event event, enum acquisition *to)
{
    for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++)
        if (moves[i].from == from && moves[i].event == event) {
            *to = moves[i].to;
            return true;
        }
    return false;
}

/* ---- cache family ---- */

/* Names of caches: what must be equal for one compile cache to serve two runs. */

struct text cache_family_name (const struct coord *coord, struct arena *arena)
{
    const struct plan *plan = &coord->state->plan;
    if (coord->state->bundle.len)
        return coord->state->bundle;
    struct text env_fingerprint = coord->state->env_fingerprint;
    struct fingerprint_builder name = fingerprint_begin (arena);
    fingerprint_add (&name, "environment", env_fingerprint.len ? env_fingerprint : plan->pins.file.sha256);
    fingerprint_add (&name, "backend", plan->profile.backend);
    fingerprint_add (&name, "devices", text_format (arena, "%u", plan->profile.devices_per_host));
    for (uint32_t i = 0; i < coord->state->hardware.n; i++)
        fingerprint_add (&name, "hardware", coord->state->hardware.items[i]);
    fingerprint_add_profile (&name, &plan->profile);
    struct text fingerprint = fingerprint_end (&name);
    return text_format (arena, "%.*s/%.*s", TEXT_ARG (plan->profile.frontend), TEXT_ARG (fingerprint));
}

struct text cache_family_rung_cover (const struct plan *plan, const struct rung *rung, struct arena *arena)
{
    struct fingerprint_builder cover = fingerprint_begin (arena);
    fingerprint_add (&cover, "program", rung->program.sha256);
    for (uint32_t i = 0; i < rung->argv.n; i++)
        fingerprint_add (&cover, "argument", rung->argv.items[i]);
    for (uint32_t i = 0; i < rung->files.n && rung->kind == PROGRAM_COMMAND; i++)
        fingerprint_add (&cover, "file", rung->files.items[i].file.sha256);
    fingerprint_add_vars (&cover, rung->args.items, rung->args.n);
    if (rung->scope == SCOPE_SLICE)
        for (uint32_t i = 0; i < plan->mesh.n; i++)
            fingerprint_add (
                &cover, "axis",
                text_format (arena, "%.*s=%u", TEXT_ARG (plan->mesh.items[i].axis), plan->mesh.items[i].size));
    struct text fingerprint = fingerprint_end (&cover);
    return text_format (arena, "%.*s:%.*s", TEXT_ARG (rung->id), TEXT_ARG (fingerprint));
}

text_list cache_family_all_covers (const struct coord *coord, struct arena *arena)
{
    text_list covers = { .items = arena_array (arena, coord->state->plan.rungs.n, sizeof (*covers.items)) };
    for (uint32_t i = 0; i < coord->state->plan.rungs.n; i++)
        if (climb_uses_cache (coord, &coord->state->plan.rungs.items[i]))
            covers.items[covers.n++] = cache_family_rung_cover (&coord->state->plan, &coord->state->plan.rungs.items[i],
                                                                arena);
    return covers;
}

bool part_failed_at_limit (const struct pass_state *pass, uint32_t at)
{
    const struct result *result = &pass->parts.items[at].result;
    bool by_itself = result->ending == ENDING_EXITED || result->ending == ENDING_SIGNALLED, stopped = false;
    if (!result->at_limit || !by_itself || !result_ended_badly (result) || result->group_memory_kills ||
        failure_is_outside_kill (result->ending, result->code))
        return false;
    for (uint32_t i = 0; i < pass->parts.n && !stopped; i++)
        stopped = pass->parts.items[i].result.ending == ENDING_TIMEOUT;
    return stopped;
}

uint32_t pass_find_lagging (const struct coord *coord, bool *lags, struct arena *arena, struct text *others)
{
    const struct pass_state *pass = &coord->state->pass;
    struct stand_host *hosts = arena_array (arena, pass->parts.n, sizeof (*hosts));
    for (uint32_t i = 0; i < pass->parts.n; i++) {
        const struct result *result = &pass->parts.items[i].result;
        hosts[i].name = coord->state->plan.hosts.items[pass->parts.items[i].host].name;
        bool ended = result->ending == ENDING_EXITED || result->ending == ENDING_SIGNALLED;
        hosts[i].ended = ended && !part_failed_at_limit (pass, i);
        hosts[i].badly = hosts[i].ended && result_ended_badly (result);
        hosts[i].serves = i == 0 && !parts_are_independent (coord);
        if (!ended) /* else it is where an error was raised */
            hosts[i].lines = failure_stack (result, arena);
    }
    struct text who;
    bool framed = true; /* else its own verdict does not say where it stood */
    uint32_t lagging = stands_find_lagging (hosts, pass->parts.n, lags, arena, &who, others);
    for (uint32_t i = 0; i < pass->parts.n; i++)
        if (lags[i] && framed)
            (void) stand_print (hosts[i].lines, arena, &framed);
    if (lagging && !framed && who.len)
        *others = text_format (arena, "%.*s; %.*s", TEXT_ARG (who), TEXT_ARG (*others));
    return lagging;
}
