/* outbox.h - what a step produces, in order: facts, which are applied at once, effects, and messages. */
#ifndef SLICEUP_COORDINATOR_CORE_OUTBOX_H
#define SLICEUP_COORDINATOR_CORE_OUTBOX_H

#include "coordinator/core/state.h"

struct fact *outbox_fact (struct outbox *out, enum fact_kind kind);
struct effect *outbox_effect (struct outbox *out, enum effect_kind kind);
/* Numbers, stamps and applies the fact that was just put into the outbox. */
void coord_commit (struct coord *coord, struct fact *fact, uint64_t now_ms);
/* The message to fill in, addressed. */
struct msg *coord_send (struct coord *coord, uint32_t host, enum msg_kind kind, struct outbox *out);

#endif
