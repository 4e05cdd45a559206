/* compare.h - two runs held against one another: what got slower, what changed, how hosts differ now that did not before.
 *
 * `before` is the run that is compared with. Texts are as they were said: whoever prints them escapes them. Pure; lives in
 * the arena, and borrows from both reports. */
#ifndef SLICEUP_COORDINATOR_REPORT_COMPARE_H
#define SLICEUP_COORDINATOR_REPORT_COMPARE_H

#include "coordinator/receipt/drift.h"
#include "coordinator/report/report.h"

#define UNKNOWN_MS UINT64_MAX

/* Of one phase, the medians of the hosts that passed; UNKNOWN_MS: nobody was in it. */
struct compared_phase {
    struct text name;
    uint64_t before_ms, now_ms;
};
/* The last attempt of a pass of a rung. */
struct compared_pass {
    struct text rung;
    enum pass pass;
    enum outcome before, now;   /* NONE: it was not made, or has not ended */
    uint64_t before_ms, now_ms; /* of the slice; UNKNOWN_MS: nobody measured it */
    struct compared_phase *phases;
    uint32_t phases_n;
};
/* "run": of the whole run; "program": of a rung; else what hosts told: "bundle", "policy", "fact", ... */
struct compared_change {
    struct text what, name, before, now; /* empty: it was not told */
    struct text hosts;                   /* folded; empty: of the run */
};
struct comparison {
    const struct run_header *before, *now;
    enum outcome before_outcome, now_outcome; /* NONE: the run has not ended, and nothing failed */
    struct compared_pass *passes;             /* in ladder order, those that only one of the runs has included */
    uint32_t passes_n;
    struct compared_change *changes;
    uint32_t changes_n, changes_more; /* more: left out */
    struct drift drift;               /* of the hosts of `now` with one another */
    const struct drift_item **new_drift;
    uint32_t new_drift_n; /* findings of facts on which the hosts of `before` agreed */
};

void compare_runs (const struct report *now, const struct report *before, struct arena *arena, struct comparison *out);
/* now / before; false: one of them is unknown, or it took no time before. */
bool compared_ratio (uint64_t before_ms, uint64_t now_ms, double *ratio);
/* compare_json.c: docs/spec/web.md, "Two runs". */
void comparison_json (const struct comparison *comparison, struct buf *out);
/* compare_markdown.c: one page. */
void comparison_markdown (const struct comparison *comparison, struct buf *out);

#endif
