/* attempt_look.c - what a program is doing that is about to be stopped: what its threads wait in, and the stacks of its
 * Python threads, if it has said that it prints them on a signal. Both stand in its log, marked as ours.
 *
 * What it prints from then on is our doing: it is not searched for the cause of its end. */
#include "worker/attempt/attempt_state.h"

#include "worker/attempt/stack_frames.h"
#include "worker/process/thread_waits.h"
#include <sys/syscall.h>
#include <unistd.h>

enum { WAITS_MAX_MS = 300, STACKS_MAX_MS = 1000, QUIET_MS = 100 };
enum { WAITS_MAX_BYTES = 8 * 1024, CAPTURE_BYTES = 128 * 1024, WAITS_SHOWN_MAX = 4 };

static pid_t print_waits (struct attempt *attempt, uint64_t now_ms)
{
    struct buf waits;
    buf_init (&waits, WAITS_MAX_BYTES);
    pid_t catcher = thread_waits_print (exec_pid (attempt->exec), attempt->evidence.stacks_pid,
                                        attempt->evidence.stacks_signal, now_ms + WAITS_MAX_MS, &waits);
    attempt->look.waits = buf_finish (&waits, &attempt->arena);
    for (struct text rest = attempt->look.waits; rest.len;)
        output_add_line (attempt->output, text_take_until (&rest, '\n'), now_ms);
    return catcher;
}

/* To its main thread: the dump begins where that one is. A process that has no handler would die of it. */
static bool ask_for_stacks (struct attempt *attempt, pid_t catcher, uint64_t now_ms)
{
    if (!catcher)
        return false;
    output_add_line (attempt->output, TEXT_LIT ("the stacks of its Python threads, as it prints them:"), now_ms);
    if (syscall (SYS_tgkill, catcher, catcher, (int) attempt->evidence.stacks_signal) < 0)
        return false;
    attempt->look.asked_bytes = attempt->look.seen_bytes = output_bytes (attempt->output);
    attempt->look.until_ms = now_ms + STACKS_MAX_MS;
    attempt->look.next_ms = now_ms + QUIET_MS;
    return true;
}

bool attempt_begin_look (struct attempt *attempt, struct text why, uint64_t now_ms)
{
    bool late = attempt->stop_ending == ENDING_TIMEOUT || attempt->stop_ending == ENDING_CANCELLED ||
                attempt->stop_ending == ENDING_TERMINATED;
    (void) output_read (attempt->output, now_ms);
    attempt->look.begun = true;
    attempt->look.printed_bytes = output_bytes (attempt->output);
    attempt->look.raw_tail = output_raw_tail (attempt->output, &attempt->arena);
    attempt->look.tail = output_tail (attempt->output, &attempt->arena);
    if (!late || attempt->gate_open) /* who waits at a gate waits for others */
        return false;
    output_capture (attempt->output, CAPTURE_BYTES);
    output_add_line (attempt->output,
                     text_format (&attempt->arena, "the program is stopped: %.*s; its threads:", TEXT_ARG (why)),
                     now_ms);
    return ask_for_stacks (attempt, print_waits (attempt, now_ms), now_ms);
}

bool attempt_look_is_over (struct attempt *attempt, uint64_t now_ms)
{
    uint64_t bytes = output_bytes (attempt->output);
    if (!attempt->look.until_ms || attempt->step != STEP_RUNNING || now_ms < attempt->look.next_ms)
        return false;
    bool printed = bytes > attempt->look.asked_bytes, quiet = bytes == attempt->look.seen_bytes;
    attempt->look.seen_bytes = bytes;
    attempt->look.next_ms = now_ms + QUIET_MS;
    if (now_ms < attempt->look.until_ms && !(printed && quiet))
        return false;
    if (!printed)
        output_add_line (attempt->output, TEXT_LIT ("it printed no stack within 1 s"), now_ms);
    attempt->look.until_ms = 0;
    return true;
}

/* The lines that tell most: its frames, then what its threads wait in. */
void attempt_add_stack (struct attempt *attempt)
{
    struct result *result = attempt_result (attempt);
    struct text lines[STACK_FRAMES_MAX + WAITS_SHOWN_MAX], rest = attempt->look.waits;
    uint32_t bytes = 0;
    if (!rest.len || result->ending != attempt->stop_ending)
        return;
    uint32_t n = stack_frames_find (output_captured (attempt->output), &attempt->arena, lines);
    for (uint32_t shown = 0; shown < WAITS_SHOWN_MAX && rest.len; shown++)
        lines[n++] = text_take_until (&rest, '\n');
    result->stack.items = arena_copy (&attempt->arena, lines, n * sizeof *lines);
    for (uint32_t i = 0; i < n && bytes + lines[i].len <= STACK_MAX_BYTES; i++) {
        bytes += lines[i].len;
        result->stack.n = i + 1;
    }
}
