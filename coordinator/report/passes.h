/* passes.h - what every host did in every pass, short enough for a file: how it ended, and how long it took. JSON of
 * numbers and letters (docs/spec/report.md). Pure. */
#ifndef SLICEUP_COORDINATOR_REPORT_PASSES_H
#define SLICEUP_COORDINATOR_REPORT_PASSES_H

#include "coordinator/report/report.h"

void passes_json (const struct report *report, struct buf *out);

#endif
