/* cache_family.c - names of caches: what must be equal for one compile cache to serve two runs. */
#include "coordinator/core/cache_family.h"

#include "coordinator/verdict/fingerprint_builder.h"

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
