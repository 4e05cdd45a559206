/* run_message.h - the RUN message of one part, and of all. */
#ifndef SLICEUP_COORDINATOR_CORE_RUN_MESSAGE_H
#define SLICEUP_COORDINATOR_CORE_RUN_MESSAGE_H

#include "coordinator/core/outbox.h"

/* Deals the running pass its secrets, again after a restart: they are in no fact. Before anything else of the pass. */
void run_message_deal (struct coord *coord);
/* Of a pass that begins: deals it, too. */
void run_message_send_all (struct coord *coord, uint64_t now_ms, struct outbox *out);
void run_message_send (struct coord *coord, uint32_t part, uint64_t now_ms, struct outbox *out);

#endif
