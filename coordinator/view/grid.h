/* grid.h - the live view as lines: where the run is, a row a rung, what is waited for, what happened last.
 *
 * Fits any terminal: no line is wider than style.columns, and there are at most style.rows - 1 of them (rows 0: any
 * number). Too many rungs fold into "12 rungs passed" above and "8 to go" below; a narrow terminal loses the bar, then
 * the pass, then the time. Pure: moving the cursor is the caller's affair. */
#ifndef SLICEUP_COORDINATOR_VIEW_GRID_H
#define SLICEUP_COORDINATOR_VIEW_GRID_H

#include "coordinator/view/board.h"
#include "coordinator/view/line.h"

/* `notable`: the newest lines last; as many as fit are shown. Each line ends with a newline. */
void grid_draw (const struct board *board, uint64_t now_ms, const struct style *style, const struct text *notable,
                uint32_t notable_n, struct buf *out);

#endif
