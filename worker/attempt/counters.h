/* counters.h - reads the counters of a command that does not know sliceup, from its report file or its output.
 *
 * A rung names the layout (`parse` of docs/spec/configuration.md). Input is bounded and untrusted; it judges nothing.
 * Blocks while it reads some megabytes. Main thread only. */
#ifndef SLICEUP_WORKER_ATTEMPT_COUNTERS_H
#define SLICEUP_WORKER_ATTEMPT_COUNTERS_H

#include "common/model/msg.h"
#include "worker/attempt/environ.h"

/* Sets the variable for the report's path, if this rung reads one. Overrides the profile. */
void counters_set_report_path (const struct msg_run *run, struct text scratch, struct environ_list *list);
/* After all processes of the program are gone: fills counters and notes of `result`, in `arena`. Finding nothing is a
 * note, not an error. Does nothing for a rung without `parse`. `log_from`: where the last uncut part of the log
 * begins. */
void counters_read (const struct msg_run *run, struct text scratch, struct text log, uint64_t log_from,
                    struct arena *arena, struct result *result);

#endif
