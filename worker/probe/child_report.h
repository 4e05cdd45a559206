/* child_report.h - reports the plugin process's steps to the process that watches it: a line a statement, over a pipe.
 *
 *   step NAME | call NAME | is NAME TEXT | note TEXT | lacks TEXT | refused CODE TEXT | wrong OWNER TEXT | done
 *
 * In texts newline is "\n", backslash "\\"; they are cut to REPORTER_TEXT_MAX. Without a reader the process ends. One
 * thread. */
#ifndef SLICEUP_WORKER_PROBE_CHILD_REPORT_H
#define SLICEUP_WORKER_PROBE_CHILD_REPORT_H

#include "common/model/outcome.h"
#include "worker/probe/stage.h"

void child_report_step (enum probe_stage stage);
void child_report_call (const char *function);                 /* of the plugin, about to be called */
void child_report_value (const char *name, struct text value); /* something found out */
void child_report_number (const char *name, int64_t value);
void child_report_note (const char *format, ...) __attribute__ ((format (printf, 1, 2)));
/* The plugin's own error. `lacks`: it has no such function, which is no failure here; 0. */
int child_report_failure (bool lacks, int code, struct text text);
int child_report_refused (int code, struct text text); /* always -1 */
int child_report_wrong (enum owner owner, const char *format, ...) __attribute__ ((format (printf, 2, 3))); /* -1 */
void child_report_done (void);

#endif
