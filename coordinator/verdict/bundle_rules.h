/* bundle_rules.h - do the installed versions form a tuple that is known to work, or not to? The rules are data of the
 * plan (configs/bundles, docs/spec/bundles.md); they are compared with what hosts observed, never with pins. Pure. */
#ifndef SLICEUP_COORDINATOR_VERDICT_BUNDLE_RULES_H
#define SLICEUP_COORDINATOR_VERDICT_BUNDLE_RULES_H

#include "common/model/result.h"

/* The first rule of this word whose parts all fit; NULL: none does. `backend`: of the profile. */
const struct bundle_rule *bundle_rules_find (const struct plan *plan, const var_list *bundle, struct text backend,
                                             enum bundle_word word);
/* "jax 0.4.32 with libtpu 0.0.2": the parts of a rule as they were observed. */
struct text bundle_rules_versions_text (const struct bundle_rule *rule, const var_list *bundle, struct arena *arena);
/* The note on an environment: known good, or in no list. False: there is none, because no rule for the backend names
 * its packages, or because it is known bad and gets a verdict. */
bool bundle_rules_make_note (const struct plan *plan, const var_list *bundle, struct arena *arena,
                             struct result_note *out);

#endif
