/* scratch_generation.h - makes a folder like a sealed generation, on which write protection is tested.
 *
 * Its name is none that a generation has, so that no audit looks at it. */
#ifndef SLICEUP_WORKER_SANDBOX_SCRATCH_GENERATION_H
#define SLICEUP_WORKER_SANDBOX_SCRATCH_GENERATION_H

#include "common/base/err.h"
#include "common/model/plan.h"

struct scratch_generation {
    char path[PATH_MAX_BYTES + 1];
};

/* <folder>/probe-<host>-<random> with a WITNESS. -1: it cannot be made; nothing of it is left. What others who were
 * killed left behind in the folder is removed. */
int scratch_generation_make (const char *folder, struct scratch_generation *fixture, struct err *err);
int scratch_generation_remove (const struct scratch_generation *fixture, struct err *err);

#endif
