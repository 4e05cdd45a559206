/* origin.h - who asks for a run: the user, the machine, the folder and the command line of this process. */
#ifndef SLICEUP_COORDINATOR_CLI_ORIGIN_H
#define SLICEUP_COORDINATOR_CLI_ORIGIN_H

#include "common/model/plan.h"

/* Within the bounds of its record: what is no UTF-8 is escaped, and what is longer is cut. Lives in the arena. */
void origin_read (struct arena *arena, struct run_origin *out);

#endif
