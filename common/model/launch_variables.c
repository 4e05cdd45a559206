#include "common/model/launch_variables.h"

#include <string.h>

static const char *const placeholders[] = { "rank",   "world",    "host", "address",    "addresses", "slice",
                                            "slices", "address0", "port", "rendezvous", "worker",    "workers" };
enum placeholder {
    RANK,
    WORLD,
    HOST,
    ADDRESS,
    ADDRESSES,
    SLICE,
    SLICES,
    ADDRESS0,
    PORT,
    RENDEZVOUS,
    WORKER,
    WORKERS,
    PLACEHOLDERS
};
enum { PORTS_APART = 512 }; /* two attempts, or two hosts of one machine, do not get the same one */

/* One piece of a value: plain text, then a word in braces. */
struct piece {
    struct text before, word; /* word: empty at the end of the value */
    bool literal;             /* in two pairs of braces */
};

/* Length of the "{word}" at `at`; 0: there is none. */
static uint32_t braces_at (struct text value, uint32_t at)
{
    uint32_t to = at + 1;
    if (value.ptr[at] != '{')
        return 0;
    while (to < value.len && ((value.ptr[to] >= 'a' && value.ptr[to] <= 'z') || (to > at + 1 && value.ptr[to] == '0')))
        to++;
    return to > at + 1 && to < value.len && value.ptr[to] == '}' ? to + 1 - at : 0;
}

static struct piece take_piece (struct text *rest)
{
    struct text all = *rest;
    for (uint32_t at = 0; at < all.len; at++) {
        uint32_t len = braces_at (all, at);
        bool literal = len && at > 0 && all.ptr[at - 1] == '{' && at + len < all.len && all.ptr[at + len] == '}';
        if (!len)
            continue;
        *rest = (struct text){ all.ptr + at + len + literal, all.len - at - len - literal };
        return (struct piece){ { all.ptr, at - literal }, { all.ptr + at + 1, len - 2 }, literal };
    }
    *rest = (struct text){ 0 };
    return (struct piece){ .before = all };
}

static int placeholder_of (struct text word)
{
    for (int i = 0; i < PLACEHOLDERS; i++)
        if (text_is (word, placeholders[i]))
            return i;
    return -1;
}

bool launch_find_unknown_placeholder (struct text value, struct text *name)
{
    while (value.len) {
        struct piece piece = take_piece (&value);
        *name = piece.word;
        if (piece.word.len && !piece.literal && placeholder_of (piece.word) < 0)
            return true;
    }
    return false;
}

/* Does a value hold one of the placeholders of `bits`? */
static bool launch_variables_holds (struct text value, unsigned bits)
{
    while (value.len) {
        struct piece piece = take_piece (&value);
        int which = piece.literal ? -1 : placeholder_of (piece.word);
        if (which >= 0 && bits >> which & 1)
            return true;
    }
    return false;
}

static void add_addresses (struct buf *out, const struct launch_place *place)
{
    for (uint32_t i = 0; i < place->world; i++) {
        buf_puts (out, i ? "," : "");
        buf_add_text (out, place->plan->hosts.items[place->ranks ? place->ranks[i] : i].address);
    }
}

/* Of the plan: also those that take no part now. */
static uint32_t place_host (const struct launch_place *place)
{
    return place->ranks ? place->ranks[place->rank] : place->rank;
}

/* The addresses of the hosts of its slice. */
static void add_workers (struct buf *out, const struct launch_place *place)
{
    uint32_t slice = plan_slice_of (place->plan, place_host (place)), n = 0;
    for (uint32_t i = 0; i < place->plan->hosts.n; i++)
        if (plan_slice_of (place->plan, i) == slice) {
            buf_puts (out, n++ ? "," : "");
            buf_add_text (out, place->plan->hosts.items[i].address);
        }
}

static struct text address_0 (const struct launch_place *place)
{
    return place->plan->hosts.items[place->ranks ? place->ranks[0] : 0].address;
}

static void add_rendezvous (struct buf *out, const struct launch_place *place)
{
    struct text address = address_0 (place);
    bool colons = memchr (address.ptr, ':', address.len); /* IPv6 */
    buf_printf (out, colons ? "[%.*s]:%u" : "%.*s:%u", TEXT_ARG (address), place->port);
}

