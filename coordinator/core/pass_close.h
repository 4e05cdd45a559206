/* pass_close.h - verdicts of a pass whose parts have all ended. */
#ifndef SLICEUP_COORDINATOR_CORE_PASS_CLOSE_H
#define SLICEUP_COORDINATOR_CORE_PASS_CLOSE_H

#include "coordinator/core/outbox.h"

void close_pass (struct coord *coord, uint64_t now_ms, struct outbox *out);

#endif
