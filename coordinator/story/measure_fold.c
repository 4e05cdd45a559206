#include "coordinator/story/measure_fold.h"

#include <string.h>

#include "coordinator/verdict/failure.h"
#include "coordinator/verdict/flag_set.h"

enum { LAUNCHES_MAX = 4096, PINS_SHOWN_BYTES = 12 };

static const struct field measure_fields[] = {
    F_TEXT (1, struct measure, signature, ID_MAX_BYTES),
    F_TEXT (2, struct measure, shape, ID_MAX_BYTES),
    F_TEXT (3, struct measure, rung, ID_MAX_BYTES),
    F_TEXT (4, struct measure, slice, ID_MAX_BYTES),
    F_TEXT (5, struct measure, run, ID_MAX_BYTES),
    F_TEXT (6, struct measure, pins, NAME_MAX_BYTES),
    F_ENUM (7, struct measure, pass, &pass_names),
    F_ENUM (8, struct measure, outcome, &outcome_names),
    F_ENUM (9, struct measure, owner, &owner_names),
    F_TEXT (10, struct measure, failure, ID_MAX_BYTES),
    F_TEXT (11, struct measure, cause, SENTENCE_MAX_BYTES),
    F_BOOL (12, struct measure, known_bad),
    F_U32 (13, struct measure, hosts, HOSTS_MAX),
    F_U64 (14, struct measure, predicted_bytes, UINT64_MAX),
    F_U64 (15, struct measure, device_peak_bytes, UINT64_MAX),
    F_U64 (16, struct measure, host_peak_bytes, UINT64_MAX),
    F_U64 (17, struct measure, start_ms, UINT64_MAX),
    F_U64 (18, struct measure, duration_ms, UINT64_MAX),
    F_U64 (19, struct measure, ended_wall_ms, UINT64_MAX),
    F_TEXT (20, struct measure, family, ID_MAX_BYTES),
    F_TEXT (21, struct measure, args, MEASURE_TEXT_BYTES),
    F_TEXT (22, struct measure, packages, MEASURE_TEXT_BYTES),
    F_TEXT (23, struct measure, pin_file, PATH_MAX_BYTES),
};
const struct record measure_record = RECORD ("measure", struct measure, measure_fields);

struct measure_fold {
    struct arena arena;
    struct plan plan;
    struct text run;
    bool isolating;       /* the running pass is no launch of the ladder */
    struct measure now;   /* of the running pass */
    struct text packages; /* of the restored environment; empty: none was */
    bool *killed;         /* per host, in that pass: its program was, which may not happen again */
    struct measure *items;
    uint32_t n;
};

struct measure_fold *measure_fold_create (void)
{
    struct measure_fold *fold = mem_alloc (sizeof (*fold));
    *fold = (struct measure_fold){ .n = 0 };
    return fold;
}

void measure_fold_destroy (struct measure_fold *fold)
{
    arena_release (&fold->arena);
    mem_free (fold);
}

struct measure_list measure_fold_list (const struct measure_fold *fold)
{
    return (struct measure_list){ fold->items, fold->n };
}

static void raise (uint64_t *most, uint64_t value)
{
    if (value > *most)
        *most = value;
}

static void measure_fold_begin (struct measure_fold *fold, const struct fact_pass_began *began)
{
    const struct plan *plan = &fold->plan;
    struct arena *arena = &fold->arena;
    fold->isolating = began->purpose == PURPOSE_ISOLATION;
    fold->now = (struct measure){ 0 };
    for (uint32_t i = 0; i < plan->hosts.n; i++)
        fold->killed[i] = false;
    if (began->key.rung >= plan->rungs.n)
        return;
    const struct rung *rung = &plan->rungs.items[began->key.rung];
    fold->now = (struct measure){ .signature = launch_fingerprint (plan, rung, LAUNCH_WHOLE, arena),
                                  .shape = launch_fingerprint (plan, rung, LAUNCH_SHAPE, arena),
                                  .family = launch_fingerprint (plan, rung, LAUNCH_FAMILY, arena),
                                  .args = launch_args (rung, arena),
                                  .packages = fold->packages,
                                  .pin_file = plan->pins.file.path,
                                  .rung = rung->id,
                                  .slice = plan->slice,
                                  .run = fold->run,
                                  .pass = began->key.pass,
                                  .hosts = began->hosts.n };
    struct text sha256 = text_clip (plan->pins.file.sha256, PINS_SHOWN_BYTES);
    if (plan->pins.name.len)
        fold->now.pins = text_format (arena, "%.*s %.*s", TEXT_ARG (plan->pins.name), TEXT_ARG (sha256));
}

