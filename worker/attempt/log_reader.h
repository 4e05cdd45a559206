/* log_reader.h - what a program printed, held against the table of known failures.
 *
 * Reads the whole log of an attempt as this host has it, which the coordinator may not have got all of. It knows
 * nothing of verdicts. It waits for disks: a task's work. */
#ifndef SLICEUP_WORKER_ATTEMPT_LOG_READER_H
#define SLICEUP_WORKER_ATTEMPT_LOG_READER_H

#include "common/signature/signature.h"
#include "worker/attempt/task.h"

/* What of the printed is where: `log` holds its beginning, `tail` its end, of `output_bytes` in all. */
struct log_place {
    const char *log;
    struct text tail;
    uint64_t output_bytes;
};

/* What it makes lives in `arena`. -1: the log cannot be read, or the table is none that may be used. */
int log_reader_read (const struct log_place *place, const struct signature_table *table, struct arena *arena,
                     struct signature_seen *out, struct err *err);
/* The task: finds the table that the RUN names and reads. A table that is not here is named in `missing`. */
void log_reader_task (const struct msg_run *run, const struct task_order *request, const char *directory,
                      struct arena *arena, struct task_answer *answer);

#endif
