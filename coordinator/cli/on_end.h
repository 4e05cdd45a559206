/* on_end.h - runs the command of a run's end: the receipt on its standard input, for a bounded time. */
#ifndef SLICEUP_COORDINATOR_CLI_ON_END_H
#define SLICEUP_COORDINATOR_CLI_ON_END_H

#include "common/model/plan.h"
#include "coordinator/cli/cli.h"
#include "coordinator/journal/run_dir.h"

struct run_end {
    const struct on_end *on_end;
    struct text slice;
    enum outcome outcome;
    uint32_t exit_status;
};
/* Once a run: nothing when the plan names no command, or when it was run before. It is killed with its process group after
 * its time, or at SIGINT or SIGTERM, which are blocked here. What goes wrong is told, and changes nothing. */
void on_end_run (const struct cli *cli, const struct run_dir *dir, const struct run_end *end);

#endif
