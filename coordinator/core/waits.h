/* waits.h - what the climb waits for that no host of this run has to do. */
#ifndef SLICEUP_COORDINATOR_CORE_WAITS_H
#define SLICEUP_COORDINATOR_CORE_WAITS_H

#include "coordinator/core/outbox.h"
#include "coordinator/core/state.h"

/* After everything else of a step. */
void waits_tell (struct coord *coord, uint64_t now_ms, struct outbox *out);

#endif
