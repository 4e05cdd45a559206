/* run_message.c - the RUN message: everything one host needs to know about its part. */
#include "coordinator/core/steps.h"

#include "common/model/launch_variables.h"
#include "coordinator/verdict/reduce.h"

/* The role in a survey: READER only for a host that never writes. */
static enum cache_role surveyor (const struct cache_plan *plan, struct text host)
{
    bool may_write = cache_mode_has_writer (plan->mode) && text_is_among (host, plan->writers.items, plan->writers.n);
    return plan->mode == CACHE_PER_HOST || may_write ? CACHE_ROLE_OWN : CACHE_ROLE_READER;
}

/* True: a rung compiles into the cache, so only its writer's programs may write it. */
static bool cache_is_used (const struct coord *coord)
{
    uint32_t i = 0;
    while (i < coord->state->plan.rungs.n && !climb_uses_cache (coord, &coord->state->plan.rungs.items[i]))
        i++;
    return i < coord->state->plan.rungs.n;
}

/* Hides keys, journals, folders of other hosts and runs, because waiting workers obey whoever has their slice's key. */
static text_list out_of_sight (const struct plan *plan, struct arena *arena)
{
    static const char *const folders[] = { "runs", "slices" };
    text_list hidden = { 0 };
    if (plan->home.len == 0)
        return hidden;
    hidden.items = arena_array (arena, HIDDEN_MAX, sizeof *hidden.items);
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        hidden.items[hidden.n++] = text_format (arena, "%.*s/%s", TEXT_ARG (plan->home), folders[i]);
    return hidden;
}

static struct cache_access run_cache (const struct coord *coord, uint32_t host, struct arena *arena)
{
    const struct pass_state *pass = &coord->state->pass;
    struct cache_access access = { .role = CACHE_ROLE_NONE };
    const struct cache_plan *plan = &coord->state->plan.cache;
    const struct rung *rung = &coord->state->plan.rungs.items[pass->key.rung];
    bool surveys = rung_is_builtin (rung, "cache");
    if (!cache_is_used (coord))
        return access;
    access.least = plan->least;
    access.overlay = plan->overlay;
    access.writable.items = plan->writable.items;
    access.writable.n = plan->writable.n;
    access.protected.items = plan->protected.items;
    access.protected.n = plan->protected.n;
    access.trust = plan->trust;
    access.hidden = out_of_sight (&coord->state->plan, arena);
    access.frontend_root = plan->root;
    if (pass->key.pass == PASS_ONCE && !surveys)
        return access;
    access.role = surveys                        ? surveyor (plan, coord->state->plan.hosts.items[host].name)
                  : plan->mode == CACHE_PER_HOST ? CACHE_ROLE_OWN
                                                 : CACHE_ROLE_READER;
    if (surveys)
        return access;
    access.frontend_root = text_format (arena, "%.*s/%.*s", TEXT_ARG (plan->root), TEXT_ARG (coord->state->bundle));
    if (access.role == CACHE_ROLE_OWN)
        return access;
    bool writer = pass->key.pass == PASS_COLD && host == coord->state->grant.host;
    if (writer) {
        access.role = CACHE_ROLE_WRITER;
        access.lease_ms = coord->state->plan.limits.lease_ms;
    }
    access.token = writer ? coord->state->grant.token : coord->state->generation.token;
    access.sha256 = writer ? (struct text){ 0 } : coord->state->generation.sha256;
    if (writer) {
        access.base = write_lease_base_generation (coord)->token;
        access.base_sha256 = write_lease_base_generation (coord)->sha256;
    }
    return access;
}

static void run_pins (const struct coord *coord, const struct plan_host *host, const struct rung *rung,
                      struct pins *pins)
{
    *pins = coord->state->plan.pins;
    if (!rung_is_builtin (rung, "restore"))
        pins->wheels.n = 0; /* a long list that only restore reads */
    if (host->env_dir.len)
        pins->env_dir = host->env_dir;
}

/* A program alone on its host still gets its host's place in the slice. */
static struct launch_place run_message_place_of (const struct coord *coord, uint32_t at, bool alone)
{
    const struct plan *plan = &coord->state->plan;
    const struct pass_state *pass = &coord->state->pass;
    struct launch_place place = launch_place_of (plan, NULL, 0, pass->parts.items[at].host);
    place.port = launch_port_of (&plan->profile, pass->key.attempt, alone ? place.rank : 0);
    if (alone)
        return place;
    place.ranks = coord->soft.pass_ranks;
    place.rank = at;
    place.world = pass->parts.n;
    return place;
}

/* The worker gets what this program starts with, and no scopes. */
static struct profile profile_of (const struct coord *coord, uint32_t at, bool alone, struct arena *arena)
{
    struct profile profile = coord->state->plan.profile;
    enum scope scope = coord->state->plan.rungs.items[coord->state->pass.key.rung].scope;
    struct launch_place place = run_message_place_of (coord, at, alone);
    profile.env = launch_variables_of (&coord->state->plan.profile, scope, &place, arena);
    profile.inherit = launch_inherited_by (&coord->state->plan.profile, scope, arena);
    profile.host_env = profile.slice_env = (struct scope_env){ 0 };
    profile.port = place.port;
    return profile;
}

