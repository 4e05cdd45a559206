/* attempt_result.c - how an attempt ended, as this worker saw it. */
#include "worker/attempt/attempt_state.h"

#include "worker/attempt/counters.h"
#include "worker/attempt/device_wait.h"
#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>

enum { SEND_MS = 2000 };

/* False: the coordinator, which is busy, may take the rest of the output a little later. */
static bool send_output (struct attempt *attempt, uint64_t now_ms)
{
    if (attempt->step != STEP_SENDING)
        attempt->send_until_ms = now_ms + SEND_MS;
    attempt->step = STEP_SENDING;
    output_write_end (attempt->output);
    return output_send_last (attempt->output, now_ms >= attempt->send_until_ms, now_ms);
}

static void count_output (struct attempt *attempt)
{
    if (!attempt->output)
        return;
    struct result *result = attempt_result (attempt);
    struct text cut = output_cut_text (attempt->output, &attempt->arena);
    if (cut.len)
        attempt_add_note (attempt, LOG_NOTE_SOURCE, cut);
    result->output_bytes = output_bytes (attempt->output);
    result->dropped_bytes = output_dropped_bytes (attempt->output);
    result->unsent_bytes = output_unsent_bytes (attempt->output);
    result->log_bytes = output_sent_bytes (attempt->output);
    bool late = attempt->look.begun && result->ending == attempt->stop_ending; /* what came after says nothing of why */
    result->tail = late ? attempt->look.tail : output_tail (attempt->output, &attempt->arena);
}

/* Only the worker knows it: the program that reports the host's facts does not. */
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
    attempt_close_fds (attempt);
    if (attempt->output && !send_output (attempt, now_ms))
        return;
    attempt_end_phase_clock (attempt, now_ms);
    if (attempt->waited.len)
        attempt_add_note (attempt, DEVICE_NOTE_SOURCE, attempt->waited);
    count_output (attempt);
    attempt_add_stack (attempt);
    counters_read (&attempt->run, attempt->scratch, attempt->log,
                   attempt->output ? output_cut (attempt->output).tail_at : 0, &attempt->arena, result);
    attempt_fill_cache_view (attempt);
    add_containment (attempt);
    if (attempt->evidence.complaint.len)
        attempt_set_problem (attempt, OWNER_NONE, attempt->evidence.complaint);
    struct buf why;
    buf_init (&why, ERR_TEXT_BYTES);
    if (!record_check (&result_record, result, &why)) {
        /* A bug of ours, but one that evidence can trigger: better a poor result than none. */
        struct result poor = { .key = result->key, .ending = result->ending, .code = result->code, .spoke = true };
        *result = poor;
        struct text problem = text_format (&attempt->arena, "what the program reported was not kept: %s", buf_c (&why));
        attempt_set_problem (attempt, OWNER_SLICEUP, problem);
    }
    buf_release (&why);
    attempt->step = STEP_ENDED;
}

void attempt_finish_unstarted (struct attempt *attempt, enum owner owner, struct text problem, uint64_t now_ms)
{
    attempt_result (attempt)->ending = attempt->stopping ? attempt->stop_ending : ENDING_NOT_STARTED;
    attempt_set_problem (attempt, owner, problem);
    attempt_finish (attempt, now_ms);
}

static struct text unkillable_text (struct attempt *attempt, uint32_t n)
{
    return text_format (&attempt->arena, "%" PRIu32 " processes of the program are still running after SIGKILL", n);
}

void attempt_note_end (struct attempt *attempt, const struct exec_end *end, uint64_t now_ms)
{
    struct result *result = attempt_result (attempt);
    bool exited = WIFEXITED (end->status);
    bool in_time = attempt->stop_ending != ENDING_TIMEOUT || attempt->done_before_stop; /* our signal may wake it */
    bool by_itself = exited && WEXITSTATUS (end->status) == 0 && result->done && in_time;
    result->ending = exited ? ENDING_EXITED : ENDING_SIGNALLED;
    result->code = (uint32_t) (exited ? WEXITSTATUS (end->status) : WTERMSIG (end->status));
    if (attempt->stopping && !by_itself)
        result->ending = attempt->stop_ending;
    result->duration_ms = now_ms - (result->ending == ENDING_TIMEOUT /* a limit counts from the order on */
                                        ? attempt->deadline_ms - attempt->run.rung.timeout_ms
                                        : attempt->began_ms);
    result->strays = end->strays;
    if (end->peak_bytes > result->peak_bytes)
        result->peak_bytes = end->peak_bytes;
    struct memory_kills kills = memory_watch_end (&attempt->memory);
    result->group_memory_kills = kills.of_group;
    result->machine_memory_kills = kills.of_machine;
    result->memory_limit_bytes = kills.limit_bytes;
    result->memory_group_shared = kills.of_group && kills.shared;
    if (end->unkillable)
        attempt_set_problem (attempt, OWNER_HOST, unkillable_text (attempt, end->unkillable));
}
