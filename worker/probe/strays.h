/* strays.h - processes that a plugin started and left: ended with it, also when they left its process group.
 *
 * Orphans below this process become its children (prctl(2), PR_SET_CHILD_SUBREAPER), and are found there. Children that
 * it had before are left alone. It knows nothing of plugins. One thread, in a process that has no other. */
#ifndef SLICEUP_WORKER_PROBE_STRAYS_H
#define SLICEUP_WORKER_PROBE_STRAYS_H

#include "common/base/err.h"
#include <stdint.h>

enum { STRAYS_MAX = 1024 };

struct children_before {
    int before[STRAYS_MAX];
    uint32_t before_n;
};

int strays_adopt (struct children_before *strays, struct err *err); /* before the one that may leave some is started */
/* When that one is collected: kills what is left, for a few seconds at most. How many it killed. */
uint32_t strays_end (const struct children_before *strays);

#endif
