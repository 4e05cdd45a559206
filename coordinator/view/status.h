/* status.h - one look at a run: as JSON for scripts, as text for people. A fold like every view; see board.h.
 *
 * The JSON, schema "sliceup.status/2" (docs/spec/status.schema.json), is pure printable ASCII, whatever hosts said; the
 * text form is escaped for terminals. Members may be added; none changes its meaning within version 2. Pure. */
#ifndef SLICEUP_COORDINATOR_VIEW_STATUS_H
#define SLICEUP_COORDINATOR_VIEW_STATUS_H

#include "coordinator/story/board.h"
#include "coordinator/view/line.h"

struct status {
    const struct board *board;
    uint64_t now_ms; /* run clock */
    int64_t pid;     /* of the coordinator that holds it; 0: none does */
};

const char *status_run_state (const struct status *status); /* running, interrupted, ended */
/* Appends the JSON text with a newline. */
void status_json (const struct status *status, struct buf *out);
void status_text (const struct status *status, const struct style *style, struct buf *out);

/* ---- stacks ---- */

/* Where the programs of the running pass stood when they were last looked at, as `sliceup stacks` shows it: hosts that
 * stand alike together, the fewest first, since they are the odd ones; then who holds up the others. */

uint32_t stacks_text (const struct board *board, struct buf *out); /* escaped; returns of how many hosts it is known */
/* {"schema": "sliceup.stacks/1", ...} of docs/spec/stacks.schema.json, with a newline; the first `most` groups. */
void stacks_json (const struct board *board, uint64_t now_ms, uint32_t most, struct buf *out);

/* ---- grid ---- */

/* A run as a page of lines: where it is, a row a rung, who is silent or lost, what failed, what is waited for.
 *
 * Rows are no wider than style.columns (0: any width): a narrow terminal loses the bar, then the pass, then the time.
 * Failures are never cut. Pure. */

uint32_t grid_rungs_passed (const struct board *board);
/* Each line ends with a newline. */
void grid_draw (const struct board *board, uint64_t now_ms, const struct style *style, struct buf *out);

#endif
