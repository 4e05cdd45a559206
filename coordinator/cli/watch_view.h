/* watch_view.h - what `sliceup watch`, and `sliceup run` in its own terminal, show: a terminal that is worked with where
 * there is one, and else lines (run_lines.h).
 *
 * A session leaves the last grid in the scrollback. In its own terminal a run has a session from its first fact to its
 * end; whoever leaves it before sees lines from there on. One thread. */
#ifndef SLICEUP_COORDINATOR_CLI_WATCH_VIEW_H
#define SLICEUP_COORDINATOR_CLI_WATCH_VIEW_H

#include "common/model/fact.h"
#include "coordinator/cli/cli.h"
#include "coordinator/home/run_dir.h"
#include "coordinator/view/board.h"

struct watch_view_options {
    struct cli *cli;
    const struct run_dir *dir; /* NULL: the run is elsewhere, and `key` is the file of its monitor key */
    const char *run, *key;
    const char *heading; /* lines above everything else; NULL: none */
    bool json;
    bool own;                                                                    /* this process is the coordinator */
    int (*cancel) (struct cli *cli, const struct run_dir *dir, struct err *err); /* what the key c does */
};
struct watch_view;
struct watch_view *watch_view_open (const struct watch_view_options *options);
void watch_view_close (struct watch_view *view);
void watch_view_fact (struct watch_view *view, const struct fact *fact);
void watch_view_print_remark (struct watch_view *view, const char *remark);
/* A whole line of the log: beside a session it is a note, and printed on standard error once the session is over, up to
 * 1 MiB of them; how many more there were is said. */
void watch_view_log (struct watch_view *view, struct text line);
void watch_view_freeze_clock (struct watch_view *view, bool frozen);
bool watch_view_tick (struct watch_view *view);              /* false: a person has left */
uint32_t watch_view_tick_ms (const struct watch_view *view); /* how soon it wants the next one */
/* Does it stay, when the run has ended, until somebody leaves? */
bool watch_view_stays (const struct watch_view *view);
const struct board *watch_view_board (const struct watch_view *view);

#endif
