/* outbox.h - what a step produces, in order. */
#ifndef SLICEUP_COORDINATOR_CORE_OUTBOX_H
#define SLICEUP_COORDINATOR_CORE_OUTBOX_H

#include "coordinator/core/coord.h"

struct fact *outbox_fact (struct outbox *out, enum fact_kind kind);
struct effect *outbox_effect (struct outbox *out, enum effect_kind kind);

#endif
