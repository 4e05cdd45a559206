/* attempt_events.c - what happened in an attempt and was not asked for yet. */
#include "worker/attempt/attempt_state.h"

#include "common/io/clock.h"
#include <assert.h>

static void attempt_note_event (struct attempt *attempt, const struct attempt_event *event)
{
    uint32_t n = attempt->statements_n;
    struct attempt_event *last = n ? &attempt->statements[(attempt->statements_first + n - 1) % STATEMENTS_MAX].event
                                   : NULL;
    if (last && last->kind == ATTEMPT_EVENT_PHASE && event->kind == ATTEMPT_EVENT_PHASE)
        n = --attempt->statements_n; /* only the latest of phases in a row is worth reporting */
    assert (n < STATEMENTS_MAX);
    uint32_t at = (attempt->statements_first + attempt->statements_n++) % STATEMENTS_MAX;
    struct arena *arena = &attempt->statements[at].arena;
    arena_reset (arena);
    attempt->statements[at].event = *event;
    attempt->statements[at].event.name = text_copy (arena, event->name);
    attempt->statements[at].event.value = text_copy (arena, event->value);
}

void attempt_enter_own_phase (struct attempt *attempt, const char *name)
{
    attempt_note_phase (attempt, text_of (name), false, clock_boot_ms ());
    attempt_note_event (attempt, &(struct attempt_event){ .kind = ATTEMPT_EVENT_PHASE, .name = text_of (name) });
}

const char *attempt_first_phase (const struct attempt *attempt)
{
    return attempt->run.rung.kind == PROGRAM_COMMAND ? "run" : "start";
}

/* NULL: nothing. At most one gate is open to be answered, so a second one cannot queue behind it. */
static const char *gate_problem (const struct attempt *attempt, struct text name)
{
    if (attempt->gate_open)
        return "gate: the program already waits at another gate";
    for (uint32_t i = 0; i < attempt->gates_n; i++)
        if (text_equal (attempt->gates[i], name))
            return "gate: this gate was opened before; a gate opens once in an attempt";
    return attempt->gates_n == ATTEMPT_GATES_MAX ? "gate: the attempt has too many gates" : NULL;
}

/* The program waits for an answer that never comes. */
static void dismiss (struct attempt *attempt, struct text why)
{
    if (!attempt->dismissed)
        attempt->dismissed = channel_send_stop (attempt->channel, why);
}

static bool comes_to_gate (struct attempt *attempt, const struct statement *statement)
{
    const char *problem = gate_problem (attempt, statement->name);
    if (problem) {
        evidence_refuse (&attempt->evidence, problem);
        dismiss (attempt, text_of (problem));
        return false;
    }
    attempt->gates[attempt->gates_n++] = text_copy (&attempt->arena, statement->name);
    attempt->gate_open = true;
    attempt_note_gate (attempt, statement->name, clock_boot_ms ());
    return true;
}

void attempt_take_statement (void *owner, const struct statement *statement)
{
    struct attempt *attempt = owner;
    struct attempt_event event = { .name = statement->name, .mode = statement->mode, .value = statement->value };
    event.kind = statement->kind == STATEMENT_GATE ? ATTEMPT_EVENT_GATE : ATTEMPT_EVENT_PHASE;
    if (statement->kind == STATEMENT_BAD_GATE) {
        dismiss (attempt, statement->value);
        return;
    }
    if (statement->kind == STATEMENT_GATE && !comes_to_gate (attempt, statement))
        return;
    if (statement->kind == STATEMENT_PHASE)
        attempt_note_phase (attempt, statement->name, true, clock_boot_ms ());
    attempt_note_event (attempt, &event);
}

bool attempt_next (struct attempt *attempt, struct attempt_event *event)
{
    *event = (struct attempt_event){ 0 };
    if (attempt->statements_n) {
        *event = attempt->statements[attempt->statements_first].event;
        attempt->statements_first = (attempt->statements_first + 1) % STATEMENTS_MAX;
        attempt->statements_n--;
        return true;
    }
    if (attempt->step != STEP_ENDED)
        return false;
    attempt->step = STEP_REPORTED;
    *event = (struct attempt_event){ .kind = ATTEMPT_EVENT_ENDED, .result = attempt_result (attempt) };
    return true;
}
