/* watch_view.h - what `sliceup watch` shows: a terminal that is worked with where there is one, and else what live.h
 * shows. The same promises as those of live.h; the last grid and the sentence are left in the scrollback by both. */
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
    bool json;
};
struct watch_view;
struct watch_view *watch_view_open (const struct watch_view_options *options);
void watch_view_close (struct watch_view *view);
void watch_view_fact (struct watch_view *view, const struct fact *fact);
void watch_view_print_remark (struct watch_view *view, const char *remark);
void watch_view_freeze_clock (struct watch_view *view, bool frozen);
/* Often: as it says itself. False: a person has left. */
bool watch_view_tick (struct watch_view *view);
uint32_t watch_view_tick_ms (const struct watch_view *view);
/* Does it stay, when the run has ended, until somebody leaves? */
bool watch_view_stays (const struct watch_view *view);
const struct board *watch_view_board (const struct watch_view *view);

#endif
