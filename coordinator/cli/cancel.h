/* cancel.h - what `sliceup cancel RUN --no-wait` does, for whoever watches the run. */
#ifndef SLICEUP_COORDINATOR_CLI_CANCEL_H
#define SLICEUP_COORDINATOR_CLI_CANCEL_H

#include "coordinator/cli/cli.h"
#include "coordinator/journal/run_dir.h"

/* Asks the coordinator that holds the run to end it, as its own Ctrl-C would. Does not wait for the end. ERR_STATE: no
 * coordinator holds it on this machine, or it has ended. */
int cancel_ask_politely (struct cli *cli, const struct run_dir *dir, struct err *err);

#endif
