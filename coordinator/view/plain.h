/* plain.h - a run as lines: one per notable fact, prefixed by the run's clock. For files, pipes and dumb terminals; the
 * grid shows the last of them too.
 *
 *   [   3.1 s] tiny cold attempt 1 began on local0 (1 host)
 *   [  12.3 s] tiny restored: 4 passed in 3.2 s
 *   [  44.0 s] local2 lost: silent for 30 s
 *
 * Joining is one line, when the last has. What several hosts share is for burst.h: silence, loss, findings, failures. Pure. */
#ifndef SLICEUP_COORDINATOR_VIEW_PLAIN_H
#define SLICEUP_COORDINATOR_VIEW_PLAIN_H

#include "coordinator/receipt/board.h"
#include "coordinator/view/line.h"

/* Appends the lines for `fact`, which `board` has taken already; most often one or none. */
void plain_fact (const struct board *board, const struct fact *fact, const struct style *style, struct buf *out);
/* Appends what is waited for, as lines of the same form. */
void plain_waiting (const struct board *board, uint64_t now_ms, const struct style *style, struct buf *out);
/* Appends `words` as a line of the same form, and empties them. */
void plain_line (uint64_t at_ms, struct buf *words, const struct style *style, struct buf *out);
/* "4 passed, 1 failed" of a pass that has ended. */
void plain_counts (const struct board_pass *pass, struct buf *out);

#endif
