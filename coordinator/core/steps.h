/* steps.h - the steps of the engine, each called by the one before: what is heard, what a pass that is over means, how the
 * climb goes on. Instants are `now_ms` of the caller; what a step brings about is put into `out`. */
#ifndef SLICEUP_COORDINATOR_CORE_STEPS_H
#define SLICEUP_COORDINATOR_CORE_STEPS_H

#include "coordinator/core/outbox.h"

/* What workers say. */
void inbox_handle_message (struct coord *coord, uint32_t host, const struct msg *msg, struct text sha256,
                           uint64_t now_ms, struct outbox *out);
/* An order that its worker will never get. */
void inbox_handle_undeliverable (struct coord *coord, const struct core_input *in, uint64_t now_ms, struct outbox *out);

/* From pass to pass, to the end. */
void climb_advance (struct coord *coord, uint64_t now_ms, struct outbox *out);
uint64_t climb_retry_at (const struct coord *coord); /* run clock; UINT64_MAX: no retry is awaited */

/* The verdicts of a pass whose parts have all ended. */
void close_pass (struct coord *coord, uint64_t now_ms, struct outbox *out);
/* What the metrics of a pass prove, once everything else is judged. */
void prove_metrics (struct coord *coord, struct verdict *verdicts, uint64_t now_ms, struct outbox *out);

#endif
