/* prove_metrics.h - what the metrics of a pass prove, once everything else is judged. */
#ifndef SLICEUP_COORDINATOR_CORE_PROVE_METRICS_H
#define SLICEUP_COORDINATOR_CORE_PROVE_METRICS_H

#include "coordinator/core/outbox.h"

void prove_metrics (struct coord *coord, struct verdict *verdicts, uint64_t now_ms, struct outbox *out);

#endif
