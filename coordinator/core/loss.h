/* loss.h - handles lost hosts, attempts that nobody will report, and peers of attempts that ended badly. */
#ifndef SLICEUP_COORDINATOR_CORE_LOSS_H
#define SLICEUP_COORDINATOR_CORE_LOSS_H

#include "coordinator/core/outbox.h"

void loss_end_host (struct coord *coord, uint32_t host, struct text why, uint64_t now_ms, struct outbox *out);
/* Ends the running attempt of `host`, if any: it died with its worker. */
void loss_end_running_attempt (struct coord *coord, uint32_t host, struct text why, uint64_t now_ms,
                               struct outbox *out);
/* The same for an attempt that its worker never got, or will not report. The host must have one. */
void loss_end_attempt (struct coord *coord, uint32_t host, enum ending ending, struct text why, uint64_t now_ms,
                       struct outbox *out);
/* Peers of a bad end in a slice-wide program cannot finish. Stops those at a gate at once, */
void loss_stop_waiting_peers (struct coord *coord, uint64_t now_ms, struct outbox *out);
/* and the others at this time of the run's clock; UINT64_MAX: never. */
uint64_t loss_cascade_at (const struct coord *coord);
void loss_stop_peers_when_due (struct coord *coord, uint64_t now_ms, struct outbox *out);

/* ---- journal loss ---- */

/* Handles claims of workers that the run has facts which this journal lacks.
 *
 * One host may err or lie. So the journal is refused for good only if at least two hosts claim it, and more than do
 * not; nothing begins until all others have spoken since or are lost. A lone claimant is lost by its own fault. */

/* True: the message holds such a claim; it is recorded once, and the rest of the message is ignored. */
bool journal_loss_detect (struct coord *coord, uint32_t host, const struct msg *msg, uint64_t now_ms,
                          struct outbox *out);
/* Call it after every input. True: nothing may begin, because a claim is undecided, or was believed. */
bool journal_loss_weigh (struct coord *coord, uint64_t now_ms, struct outbox *out);

#endif
