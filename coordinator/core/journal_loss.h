/* journal_loss.h - what a worker says to know of the run that the journal does not.
 *
 * One host may err or lie. So the journal is refused for good where at least two hosts say so, and more than do not;
 * until all others have spoken since, or are lost, nothing is begun; who is alone with it is lost by its own fault. */
#ifndef SLICEUP_COORDINATOR_CORE_JOURNAL_LOSS_H
#define SLICEUP_COORDINATOR_CORE_JOURNAL_LOSS_H

#include "coordinator/core/outbox.h"

/* True: the message holds such a claim, which is recorded once, and nothing else of it counts. */
bool journal_loss_detect (struct coord *coord, uint32_t host, const struct msg *msg, uint64_t now_ms,
                          struct outbox *out);
/* After every input. True: nothing may be begun, because a claim is still weighed, or was believed. */
bool journal_loss_weigh (struct coord *coord, uint64_t now_ms, struct outbox *out);

#endif
