/* env_ls.h - the environments on this machine, for `sliceup env ls`. */
#ifndef SLICEUP_COORDINATOR_CLI_ENV_LS_H
#define SLICEUP_COORDINATOR_CLI_ENV_LS_H

#include "coordinator/cli/cli.h"

/* Looks below this home and where its runs had theirs, and prints what it found. Returns the exit status. */
int env_ls (struct cli *cli, bool json);

#endif
