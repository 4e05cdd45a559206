/* reporter.h - reports the steps of the process that loads the plugin to the process that watches it: one line a
 * statement, over a pipe.
 *
 *   step NAME | call NAME | is NAME TEXT | note TEXT | lacks TEXT | refused CODE TEXT | wrong OWNER TEXT | done
 *
 * In a text a newline is "\n", a backslash is "\\"; it is cut to REPORTER_TEXT_MAX. When the reader of the pipe is gone
 * the process ends. One thread. */
#ifndef SLICEUP_WORKER_PROBE_REPORTER_H
#define SLICEUP_WORKER_PROBE_REPORTER_H

#include "common/model/outcome.h"
#include "worker/probe/stage.h"

void reporter_step (enum probe_stage stage);
void reporter_call (const char *function);                 /* of the plugin, about to be called */
void reporter_value (const char *name, struct text value); /* something found out */
void reporter_is_number (const char *name, int64_t value);
void reporter_note (const char *format, ...) __attribute__ ((format (printf, 1, 2)));
/* The plugin's own error. `lacks`: it has no such function, which is no failure here; 0. */
int reporter_unless (bool lacks, int code, struct text text);
int reporter_refused (int code, struct text text);                                                      /* always -1 */
int reporter_wrong (enum owner owner, const char *format, ...) __attribute__ ((format (printf, 2, 3))); /* always -1 */
void reporter_done (void);

#endif
