/* bundle.h - names of caches: what must be equal for one compile cache to serve two runs. */
#ifndef SLICEUP_COORDINATOR_CORE_BUNDLE_H
#define SLICEUP_COORDINATOR_CORE_BUNDLE_H

#include "coordinator/core/state.h"

/* Of this run: as the first fact about it says, or what it would be now. */
struct text bundle_name (const struct coord *coord, struct arena *arena);
struct text bundle_cover (const struct plan *plan, const struct rung *rung, struct arena *arena);
text_list bundle_covers (const struct coord *coord, struct arena *arena); /* of all rungs that use a cache */

#endif
