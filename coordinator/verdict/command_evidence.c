#include "coordinator/verdict/command_evidence.h"

#include <inttypes.h>

/* ---- its log ---- */

bool command_log_is_clean (const struct judge_case *of, struct arena *arena, struct verdict *out)
{
    for (uint32_t i = 0; of->rung->kind == PROGRAM_COMMAND && i < of->result->sightings.n; i++) {
        const struct sighting *sighting = &of->result->sightings.items[i];
        const struct signature *signature = plan_find_signature (of->plan, sighting->signature);
        if (!signature || !signature->always)
            continue;
        out->outcome = OUTCOME_FAILED;
        out->owner = signature->owner;
        out->signature = signature->id;
        out->cause = text_clip (
            text_format (arena, "exited with status 0, but printed: %.*s", TEXT_ARG (sighting->text)),
            SENTENCE_MAX_BYTES);
        out->evidence = sighting->text;
        out->next = signature->next;
        return false;
    }
    return true;
}

/* ---- its limits ---- */

struct limit_words {
    const char *what, *counter, *seen, *next;
};

static const struct limit_words limits[] = {
    { "recompilations", "later_compilations", "compiled %" PRIu64 " programs after its first step",
      "let every step have the same shapes, dtypes and Python values; docs/guide/your-own-step.md lists what compiles "
      "again" },
    { "fallbacks", "fallbacks", "ran %" PRIu64 " operations on the host's processor",
      "the counters of the receipt that begin with aten:: name the operations: replace them by ones that torch_xla "
      "lowers" },
    { "reads_per_step", "reads", "read %" PRIu64 " values from devices",
      "read values, such as the loss, every so many steps: each read waits until the device is done" },
};

static const struct limit_words *words_of (struct text what)
{
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        if (text_is (what, limits[i].what))
            return &limits[i];
    return NULL;
}

static bool refuse (struct verdict *out, struct text cause, const char *next)
{
    out->outcome = OUTCOME_FAILED;
    out->owner = OWNER_PROGRAM;
    out->cause = text_clip (cause, SENTENCE_MAX_BYTES);
    out->next = text_of (next);
    return false;
}

static bool keeps (const struct judge_case *of, const struct demand *demand, struct arena *arena, struct verdict *out)
{
    uint64_t seen = 0, steps = 0;
    const struct limit_words *words = words_of (demand->what);
    bool per_step = words && text_is (demand->what, "reads_per_step");
    bool stepped = result_counter (of->result, "steps", &steps) && steps > 0;
    bool shown = words && stepped && result_counter (of->result, words->counter, &seen);
    if (!shown)
        return refuse (
            out,
            text_format (arena, "the rung allows at most %g %.*s, and %s", demand->most, TEXT_ARG (demand->what),
                         stepped ? "no report of the program counts them" : "no report of the program shows a step"),
            "let the program report: docs/guide/your-own-step.md, `at_most`");
    if ((double) seen <= demand->most * (per_step ? (double) steps : 1))
        return true;
    struct text what = text_format (arena, words->seen, seen);
    return refuse (out,
                   text_format (arena, "%.*s in %" PRIu64 " steps, the rung allows at most %g%s", TEXT_ARG (what),
                                steps, demand->most, per_step ? " a step" : ""),
                   words->next);
}

bool command_keeps_limits (const struct judge_case *of, struct arena *arena, struct verdict *out)
{
    for (uint32_t i = 0; i < of->rung->demands.n; i++)
        if (!keeps (of, &of->rung->demands.items[i], arena, out))
            return false;
    return true;
}
