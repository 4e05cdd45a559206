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
/* Are both of the same attempt of a pass? */
bool report_same_pass (const struct report_attempt *a, const struct report_attempt *b);

/* The cause of a cascade: cascade_cause.h. */
struct report_attempts report_attempts_of (const struct report *report, struct arena *arena);
/* Its phases are the spans, one behind the other. What a worker still reads when the program has ended counts for them,
 * and not for the attempt, so together they may be longer or shorter than it. */
uint64_t report_phase_ms (const struct report_attempt *attempt, uint32_t phase);

#endif
