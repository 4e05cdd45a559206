/* burst.h - what several hosts do or suffer within half a second, as one line: silence, loss, coming back, what they find in
 * the cache, contradicting results, failures of a pass that still runs. The line waits for the others for half a second.
 *
 *   40 hosts (h[3,17,20-57]) silent for 5 s
 *   tiny: h[1-4,6] (5 hosts) failed: RuntimeError: no chip; exited with status 1 in phase run; whose: the device (likely) so far
 *
 * A failure is told again when more hosts share it, with all of them; at most BURST_LINES groups each time, the others
 * in the next. When the pass ends its verdicts are told by plain.h, and here which of what was told they correct.
 * Knows no clock. One thread. */
#ifndef SLICEUP_COORDINATOR_VIEW_BURST_H
#define SLICEUP_COORDINATOR_VIEW_BURST_H

#include "coordinator/story/board.h"
#include "coordinator/view/line.h"

enum { BURST_WAIT_MS = 500, BURST_LINES = 3 };

struct burst;
struct burst *burst_create (void);
void burst_destroy (struct burst *burst);
/* Takes a fact after `board` has. What nobody shares is told at once, behind what waits. `now_ms`: any clock. */
void burst_fact (struct burst *burst, const struct board *board, const struct fact *fact, uint64_t now_ms,
                 const struct style *style, struct buf *out);
/* Tells what has waited long enough; all of it at UINT64_MAX. */
void burst_tell (struct burst *burst, const struct board *board, uint64_t now_ms, const struct style *style,
                 struct buf *out);

#endif
