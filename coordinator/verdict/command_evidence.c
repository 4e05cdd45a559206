#include "coordinator/verdict/judge.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/frontend/frontend.h"

enum { FALLBACKS_SHOWN = 4 };
#define GUIDE "docs/guide/your-own-step.md"

/* ---- its log ---- */

/* A text in its output that no healthy program prints; NULL: none. */
static const struct sighting *find_always (const struct judge_case *of, const struct signature **signature)
{
    for (uint32_t i = 0; of->rung->kind == PROGRAM_COMMAND && i < of->result->sightings.n; i++) {
        const struct signature *seen = plan_find_signature (of->plan, of->result->sightings.items[i].signature);
        if (!seen || !seen->always)
            continue;
        *signature = seen;
        if (seen->backends.n == 0 || text_is_among (of->plan->profile.backend, seen->backends.items, seen->backends.n))
            return &of->result->sightings.items[i];
    }
    return NULL;
}

static void take_always (const struct sighting *sighting, const struct signature *signature, bool likely,
                         struct verdict *out)
{
    out->owner = signature->owner;
    out->else_owner = signature->else_owner;
    out->likely = likely;
    out->signature = signature->id;
    out->evidence = sighting->text;
    out->next = signature->next;
}

bool command_log_is_clean (const struct judge_case *of, struct arena *arena, struct verdict *out)
{
    const struct signature *signature;
    const struct sighting *sighting = find_always (of, &signature);
    if (!sighting)
        return true;
    take_always (sighting, signature, signature->likely, out);
    out->outcome = OUTCOME_FAILED;
    out->cause = text_clip (text_format (arena, "exited with status 0, but printed: %.*s", TEXT_ARG (sighting->text)),
                            SENTENCE_MAX_BYTES);
    return false;
}

void command_adopt_warning (const struct judge_case *of, struct verdict *out)
{
    const struct signature *signature;
    const struct sighting *sighting = find_always (of, &signature);
    if (sighting)
        take_always (sighting, signature, true, out);
}

/* ---- its metrics ---- */

bool command_reports_metrics (const struct judge_case *of, struct arena *arena, struct verdict *out)
{
    if (of->rung->metrics.n == 0 || of->result->spoke)
        return true;
    return verdict_set (out, OUTCOME_FAILED, OWNER_PROGRAM,
                        text_format (arena, "the rung asks for the metric %.*s, and the program reported nothing",
                                     TEXT_ARG (of->rung->metrics.items[0])),
                        "let the program reduce it by reduced () of sliceup_program: " GUIDE);
}

/* ---- its backend ---- */

/* Is a variable of the launch policy set to this backend, such as JAX_PLATFORMS or PJRT_DEVICE? */
static bool policy_chooses (const struct judge_case *of, struct text backend)
{
    for (uint32_t i = 0; i < of->plan->profile.env.n; i++) {
        struct text value = of->plan->profile.env.items[i].value;
        if (value.len == backend.len && strncasecmp (value.ptr, backend.ptr, backend.len) == 0)
            return true;
    }
    return false;
}

/* The launch gives a canary its devices and peers; a command finds them by itself. */
static bool is_canary (const struct judge_case *of)
{
    return of->rung->kind != PROGRAM_COMMAND;
}

static bool ran_elsewhere (const struct judge_case *of, struct text asked, struct arena *arena, struct verdict *out)
{
    const struct observed_backend *seen = &of->result->backend;
    bool chosen = !is_canary (of) && policy_chooses (of, asked);
    const char *next =
        "set JAX_PLATFORMS or PJRT_DEVICE in env of the profile: then a program that cannot have the backend "
        "fails at once; a rung that may run anywhere says backend: any";
    if (is_canary (of))
        next = "see which plugin was loaded, and the launch policy in the receipt";
    else if (chosen)
        next = "see where the program chooses a backend by itself: a variable or an option that it sets";
    return verdict_set (out, OUTCOME_FAILED, chosen ? OWNER_PROGRAM : OWNER_LAUNCH,
                        text_format (arena, "the %s asks for backend %.*s%s, but its program ran on %.*s (%.*s)",
                                     of->rung->backend.len ? "rung" : "profile", TEXT_ARG (asked),
                                     chosen ? ", and so does the launch policy" : "", TEXT_ARG (seen->platform),
                                     TEXT_ARG (seen->device_kind)),
                        next);
}

static const char *other_devices_next (const struct judge_case *of)
{
    if (is_canary (of))
        return "see which devices the process may open, and who else holds them";
    const struct frontend *frontend = frontend_find (of->plan->profile.frontend);
    return frontend && frontend->fewer_devices
               ? frontend->fewer_devices
               : "see the variables that limit devices in the launch policy, and devices_per_host of the profile";
}

