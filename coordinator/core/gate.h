/* gate.h - where every host of a slice-wide program waits for the others. */
#ifndef SLICEUP_COORDINATOR_CORE_GATE_H
#define SLICEUP_COORDINATOR_CORE_GATE_H

#include "coordinator/core/outbox.h"

/* `part` waits at the gate of `held`, as its worker says again and again. */
void gate_arrive (struct coord *coord, uint32_t part, const struct holding *held, uint64_t now_ms, struct outbox *out);

#endif
