/* attempt_phases.c - how long an attempt was in which phase, its own and those that the program names.
 *
 * Waiting at a gate is apart from the phase in which it happens: it measures the other hosts, not this one. */
#include "worker/attempt/attempt_state.h"

#define OTHERS "others"
#define GATE_PREFIX "gate:"

enum { COST_BYTES = 16 }; /* of a name and a number on the wire, besides the name itself */

static void settle (struct attempt *attempt, uint64_t now_ms)
{
    struct phase_clock *clock = &attempt->phases;
    if (clock->in)
        clock->in->value += now_ms > clock->since_ms ? now_ms - clock->since_ms : 0;
    clock->since_ms = now_ms;
}

static struct named_number *add (struct attempt *attempt, struct text name)
{
    number_list *list = &attempt_result (attempt)->phases;
    if (!list->items)
        list->items = arena_array (&attempt->arena, PHASES_MAX, sizeof *list->items);
    list->items[list->n] = (struct named_number){ .name = text_copy (&attempt->arena, name) };
    return &list->items[list->n++];
}

/* `paid`: out of what a program's words may cost; what does not fit any more is counted together. */
static struct named_number *slot (struct attempt *attempt, struct text name, bool paid)
{
    const number_list *list = &attempt_result (attempt)->phases;
    size_t *left_bytes = &attempt->evidence.left_bytes, cost_bytes = name.len + COST_BYTES;
    struct named_number *known = number_find (list, name);
    if (known)
        return known;
    if (list->n < PHASES_MAX - 1 && (!paid || cost_bytes <= *left_bytes)) {
        *left_bytes -= paid ? cost_bytes : 0;
        return add (attempt, name);
    }
    known = number_find (list, TEXT_LIT (OTHERS));
    return known || list->n == PHASES_MAX ? known : add (attempt, TEXT_LIT (OTHERS));
}

void attempt_note_phase (struct attempt *attempt, struct text name, bool of_program, uint64_t now_ms)
{
    settle (attempt, now_ms);
    attempt->phases.in = slot (attempt, name, of_program);
}

void attempt_note_gate (struct attempt *attempt, struct text gate, uint64_t now_ms)
{
    struct named_number *before = attempt->phases.in;
    struct arena scratch = { 0 };
    struct text name = text_clip (text_format (&scratch, GATE_PREFIX "%.*s", TEXT_ARG (gate)), WORD_MAX_BYTES);
    attempt_note_phase (attempt, name, true, now_ms);
    attempt->phases.before_gate = before;
    arena_release (&scratch);
}

void attempt_note_gate_opened (struct attempt *attempt, uint64_t now_ms)
{
    settle (attempt, now_ms);
    if (attempt->phases.before_gate)
        attempt->phases.in = attempt->phases.before_gate;
    attempt->phases.before_gate = NULL;
}

void attempt_end_phase_clock (struct attempt *attempt, uint64_t now_ms)
{
    settle (attempt, now_ms);
    attempt->phases.in = NULL;
}
