/* order.h - the RUN message of one part, and of all. */
#ifndef SLICEUP_COORDINATOR_CORE_ORDER_H
#define SLICEUP_COORDINATOR_CORE_ORDER_H

#include "coordinator/core/outbox.h"
#include "coordinator/core/state.h"

void order_all (struct coord *coord, uint64_t now_ms, struct outbox *out);
void order_run (struct coord *coord, uint32_t part, uint64_t now_ms, struct outbox *out);

#endif
