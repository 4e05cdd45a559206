/* covers.h - what a generation is known to hold: a text for each rung and what its program is made of
 * (cache_family_rung_cover), the longest unused first.
 *
 * A generation built upon another one takes over its covers, so they would grow for as long as a cache root lives. The
 * longest unused are dropped, long before a record is full. A run that needs a dropped one runs a cold pass again:
 * whether something was restored is decided by the program's counters, never by a cover. Pure. */
#ifndef SLICEUP_COORDINATOR_VERDICT_COVERS_H
#define SLICEUP_COORDINATOR_VERDICT_COVERS_H

#include "common/model/fact.h"

/* Several ladders fit, so no run drops a cover that it is about to use. */
enum { COVERS_KEPT = GENERATION_COVERS_MAX / 4 };

bool covers_have (const text_list *covers, struct text cover);
/* Of a generation built upon one with the covers `base` by a run whose ladder has `ladder`; it newly holds `made`. */
text_list covers_carry_over (const text_list *base, const text_list *ladder, struct text made, struct arena *arena);

#endif
