/* launch_description.h - where a run went, and how, in one line. Pure. */
#ifndef SLICEUP_COORDINATOR_RECEIPT_LAUNCH_DESCRIPTION_H
#define SLICEUP_COORDINATOR_RECEIPT_LAUNCH_DESCRIPTION_H

#include "common/model/plan.h"

/* "ssh to node-[0-2] (10.0.0.[5-7])"; addresses where they are no names of hosts. In `arena`. */
struct text launch_describe (const struct plan *plan, struct arena *arena);

#endif
