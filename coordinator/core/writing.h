/* writing.h - who may write the cache now. */
#ifndef SLICEUP_COORDINATOR_CORE_WRITING_H
#define SLICEUP_COORDINATOR_CORE_WRITING_H

#include "coordinator/core/outbox.h"
#include "coordinator/core/state.h"

void writing_attach (struct coord *coord, uint64_t now_ms);
uint32_t writing_candidate (const struct coord *coord);
void writing_ask (struct coord *coord, uint64_t now_ms, struct outbox *out);
void writing_wait (struct coord *coord, const struct lease_rival *rival, uint64_t now_ms);
void writing_wait_no_more (struct coord *coord);
bool writing_waited_too_long (const struct coord *coord, uint64_t now_ms);
void writing_grant (struct coord *coord, uint64_t token, uint64_t now_ms, struct outbox *out);
void writing_asked (struct coord *coord, uint32_t host, const struct msg_heartbeat *beat, uint64_t now_ms, struct outbox *out);
void writing_ended (struct coord *coord, uint32_t host, const struct result *result);
void writing_lose (struct coord *coord, struct text why, uint64_t now_ms, struct outbox *out);
void writing_watch (struct coord *coord, uint64_t now_ms, struct outbox *out);
bool writing_unbegun (const struct coord *coord);      /* granted, and nobody was told to write yet */
void writing_decline (uint64_t token, struct outbox *out); /* nobody ever writes under it */
void writing_abandon (struct coord *coord, uint64_t now_ms, struct outbox *out);
const struct fact_generation *writing_base (const struct coord *coord); /* what the granted one is built upon; token 0: nothing */
void writing_publish (const struct coord *coord, struct outbox *out); /* tells the catalogue of what was published */
uint64_t writing_deadline_ms (const struct coord *coord);

#endif
