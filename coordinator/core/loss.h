/* loss.h - hosts that are gone, attempts that nobody will ever report, and the peers of those that ended badly. */
#ifndef SLICEUP_COORDINATOR_CORE_LOSS_H
#define SLICEUP_COORDINATOR_CORE_LOSS_H

#include "coordinator/core/outbox.h"

void loss_end_host (struct coord *coord, uint32_t host, struct text why, uint64_t now_ms, struct outbox *out);
/* The running attempt of `host` is over: it died with its worker. Nothing happens when it has none. */
void loss_end_running_attempt (struct coord *coord, uint32_t host, struct text why, uint64_t now_ms,
                               struct outbox *out);
/* The same for one that its worker never got, or will not report. It has one. */
void loss_end_attempt (struct coord *coord, uint32_t host, enum ending ending, struct text why, uint64_t now_ms,
                       struct outbox *out);
/* In a slice-wide program whose member ended badly peers cannot finish. Those at a gate are stopped at once, */
void loss_stop_waiting_peers (struct coord *coord, uint64_t now_ms, struct outbox *out);
/* the others at this instant of the run's clock; UINT64_MAX: there is none. */
uint64_t loss_cascade_at (const struct coord *coord);
void loss_stop_peers_when_due (struct coord *coord, uint64_t now_ms, struct outbox *out);

/* ---- journal loss ---- */

/* What a worker says to know of the run that the journal does not.
 *
 * One host may err or lie. So the journal is refused for good where at least two hosts say so, and more than do not;
 * until all others have spoken since, or are lost, nothing is begun; who is alone with it is lost by its own fault. */

/* True: the message holds such a claim, which is recorded once, and nothing else of it counts. */
bool journal_loss_detect (struct coord *coord, uint32_t host, const struct msg *msg, uint64_t now_ms,
                          struct outbox *out);
/* After every input. True: nothing may be begun, because a claim is still weighed, or was believed. */
bool journal_loss_weigh (struct coord *coord, uint64_t now_ms, struct outbox *out);

#endif
