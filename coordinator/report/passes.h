/* passes.h - what every host did in every pass, short enough for a file: how it ended, and how long it took. JSON of
 * numbers and letters (docs/spec/report.md). Pure.
 *
 * A file takes as many of them as it has room for: of each pass of a rung the last attempt first, then what was run
 * again after it, and of these the newest first. */
#ifndef SLICEUP_COORDINATOR_REPORT_PASSES_H
#define SLICEUP_COORDINATOR_REPORT_PASSES_H

#include "coordinator/report/report.h"

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
