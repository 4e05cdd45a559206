/* steps.h - the steps of the engine, each called by the one before: handle messages, close a pass, continue the climb.
 * Times are the caller's `now_ms`; results are added to `out`. */
#ifndef SLICEUP_COORDINATOR_CORE_STEPS_H
#define SLICEUP_COORDINATOR_CORE_STEPS_H

#include "coordinator/core/outbox.h"

/* Handles a worker's message. */
void inbox_handle_message (struct coord *coord, uint32_t host, const struct msg *msg, struct text sha256,
                           uint64_t now_ms, struct outbox *out);
/* Handles a RUN that its worker will never get. */
void inbox_handle_undeliverable (struct coord *coord, const struct core_input *in, uint64_t now_ms, struct outbox *out);

/* Begins what is next, pass by pass, to the end of the run. */
void climb_advance (struct coord *coord, uint64_t now_ms, struct outbox *out);
uint64_t climb_retry_at (const struct coord *coord); /* run clock; UINT64_MAX: no retry is awaited */

/* Judges a pass whose parts have all ended. */
void close_pass (struct coord *coord, uint64_t now_ms, struct outbox *out);
/* Judges the metrics of a pass, once everything else is judged. */
void prove_metrics (struct coord *coord, struct verdict *verdicts, uint64_t now_ms, struct outbox *out);

#endif
