/* log_search.h - searches what a program printed for signatures.
 *
 * Reads the whole log of an attempt as this host has it, also the parts that the coordinator did not get. It makes no
 * verdict. It waits for disks, so it runs in a task. */
#ifndef SLICEUP_WORKER_ATTEMPT_LOG_SEARCH_H
#define SLICEUP_WORKER_ATTEMPT_LOG_SEARCH_H

#include "common/classify/classify.h"
#include "worker/attempt/task.h"

/* What of the `output_bytes` printed is where: in `log`, cut in the middle or not, and the end in `tail`. */
struct printed_log {
    const char *log;
    struct text tail;
    uint64_t output_bytes;
    struct output_cut cut;
};

/* The task: finds the table that the RUN names and reads. A table that is not here is named in `missing`. */
void log_search_task (const struct msg_run *run, const struct task_request *request, const char *directory,
                      struct arena *arena, struct task_answer *answer);

#endif
