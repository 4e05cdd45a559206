/* prove.h - what the metrics of a pass prove, once everything else is judged. */
#ifndef SLICEUP_COORDINATOR_CORE_PROVE_H
#define SLICEUP_COORDINATOR_CORE_PROVE_H

#include "coordinator/core/outbox.h"

void prove_metrics (struct coord *coord, struct verdict *verdicts, uint64_t now_ms, struct outbox *out);

#endif
