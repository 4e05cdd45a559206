/* journal_loss.h - what a worker knows of the run that the journal does not. */
#ifndef SLICEUP_COORDINATOR_CORE_JOURNAL_LOSS_H
#define SLICEUP_COORDINATOR_CORE_JOURNAL_LOSS_H

#include "coordinator/core/outbox.h"

/* True: it was recorded, as the last thing. */
bool journal_loss_detect (struct coord *coord, uint32_t host, const struct msg *msg, uint64_t now_ms,
                          struct outbox *out);

#endif
