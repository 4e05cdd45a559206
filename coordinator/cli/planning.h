/* planning.h - options that choose a plan, and loading it: shared by check and run. */
#ifndef SLICEUP_COORDINATOR_CLI_PLANNING_H
#define SLICEUP_COORDINATOR_CLI_PLANNING_H

#include "common/base/err.h"
#include "common/conf/conf.h"
#include "common/model/plan.h"
#include "coordinator/cli/cli.h"

/* Reads SLICE.yaml, --profile, --ladder, --pins, --hosts, --exclude, --wheels from argv, loads the plan into `arena`
 * and prints every problem. EXIT_HOLDS, or the exit status to leave with. */
int planning_load (struct cli *cli, const struct cli_command *command, int argc, char **argv, struct arena *arena,
                   struct plan *plan);
/* The plan of a slice file as it stands, and its groups of hosts: for commands that only ask about it. */
int planning_load_slice (struct cli *cli, const char *slice, struct arena *arena, struct plan *plan, var_list *groups);
/* Could others change the cache, as far as this machine shares it? ERR_REFUSED (owners.h). Hosts ask for themselves. */
int planning_check_cache (const struct plan *plan, struct err *err);
void planning_print (const struct plan *plan, FILE *to);

/* ---- plan_size.c: checks that a plan fits into the journal's first fact, and the start of each rung into one message
 * ---- */

int plan_size_check (const struct plan *plan, struct err *err); /* ERR_USAGE, with what takes the room */

#endif
