/* attempt_state.c - an attempt's files, its result so far, and its tasks. */
#include "worker/attempt/attempt_state.h"

#include "common/base/utf8.h"
#include "common/io/clock.h"
#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum { NOTE_BYTES = 512 }; /* share of a message, see evidence.h */

struct text attempt_file_path (struct arena *arena, const char *directory, const char *folder,
                               const struct attempt_key *key, const char *suffix)
{
    return text_format (arena, "%s/%s/%" PRIu32 ".%s.%" PRIu32 "%s", directory, folder, key->rung,
                        enum_name_of (&pass_names, key->pass), key->attempt, suffix);
}

struct result *attempt_result (struct attempt *attempt)
{
    return &attempt->evidence.result;
}

void attempt_set_problem (struct attempt *attempt, enum owner owner, struct text problem)
{
    struct result *result = attempt_result (attempt);
    if (result->problem.len)
        return; /* the first one is the cause */
    result->problem = text_repair_utf8 (&attempt->arena, problem, SENTENCE_MAX_BYTES);
    if (result->owner == OWNER_NONE)
        result->owner = owner;
}

void attempt_add_note (struct attempt *attempt, const char *source, struct text text)
{
    struct result *result = attempt_result (attempt);
    uint32_t n = result->notes.n;
    bool full = n == RESULT_NOTES_MAX; /* then ours replaces the program's last one, as the first */
    struct result_note *items = arena_array (&attempt->arena, RESULT_NOTES_MAX, sizeof *items); /* late lines add */
    if (n)
        memcpy (items + full, result->notes.items, (n - full) * sizeof *items);
    items[full ? 0 : n] = (struct result_note){ text_clip (text, NOTE_BYTES), text_of (source), DURABILITY_RECHECK };
    result->notes.items = items;
    result->notes.n = n + !full;
}

/* ---- tasks, and the files that a task misses ---- */

bool attempt_succeeded (struct attempt *attempt)
{
    const struct result *result = attempt_result (attempt);
    return !result_ended_badly (result) && (result->done || attempt->run.rung.kind == PROGRAM_COMMAND);
}

/* Keeps some of the rung's time to find the device's holder, a better error than a time limit. */
static uint64_t device_wait_ms (const struct attempt *attempt)
{
    uint64_t now_ms = clock_boot_ms ();
    uint64_t left_ms = attempt->deadline_ms > now_ms ? attempt->deadline_ms - now_ms : 0;
    return least_u64 (attempt->context->device_wait_ms, left_ms / 2);
}

int attempt_start_task (struct attempt *attempt, enum task_kind kind, struct err *err)
{
    const struct attempt_context *context = attempt->context;
    struct task_request command = { .run = &attempt->run, .device_wait_ms = device_wait_ms (attempt) };
    if (kind == TASK_READ) {
        command.succeeded = attempt_succeeded (attempt);
        bool looked = attempt->look.begun; /* we caused later output */
        command.output_bytes = looked ? attempt->look.until.bytes : output_bytes (attempt->output);
        command.cut = output_cut (attempt->output);
        command.tail = looked ? attempt->look.until.raw_tail : output_raw_tail (attempt->output, &attempt->arena);
    }
    attempt->exec = task_start (kind, &command, context->host, context->directory, STDERR_FILENO, &attempt->task_fd,
                                err);
    return attempt->exec ? 0 : -1;
}

void attempt_collect_task (struct attempt *attempt, const struct exec_end *end, struct task_answer *answer)
{
    task_take_answer (attempt->task_fd, end, &attempt->arena, answer);
    attempt->task_fd = -1;
}

void attempt_fetch (struct attempt *attempt, const struct task_answer *answer, uint64_t now_ms)
{
    const struct attempt_context *context = attempt->context;
    attempt->step = STEP_FETCHING;
    attempt->fetch = fetch_start (&attempt->run, answer->missing.items, answer->missing.n, context->directory,
                                  &context->fetches, attempt->deadline_ms, now_ms);
    fetch_poll (attempt->fetch, now_ms);
}