/* All that comes before the program runs first. */
static uint64_t start_of (const struct result *result)
{
    uint64_t sum_ms = 0;
    for (uint32_t i = 0; i < result->phases.n && !text_is (result->phases.items[i].name, "run"); i++)
        sum_ms += result->phases.items[i].value;
    return sum_ms;
}

/* Empty where they are too many to be kept. */
static struct text packages_of (const var_list *bundle, struct arena *arena)
{
    LOCAL_BUF words = { .max = MEASURE_TEXT_BYTES };
    for (uint32_t i = 0; i < bundle->n; i++) {
        const struct var *item = &bundle->items[i];
        if (text_starts (item->name, RESULT_PACKAGES))
            buf_printf (&words, " %.*s", TEXT_ARG (item->value));
        else if (!text_is (item->name, "pins-sha256") && !text_is (item->name, "fingerprint"))
            buf_printf (&words, " %.*s=%.*s", TEXT_ARG (item->name), TEXT_ARG (item->value));
    }
    return words.overflow ? (struct text){ 0 } : flag_set_normalise (buf_as_text (&words), arena);
}

/* An environment that was restored tells of more packages than the canaries that import some of them. */
static void measure_fold_see_packages (struct measure_fold *fold, const var_list *bundle)
{
    if (var_find (bundle, TEXT_LIT ("fingerprint"), &(struct text){ 0 }))
        fold->packages = packages_of (bundle, &fold->arena);
    else if (!fold->now.packages.len)
        fold->now.packages = packages_of (bundle, &fold->arena);
}

static void measure_fold_add_host (struct measure_fold *fold, uint32_t host, const struct result *result)
{
    struct measure *now = &fold->now;
    if (host < fold->plan.hosts.n)
        fold->killed[host] = failure_is_outside_kill (result->ending, result->code);
    measure_fold_see_packages (fold, &result->bundle);
    raise (&now->predicted_bytes, result->predicted_bytes);
    raise (&now->device_peak_bytes, result->device_peak_bytes);
    raise (&now->host_peak_bytes, result->peak_bytes);
    raise (&now->start_ms, start_of (result));
    raise (&now->duration_ms, result->duration_ms);
}

/* What will fail again: recognised, neither of a kind that passes by itself or when others grant more, nor printed by
 * working programs too, and owned by what the signature is made of. A text that gives way to others leaves open what was
 * wrong with the launch: the host may have been. */
static bool would_fail_again (const struct plan *plan, const struct verdict *verdict)
{
    const struct signature *known = plan_find_signature (plan, verdict->signature);
    if (verdict->outcome != OUTCOME_FAILED || verdict->else_owner == OWNER_HOST || verdict->transient || !known ||
        known->rule || known->transient || known->peer || known->noise || known->recheck)
        return false;
    return known->memory || verdict->owner == OWNER_COMPILER || verdict->owner == OWNER_PROGRAM ||
           verdict->owner == OWNER_BUNDLE || (verdict->owner == OWNER_LAUNCH && known->unless.n == 0);
}

/* A cause such as "exit status 1" is followed by the line that decided it. */
static struct text cause_of (const struct plan *plan, const struct verdict *verdict, struct arena *arena)
{
    const struct signature *known = plan_find_signature (plan, verdict->signature);
    struct text lines = verdict->evidence, line = text_take_until (&lines, '\n'), cause = verdict->cause;
    if (known && !known->rule && line.len && !text_find (cause, known->text, NULL))
        cause = text_format (arena, "%.*s: %.*s", TEXT_ARG (cause), TEXT_ARG (line));
    return text_copy (arena, text_clip (cause, SENTENCE_MAX_BYTES));
}

static void blame (struct measure_fold *fold, struct measure *now, const struct fact_pass_ended *ended)
{
    for (uint32_t i = 0; i < ended->verdicts.n; i++) {
        const struct verdict *verdict = &ended->verdicts.items[i];
        if (verdict->outcome == OUTCOME_CASCADE || now->cause.len)
            continue;
        now->owner = verdict->owner;
        now->failure = text_copy (&fold->arena, verdict->signature);
        now->cause = cause_of (&fold->plan, verdict, &fold->arena);
        now->known_bad = (verdict->host >= fold->plan.hosts.n || !fold->killed[verdict->host]) &&
                         would_fail_again (&fold->plan, verdict);
    }
}

