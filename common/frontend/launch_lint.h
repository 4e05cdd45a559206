/* launch_lint.h - variables that are valid but most likely a mistake: read by nothing any more, debugging left on,
 * flags that frameworks set to the opposite. The one table, for `check` and for hosts. Pure; any thread. Sources stand
 * beside the rows. */
#ifndef SLICEUP_COMMON_FRONTEND_LAUNCH_LINT_H
#define SLICEUP_COMMON_FRONTEND_LAUNCH_LINT_H

#include "common/model/plan.h"

/* Why the variable is most likely a mistake, and what to do; NULL: no known problem. `value` NULL: inherited, not known
 * yet. A value that switches something off is fine, and so is debugging in a profile with that word in its name. */
const char *launch_lint_variable (const struct profile *profile, struct text name, const struct text *value);
/* Why and how the profile should give shapes; NULL: it need not. */
const char *launch_lint_shapes (const struct profile *profile);

#endif
