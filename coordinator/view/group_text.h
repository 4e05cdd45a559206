/* group_text.h - hosts whose verdicts say the same, in one sentence; what was printed comes before our words about it:
 *
 *   h[3,5] (2 hosts) failed: RuntimeError: no chip; exited with status 1 in phase run; owner unknown so far
 *   h[3,5] failed: RuntimeError: no chip; exited with status 1 in phase run [likely device]; next: look at the chip
 *
 * "so far": the pass still runs, and its verdicts may say otherwise. Not escaped: it is for line.h. Pure. */
#ifndef SLICEUP_COORDINATOR_VIEW_GROUP_TEXT_H
#define SLICEUP_COORDINATOR_VIEW_GROUP_TEXT_H

#include "coordinator/receipt/board.h"

void group_text (const struct board *board, const struct board_verdict_group *group, struct buf *out);
/* "h[3,5]", or of a set that is long "672 hosts (h3 ...)"; escaped. `columns` 0: any length. */
void group_text_set (const struct board *board, const uint32_t *hosts, uint32_t n, uint32_t columns, struct buf *out);

#endif
