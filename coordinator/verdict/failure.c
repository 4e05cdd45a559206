#include "coordinator/verdict/failure.h"

#include <signal.h>

#include "coordinator/verdict/failure_reading.h"

struct text failure_phase (const struct result *result)
{
    return result->phase.len ? result->phase : TEXT_LIT ("start");
}

static struct text look_at_log (const struct judge_case *of, struct arena *arena)
{
    return text_format (arena, "see what it printed: sliceup logs --rung %.*s", TEXT_ARG (of->rung->id));
}

static void take_decision (const struct cause_decision *of, struct verdict *out)
{
    out->signature = of->id;
    out->owner = of->owner;
    out->likely = of->likely;
    out->next = of->next;
}

/* A hang is never transient, whatever the program printed. */
void failure_describe_hang (const struct judge_case *of, struct arena *arena, struct verdict *out)
{
    struct failure_reading reading;
    failure_read_result (of->plan, of->signatures, of->result, arena, &reading);
    out->evidence = reading.evidence;
    if (reading.of.weight >= CAUSE_PEER)
        take_decision (&reading.of, out);
}

static bool sent_from_outside (uint32_t signal)
{
    return signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT;
}

bool failure_is_outside_kill (enum ending ending, uint32_t code)
{
    return ending == ENDING_SIGNALLED && sent_from_outside (code);
}

/* Builtins report their owner rightly, except the probe, which repeats the words of a PJRT plugin. */
static bool knows_itself (const struct judge_case *of)
{
    enum owner owner = of->result->owner;
    return of->rung->kind == PROGRAM_BUILTIN && owner && owner != OWNER_UNKNOWN &&
           !text_is (of->rung->builtin, "probe");
}

/* May what was read replace the owner that the program reported? Known texts may, forms of errors and noise may not,
 * complaints of peers rarely. */
static bool overrules (const struct failure_reading *reading, enum owner said)
{
    if (said == OWNER_NONE || said == OWNER_UNKNOWN)
        return reading->of.id.len > 0;
    if (reading->of.weight == CAUSE_OWN)
        return !reading->of.likely;
    return reading->of.weight == CAUSE_PEER && (reading->in_failure || said == OWNER_PEER);
}

/* Transient failures keep programs from starting: nothing was computed, and the end was an exit or an abort. */
static bool ended_at_start (const struct result *result)
{
    uint64_t executions = 0;
    bool computed = result->checks.n > 0 || result->metrics.n > 0 ||
                    (result_counter (result, "executions", &executions) && executions > 0);
    return !computed && (result->ending == ENDING_EXITED || result->code == SIGABRT);
}

/* The owner is that of a known text, else as the program reported it, else as the form of the error says, else unknown. */
void failure_judge (const struct judge_case *of, struct arena *arena, struct text how, struct verdict *out)
{
    const struct result *result = of->result;
    struct failure_reading reading = { 0 };
    if (!knows_itself (of))
        failure_read_result (of->plan, of->signatures, result, arena, &reading);
    struct text cause = result->failure.len
                            ? text_format (arena, "%.*s (%.*s)", TEXT_ARG (result->failure), TEXT_ARG (how))
                            : text_format (arena, "%.*s in phase %.*s", TEXT_ARG (how),
                                           TEXT_ARG (failure_phase (result)));
    out->outcome = OUTCOME_FAILED;
    out->owner = result->owner ? result->owner : OWNER_UNKNOWN;
    out->cause = text_clip (cause, SENTENCE_MAX_BYTES);
    out->next = look_at_log (of, arena);
    if (overrules (&reading, result->owner)) {
        take_decision (&reading.of, out);
        out->transient = reading.of.transient && ended_at_start (result);
    }
    out->evidence = reading.evidence;
}

void failure_print_owner (struct buf *out, enum certainty certainty, enum owner owner, struct text signature)
{
    if (owner == OWNER_UNKNOWN && !signature.len)
        buf_puts (out, "; owner unknown: no known error matched");
    else
        buf_printf (out, " [%s%s%s%s%.*s]", certainty ? enum_name_of (&certainty_names, certainty) : "",
                    certainty ? " " : "", enum_name_of (&owner_names, owner), signature.len ? ", " : "",
                    TEXT_ARG (signature));
}
