/* inbox.h - what workers say. */
#ifndef SLICEUP_COORDINATOR_CORE_INBOX_H
#define SLICEUP_COORDINATOR_CORE_INBOX_H

#include "coordinator/core/outbox.h"

void inbox_handle_message (struct coord *coord, uint32_t host, const struct msg *msg, struct text sha256,
                           uint64_t now_ms, struct outbox *out);
/* An order that its worker will never get. */
void inbox_handle_undeliverable (struct coord *coord, const struct core_input *in, uint64_t now_ms, struct outbox *out);

#endif
