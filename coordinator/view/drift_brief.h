/* drift_brief.h - how the hosts of a receipt differ in what they said, as a few sentences for the middle of another
 * page.
 *
 * What was measured is left to `sliceup drift`. What hosts said stands in the sentences as they said it: whoever prints
 * them escapes them. Pure; everything lives in the arena. */
#ifndef SLICEUP_COORDINATOR_VIEW_DRIFT_BRIEF_H
#define SLICEUP_COORDINATOR_VIEW_DRIFT_BRIEF_H

#include "common/model/plan.h"
#include "common/model/receipt.h"

struct drift_brief {
    struct text *sentences; /* the worst first */
    uint32_t n, more;       /* more: findings that have none here */
    uint32_t expected;      /* facts that differ by their nature */
};
/* `rules`: how hosts are compared; at most `most` sentences. */
void drift_brief_make (const struct slice_receipt *receipt, const struct drift_rule *rules, uint32_t rules_n,
                       uint32_t most, struct arena *arena, struct drift_brief *out);

#endif
