/* deadlines.h - every wait of the run has a bound: silence, joining, attempts that do not end, questions. */
#ifndef SLICEUP_COORDINATOR_CORE_DEADLINES_H
#define SLICEUP_COORDINATOR_CORE_DEADLINES_H

#include "coordinator/core/outbox.h"

void deadlines_discount_sleep (struct coord *coord, uint64_t now_ms); /* before anything else of a step */
void deadlines_check (struct coord *coord, uint64_t now_ms, struct outbox *out);
uint64_t deadlines_next (const struct coord *coord); /* run clock */
/* Tells watchers what the climb waits for that is not up to a host of this run, when it changes. Last in a step. */
void deadlines_report_wait (struct coord *coord, uint64_t now_ms, struct outbox *out);

#endif
