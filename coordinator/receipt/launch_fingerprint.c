#include "coordinator/receipt/measure_fold.h"

#include "coordinator/verdict/flag_set.h"

static void add_number (struct fingerprint_builder *builder, const char *name, uint32_t number)
{
    fingerprint_add (builder, name, text_format (builder->arena, "%u", number));
}

static void add_code (struct fingerprint_builder *builder, const struct rung *rung)
{
    fingerprint_add (builder, "program", rung->program.sha256);
    for (uint32_t i = 0; i < rung->files.n; i++) {
        fingerprint_add (builder, "file", rung->files.items[i].name);
        fingerprint_add (builder, "sha256", rung->files.items[i].file.sha256);
    }
}

static void add_hardware (struct fingerprint_builder *builder, const struct profile *profile)
{
    fingerprint_add (builder, "backend", profile->backend);
    fingerprint_add (builder, "accelerator", profile->accelerator);
    fingerprint_add (builder, "topology", profile->topology);
    add_number (builder, "devices", profile->devices_per_host);
}

static void add_parallelism (struct fingerprint_builder *builder, const struct plan *plan, const struct rung *rung)
{
    fingerprint_add (builder, "scope", text_of (enum_name_of (&scope_names, rung->scope)));
    if (rung->scope != SCOPE_SLICE)
        return;
    add_number (builder, "hosts", plan->hosts.n);
    for (uint32_t i = 0; i < plan->mesh.n; i++) {
        fingerprint_add (builder, "axis", plan->mesh.items[i].axis);
        add_number (builder, "size", plan->mesh.items[i].size);
    }
}

static void add_shapes (struct fingerprint_builder *builder, const struct profile *profile)
{
    for (uint32_t i = 0; i < profile->shapes.n; i++) {
        const struct dimension *dimension = &profile->shapes.items[i];
        fingerprint_add (builder, profile->padding ? "padded" : "shape", dimension->name);
        for (uint32_t j = 0; j < dimension->sizes.n; j++)
            add_number (builder, "size", dimension->sizes.items[j]);
    }
}

static void add_launch (struct fingerprint_builder *builder, const struct plan *plan, const struct rung *rung)
{
    add_code (builder, rung);
    add_hardware (builder, &plan->profile);
    add_parallelism (builder, plan, rung);
    fingerprint_add (builder, "frontend", plan->profile.frontend);
    fingerprint_add_vars (builder, rung->args.items, rung->args.n);
    fingerprint_add_profile (builder, &plan->profile);
    add_shapes (builder, &plan->profile);
}

struct text launch_shape (const struct plan *plan, const struct rung *rung, struct arena *arena)
{
    if (rung->kind != PROGRAM_CANARY)
        return (struct text){ 0 };
    struct fingerprint_builder shape = fingerprint_begin (arena);
    add_launch (&shape, plan, rung);
    return fingerprint_end (&shape);
}

struct text launch_fingerprint (const struct plan *plan, const struct rung *rung, struct arena *arena)
{
    if (rung->kind != PROGRAM_CANARY)
        return (struct text){ 0 };
    struct fingerprint_builder signature = fingerprint_begin (arena);
    add_launch (&signature, plan, rung);
    fingerprint_add (&signature, "pins", plan->pins.file.sha256);
    fingerprint_add (&signature, "setup", plan->pins.setup.sha256);
    fingerprint_add (&signature, "python", plan->pins.python);
    return fingerprint_end (&signature);
}
