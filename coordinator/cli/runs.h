/* runs.h - what listing runs and removing them share. */
#ifndef SLICEUP_COORDINATOR_CLI_RUNS_H
#define SLICEUP_COORDINATOR_CLI_RUNS_H

#include "coordinator/cli/cli.h"
#include "coordinator/home/run_dir.h"

/* As its first fact says; without reading on. A run that lacks it is of no slice. */
bool run_is_of_slice (const struct run_dir *dir, const char *slice);
/* --slice NAME, of both. */
#define OPTION_OF_SLICE CLI_SLICE, "--slice", .value = "NAME", .help = "only runs of this slice"

extern const struct cli_command runs_prune_command;

#endif
