/* agree.h - what must be the same on all hosts of a pass although each host passed by itself: the restored environment's
 * fingerprint, and for slice-wide programs the flags as seen after import, compared as sets of tokens. The minority is at
 * fault. */
#ifndef SLICEUP_CORE_AGREE_H
#define SLICEUP_CORE_AGREE_H

#include "coordinator/core/state.h"

void agree_parts (const struct coord *coord, struct verdict *verdicts, struct arena *arena);
/* A survey of the cache: all hosts have to see one and the same storage. */
void agree_storage (const struct coord *coord, struct verdict *verdicts, struct arena *arena);
/* The facts rung: the arithmetic of the slice (topology.h), and whether each host has room for what the profile sets aside. */
void agree_machines (const struct coord *coord, struct verdict *verdicts, struct arena *arena);
/* The tokens of `flags` sorted, each once, joined by one space: equal sets give equal texts. */
struct text agree_tokens (struct text flags, struct arena *arena);

#endif