bool evidence_ran_where_asked (const struct judge_case *of, struct arena *arena, struct verdict *out)
{
    const struct observed_backend *seen = &of->result->backend;
    bool canary = is_canary (of), required = of->rung->backend.len > 0;
    struct text asked = required ? of->rung->backend : of->plan->profile.backend;
    uint32_t per_host = of->plan->profile.devices_per_host, world = of->rung->scope == SCOPE_SLICE ? of->world : 1;
    if (!required && (canary || of->rung->any_backend || seen->platform.len == 0))
        return true;
    if (seen->platform.len == 0)
        return verdict_set (
            out, OUTCOME_FAILED, canary ? OWNER_LAUNCH : OWNER_PROGRAM,
            text_format (arena, "the rung asks for backend %.*s, but the program reported none", TEXT_ARG (asked)),
            "let the process that computes report its backend: " GUIDE);
    if (!backend_is (seen, asked))
        return ran_elsewhere (of, asked, arena, out);
    if (!required)
        return true;
    if (seen->local_devices != per_host)
        return verdict_set (out, OUTCOME_FAILED, canary ? OWNER_DEVICE : OWNER_PROGRAM,
                            text_format (arena,
                                         canary ? "the program sees %u devices of its host, the profile says %u"
                                                : "the program uses %u of its host's devices, the profile says %u",
                                         seen->local_devices, per_host),
                            other_devices_next (of));
    if (seen->process_count == world && seen->devices == world * per_host)
        return true;
    return verdict_set (
        out, OUTCOME_FAILED, canary ? OWNER_LAUNCH : OWNER_PROGRAM,
        text_format (arena, "the program formed a mesh of %u processes and %u devices, expected %u and %u",
                     seen->process_count, seen->devices, world, world * per_host),
        canary ? "see in the logs whether all programs met at one rendezvous: one that did not computes alone"
               : "let the program join those of the other hosts, at the address that rendezvous () gives: " GUIDE);
}

/* ---- its limits ---- */

struct limit_words {
    const char *what, *counter, *seen, *next;
};

static const struct limit_words limits[] = {
    { "recompilations", "later_compilations", "compiled %" PRIu64 " programs after its first step",
      "let every step have the same shapes, dtypes and Python values; docs/guide/your-own-step.md lists what causes "
      "recompilation, and for jax a note in the receipt names the functions" },
    { "fallbacks", "fallbacks", "ran %" PRIu64 " operations on the host's processor",
      "replace these operations by ones that torch_xla lowers; sliceup receipt --json counts each" },
    { "reads_per_step", "reads", "read %" PRIu64 " values from devices",
      "read values, such as the loss, every so many steps: each read waits until the device is done" },
    { "step_ms", "step_ms", "took %" PRIu64 " ms a step at the median",
      "see which host holds up the others: sliceup drift compares what each did by itself in a step" },
};

static const struct limit_words *words_of (struct text what)
{
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        if (text_is (what, limits[i].what))
            return &limits[i];
    return NULL;
}

/* " (aten::histc, aten::median)"; empty where no counter names one. */
static struct text operation_names (const struct result *result, struct arena *arena)
{
    struct text names = { 0 };
    for (uint32_t i = 0, n = 0; i < result->counters.n && n < FALLBACKS_SHOWN; i++) {
        struct text name = result->counters.items[i].name;
        if (!text_starts (name, "aten::") || text_is (name, "aten::_local_scalar_dense") ||
            text_is (name, "aten::nonzero"))
            continue;
        names = text_format (arena, "%.*s%s%.*s", TEXT_ARG (names), n++ ? ", " : " (", TEXT_ARG (name));
    }
    return names.len ? text_format (arena, "%.*s)", TEXT_ARG (names)) : names;
}

static bool keeps (const struct judge_case *of, const struct demand *demand, struct arena *arena, struct verdict *out)
{
    uint64_t seen = 0, steps = result_counted (of->result, "steps");
    const struct limit_words *words = words_of (demand->what);
    bool per_step = words && text_is (demand->what, "reads_per_step");
    bool shown = words && steps && result_counter (of->result, words->counter, &seen);
    uint64_t requests = 1;
    (void) result_counter (of->result, "compile_requests", &requests);
    if (steps && requests == 0 && result_counted (of->result, "executions") == 0)
        return verdict_set (
            out, OUTCOME_FAILED, OWNER_PROGRAM,
            text_format (arena, "in %" PRIu64 " step%s the framework compiled and executed nothing", steps,
                         plural (steps)),
            "see whether the program puts its tensors on the device: limits do not count what it computes elsewhere");
    if (!shown)
        return verdict_set (
            out, OUTCOME_FAILED, OWNER_PROGRAM,
            text_format (arena, "the rung allows at most %g %.*s, and %s", demand->most, TEXT_ARG (demand->what),
                         steps ? "no report of the program counts them" : "no report of the program shows a step"),
            "let the program report: docs/guide/your-own-step.md, `at_most`");
    if ((double) seen <= demand->most * (per_step ? (double) steps : 1))
        return true;
    struct text what = text_format (arena, words->seen, seen), names = { 0 };
    if (text_is (demand->what, "fallbacks"))
        names = operation_names (of->result, arena);
    return verdict_set (out, OUTCOME_FAILED, OWNER_PROGRAM,
                        text_format (arena, "%.*s%.*s in %" PRIu64 " step%s, the rung allows at most %g%s",
                                     TEXT_ARG (what), TEXT_ARG (names), steps, plural (steps), demand->most,
                                     per_step ? " a step" : ""),
                        words->next);
}

