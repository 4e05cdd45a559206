/* wait_status.h - what the climb waits for that no host of this run has to do. */
#ifndef SLICEUP_COORDINATOR_CORE_WAIT_STATUS_H
#define SLICEUP_COORDINATOR_CORE_WAIT_STATUS_H

#include "coordinator/core/outbox.h"
#include "coordinator/core/state.h"

/* After everything else of a step. */
void wait_status_report (struct coord *coord, uint64_t now_ms, struct outbox *out);

#endif
