/* launch_lint.h - variables that are valid and most likely not meant: what nothing reads any more, debugging left on,
 * flags that frameworks add in opposite senses. The one table, for `check` and for hosts. Pure; any thread.
 * Sources stand beside the rows. */
#ifndef SLICEUP_COMMON_FRONTEND_LAUNCH_LINT_H
#define SLICEUP_COMMON_FRONTEND_LAUNCH_LINT_H

#include "common/model/plan.h"

/* Why the variable is most likely not meant, and what to do; NULL: nothing is known against it. `value` NULL: it is
 * inherited, and not known yet. A value that switches a thing off is fine, and so is debugging where the word is in the
 * name of the profile. */
const char *launch_lint_variable (const struct profile *profile, struct text name, const struct text *value);
/* Why the profile should give shapes, and how; NULL: nothing asks for them. */
const char *launch_lint_shapes (const struct profile *profile);

#endif
