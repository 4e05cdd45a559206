/* counters.h - reads the counters of a command that does not know sliceup from a file that it left, or from its output.
 *
 * A rung names the layout (`parse` of docs/spec/configuration.md). What is read is bounded, and is a program's word: it
 * judges nothing. Blocks for as long as reading some megabytes takes. Main thread only. */
#ifndef SLICEUP_WORKER_ATTEMPT_COUNTERS_H
#define SLICEUP_WORKER_ATTEMPT_COUNTERS_H

#include "common/model/msg.h"
#include "worker/attempt/environ.h"

/* Tells the program where to leave its report, when this rung's is read. Wins over what the profile says. */
void counters_set_report_path (const struct msg_run *run, struct text scratch, struct environ_list *list);
/* When the program and all that it started is gone: fills counters and notes of `result`, in `arena`. Nothing to be
 * found is a note, no error. Does nothing for a rung that is not parsed. `log_from`: where in the log its last whole
 * part begins. */
void counters_read (const struct msg_run *run, struct text scratch, struct text log, uint64_t log_from,
                    struct arena *arena, struct result *result);

#endif