static void launch_variables_add_value (struct buf *out, const struct piece *piece, const struct launch_place *place)
{
    switch (piece->literal ? -1 : placeholder_of (piece->word)) {
    case RANK: buf_printf (out, "%u", place->rank); break;
    case WORLD: buf_printf (out, "%u", place->world); break;
    case HOST: buf_add_text (out, place->host); break;
    case ADDRESS: buf_add_text (out, place->address); break;
    case ADDRESSES: add_addresses (out, place); break;
    case SLICE: buf_printf (out, "%u", plan_slice_of (place->plan, place_host (place))); break;
    case SLICES: buf_printf (out, "%u", plan_slices (place->plan)); break;
    case WORKER: buf_printf (out, "%u", plan_worker_of (place->plan, place_host (place))); break;
    case WORKERS: add_workers (out, place); break;
    case ADDRESS0: buf_add_text (out, address_0 (place)); break;
    case PORT: buf_printf (out, "%u", place->port); break;
    case RENDEZVOUS: add_rendezvous (out, place); break;
    default: buf_printf (out, "{%.*s}", TEXT_ARG (piece->word));
    }
}

static struct text filled (struct text value, const struct launch_place *place, struct arena *arena)
{
    if (!value.len || !memchr (value.ptr, '{', value.len))
        return value;
    struct buf out = { .max = (size_t) HOSTS_MAX * (NAME_MAX_BYTES + 1) + TEXT_MAX_BYTES };
    while (value.len) {
        struct piece piece = take_piece (&value);
        buf_add_text (&out, piece.before);
        if (piece.word.len)
            launch_variables_add_value (&out, &piece, place);
    }
    return buf_finish (&out, arena);
}

struct launch_place launch_place_of (const struct plan *plan, const uint32_t *ranks, uint32_t n, uint32_t at)
{
    const struct plan_host *own = &plan->hosts.items[ranks ? ranks[at] : at];
    return (struct launch_place){ .rank = at,
                                  .world = ranks ? n : plan->hosts.n,
                                  .host = own->name,
                                  .address = own->address,
                                  .plan = plan,
                                  .port = plan->profile.port,
                                  .ranks = ranks };
}

static bool any_holds (const var_list *vars, unsigned bits)
{
    for (uint32_t i = 0; i < vars->n; i++)
        if (launch_variables_holds (vars->items[i].value, bits))
            return true;
    return false;
}

bool launch_uses_port (const struct profile *profile)
{
    const unsigned bits = 1U << PORT | 1U << RENDEZVOUS;
    return any_holds (&profile->env, bits) || any_holds (&profile->host_env.set, bits) ||
           any_holds (&profile->slice_env.set, bits);
}

uint32_t launch_port_of (const struct profile *profile, uint32_t attempt, uint32_t rank)
{
    return profile->port ? profile->port + ((attempt ? attempt - 1 : 0) + rank) % PORTS_APART : 0;
}

static void add_differing (const var_list *vars, unsigned bits, text_list *names)
{
    for (uint32_t i = 0; i < vars->n; i++)
        if (launch_variables_holds (vars->items[i].value, bits) &&
            !text_is_among (vars->items[i].name, names->items, names->n))
            names->items[names->n++] = vars->items[i].name;
}

text_list launch_differing_by_host (const struct plan *plan, struct arena *arena)
{
    const struct profile *profile = &plan->profile;
    uint32_t most = profile->env.n + profile->host_env.set.n + profile->slice_env.set.n;
    text_list names = { .items = arena_array (arena, most, sizeof *names.items) };
    const unsigned of_slice = plan->slices ? 1U << SLICE | 1U << WORKERS : 0,
                   own = 1U << RANK | 1U << HOST | 1U << ADDRESS | 1U << WORKER | of_slice,
                   alone = own | 1U << PORT | 1U << RENDEZVOUS;
    add_differing (&profile->env, alone, &names);
    add_differing (&profile->host_env.set, alone, &names);
    add_differing (&profile->slice_env.set, own, &names);
    return names;
}