static struct text command_evidence_join (struct text all, struct text one, struct arena *arena)
{
    return all.len ? text_clip (text_format (arena, "%.*s; %.*s", TEXT_ARG (all), TEXT_ARG (one)), SENTENCE_MAX_BYTES)
                   : one;
}

/* Reports all broken limits. */
bool command_keeps_limits (const struct judge_case *of, struct arena *arena, struct verdict *out)
{
    bool kept = true;
    for (uint32_t i = 0; i < of->rung->demands.n; i++) {
        struct verdict broken = *out;
        if (keeps (of, &of->rung->demands.items[i], arena, &broken) || text_equal (broken.cause, out->cause))
            continue;
        broken.cause = command_evidence_join (kept ? (struct text){ 0 } : out->cause, broken.cause, arena);
        broken.next = command_evidence_join (
            kept || text_equal (out->next, broken.next) ? (struct text){ 0 } : out->next, broken.next, arena);
        kept = false;
        *out = broken;
    }
    return kept;
}

/* ---- the floors of the numbers that it told, also of a canary ---- */

#define NUMBER_FACT "number."

/* "; did it mean disk_mbps?", of the numbers that it told; empty: none is near. */
static struct text nearest_number (const struct result *result, struct text name, struct arena *arena)
{
    const char **names = arena_array (arena, result->facts.n, sizeof (*names));
    uint32_t n = 0;
    for (uint32_t i = 0; i < result->facts.n; i++)
        if (text_starts (result->facts.items[i].name, NUMBER_FACT))
            names[n++] = text_copy (arena, result->facts.items[i].name).ptr + strlen (NUMBER_FACT);
    const char *near = text_nearest (name, names, n);
    return near ? text_format (arena, "; did it mean %s?", near) : (struct text){ 0 };
}

static bool is_at_least (struct text value, double least)
{
    char copy[64], *end = copy;
    double number = text_to_c (value, copy, sizeof copy) ? strtod (copy, &end) : NAN;
    return end != copy && *end == '\0' && isfinite (number) && number >= least;
}

/* A floor of the profile is of no rung by itself, so it holds where its number is told. */
static bool is_reached (const struct judge_case *of, const struct floor *floor, struct arena *arena,
                        struct verdict *out)
{
    struct text value, name = text_format (arena, NUMBER_FACT "%.*s", TEXT_ARG (floor->name));
    bool told = var_find ((const var_list *) &of->result->facts, name, &value);
    if (told ? is_at_least (value, floor->least) : floor->may_be_left)
        return true;
    struct text near = told ? value : nearest_number (of->result, floor->name, arena);
    if (!told)
        return verdict_set (out, OUTCOME_FAILED, OWNER_LAUNCH,
                            text_format (arena, "told no number %.*s, and at least %g is asked for by %.*s%.*s",
                                         TEXT_ARG (floor->name), floor->least, TEXT_ARG (floor->of), TEXT_ARG (near)),
                            "a floor that nothing is held against proves nothing: correct its name, or let the program "
                            "tell the number");
    return verdict_set (
        out, OUTCOME_FAILED, OWNER_HOST,
        text_format (arena, "%.*s is %.*s, and at least %g is asked for by %.*s", TEXT_ARG (floor->name),
                     TEXT_ARG (value), floor->least, TEXT_ARG (floor->of)),
        "see how the host stands beside the others: sliceup drift; where all are below it, the floor is "
        "of another machine type, or other work runs on them");
}

/* Of a cold pass the numbers have compilation in them. */
bool floors_are_reached (const struct judge_case *of, struct arena *arena, struct verdict *out)
{
    for (uint32_t i = 0; of->key.pass != PASS_COLD && i < of->rung->floors.n; i++)
        if (!is_reached (of, &of->rung->floors.items[i], arena, out))
            return false;
    return true;
}
