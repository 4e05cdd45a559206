/* drift_json.h - how hosts differ, for scripts; and the baseline file that later runs are held against.
 * Schemas "sliceup.drift/1" and "sliceup.drift-baseline/2": docs/spec/drift.md. Same input, same bytes. Pure. */
#ifndef SLICEUP_COORDINATOR_VIEW_DRIFT_JSON_H
#define SLICEUP_COORDINATOR_VIEW_DRIFT_JSON_H

#include "common/base/err.h"
#include "coordinator/view/drift_text.h"
#include <jansson.h>

enum { DRIFT_FILE_MAX_BYTES = 512 << 20 };

void drift_json (const struct drift *drift, const struct drift_subject *subject, struct buf *out);
/* One of its findings. */
json_t *drift_json_of_item (const struct drift *drift, const struct drift_item *item);
/* The member `drift` of a receipt: [{fact, groups [{value, hosts}], verdict}]; docs/spec/receipt.md. */
json_t *drift_json_of_receipt (const struct slice_receipt *receipt, const struct drift_query *query);

/* What later runs can be compared with: the receipt without what no comparison looks at, and a sha256 over it. */
void drift_baseline_print (const struct slice_receipt *receipt, struct buf *out);
/* A baseline or a receipt (receipt.json). ERR_PARSE: neither; ERR_DAMAGE: a baseline that is not what was saved. */
int drift_baseline_read (struct text bytes, struct slice_receipt *out, struct arena *arena, struct err *err);

#endif
