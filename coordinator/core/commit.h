/* commit.h - a fact is numbered, stamped and applied; a message is addressed. */
#ifndef SLICEUP_COORDINATOR_CORE_COMMIT_H
#define SLICEUP_COORDINATOR_CORE_COMMIT_H

#include "coordinator/core/outbox.h"
#include "coordinator/core/state.h"

/* Numbers, stamps and applies the fact that was just put into the outbox. */
void coord_commit (struct coord *coord, struct fact *fact, uint64_t now_ms);
/* The message to fill in. */
struct msg *coord_send (struct coord *coord, uint32_t host, enum msg_kind kind, struct outbox *out);

#endif
