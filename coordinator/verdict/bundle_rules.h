/* bundle_rules.h - are the installed versions known to work together, or not to? The rules are data of the plan
 * (configs/bundles, docs/spec/bundles.md), compared with observed versions, never with pins. Pure. */
#ifndef SLICEUP_COORDINATOR_VERDICT_BUNDLE_RULES_H
#define SLICEUP_COORDINATOR_VERDICT_BUNDLE_RULES_H

#include "common/model/result.h"

/* The first rule of this word whose parts all match; NULL: none. `backend`: the profile's. */
const struct bundle_rule *bundle_rules_find (const struct plan *plan, const var_list *bundle, struct text backend,
                                             enum bundle_word word);
/* "jax 0.4.32 with libtpu 0.0.2": the observed versions of a rule's parts. */
struct text bundle_rules_versions_text (const struct bundle_rule *rule, const var_list *bundle, struct arena *arena);
/* Makes the note on an environment: known good, or in no list. False: no note, because no rule for the backend names
 * its packages, or because it is known bad and gets a verdict. */
bool bundle_rules_make_note (const struct plan *plan, const var_list *bundle, struct arena *arena,
                             struct result_note *out);

#endif
