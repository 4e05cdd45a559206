/* live_runs.h - the runs of a home that have hosts now: a coordinator of this machine holds them, or it was interrupted
 * and workers of it may still work. */
#ifndef SLICEUP_COORDINATOR_CLI_LIVE_RUNS_H
#define SLICEUP_COORDINATOR_CLI_LIVE_RUNS_H

#include "coordinator/cli/cli.h"
#include "coordinator/journal/run_dir.h"
#include "coordinator/story/board.h"

enum { LIVE_RUNS_MAX = 64 };
struct live_run {
    struct run_dir dir;
    struct board *board; /* as far as its journal can be read; not opened, when it is just being made */
    bool interrupted;
    uint64_t alone_ms; /* interrupted: for how long its workers have been without a coordinator */
};
struct live_runs {
    struct live_run *items;
    uint32_t n;
    bool interrupted; /* such are among them */
};
/* The newest first, those that have not ended; of more than LIVE_RUNS_MAX the newest. `interrupted`: those too that
 * nobody has held for less than their limit exit, after which a worker without a coordinator ends, if their workers
 * outlive it (plan.h, start_plan.tied). Of a damaged one nobody can tell. */
int live_runs_read (const char *home, bool interrupted, struct live_runs *runs, struct err *err);
void live_runs_release (struct live_runs *runs);
/* Appends "run 3fa9c1d2 of slice v6e, for 5 min 3 s, at rung dense (3 of 7)", or "..., interrupted 4 s ago, ...". */
void live_run_print (const struct live_run *run, struct buf *out);
/* The hosts of `plan` that a run of another plan has too, folded; empty: none. With launchers local and join a host is
 * one of its slice; with ssh and slurm it is the machine that its address names. */
struct text live_runs_shared_hosts (const struct plan *plan, const struct plan *other, struct arena *arena);
/* ERR_STATE: one of them has hosts of the plan. `but`: the id of a run that does not count; NULL: all do. */
int live_runs_check_hosts (const struct live_runs *runs, const char *hint, const struct plan *plan, const char *but,
                           struct err *err);

/* Queues a signal with a number for the coordinator that `pidfd` is (journal_open_holder). */
int coordinator_signal (int pidfd, int signal, int value, struct err *err);
/* Asks the run's coordinator to look where all programs stand; the answers are events. ERR_STATE: none holds it here. */
int coordinator_ask_stands (const struct run_dir *dir, struct err *err);

/* cancel.c */

/* What `sliceup cancel RUN --no-wait` does, for whoever watches the run: asks the coordinator that holds it to end it, as its
 * own Ctrl-C would, and does not wait for the end. ERR_STATE: no coordinator holds it on this machine, or it has ended. */
int cancel_ask_politely (struct cli *cli, const struct run_dir *dir, struct err *err);

#endif
