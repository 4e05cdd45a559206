/* run_message.h - the RUN message of one part, and of all. */
#ifndef SLICEUP_COORDINATOR_CORE_RUN_MESSAGE_H
#define SLICEUP_COORDINATOR_CORE_RUN_MESSAGE_H

#include "coordinator/core/outbox.h"

void run_message_send_all (struct coord *coord, uint64_t now_ms, struct outbox *out);
void run_message_send (struct coord *coord, uint32_t part, uint64_t now_ms, struct outbox *out);

#endif
