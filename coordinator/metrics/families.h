/* families.h - every family of series that there may be, in the order in which they are printed. */
#ifndef SLICEUP_COORDINATOR_METRICS_FAMILIES_H
#define SLICEUP_COORDINATOR_METRICS_FAMILIES_H

#include "coordinator/metrics/exposition.h"

enum family_id {
    RUN,
    RUN_STATE,
    RUN_OUTCOME,
    RUN_EXIT_STATUS,
    RUN_OPENED,
    RUN_DURATION,
    RUN_PROGRESS,
    SLICE_HOSTS,
    HOSTS,
    JOINED,
    SILENT,
    LOST,
    JOINS,
    FAILING,
    FAILING_UNNAMED,
    RUNGS,
    RUNGS_PASSED,
    RUNG_HOSTS,
    RUNG_DURATION,
    PASS_DURATION,
    PASS_LIMIT,
    PASS_USUAL,
    PASS_LEFT,
    PHASE,
    GATE,
    RETRIES,
    CONFLICTS,
    JUDGED,
    UNPROVED,
    COMPILE,
    HITS,
    MISSES,
    GENERATION,
    ENTRIES,
    BYTES,
    ADOPTED,
    LEASE,
    LEASES_LOST,
    VIOLATIONS,
    DRIFT,
    QUEUE,
    WRITTEN,
    FAMILIES_N
};

const struct family *metrics_family (enum family_id id);

#endif
