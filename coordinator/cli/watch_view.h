/* watch_view.h - what `sliceup watch`, and `sliceup run` in its own terminal, show: a terminal that is worked with where
 * there is one, and else lines.
 *
 * A session leaves the last grid in the scrollback. In its own terminal a run has a session from its first fact to its
 * end; whoever leaves it before sees lines from there on. One thread. */
#ifndef SLICEUP_COORDINATOR_CLI_WATCH_VIEW_H
#define SLICEUP_COORDINATOR_CLI_WATCH_VIEW_H

#include <stdio.h>

#include "common/model/fact.h"
#include "coordinator/cli/cli.h"
#include "coordinator/journal/run_dir.h"
#include "coordinator/picture/scene.h"
#include "coordinator/story/board.h"

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

/* ---- run lines ---- */

/* A run as it happens, as lines on a stream: the notes of a feed with the run's clock in front, and now and
 * then what is waited for; or one JSON object a fact (docs/spec/event.schema.json).
 *
 * It listens to the feed. The owner puts a fact into the feed, then calls run_lines_fact. Quiet time goes by the boot clock, which never jumps.
 * Does not own feed and stream. One thread. A stream that can no longer be written is noticed by its owner. */

struct run_lines_options {
    struct feed *feed;
    FILE *out;
    bool json, unicode;
};
struct run_lines;
/* What the feed has noted by now is not printed. */
struct run_lines *run_lines_open (const struct run_lines_options *options);
void run_lines_fact (struct run_lines *lines, const struct fact *fact, uint64_t boot_ms);
/* A remark that is no fact, e.g. "the coordinator is gone": without the run's clock, which facts alone have. */
void run_lines_remark (struct run_lines *lines, const char *remark, uint64_t boot_ms);
/* Some times a second. `frozen`: nothing can be heard of the run, so nothing is waited for. */
void run_lines_tick (struct run_lines *lines, uint64_t boot_ms, bool frozen);
void run_lines_close (struct run_lines *lines); /* prints what waited to be shared; NULL is fine */

#endif
