/* waiting.h - what a run waits for right now, in lines for people: hosts that wait for the same folded together, the
 * longest wait first.
 *
 *   waiting for v6e[3,17] in phase compile (12 s of 60 s)
 *   v6e[0-2] at gate rendezvous, waiting for v6e[3] (12 s of 60 s)
 *   v6e[5] silent for 7 s
 *   waiting for run 3f2a91c0, which writes this cache now (generation 12) (40 s)
 *   waiting 2 s before retry 1 of 1 of rung tiny: metadata on v6e[3]
 *
 * The bound in brackets is that of the whole wait: the attempt's time limit, or the time to join. Pure. */
#ifndef SLICEUP_COORDINATOR_VIEW_WAITING_H
#define SLICEUP_COORDINATOR_VIEW_WAITING_H

#include "coordinator/view/board.h"

enum { WAITING_LINES = 5 };

/* Appends at most `lines` lines and, when there are more, "... and N more"; each ends with a newline and is escaped,
 * none is cut. A folded set of hosts that is wider than `set_columns` (0: any width) is told as "672 hosts (v6e1 ...)",
 * or where there is little room as "672 hosts", so that what they wait for is not what gets cut. Nothing when nothing
 * is waited for. `now_ms`: on the run's clock. Returns how many lines were appended. */
uint32_t waiting_append_lines (const struct board *board, uint64_t now_ms, uint32_t lines, uint32_t set_columns,
                               struct buf *out);

#endif
