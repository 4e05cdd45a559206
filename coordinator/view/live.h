/* live.h - a run as it happens, on a stream: a grid that is redrawn in place on a terminal, plain lines elsewhere.
 *
 * The grid lies below the cursor, which rests on an empty line above it: what others print (a log line, an echoed ^C)
 * lands there and stays, and the grid moves down. The cursor is hidden only while drawing, so whatever ends this
 * process leaves a usable terminal. The size is asked anew for each redraw. Knows no clock: it is told the time, and
 * waits by the boot clock, which never jumps; the wall clock says only how old a fact was when it came. It does not own
 * the stream. One thread. A stream that can no longer be written is noticed by its owner; nothing here fails. */
#ifndef SLICEUP_COORDINATOR_VIEW_LIVE_H
#define SLICEUP_COORDINATOR_VIEW_LIVE_H

#include <stdio.h>

#include "common/model/fact.h"
#include "coordinator/view/board.h"

struct live_options {
    bool plain; /* lines only */
    bool json;  /* with `plain`: lines of JSON, docs/spec/event.schema.json */
    bool color;
    FILE *out;
    const char *heading; /* a line above everything else; lives until live_open returns; NULL: none */
};

struct live_time {
    uint64_t boot_ms, wall_ms;
};

struct live;
struct live *live_open (const struct live_options *options);
void live_fact (struct live *live, const struct fact *fact, struct live_time now);
/* Redraws when there is something new; a plain view says now and then what is waited for. Some five times a second. */
void live_tick (struct live *live, uint64_t boot_ms);
/* A remark that is no fact, e.g. "the coordinator is gone"; one line, escaped. */
void live_print_remark (struct live *live, const char *remark);
/* While nothing can be heard of the run, its clock stands still. */
void live_freeze_clock (struct live *live, bool frozen);
const struct board *live_board (const struct live *live);
/* Leaves the last state on the screen, with the cursor below it. NULL is fine. */
void live_close (struct live *live);

#endif
