/* acquire.h - gets the shared cache for the climb: find a generation in the catalogue, audit the root, get a token to
 * write. state.h has the order. Instants are `now_ms` of the caller, a clock that counts suspend. */
#ifndef SLICEUP_COORDINATOR_CORE_ACQUIRE_H
#define SLICEUP_COORDINATOR_CORE_ACQUIRE_H

#include "coordinator/core/outbox.h"

/* True: the generation is known, and the cache was not used since its audit. Else takes the next step towards that. */
bool acquire_audited_generation (struct coord *coord, uint64_t now_ms, struct outbox *out);
/* Takes the next step towards a grant for a cold pass. */
void acquire_writer_grant (struct coord *coord, uint64_t now_ms, struct outbox *out);
/* At the end of the run. True: the root was audited since the cache was last used, or was never found. */
bool acquire_final_audit (struct coord *coord, uint64_t now_ms, struct outbox *out);
/* The cache cannot be used: the climb stops. */
void acquire_give_up (struct coord *coord, struct text problem, uint64_t now_ms, struct outbox *out);

void acquire_receive_generation (struct coord *coord, const struct core_input *in, uint64_t now_ms, struct outbox *out);
void acquire_receive_audit (struct coord *coord, const struct core_input *in, uint64_t now_ms, struct outbox *out);
void acquire_receive_token (struct coord *coord, const struct core_input *in, uint64_t now_ms, struct outbox *out);

bool acquire_is_pending (const struct coord *coord); /* the catalogue */
void acquire_check_timeout (struct coord *coord, uint64_t now_ms,
                            struct outbox *out);          /* questions that nobody answers */
uint64_t acquire_deadline_ms (const struct coord *coord); /* UINT64_MAX: no question is out */

#endif