/* ---- events that were not taken yet ---- */

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
    if (text_is_among (name, attempt->gates, attempt->gates_n))
        return "gate: this gate was opened before; a gate opens once in an attempt";
    return attempt->gates_n == ATTEMPT_GATES_MAX ? "gate: the attempt has too many gates" : NULL;
}

/* Dismisses a program that waits for an answer that never comes. */
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
    if (attempt->look.stand.len) {
        *event = (struct attempt_event){ .kind = ATTEMPT_EVENT_STAND, .name = attempt->look.stand };
        attempt->look.stand = (struct text){ 0 };
        return true;
    }
    if (attempt->step != STEP_ENDED)
        return false;
    attempt->step = STEP_REPORTED;
    *event = (struct attempt_event){ .kind = ATTEMPT_EVENT_ENDED, .result = attempt_result (attempt) };
    return true;
}

/* ---- phases ---- */

/* the time of an attempt in each phase, its own and the program's. * Waits at gates are counted apart from the phase,
 * because they measure the other hosts. */

#define OTHERS "others"
#define GATE_PREFIX "gate:"

enum { COST_BYTES = 16 }; /* of a name and a number on the wire, besides the name itself */

static void attempt_state_settle (struct attempt *attempt, uint64_t now_ms)
{
    struct phase_clock *clock = &attempt->phases;
    if (clock->in)
        clock->in->value += now_ms > clock->since_ms ? now_ms - clock->since_ms : 0;
    clock->since_ms = now_ms;
}

static struct named_number *attempt_state_add (struct attempt *attempt, struct text name)
{
    number_list *list = &attempt_result (attempt)->phases;
    if (!list->items)
        list->items = arena_array (&attempt->arena, PHASES_MAX, sizeof *list->items);
    list->items[list->n] = (struct named_number){ .name = text_copy (&attempt->arena, name) };
    return &list->items[list->n++];
}

/* `paid`: from the program's share of the result; phases without room are counted together. */
static struct named_number *slot (struct attempt *attempt, struct text name, bool paid)
{
    const number_list *list = &attempt_result (attempt)->phases;
    size_t *left_bytes = &attempt->evidence.left_bytes, cost_bytes = name.len + COST_BYTES;
    struct named_number *known = number_find (list, name);
    if (known)
        return known;
    if (list->n < PHASES_MAX - 1 && (!paid || cost_bytes <= *left_bytes)) {
        *left_bytes -= paid ? cost_bytes : 0;
        return attempt_state_add (attempt, name);
    }
    known = number_find (list, TEXT_LIT (OTHERS));
    return known || list->n == PHASES_MAX ? known : attempt_state_add (attempt, TEXT_LIT (OTHERS));
}

void attempt_note_phase (struct attempt *attempt, struct text name, bool of_program, uint64_t now_ms)
{
    attempt_state_settle (attempt, now_ms);
    attempt->phases.in = slot (attempt, name, of_program);
}

void attempt_note_gate (struct attempt *attempt, struct text gate, uint64_t now_ms)
{
    struct named_number *before = attempt->phases.in;
    LOCAL_ARENA scratch = { 0 };
    struct text name = text_clip (text_format (&scratch, GATE_PREFIX "%.*s", TEXT_ARG (gate)), WORD_MAX_BYTES);
    attempt_note_phase (attempt, name, true, now_ms);
    attempt->phases.before_gate = before;
}

void attempt_note_gate_opened (struct attempt *attempt, uint64_t now_ms)
{
    attempt_state_settle (attempt, now_ms);
    if (attempt->phases.before_gate)
        attempt->phases.in = attempt->phases.before_gate;
    attempt->phases.before_gate = NULL;
}

void attempt_end_phase_clock (struct attempt *attempt, uint64_t now_ms)
{
    attempt_state_settle (attempt, now_ms);
    attempt->phases.in = NULL;
}
