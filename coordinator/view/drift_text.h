/* drift_text.h - how hosts differ, for people: as text and as a Markdown table. What hosts said is escaped. Pure. */
#ifndef SLICEUP_COORDINATOR_VIEW_DRIFT_TEXT_H
#define SLICEUP_COORDINATOR_VIEW_DRIFT_TEXT_H

#include "coordinator/receipt/drift.h"
#include "coordinator/view/line.h"

enum { DRIFT_TEXT_COLUMNS = 120, DRIFT_TEXT_FINDINGS = 20 };

/* What was compared. `against` NULL: the hosts with one another. */
struct drift_subject {
    struct text name, slice;
    const char *against;
    const char *policy;
    bool pins_missing;
};

/* The worst finding is the first line (what hosts without a report would have said is worse); DRIFT_TEXT_FINDINGS more,
 * or with `all` everything, also what differs as expected. No line is wider than the style's columns, or 120. */
void drift_text (const struct drift *drift, const struct drift_subject *subject, bool all, const struct style *style,
                 struct buf *out);
void drift_markdown (const struct drift *drift, const struct drift_subject *subject, bool all, struct buf *out);

#endif
