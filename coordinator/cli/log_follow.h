/* log_follow.h - outputs of a running run as they grow, until it ends. */
#ifndef SLICEUP_COORDINATOR_CLI_LOG_FOLLOW_H
#define SLICEUP_COORDINATOR_CLI_LOG_FOLLOW_H

#include "coordinator/cli/cli.h"
#include "coordinator/cli/follow.h"
#include "coordinator/cli/log_filter.h"

/* Prints what the chosen hosts print in the running pass, and in those that follow. `board` is what `follow` feeds.
 * Returns when the run has ended or no coordinator takes logs any more: the exit status to leave with. */
int log_follow (const struct cli *cli, const struct run_dir *dir, struct follow *follow, struct board *board,
                const struct log_filter *filter, bool raw);

#endif
