/* climb.h - from pass to pass, to the end. */
#ifndef SLICEUP_COORDINATOR_CORE_CLIMB_H
#define SLICEUP_COORDINATOR_CORE_CLIMB_H

#include "coordinator/core/outbox.h"
#include "coordinator/core/state.h"

void climb_advance (struct coord *coord, uint64_t now_ms, struct outbox *out);
void climb_token (struct coord *coord, const struct input *in, uint64_t now_ms, struct outbox *out);
void climb_lease_taken (struct coord *coord, uint64_t now_ms, struct outbox *out);
void climb_cache_found (struct coord *coord, const struct input *in, uint64_t now_ms, struct outbox *out);
void climb_watch (struct coord *coord, uint64_t now_ms, struct outbox *out); /* questions that nobody answers */
uint64_t climb_retry_at (const struct coord *coord); /* run clock; UINT64_MAX: no retry is awaited */

#endif
