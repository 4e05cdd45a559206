#include "common/model/launch_variables.h"

#include <stdlib.h>

static const char *const placeholders[] = { "rank", "world", "host", "address", "addresses", "slice", "slices" };
enum placeholder { RANK, WORLD, HOST, ADDRESS, ADDRESSES, SLICE, SLICES, PLACEHOLDERS };

static bool is_small_letter (char c)
{
    return c >= 'a' && c <= 'z';
}

/* Takes what stands up to the next "{word}" off `rest`, then the braces; `word` is empty when there is none. */
static struct text take_up_to_braces (struct text *rest, struct text *word)
{
    struct text all = *rest;
    for (uint32_t from = 0; from < all.len; from++) {
        uint32_t to = from + 1;
        while (all.ptr[from] == '{' && to < all.len && is_small_letter (all.ptr[to]))
            to++;
        if (to == from + 1 || to == all.len || all.ptr[to] != '}')
            continue;
        *word = (struct text){ all.ptr + from + 1, to - from - 1 };
        *rest = (struct text){ all.ptr + to + 1, all.len - to - 1 };
        return (struct text){ all.ptr, from };
    }
    *word = *rest = (struct text){ 0 };
    return all;
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
        take_up_to_braces (&value, name);
        if (name->len && placeholder_of (*name) < 0)
            return true;
    }
    return false;
}

/* One slice is all that a plan has. */
static void add_value (struct buf *out, struct text word, const struct launch_place *place)
{
    switch (placeholder_of (word)) {
    case RANK: buf_printf (out, "%u", place->rank); break;
    case WORLD: buf_printf (out, "%u", place->world); break;
    case HOST: buf_add_text (out, place->host); break;
    case ADDRESS: buf_add_text (out, place->address); break;
    case ADDRESSES: buf_add_text (out, place->addresses); break;
    case SLICE: buf_puts (out, "0"); break;
    case SLICES: buf_puts (out, "1"); break;
    default: buf_printf (out, "{%.*s}", TEXT_ARG (word));
    }
}

static struct text filled (struct text value, const struct launch_place *place, struct arena *arena)
{
    struct buf out;
    struct text word;
    buf_init (&out, (size_t) HOSTS_MAX * (NAME_MAX_BYTES + 1) + TEXT_MAX_BYTES);
    while (value.len) {
        buf_add_text (&out, take_up_to_braces (&value, &word));
        if (word.len)
            add_value (&out, word, place);
    }
    return buf_finish (&out, arena);
}

struct launch_place launch_place_of (const struct plan *plan, const uint32_t *ranks, uint32_t n, uint32_t at,
                                     struct arena *arena)
{
    const struct plan_host *own = &plan->hosts.items[ranks ? ranks[at] : at];
    struct buf addresses;
    buf_init (&addresses, (size_t) HOSTS_MAX * (NAME_MAX_BYTES + 1));
    n = ranks ? n : plan->hosts.n;
    for (uint32_t i = 0; i < n; i++) {
        buf_puts (&addresses, i ? "," : "");
        buf_add_text (&addresses, plan->hosts.items[ranks ? ranks[i] : i].address);
    }
    return (struct launch_place){
        .rank = at, .world = n, .host = own->name, .address = own->address, .addresses = buf_finish (&addresses, arena)
    };
}

static const struct scope_env *env_of (const struct profile *profile, enum scope scope)
{
    return scope == SCOPE_SLICE ? &profile->slice_env : &profile->host_env;
}

static int by_name (const void *a, const void *b)
{
    return text_compare (((const struct var *) a)->name, ((const struct var *) b)->name);
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
    for (uint32_t i = 0; i < vars.n; i++)
        vars.items[i].value = filled (vars.items[i].value, place, arena);
    if (vars.n > 1)
        qsort (vars.items, vars.n, sizeof *vars.items, by_name);
    return vars;
}

var_list launch_variables_of_scope (const struct profile *profile, enum scope scope, const struct launch_place *place,
                                    struct arena *arena)
{
    struct profile own = *profile;
    own.env = (var_list){ 0 };
    return launch_variables_of (&own, scope, place, arena);
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
