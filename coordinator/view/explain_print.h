/* explain_print.h - an explanation as text for a person and as JSON (docs/spec/explain.md). What hosts said is escaped.
 */
#ifndef SLICEUP_COORDINATOR_VIEW_EXPLAIN_PRINT_H
#define SLICEUP_COORDINATOR_VIEW_EXPLAIN_PRINT_H

#include "coordinator/view/explain.h"

void explain_text (const struct explanation *explanation, struct buf *out);
void explain_json (const struct explanation *explanation, struct buf *out);

#endif
