/* expected_facts.h - holds the facts of a host against those that the slice file expects (docs/spec/configuration.md).
 * Pure. */
#ifndef SLICEUP_COORDINATOR_VERDICT_EXPECTED_FACTS_H
#define SLICEUP_COORDINATOR_VERDICT_EXPECTED_FACTS_H

#include "common/model/plan.h"

/* "os.version is 11, expected 12; ...", in the arena; empty: all are as expected. A fact that the host did not tell is
 * not. `*owner`: BUNDLE when only packages differ, else PLATFORM. */
struct text expected_facts_differ (const var_list *expect, const var_list *facts, struct arena *arena,
                                   enum owner *owner);

#endif
