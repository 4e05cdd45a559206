/* trace.h - a run as a Perfetto trace (ui.perfetto.dev): what its tracks, slices, flows and counters are:
 * docs/spec/report.md.
 *
 * Pure: same report, same bytes. Its time is the run's clock. */
#ifndef SLICEUP_COORDINATOR_REPORT_TRACE_H
#define SLICEUP_COORDINATOR_REPORT_TRACE_H

#include "coordinator/report/report.h"

void trace_perfetto (const struct report *report, struct buf *out);

#endif
