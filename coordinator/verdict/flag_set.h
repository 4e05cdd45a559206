/* flag_set.h - flags compared as sets: both frontends sort them before they hash them. Pure. */
#ifndef SLICEUP_COORDINATOR_VERDICT_FLAG_SET_H
#define SLICEUP_COORDINATOR_VERDICT_FLAG_SET_H

#include "common/base/mem.h"
#include "common/base/text.h"

/* The words of `flags` sorted, each once, joined by one space: equal sets give equal texts. Of the arena. */
struct text flag_set (struct text flags, struct arena *arena);

#endif