/* Empty if they are too long for a variable. */
static struct text addresses_of (const struct coord *coord, struct arena *arena)
{
    const struct pass_state *pass = &coord->state->pass;
    LOCAL_BUF all = { .max = ADDRESSES_MAX_BYTES };
    for (uint32_t i = 0; i < pass->parts.n && !all.overflow; i++) {
        buf_puts (&all, i ? "," : "");
        buf_add_text (&all, coord->state->plan.hosts.items[pass->parts.items[i].host].address);
    }
    return all.overflow ? (struct text){ 0 } : text_copy (arena, buf_as_text (&all));
}

/* Once a pass, because it is as long as the pass has hosts. */
static void share_places (struct coord *coord, struct arena *arena)
{
    const struct pass_state *pass = &coord->state->pass;
    uint32_t *ranks = arena_array (arena, pass->parts.n, sizeof *ranks);
    for (uint32_t i = 0; i < pass->parts.n; i++)
        ranks[i] = pass->parts.items[i].host;
    coord->soft.pass_ranks = ranks;
    coord->soft.pass_addresses = addresses_of (coord, arena);
}

static struct msg_run run_make (const struct coord *coord, uint32_t at, struct arena *arena)
{
    const struct pass_state *pass = &coord->state->pass;
    uint32_t host = pass->parts.items[at].host;
    bool alone = parts_are_independent (coord);
    char nonce[33];
    deal_host_nonce (&coord->soft.pass_key, host, nonce);
    struct msg_run run = { .key = pass->key,
                           .nonce = text_copy (arena, text_of (nonce)),
                           .rung = coord->state->plan.rungs.items[pass->key.rung],
                           .rank = alone ? 0 : at,
                           .world = alone ? 1 : pass->parts.n,
                           .address = coord->state->plan.hosts.items[host].address,
                           .secret = coord->soft.parts[at].secret,
                           .profile = profile_of (coord, at, alone, arena),
                           .cache = run_cache (coord, host, arena),
                           .signatures = coord->state->plan.signature_table };
    run.rung.timeout_ms = pass->timeout_ms;
    run.rung.beside.n = 0; /* of this machine */
    if (!alone)
        run.addresses = coord->soft.pass_addresses;
    if (!alone)
        run.mesh = pass->mesh;
    run_pins (coord, &coord->state->plan.hosts.items[host], &run.rung, &run.pins);
    return run;
}

/* A first pass with the host as writer, if there is one: the largest RUN. */
struct msg_run coord_run_message_sample (const struct plan *plan, uint32_t rung, uint32_t host, struct arena *arena)
{
    struct part *parts = arena_array (arena, plan->hosts.n, sizeof *parts);
    bool warms = plan->rungs.items[rung].warm != WARM_NONE;
    struct state state = { .plan = *plan, .grant = { .host = host } };
    state.pass = (struct pass_state){ .key = { rung, warms ? PASS_COLD : PASS_ONCE, 1 }, .mesh = plan->mesh };
    for (uint32_t i = 0; i < plan->hosts.n; i++)
        parts[i].host = i;
    state.pass.parts.items = parts;
    state.pass.parts.n = plan->hosts.n;
    struct coord coord = { .state = &state };
    coord.soft.parts = arena_array (arena, plan->hosts.n, sizeof *coord.soft.parts);
    share_places (&coord, arena);
    return run_make (&coord, host, arena);
}

void run_message_send (struct coord *coord, uint32_t at, uint64_t now_ms, struct outbox *out)
{
    uint32_t host = coord->state->pass.parts.items[at].host;
    coord_add_message (coord, host, MSG_RUN, out)->of.run = run_make (coord, at, &out->arena);
    coord->soft.hosts[host].run_sent_ms = coord_to_run_clock (coord, now_ms);
}

void run_message_deal (struct coord *coord)
{
    const struct pass_state *pass = &coord->state->pass;
    uint32_t n = pass->active ? pass->parts.n : 0;
    bool of_slice = n && coord->state->plan.rungs.items[pass->key.rung].scope == SCOPE_SLICE;
    LOCAL_MEM uint64_t *secrets = mem_array (n + 1, sizeof *secrets);
    coord->soft.pass_key = deal_pass_key (&coord->soft.run_key, &pass->key);
    coord->soft.dealt = of_slice &&
                        deal_secrets (&coord->soft.pass_key, n, coord->state->plan.profile.devices_per_host, secrets);
    for (uint32_t i = 0; i < n; i++)
        coord->soft.parts[i].secret = secrets[i];
    if (n && !parts_are_independent (coord))
        share_places (coord, &coord->soft.pass_arena);
}

void run_message_send_all (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    run_message_deal (coord);
    for (uint32_t i = 0; i < coord->state->pass.parts.n; i++)
        run_message_send (coord, i, now_ms, out);
}
