/* run_message.h - the RUN message of one part, and of all. */
#ifndef SLICEUP_COORDINATOR_CORE_RUN_MESSAGE_H
#define SLICEUP_COORDINATOR_CORE_RUN_MESSAGE_H

#include "coordinator/core/outbox.h"

/* Deals the secrets of the running pass; again after a restart, since no fact holds them. Call it first in a pass. */
void run_message_deal (struct coord *coord);
/* Sends the RUN messages of a new pass; deals its secrets, too. */
void run_message_send_all (struct coord *coord, uint64_t now_ms, struct outbox *out);
void run_message_send (struct coord *coord, uint32_t part, uint64_t now_ms, struct outbox *out);

#endif
