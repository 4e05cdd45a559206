#include "coordinator/verdict/flag_set.h"

#include <stdlib.h>
#include <string.h>

enum { TOKENS_MAX = 256 };

struct text flag_set_normalise (struct text flags, struct arena *arena)
{
    struct text tokens[TOKENS_MAX], rest = flags;
    uint32_t n = 0;
    while (n < TOKENS_MAX && flag_set_next (&rest, &tokens[n]))
        n++;
    qsort (tokens, n, sizeof (*tokens), text_order);
    struct buf joined = { .max = flags.len + 1 };
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0 && text_equal (tokens[i], tokens[i - 1]))
            continue;
        if (joined.len)
            buf_byte (&joined, ' ');
        buf_add_text (&joined, tokens[i]);
    }
    return buf_finish (&joined, arena);
}

bool flag_set_next (struct text *rest, struct text *word)
{
    return text_next_word (rest, TEXT_LIT (" \n"), word);
}

bool flag_set_has (struct text set, struct text word)
{
    struct text one;
    while (flag_set_next (&set, &one))
        if (text_equal (one, word))
            return true;
    return false;
}

struct text flag_set_subtract (struct text set, struct text other, struct arena *arena)
{
    struct text left = { 0 }, word;
    while (flag_set_next (&set, &word))
        if (!flag_set_has (other, word))
            left = text_format (arena, "%.*s%s%.*s", TEXT_ARG (left), left.len ? " " : "", TEXT_ARG (word));
    return left;
}

void var_lists_walk (const var_list *here, const var_list *there, var_pair_fn *tell, void *context)
{
    struct text value;
    for (uint32_t i = 0; i < here->n; i++)
        tell (context, here->items[i].name, &here->items[i].value,
              var_find (there, here->items[i].name, &value) ? &value : NULL);
    for (uint32_t i = 0; i < there->n; i++)
        if (!var_find (here, there->items[i].name, &value))
            tell (context, there->items[i].name, NULL, &there->items[i].value);
}

/* ---- fingerprint builder ---- */

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

void fingerprint_add_vars (struct fingerprint_builder *builder, const struct var *items, uint32_t n)
{
    struct var *sorted = arena_copy (builder->arena, items, n * sizeof (*items));
    sort_items (sorted, n, sizeof (*sorted), text_order);
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
    builder->state = NULL;
    return text_format (builder->arena, "%.16s", DIGEST_TEXT (&digest));
}
