/* climb.h - from pass to pass, to the end. */
#ifndef SLICEUP_COORDINATOR_CORE_CLIMB_H
#define SLICEUP_COORDINATOR_CORE_CLIMB_H

#include "coordinator/core/outbox.h"

void climb_advance (struct coord *coord, uint64_t now_ms, struct outbox *out);
uint64_t climb_retry_at (const struct coord *coord); /* run clock; UINT64_MAX: no retry is awaited */

#endif
