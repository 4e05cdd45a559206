#include "coordinator/receipt/launch_fingerprint.h"

#include "coordinator/verdict/identity.h"

static void add_number (struct identity *identity, const char *name, uint32_t number)
{
    identity_add (identity, name, text_format (identity->arena, "%u", number));
}

static void add_code (struct identity *identity, const struct rung *rung)
{
    identity_add (identity, "program", rung->program.sha256);
    for (uint32_t i = 0; i < rung->files.n; i++) {
        identity_add (identity, "file", rung->files.items[i].name);
        identity_add (identity, "sha256", rung->files.items[i].file.sha256);
    }
}

static void add_hardware (struct identity *identity, const struct profile *profile)
{
    identity_add (identity, "backend", profile->backend);
    identity_add (identity, "accelerator", profile->accelerator);
    identity_add (identity, "topology", profile->topology);
    add_number (identity, "devices", profile->devices_per_host);
}

static void add_parallelism (struct identity *identity, const struct plan *plan, const struct rung *rung)
{
    identity_add (identity, "scope", text_of (names_of (&scope_names, rung->scope)));
    if (rung->scope != SCOPE_SLICE)
        return;
    add_number (identity, "hosts", plan->hosts.n);
    for (uint32_t i = 0; i < plan->mesh.n; i++) {
        identity_add (identity, "axis", plan->mesh.items[i].axis);
        add_number (identity, "size", plan->mesh.items[i].size);
    }
}

static void add_launch (struct identity *identity, const struct plan *plan, const struct rung *rung)
{
    add_code (identity, rung);
    add_hardware (identity, &plan->profile);
    add_parallelism (identity, plan, rung);
    identity_add (identity, "frontend", plan->profile.frontend);
    identity_add_vars (identity, rung->args.items, rung->args.n);
    identity_add_vars (identity, plan->profile.env.items, plan->profile.env.n);
}

struct text launch_shape (const struct plan *plan, const struct rung *rung, struct arena *arena)
{
    if (rung->kind != PROGRAM_CANARY)
        return (struct text){ 0 };
    struct identity shape = identity_begin (arena);
    add_launch (&shape, plan, rung);
    return identity_end (&shape);
}

struct text launch_fingerprint (const struct plan *plan, const struct rung *rung, struct arena *arena)
{
    if (rung->kind != PROGRAM_CANARY)
        return (struct text){ 0 };
    struct identity signature = identity_begin (arena);
    add_launch (&signature, plan, rung);
    identity_add (&signature, "pins", plan->pins.file.sha256);
    identity_add (&signature, "setup", plan->pins.setup.sha256);
    identity_add (&signature, "python", plan->pins.python);
    return identity_end (&signature);
}