static void end (struct measure_fold *fold, const struct fact *fact)
{
    struct measure *now = &fold->now;
    if (fold->isolating || fact->of.pass_ended.key.attempt == 0 || !now->signature.len || fold->n == LAUNCHES_MAX)
        return;
    now->outcome = fact->of.pass_ended.outcome;
    now->ended_wall_ms = fact->wall_ms;
    blame (fold, now, &fact->of.pass_ended);
    if (!fold->items)
        fold->items = arena_array (&fold->arena, LAUNCHES_MAX, sizeof (*fold->items));
    fold->items[fold->n++] = *now;
}

static void open_run (struct measure_fold *fold, const struct fact_run_opened *opened)
{
    record_copy (&plan_record, &fold->plan, &opened->plan, &fold->arena);
    fold->run = text_copy (&fold->arena, opened->run);
    fold->killed = arena_array (&fold->arena, fold->plan.hosts.n, sizeof fold->killed[0]);
}

void measure_fold_apply (struct measure_fold *fold, const struct fact *fact)
{
    switch (fact->kind) {
    case FACT_RUN_OPENED: open_run (fold, &fact->of.run_opened); break;
    case FACT_PASS_BEGAN: measure_fold_begin (fold, &fact->of.pass_began); break;
    case FACT_ATTEMPT_ENDED:
        measure_fold_add_host (fold, fact->of.attempt_ended.host, &fact->of.attempt_ended.result);
        break;
    case FACT_PASS_ENDED: end (fold, fact); break;
    default: break;
    }
}

/* ---- launch fingerprint ---- */

static void measure_fold_add_number (struct fingerprint_builder *builder, const char *name, uint32_t number)
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
    measure_fold_add_number (builder, "devices", profile->devices_per_host);
}

static void add_parallelism (struct fingerprint_builder *builder, const struct plan *plan, const struct rung *rung)
{
    fingerprint_add (builder, "scope", text_of (enum_name_of (&scope_names, rung->scope)));
    if (rung->scope != SCOPE_SLICE)
        return;
    measure_fold_add_number (builder, "hosts", plan->hosts.n);
    for (uint32_t i = 0; i < plan->mesh.n; i++) {
        fingerprint_add (builder, "axis", plan->mesh.items[i].axis);
        measure_fold_add_number (builder, "size", plan->mesh.items[i].size);
    }
}

static void add_shapes (struct fingerprint_builder *builder, const struct profile *profile)
{
    for (uint32_t i = 0; i < profile->shapes.n; i++) {
        const struct dimension *dimension = &profile->shapes.items[i];
        fingerprint_add (builder, profile->padding ? "padded" : "shape", dimension->name);
        for (uint32_t j = 0; j < dimension->sizes.n; j++)
            measure_fold_add_number (builder, "size", dimension->sizes.items[j]);
    }
}

struct text launch_fingerprint (const struct plan *plan, const struct rung *rung, enum launch_part upto,
                                struct arena *arena)
{
    if (rung->kind != PROGRAM_CANARY)
        return (struct text){ 0 };
    struct fingerprint_builder builder = fingerprint_begin (arena);
    add_code (&builder, rung);
    add_hardware (&builder, &plan->profile);
    add_parallelism (&builder, plan, rung);
    fingerprint_add (&builder, "frontend", plan->profile.frontend);
    if (upto >= LAUNCH_SHAPE)
        fingerprint_add_vars (&builder, rung->args.items, rung->args.n);
    if (upto >= LAUNCH_SHAPE && rung->hold_ms)
        measure_fold_add_number (&builder, "hold", rung->hold_ms);
    fingerprint_add_profile (&builder, &plan->profile);
    if (upto >= LAUNCH_SHAPE)
        add_shapes (&builder, &plan->profile);
    if (upto >= LAUNCH_WHOLE) {
        fingerprint_add (&builder, "pins", plan->pins.file.sha256);
        fingerprint_add (&builder, "setup", plan->pins.setup.sha256);
        fingerprint_add (&builder, "python", plan->pins.python);
    }
    return fingerprint_end (&builder);
}

struct text launch_args (const struct rung *rung, struct arena *arena)
{
    LOCAL_BUF lines = { .max = MEASURE_TEXT_BYTES };
    for (uint32_t i = 0; i < rung->args.n; i++)
        buf_printf (&lines, "%s%.*s=%.*s", i ? "\n" : "", TEXT_ARG (rung->args.items[i].name),
                    TEXT_ARG (rung->args.items[i].value));
    return lines.overflow ? (struct text){ 0 } : text_copy (arena, buf_as_text (&lines));
}
