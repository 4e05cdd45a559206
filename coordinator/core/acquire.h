/* acquire.h - gets the shared cache for the climb: what the catalogue holds, an audit of the root, a token to write.
 * What follows what is acquisition.h's. Instants are `now_ms` of the caller, a clock that counts suspend. */
#ifndef SLICEUP_COORDINATOR_CORE_ACQUIRE_H
#define SLICEUP_COORDINATOR_CORE_ACQUIRE_H

#include "coordinator/core/outbox.h"

/* True: the catalogue's generation is known, and nothing was done to the cache since the root was audited. Else it does
 * what is next for that. */
bool acquire_generation (struct coord *coord, uint64_t now_ms, struct outbox *out);
/* A cold pass has to be granted: does what is next for that. */
void acquire_token (struct coord *coord, uint64_t now_ms, struct outbox *out);
/* The run ends. True: the root was audited since the cache was last used, or was never found. */
bool acquire_last_audit (struct coord *coord, uint64_t now_ms, struct outbox *out);
/* The cache cannot be used: the climb stops. */
void acquire_give_up (struct coord *coord, struct text problem, uint64_t now_ms, struct outbox *out);

void acquire_found (struct coord *coord, const struct input *in, uint64_t now_ms, struct outbox *out);
void acquire_audited (struct coord *coord, const struct input *in, uint64_t now_ms, struct outbox *out);
void acquire_token_answered (struct coord *coord, const struct input *in, uint64_t now_ms, struct outbox *out);

bool acquire_is_asking (const struct coord *coord);                            /* the catalogue */
void acquire_watch (struct coord *coord, uint64_t now_ms, struct outbox *out); /* questions that nobody answers */
uint64_t acquire_deadline_ms (const struct coord *coord);                      /* UINT64_MAX: no question is out */

#endif
