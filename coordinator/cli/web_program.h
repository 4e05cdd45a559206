/* web_program.h - sliceup-web, which lies beside this program: its command line, and one that a run starts for itself. */
#ifndef SLICEUP_COORDINATOR_CLI_WEB_PROGRAM_H
#define SLICEUP_COORDINATOR_CLI_WEB_PROGRAM_H

#include "coordinator/cli/cli.h"
#include "coordinator/journal/run_dir.h"

/* Becomes it: returns only when that failed. `words`: behind --home HOME; ended by NULL. */
int web_program_become (const struct cli *cli, const char *const *words, struct err *err);
/* Starts it for one run, on any port of this machine; `url` is where it answers. It ends a few seconds after this
 * process. It never sees this process's terminal. */
int web_program_start (const struct cli *cli, const struct run_dir *dir, char *url, size_t url_bytes, struct err *err);

#endif
