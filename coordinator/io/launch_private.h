/* launch_private.h - for tests of launch: what a user has no reason to change. */
#ifndef SLICEUP_IO_LAUNCH_PRIVATE_H
#define SLICEUP_IO_LAUNCH_PRIVATE_H

#include "coordinator/io/launch.h"

/* How long a worker may take to name its key; for starts from now on. */
void launch_set_patience (struct launch *launch, uint64_t patience_ms);

#endif
