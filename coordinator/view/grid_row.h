/* grid_row.h - private to the grid: the row of one rung. */
#ifndef SLICEUP_COORDINATOR_VIEW_GRID_ROW_H
#define SLICEUP_COORDINATOR_VIEW_GRID_ROW_H

#include "coordinator/view/board.h"
#include "coordinator/view/line.h"

void grid_row (const struct board *board, uint32_t rung, uint64_t now_ms, const struct style *style, struct buf *out);
/* The mark of an outcome, one column wide, and its colour. */
const char *grid_mark (enum outcome outcome, bool running, bool unicode);
enum paint grid_paint (enum outcome outcome, bool running);

#endif
