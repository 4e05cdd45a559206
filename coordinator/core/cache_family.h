/* cache_family.h - names of caches: what must be equal for one compile cache to serve two runs. */
#ifndef SLICEUP_COORDINATOR_CORE_CACHE_FAMILY_H
#define SLICEUP_COORDINATOR_CORE_CACHE_FAMILY_H

#include "coordinator/core/state.h"

/* Of this run: as the first fact about it says, or what it would be now. */
struct text cache_family_name (const struct coord *coord, struct arena *arena);
struct text cache_family_rung_cover (const struct plan *plan, const struct rung *rung, struct arena *arena);
text_list cache_family_all_covers (const struct coord *coord, struct arena *arena); /* of all rungs that use a cache */

#endif
