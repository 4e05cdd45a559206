/* receipt_json.h - a slice receipt as JSON, and back. Schema: docs/spec/receipt.schema.json. Same input, same bytes. */
#ifndef SLICEUP_COORDINATOR_VIEW_RECEIPT_JSON_H
#define SLICEUP_COORDINATOR_VIEW_RECEIPT_JSON_H

#include "common/base/err.h"
#include "coordinator/receipt/drift.h"

/* Appends the JSON text, indented, with a newline at the end. `drift`: how the run compares its hosts. */
void receipt_json (const struct slice_receipt *receipt, const struct drift_query *drift, struct buf *out);
/* Reads what receipt_json wrote (for merging): the stored sets; derived members are skipped. */
int receipt_from_json (struct text json, struct slice_receipt *out, struct arena *arena, struct err *err);
/* A file may come from anybody: host names of a form that no slice has are refused. Views print names as they are. */
int receipt_check_names (const struct slice_receipt *receipt, struct err *err);

#endif
