/* attempt_tasks.c - the tasks of an attempt, and the files that a task misses. */
#include "worker/attempt/attempt_state.h"

#include "common/io/clock.h"
#include <unistd.h>

/* The process that holds the device is a better error than a time limit: some of the rung's time is kept to report it.
 */
static uint64_t device_wait_ms (const struct attempt *attempt)
{
    uint64_t now_ms = clock_boot_ms (), wait_ms = attempt->place->device_wait_ms;
    uint64_t left_ms = attempt->deadline_ms > now_ms ? attempt->deadline_ms - now_ms : 0;
    return wait_ms < left_ms / 2 ? wait_ms : left_ms / 2;
}

int attempt_start_task (struct attempt *attempt, enum task_kind kind, struct err *err)
{
    const struct attempt_place *place = attempt->place;
    struct task_order command = { .run = &attempt->run, .device_wait_ms = device_wait_ms (attempt) };
    if (kind == TASK_READ) {
        command.output_bytes = output_bytes (attempt->output);
        command.tail = output_end (attempt->output, &attempt->arena);
    }
    attempt->exec = task_start (kind, &command, place->host, place->directory, STDERR_FILENO, &attempt->task_fd, err);
    return attempt->exec ? 0 : -1;
}

void attempt_end_task (struct attempt *attempt, const struct exec_end *end, struct task_answer *answer)
{
    task_answer (attempt->task_fd, end, &attempt->arena, answer);
    attempt->task_fd = -1;
}

void attempt_fetch (struct attempt *attempt, const struct task_answer *answer, uint64_t now_ms)
{
    const struct attempt_place *place = attempt->place;
    attempt->step = STEP_FETCHING;
    attempt->fetch = fetch_start (&attempt->run, answer->missing.items, answer->missing.n, place->directory,
                                  place->fetch, place->owner, now_ms);
    fetch_turn (attempt->fetch, now_ms);
}
