/* env.h - what the verbs of `sliceup env` share. Each verb is one file. */
#ifndef SLICEUP_COORDINATOR_CLI_ENV_H
#define SLICEUP_COORDINATOR_CLI_ENV_H

#include "coordinator/cli/cli.h"

/* argv[0] is the verb. They return the exit status. */
int env_restore (struct cli *cli, int argc, char **argv);
int env_check (struct cli *cli, int argc, char **argv);
int env_ls (struct cli *cli, int argc, char **argv);

#endif
