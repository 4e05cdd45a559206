/* grid.h - a run as a page of lines: where it is, a row a rung, who is silent or lost, what failed, what is waited for.
 *
 * Rows are no wider than style.columns (0: any width): a narrow terminal loses the bar, then the pass, then the time.
 * Failures are never cut. Pure. */
#ifndef SLICEUP_COORDINATOR_VIEW_GRID_H
#define SLICEUP_COORDINATOR_VIEW_GRID_H

#include "coordinator/view/board.h"
#include "coordinator/view/line.h"

/* Each line ends with a newline. */
void grid_draw (const struct board *board, uint64_t now_ms, const struct style *style, struct buf *out);

#endif