static const struct scope_env *env_of (const struct profile *profile, enum scope scope)
{
    return scope == SCOPE_SLICE ? &profile->slice_env : &profile->host_env;
}

/* Any list with its placeholders filled; the names and their order stay. */
static var_list launch_variables_fill (const var_list *vars, const struct launch_place *place, struct arena *arena)
{
    var_list full = { .items = arena_array (arena, vars->n, sizeof *full.items), .n = vars->n };
    for (uint32_t i = 0; i < vars->n; i++)
        full.items[i] = (struct var){ vars->items[i].name, filled (vars->items[i].value, place, arena) };
    return full;
}

var_list launch_variables_of (const struct profile *profile, enum scope scope, const struct launch_place *place,
                              struct arena *arena)
{
    const struct scope_env *own = env_of (profile, scope);
    var_list vars = { .items = arena_array (arena, profile->env.n + own->set.n, sizeof *vars.items) };
    struct text value;
    for (uint32_t i = 0; i < profile->env.n; i++) {
        const struct var *var = &profile->env.items[i];
        if (!text_is_among (var->name, own->unset.items, own->unset.n) && !var_find (&own->set, var->name, &value))
            vars.items[vars.n++] = *var;
    }
    for (uint32_t i = 0; i < own->set.n; i++)
        vars.items[vars.n++] = own->set.items[i];
    vars = launch_variables_fill (&vars, place, arena);
    sort_items (vars.items, vars.n, sizeof *vars.items, text_order);
    return vars;
}

struct text launch_variable_of (const struct profile *profile, struct text name, const struct launch_place *place,
                                struct arena *arena)
{
    const struct scope_env *own = &profile->slice_env;
    struct text value = { 0 };
    if (!var_find (&own->set, name, &value) && !text_is_among (name, own->unset.items, own->unset.n))
        (void) var_find (&profile->env, name, &value);
    return filled (value, place, arena);
}

var_list launch_variables_of_scope (const struct profile *profile, enum scope scope, const struct launch_place *place,
                                    struct arena *arena)
{
    struct profile own = *profile;
    own.env = (var_list){ 0 };
    return launch_variables_of (&own, scope, place, arena);
}

/* `wrong` overrides the list, or is added to it. */
static void put_wrong (var_list *vars, const struct wrong_variable *wrong)
{
    uint32_t at = 0;
    while (at < vars->n && !text_equal (vars->items[at].name, wrong->name))
        at++;
    if (at == vars->n && !wrong->unset)
        vars->items[vars->n++] = (struct var){ wrong->name, wrong->value };
    else if (at < vars->n && wrong->unset)
        vars->items[at] = vars->items[--vars->n];
    else if (at < vars->n)
        vars->items[at].value = wrong->value;
}

var_list launch_variables_of_rehearsal (const struct plan *plan, uint32_t rank, struct arena *arena)
{
    const struct rehearsal *rehearsal = &plan->rehearsal;
    struct launch_place place = launch_place_of (plan, NULL, 0, rank);
    var_list filled_in = launch_variables_fill (&rehearsal->variables, &place, arena);
    var_list vars = { .items = arena_array (arena, filled_in.n + rehearsal->wrong.n, sizeof *vars.items) };
    for (; vars.n < filled_in.n; vars.n++)
        vars.items[vars.n] = filled_in.items[vars.n];
    for (uint32_t i = 0; i < rehearsal->wrong.n; i++)
        if (rehearsal->wrong.items[i].host == rank)
            put_wrong (&vars, &rehearsal->wrong.items[i]);
    return vars;
}

text_list launch_inherited_by (const struct profile *profile, enum scope scope, struct arena *arena)
{
    const struct scope_env *own = env_of (profile, scope);
    text_list names = { .items = arena_array (arena, profile->inherit.n, sizeof *names.items) };
    struct text value;
    for (uint32_t i = 0; i < profile->inherit.n; i++) {
        struct text name = profile->inherit.items[i];
        bool decided = var_find (&profile->env, name, &value) || var_find (&own->set, name, &value) ||
                       text_is_among (name, own->unset.items, own->unset.n);
        if (!decided)
            names.items[names.n++] = name;
    }
    return names;
}
