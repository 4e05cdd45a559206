#include "coordinator/verdict/fingerprint_builder.h"

#include <stdlib.h>
#include <string.h>

#include "coordinator/verdict/flag_set.h"

struct fingerprint_builder fingerprint_begin (struct arena *arena)
{
    return (struct fingerprint_builder){ digest_begin (), arena };
}

void fingerprint_add (struct fingerprint_builder *builder, const char *name, struct text value)
{
    digest_add (builder->state, name, strlen (name) + 1);
    digest_add (builder->state, value.ptr, value.len);
    digest_add (builder->state, "\n", 1);
}

static int by_name (const void *a, const void *b)
{
    return text_compare (((const struct var *) a)->name, ((const struct var *) b)->name);
}

void fingerprint_add_vars (struct fingerprint_builder *builder, const struct var *items, uint32_t n)
{
    struct var *sorted = arena_copy (builder->arena, items, n * sizeof (*items));
    if (n)
        qsort (sorted, n, sizeof (*sorted), by_name);
    for (uint32_t i = 0; i < n; i++) {
        fingerprint_add (builder, "name", sorted[i].name);
        fingerprint_add (builder, "value", flag_set_normalise (sorted[i].value, builder->arena));
    }
}

static void add_scope (struct fingerprint_builder *builder, enum scope scope, const struct scope_env *env)
{
    if (env->set.n + env->unset.n == 0)
        return;
    fingerprint_add (builder, "scope", text_of (enum_name_of (&scope_names, scope)));
    fingerprint_add_vars (builder, env->set.items, env->set.n);
    for (uint32_t i = 0; i < env->unset.n; i++)
        fingerprint_add (builder, "unset", env->unset.items[i]);
}

void fingerprint_add_profile (struct fingerprint_builder *builder, const struct profile *profile)
{
    fingerprint_add_vars (builder, profile->env.items, profile->env.n);
    add_scope (builder, SCOPE_HOST, &profile->host_env);
    add_scope (builder, SCOPE_SLICE, &profile->slice_env);
    for (uint32_t i = 0; i < profile->inherit.n; i++)
        fingerprint_add (builder, "inherit", profile->inherit.items[i]);
}

struct text fingerprint_end (struct fingerprint_builder *builder)
{
    struct digest digest = digest_end (builder->state);
    char hex[DIGEST_HEX_BYTES];
    builder->state = NULL;
    return text_format (builder->arena, "%.16s", digest_hex (&digest, hex));
}
