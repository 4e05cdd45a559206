/* attempt_state.c - where an attempt has its files, what its result says so far, and its tasks. */
#include "worker/attempt/attempt_state.h"

#include "common/base/utf8.h"
#include "common/io/clock.h"
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
    bool full = n == RESULT_NOTES_MAX; /* then ours takes the place of the program's last one, and stands first */
    struct result_note *items = arena_array (&attempt->arena, RESULT_NOTES_MAX, sizeof *items); /* late lines add */
    if (n)
        memcpy (items + full, result->notes.items, (n - full) * sizeof *items);
    items[full ? 0 : n] = (struct result_note){ text_clip (text, NOTE_BYTES), text_of (source), DURABILITY_RECHECK };
    result->notes.items = items;
    result->notes.n = n + !full;
}

/* ---- tasks, and the files that a task misses ---- */

/* The process that holds the device is a better error than a time limit: some of the rung's time is kept for it. */
bool attempt_succeeded (struct attempt *attempt)
{
    const struct result *result = attempt_result (attempt);
    return !result_ended_badly (result) && (result->done || attempt->run.rung.kind == PROGRAM_COMMAND);
}

static uint64_t device_wait_ms (const struct attempt *attempt)
{
    uint64_t now_ms = clock_boot_ms (), wait_ms = attempt->context->device_wait_ms;
    uint64_t left_ms = attempt->deadline_ms > now_ms ? attempt->deadline_ms - now_ms : 0;
    return wait_ms < left_ms / 2 ? wait_ms : left_ms / 2;
}

int attempt_start_task (struct attempt *attempt, enum task_kind kind, struct err *err)
{
    const struct attempt_context *context = attempt->context;
    struct task_request command = { .run = &attempt->run, .device_wait_ms = device_wait_ms (attempt) };
    if (kind == TASK_READ) {
        command.succeeded = attempt_succeeded (attempt);
        bool looked = attempt->look.begun; /* what came after is our doing */
        command.output_bytes = looked ? attempt->look.printed_bytes : output_bytes (attempt->output);
        command.cut = output_cut (attempt->output);
        command.tail = looked ? attempt->look.raw_tail : output_raw_tail (attempt->output, &attempt->arena);
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
                                  context->fetch, context->owner, now_ms);
    fetch_poll (attempt->fetch, now_ms);
}
