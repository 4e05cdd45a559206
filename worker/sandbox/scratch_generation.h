/* scratch_generation.h - makes a folder like a sealed generation, to test write protection on.
 *
 * Its name is not a generation's, so audits ignore it. */
#ifndef SLICEUP_WORKER_SANDBOX_SCRATCH_GENERATION_H
#define SLICEUP_WORKER_SANDBOX_SCRATCH_GENERATION_H

#include "common/base/err.h"
#include "common/model/plan.h"

struct scratch_generation {
    char path[PATH_MAX_BYTES + 1];
};

/* <folder>/probe-<host>-<random> with a WITNESS. -1: it cannot be made, and nothing is left. Removes what killed
 * processes left in the folder. */
int scratch_generation_make (const char *folder, struct scratch_generation *fixture, struct err *err);
int scratch_generation_remove (const struct scratch_generation *fixture, struct err *err);

#endif
