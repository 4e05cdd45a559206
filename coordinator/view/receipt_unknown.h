/* receipt_unknown.h - what a receipt does not know is null in its JSON, as docs/spec/receipt.md lists it. */
#ifndef SLICEUP_COORDINATOR_VIEW_RECEIPT_UNKNOWN_H
#define SLICEUP_COORDINATOR_VIEW_RECEIPT_UNKNOWN_H

#include "common/model/record.h"
#include <jansson.h>

/* `json` as record_to_json made it of `record`: every empty text becomes null, every number whose 0 means that nobody
 * said, and a backend that nobody named. */
void receipt_unknown (const struct record *record, json_t *json);

#endif
