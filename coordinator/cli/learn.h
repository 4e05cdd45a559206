/* learn.h - learns what a run has come to, once: all that its journal has, and of a running one where its hosts stand now,
 * for which it listens for a second. For commands that look at a run and end. */
#ifndef SLICEUP_COORDINATOR_CLI_LEARN_H
#define SLICEUP_COORDINATOR_CLI_LEARN_H

#include "coordinator/cli/cli.h"
#include "coordinator/monitor/follow.h"
#include "coordinator/receipt/board.h"

struct learned {
    int64_t pid; /* of the coordinator that holds it; 0: nobody does, or it is on another machine */
    bool held;   /* a coordinator holds it now, or answers */
    struct run_dir dir;
    bool remote; /* of --key: there is no `dir` */
};

/* Of the operand RUN, or --key: each fact is given to `fn`, which makes `board` of it. */
int learn_run (const struct cli *cli, const struct cli_arguments *arguments, const struct board *board,
               follow_fact_fn *fn, void *owner, struct learned *out, struct err *err);

#endif
