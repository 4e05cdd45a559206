/* attempts.h - what hosts did, attempt by attempt, and whose failure each cascade followed. Pure. */
#ifndef SLICEUP_COORDINATOR_REPORT_ATTEMPTS_H
#define SLICEUP_COORDINATOR_REPORT_ATTEMPTS_H

#include "coordinator/report/report.h"

/* One attempt of a host, where a report has it: an attempt never begins before the one before it has ended, also when
 * the host's own clock counted more than passed on the run's. */
struct report_attempt {
    const struct scene_attempt *of;     /* NULL: not an attempt; the run, as the cause of cascades without another */
    const struct rung_receipt *receipt; /* NULL: the receipt has no place for it */
    uint32_t host;
    uint64_t began_ms, ended_ms;
    uint64_t phases_ms; /* when its first phase began: those before it ended before, too */
    /* Indices; SCENE_NOBODY: none. Of a cascade its cause, and the next cascade of that; of a cause its first one. */
    uint32_t cause, next, follower;
    uint64_t followed_ms; /* of a cause: when it or a follower of it ended first */
};
struct report_attempts {
    struct report_attempt *items; /* by host, then as they began; items[n] is the run */
    uint32_t n;
    struct report_attempt **by_pass; /* those of a pass one behind the other, by rank */
};
/* The cause of a cascade: scene.h. */
struct report_attempts report_attempts_of (const struct report *report, struct arena *arena);
/* Its phases are the spans, one behind the other. What a worker still reads when the program has ended counts for them,
 * and not for the attempt, so together they may be longer or shorter than it. */
uint64_t report_phase_ms (const struct report_attempt *attempt, uint32_t phase);

/* ---- passes ---- */

/* What every host did in every pass, short enough for a file: how it ended, and how long it took. JSON of
 * numbers and letters (docs/spec/report.md). Pure.
 *
 * A file takes as many of them as it has room for: of each pass of a rung the last attempt first, then what was run
 * again after it, and of these the newest first. */

struct passes {
    struct passes_item {
        struct text json;
        bool again; /* it was run again later, or was of a part of the slice alone */
        bool taken;
    } * items; /* by rung, pass and attempt, the last first */
    uint32_t n;
};

/* None of them is taken. Lives in the arena. */
struct passes passes_of (const struct report *report, struct arena *arena);
/* Takes those that fit into `room` bytes, and says how many bytes they need together. */
size_t passes_take (struct passes *passes, bool again, size_t room);
uint32_t passes_left_out (const struct passes *passes, bool again);
void passes_json (const struct passes *passes, struct buf *out); /* what was taken */

#endif
