/* write_lease.h - who may write the cache now. */
#ifndef SLICEUP_COORDINATOR_CORE_WRITE_LEASE_H
#define SLICEUP_COORDINATOR_CORE_WRITE_LEASE_H

#include "coordinator/core/outbox.h"
#include "coordinator/core/state.h"

void write_lease_resume (struct coord *coord, uint64_t now_ms);
uint32_t write_lease_candidate (const struct coord *coord); /* the next writer; NONE: no possible writer is left */
bool write_lease_is_free (const struct coord *coord, uint64_t now_ms); /* may a token be asked for? */
void write_lease_ask_token (struct coord *coord, uint64_t now_ms, struct outbox *out);
void write_lease_note_owner (struct coord *coord, const struct lease_owner *lease_owner, uint64_t now_ms);
void write_lease_clear_owner (struct coord *coord);
bool write_lease_waited_too_long (const struct coord *coord, uint64_t now_ms);
void write_lease_grant (struct coord *coord, uint64_t token, uint64_t now_ms, struct outbox *out);
void write_lease_answer_heartbeat (struct coord *coord, uint32_t host, const struct msg_heartbeat *beat,
                                   uint64_t now_ms, struct outbox *out);
void write_lease_note_result (struct coord *coord, uint32_t host, const struct result *result);
/* The catalogue gave our lease to another run, which had not seen its beat move. */
void write_lease_note_lost (struct coord *coord, uint64_t now_ms, struct outbox *out);
void write_lease_check_expiry (struct coord *coord, uint64_t now_ms, struct outbox *out);
void write_lease_return_token (uint64_t token, struct outbox *out); /* nobody ever writes under it */
void write_lease_abandon (struct coord *coord, uint64_t now_ms, struct outbox *out);
const struct fact_generation *write_lease_base_generation (
    const struct coord *coord); /* the base of the granted generation; token 0: none */
void write_lease_publish_generation (const struct coord *coord,
                                     struct outbox *out); /* tells the catalogue to publish it */
uint64_t write_lease_deadline_ms (const struct coord *coord);

#endif
