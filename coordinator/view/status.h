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

/* Each line ends with a newline. */
void grid_draw (const struct board *board, uint64_t now_ms, const struct style *style, struct buf *out);

/* ---- waiting.c ---- */

/* What a run waits for right now, in lines for people: hosts that wait for the same folded together, the
 * longest wait first.
 *
 *   waiting for v6e[3,17] in phase compile (12 s of 60 s)
 *   v6e[0-2] at gate rendezvous, waiting for v6e[3] (12 s of 60 s)
 *   v6e[5] silent for 7 s
 *   waiting for run 3f2a91c0, which writes this cache now (generation 12) (40 s)
 *   waiting 2 s before retry 1 of 1 of rung tiny: metadata on v6e[3]
 *
 * The bound in brackets is that of the whole wait: the attempt's time limit, or the time to join. Pure. */

enum { WAITING_LINES = 5 };

/* Appends at most `lines` lines and, when there are more, "... and N more"; each ends with a newline and is escaped,
 * none is cut. A folded set of hosts that is wider than `set_columns` (0: any width) is told as "672 hosts (v6e1 ...)",
 * or where there is little room as "672 hosts", so that what they wait for is not what gets cut. Nothing when nothing
 * is waited for. `now_ms`: on the run's clock. Returns how many lines were appended. */
uint32_t waiting_append_lines (const struct board *board, uint64_t now_ms, uint32_t lines, uint32_t set_columns,
                               struct buf *out);

/* ---- progress ---- */

/* Of the hosts that the running pass waits for: who holds up the others, what they printed last, which are slower than the others,
 * and how long the pass may still take.
 *
 *   suspect: h62 stands in fault.py:4 maybe (), sleeping in clock_nanosleep; h[0-61] wait for it in jax
 *   h[62-63] printed nothing for 12 s since: loading shard 3
 *   h62 in phase compile for 40 s, clearly longer than the others: median 2 s of 61 hosts
 *   about 40 s left, from 5 earlier runs, which took about 70 s
 *
 * Pure. */

enum { PROGRESS_QUIET_LINES = 3, PROGRESS_SLOW_LINES = 2 };

/* Appends at most PROGRESS_QUIET_LINES + PROGRESS_SLOW_LINES + 2 lines; otherwise as waiting_append_lines. */
uint32_t progress_append_lines (const struct board *board, uint64_t now_ms, uint32_t set_columns, struct buf *out);

/* Appends "suspect: h2 stands in ...; ...", or where all stand; nothing if that is not known. With `silent` only what
 * still holds: since it was asked a host has printed nothing. Returns how many lines. */
uint32_t progress_append_stands (const struct board *board, uint64_t now_ms, bool silent, struct buf *out);

/* Hosts that are waited for, with the same last line. */
struct progress_quiet {
    uint32_t *hosts;
    uint32_t n;
    struct text line; /* empty: they printed nothing yet */
    uint64_t quiet_ms;
};
/* Those of the last seconds, the longest quiet first. */
uint32_t progress_quiet_hosts (const struct board *board, uint64_t now_ms, struct arena *arena,
                               struct progress_quiet out[OUTPUT_GROUPS_MAX]);

/* Hosts that are in a phase for much longer than others were. */
struct progress_slow {
    struct text phase;
    uint32_t *hosts;
    uint32_t n, others;
    uint64_t longest_ms, median_ms;
};
uint32_t progress_slow_hosts (const struct board *board, uint64_t now_ms, struct arena *arena,
                              struct progress_slow out[BOARD_PHASES_MAX]);

/* Why a host that is waited for is to be looked at, the gravest last. */
enum trouble {
    TROUBLE_NONE = 0,
    TROUBLE_QUIET, /* it printed nothing for 10 s, and most others did */
    TROUBLE_SLOW,  /* progress_slow_hosts */
    TROUBLE_HOLDS  /* its program stands where the others wait for it: "suspect: ..." */
};
/* Sets what it finds in `out`, one a host of the plan. */
void progress_mark_troubles (const struct board *board, uint64_t now_ms, struct arena *arena, uint8_t *out);
/* False: the phase says no more than that the program runs ("start", "run"). */
bool progress_phase_tells (struct text phase);

/* What earlier runs say of the running pass; NULL: nothing. `left_ms`: 0 once it takes longer than they did. */
const struct usual_time *progress_usual_time (const struct board *board, uint64_t now_ms, uint64_t *left_ms);

#endif
