/* plain.h - a run as lines: one per notable fact, prefixed by the run's clock. For files, pipes and dumb terminals; the
 * grid shows the last of them too.
 *
 *   [   3.1 s] tiny cold attempt 1 began on local0 (1 host)
 *   [  12.3 s] tiny restored: 4 passed in 3.2 s
 *   [  44.0 s] local2 lost: silent for 30 s
 *
 * Joining is one line, when the last has. What several hosts share is for burst.c. Pure. */
#ifndef SLICEUP_COORDINATOR_VIEW_PLAIN_H
#define SLICEUP_COORDINATOR_VIEW_PLAIN_H

#include "coordinator/story/board.h"
#include "coordinator/view/line.h"

/* Appends the lines for `fact`, which `board` has taken already; most often one or none. */
void plain_fact (const struct board *board, const struct fact *fact, const struct style *style, struct buf *out);
/* Appends what is waited for, as lines of the same form. */
void plain_waiting (const struct board *board, uint64_t now_ms, const struct style *style, struct buf *out);
/* Appends `words` as a line of the same form, and empties them. */
void plain_line (uint64_t at_ms, struct buf *words, const struct style *style, struct buf *out);
/* "4 passed, 1 failed" of a pass that has ended. */
void plain_counts (const struct board_pass *pass, struct buf *out);

/* ---- groups ---- */

/* Hosts whose verdicts say the same, in one sentence; what was printed comes before our words about it:
 *
 *   h[3,5] (2 hosts) failed: RuntimeError: no chip; exited with status 1 in phase run; whose: not known so far
 *   h[3,5] failed: RuntimeError: no chip; exited with status 1 in phase run; whose: the device (likely); next: look at the chip
 *
 * "so far": the pass still runs, and its verdicts may say otherwise. Not escaped: it is for line.h. */

void group_text (const struct board *board, const struct board_verdict_group *group, struct buf *out);
/* "h[3,5]", or of a set that is long "672 hosts (h3 ...)"; escaped. `columns` 0: any length. */
void group_text_set (const struct board *board, const uint32_t *hosts, uint32_t n, uint32_t columns, struct buf *out);

/* ---- burst.c ---- */

/* What several hosts do or suffer within half a second, as one line: silence, loss, coming back, what they find in the
 * cache, contradicting results, failures of a pass that still runs. The line waits for the others for half a second.
 *
 *   40 hosts (h[3,17,20-57]) silent for 5 s
 *   tiny: h[1-4,6] (5 hosts) failed: RuntimeError: no chip; exited with status 1 in phase run; whose: the device (likely) so far
 *
 * A failure is told again when more hosts share it, with all of them; at most BURST_LINES groups each time, the others
 * in the next. When the pass ends its verdicts are told by plain_fact, and here which of what was told they correct.
 * Knows no clock. One thread. */
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

/* ---- event_json.c ---- */

/* The same for scripts: one JSON object a line, docs/spec/event.schema.json.
 *
 * One event a fact: what the fact says, under the names that facts have for it, with hosts and rungs by name. What a
 * plan launches, secrets and evidence of programs in full are left to the receipt. */

/* Appends the event of a fact that the board has seen; nothing for facts that are no news. */
void event_json (const struct board *board, const struct fact *fact, struct buf *out);
/* Something that is no fact: "the coordinator is gone". */
void event_json_remark (struct text words, struct buf *out);
/* The last line of a command. `outcome` NONE and no sentence: the run has not ended. */
void event_json_exit (enum outcome outcome, struct text sentence, int exit_status, struct buf *out);

/* What a run that a rung stopped came to: at most three causes, each with its error line, whose it is and what is next,
 * then who fell with them. False: another end, which its sentence tells. */
bool card_print (const struct board *board, struct buf *out);

#endif
