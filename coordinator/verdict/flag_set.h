/* flag_set.h - flags compared as sets: both frontends sort them before they hash them. Pure. */
#ifndef SLICEUP_COORDINATOR_VERDICT_FLAG_SET_H
#define SLICEUP_COORDINATOR_VERDICT_FLAG_SET_H

#include "common/base/mem.h"
#include "common/base/text.h"

/* The words of `flags` sorted, each once, joined by one space: equal sets give equal texts. Of the arena. */
struct text flag_set_normalise (struct text flags, struct arena *arena);
/* Takes the next word off such a text; false: there is none. */
bool flag_set_next (struct text *rest, struct text *word);
bool flag_set_has (struct text set, struct text word);
/* The words of `set` that `other` lacks, in the same form. Of the arena. */
struct text flag_set_subtract (struct text set, struct text other, struct arena *arena);

#endif
