/* attempt_result.c - how an attempt ended, as this worker saw it. */
#include "worker/attempt/attempt_state.h"

#include "common/base/utf8.h"
#include "worker/attempt/device_wait.h"
#include "worker/command/parse.h"
#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>

enum { NOTE_BYTES = 512 }; /* share of a message, see evidence.h */

struct result *attempt_result (struct attempt *attempt)
{
    return &attempt->evidence.result;
}

void attempt_set_problem (struct attempt *attempt, enum owner owner, struct text problem)
{
    struct result *result = attempt_result (attempt);
    if (result->problem.len)
        return; /* the first one is the cause */
    result->problem = text_clean (&attempt->arena, problem, SENTENCE_MAX_BYTES);
    if (result->owner == OWNER_NONE)
        result->owner = owner;
}

void attempt_add_note (struct attempt *attempt, const char *source, struct text text)
{
    struct result *result = attempt_result (attempt);
    uint32_t n = result->notes.n;
    bool full = n == RESULT_NOTES_MAX; /* then ours takes the place of the program's last one, and stands first */
    struct note *items = arena_array (&attempt->arena, RESULT_NOTES_MAX, sizeof *items); /* a late line may add to it */
    if (n)
        memcpy (items + full, result->notes.items, (n - full) * sizeof *items);
    items[full ? 0 : n] = (struct note){ text_clip (text, NOTE_BYTES), text_of (source), DURABILITY_RECHECK };
    result->notes.items = items;
    result->notes.n = n + !full;
}

static void count_output (struct attempt *attempt, uint64_t now_ms)
{
    if (!attempt->output)
        return;
    output_finish (attempt->output, now_ms);
    struct result *result = attempt_result (attempt);
    result->output_bytes = output_bytes (attempt->output);
    result->dropped_bytes = output_dropped_bytes (attempt->output);
    result->tail = output_tail (attempt->output, &attempt->arena);
}

/* The worker knows it, the program that tells the host's facts does not. */
static void add_containment (struct attempt *attempt)
{
    struct result *result = attempt_result (attempt);
    uint32_t n = result->facts.n;
    if (attempt->run.rung.kind != PROGRAM_BUILTIN || n == 0 || n == RESULT_FACTS_MAX)
        return;
    struct var *items = arena_array (&attempt->arena, n + 1, sizeof *items);
    memcpy (items, result->facts.items, n * sizeof *items);
    items[n] = (struct var){ TEXT_LIT ("containment"), text_of (containment_name (exec_containment ())) };
    result->facts.items = items;
    result->facts.n = n + 1;
}

void attempt_finish (struct attempt *attempt, uint64_t now_ms)
{
    struct result *result = attempt_result (attempt);
    attempt_forget_ends (attempt);
    attempt_time_end (attempt, now_ms);
    if (attempt->waited.len)
        attempt_add_note (attempt, DEVICE_NOTE_SOURCE, attempt->waited);
    count_output (attempt, now_ms);
    parse_output (&attempt->run, attempt->scratch, attempt->log, &attempt->arena, result);
    attempt_take_survey (attempt);
    add_containment (attempt);
    if (attempt->evidence.complaint.len)
        attempt_set_problem (attempt, OWNER_NONE, attempt->evidence.complaint);
    struct buf why;
    buf_init (&why, ERR_TEXT_BYTES);
    if (!record_check (&result_record, result, &why)) {
        /* A bug of ours, but one that evidence can trigger: better a poor result than none. */
        struct result poor = { .key = result->key, .ending = result->ending, .code = result->code, .spoke = true };
        *result = poor;
        struct text problem = text_format (&attempt->arena, "the evidence was not kept: %s", buf_c (&why));
        attempt_set_problem (attempt, OWNER_SLICEUP, problem);
    }
    buf_release (&why);
    attempt->step = STEP_ENDED;
}

void attempt_not_started (struct attempt *attempt, enum owner owner, struct text problem, uint64_t now_ms)
{
    attempt_result (attempt)->ending = attempt->stopping ? attempt->stop_ending : ENDING_NOT_STARTED;
    attempt_set_problem (attempt, owner, problem);
    attempt_finish (attempt, now_ms);
}

static struct text unkillable_text (struct attempt *attempt, uint32_t n)
{
    return text_format (&attempt->arena, "%" PRIu32 " processes of it outlived SIGKILL", n);
}

void attempt_note_end (struct attempt *attempt, const struct exec_end *end, uint64_t now_ms)
{
    struct result *result = attempt_result (attempt);
    bool exited = WIFEXITED (end->status);
    bool by_itself = exited && WEXITSTATUS (end->status) == 0 && result->done;
    result->ending = exited ? ENDING_EXITED : ENDING_SIGNALLED;
    result->code = (uint32_t) (exited ? WEXITSTATUS (end->status) : WTERMSIG (end->status));
    if (attempt->stopping && !by_itself)
        result->ending = attempt->stop_ending;
    result->duration_ms = now_ms - attempt->began_ms;
    result->strays = end->strays;
    if (end->peak_bytes > result->peak_bytes)
        result->peak_bytes = end->peak_bytes;
    if (end->unkillable)
        attempt_set_problem (attempt, OWNER_HOST, unkillable_text (attempt, end->unkillable));
}
