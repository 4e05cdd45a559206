/* drift_counts.h - in how many ways the hosts of a run differ, for its metrics.
 *
 * A process of sliceup counts them (makers.h), when facts came since it was done last: of a run that has ended once more,
 * of one that goes on at most every DRIFT_COUNT_MS. Nobody waits for it: until then the count before it holds, if there
 * is one. The runs that were asked about last have a place. One thread. */
#ifndef SLICEUP_COORDINATOR_WEB_DRIFT_COUNTS_H
#define SLICEUP_COORDINATOR_WEB_DRIFT_COUNTS_H

#include "common/base/text.h"
#include "coordinator/web/makers.h"

enum { DRIFT_COUNT_MS = 60 * 1000 };

struct drift_counts;
struct drift_counts *drift_counts_open (struct makers *makers); /* borrows it */
void drift_counts_close (struct drift_counts *counts);          /* NULL is fine */
/* `run`: an id; `index`: its newest fact. False: it is not known yet. */
bool drift_counts_find (struct drift_counts *counts, const char *run, uint64_t index, bool ended, uint64_t boot_ms,
                        uint32_t *findings);
/* Takes what was counted; after SIGCHLD, and about each second. */
void drift_counts_tick (struct drift_counts *counts, uint64_t boot_ms);
/* The series sliceup_drift_findings in what `sliceup metrics` printed. False: there is none. */
bool drift_counts_read (struct text metrics, uint32_t *findings);

#endif
