/* status.h - one look at a run: as JSON for scripts, as text for people. A fold like every view; see board.h.
 *
 * JSON, schema "sliceup.status/2" (absent: never; unknown: null; times in ms on the run's clock unless named _wall_ms):
 *   schema, run, slice, ladder, version
 *   state       "running", "interrupted" (no coordinator holds it), or "ended"
 *   outcome, exit_status, sentence   null before the end
 *   opened_wall_ms, now_ms, epoch, pid (of the coordinator; null: none)
 *   hosts       {"count", "joined", "list": [{"host", "rank", "life": expected|keyed|joined|lost, "why", "outcome" in
 *               the last pass it ended, "rungs_passed", "state" of the running attempt, "phase", "phase_ms", "gate",
 *               "silent_ms"}]}
 *   rungs       [{"rung", "outcome", "duration_ms", "absent": [as in "failures"] of those that are absent from here on,
 *               "passes": [{"pass", "attempt", "state": skipped|running|ended,
 *               "outcome", "began_ms", "duration_ms", "hosts", "ended", "counts": {outcome: n}, "failures":
 *               [{"outcome", "owner", "else_owner", "certainty", "preliminary": the pass still runs, "signature", "line": the error
 *               line, "cause", "next", "phase", "hosts": folded, "count"}], "failures_left_out", "corrections":
 *               [{"from", "from_owner", "to", "to_owner", "hosts", "count"}] what was preliminary and is not so}]}]
 *   waiting     [line, ...], as in the terminal of watch
 *   quiet       [{"hosts", "count", "line": the last that they printed (null: nothing yet), "quiet_ms"}]; of hosts that
 *               the running pass waits for, the longest quiet first; of many hosts only those quiet for 5 s
 *   slow        [{"hosts", "count", "phase", "longest_ms", "median_ms" of the "others"}]; in a phase for clearly longer
 *   estimate    {"left_ms", "usual_ms": of the pass, in "runs" earlier runs}; null: there were none
 *   cache       {"generation", "adopted", "entries", "bytes", "writer"}, or null
 *   metrics     [{"rung", "pass", "attempt", "metric", "axes", "value", "proof", "missing", "why", "culprits",
 *               "contradicted"}]
 *   conflicts   how many contradicting results were seen
 * Members may be added; none changes its meaning within version 2. Texts are what hosts said: the JSON is pure
 * printable ASCII; the text form is escaped for terminals. Pure. */
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

/* Each line ends with a newline. */
void grid_draw (const struct board *board, uint64_t now_ms, const struct style *style, struct buf *out);

#endif
