/* confine_yard.h - a folder made like a sealed generation, to try ways of writing on without touching one.
 *
 * Its name is none that a generation has, so that no audit looks at it. */
#ifndef SLICEUP_WORKER_SANDBOX_CONFINE_YARD_H
#define SLICEUP_WORKER_SANDBOX_CONFINE_YARD_H

#include "common/base/err.h"
#include "common/model/plan.h"

struct confine_yard { char path[PATH_MAX_BYTES + 1]; };

/* <folder>/probe-<host>-<random> with a WITNESS. -1: it cannot be made; nothing of it is left. What others who were
 * killed left behind in the folder is removed. */
int confine_yard_make (const char *folder, struct confine_yard *yard, struct err *err);
int confine_yard_remove (const struct confine_yard *yard, struct err *err);

#endif
