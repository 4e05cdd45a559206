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

#endif
