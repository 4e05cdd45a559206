/* climb.h - drives a run to its end: loop, signals, view, receipt. Shared by run and resume. */
#ifndef SLICEUP_COORDINATOR_CLI_CLIMB_H
#define SLICEUP_COORDINATOR_CLI_CLIMB_H

#include "common/io/process_capacity.h"
#include "common/model/plan.h"
#include "coordinator/cli/cli.h"
#include "coordinator/journal/run_dir.h"

struct capacity_needs climb_capacity_needed (uint32_t hosts); /* beside what the process has before it drives a run */
/* May this process have what driving a run of so many hosts takes? Asked before a run is begun that could not go on. */
int climb_check_capacity (uint32_t hosts, struct err *err);
/* `plan`: a new run, and `making_fd` is from run_begun_create_run, closed here; NULL: resume what the folder holds.
 * `heading` is shown above everything else, and NULL none: whoever does not read it holds up nothing but the end of the
 * process, which any signal brings then. `json`: standard output has events, one a line. `metrics`: a file that is kept up to date; NULL: none.
 * Returns the exit status. */
int climb (struct cli *cli, const struct run_dir *dir, const struct plan *plan, int making_fd, const char *heading,
           bool json, const char *metrics);
/* Takes a run over whose coordinator is gone, as resume does, and cancels it; `level`: driver_cancel. Tells only what
 * goes wrong: the end is in the journal, if it came to that. Returns the exit status of the run, or why there is none. */
int climb_cancel (struct cli *cli, const struct run_dir *dir, uint32_t level);

/* A program or library of this build: they lie side by side. */
void climb_path_beside (const struct cli *cli, const char *name, char out[RUN_PATH_BYTES]);

/* serve.c: starts sliceup-web for one run, on any port of this machine; `url` is where it answers. It ends a few seconds after this
 * process. It never sees this process's terminal. */
int web_program_start (const struct cli *cli, const struct run_dir *dir, char *url, size_t url_bytes, struct err *err);

/* on_end.c: runs the command of a run's end: the receipt on its standard input, for a bounded time. */
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
