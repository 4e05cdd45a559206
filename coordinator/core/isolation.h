/* isolation.h - parts of the slice by themselves: what the state calls for next. */
#ifndef SLICEUP_COORDINATOR_CORE_ISOLATION_H
#define SLICEUP_COORDINATOR_CORE_ISOLATION_H

#include "coordinator/core/outbox.h"

bool isolation_goes_on (const struct coord *coord);
/* True: the suspects are named, and the climb goes on at once. */
bool isolation_advance (struct coord *coord, uint64_t now_ms, struct outbox *out);

#endif
