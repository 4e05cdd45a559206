/* receipt_text.h - the receipt as one would paste it into a ticket: at most about 100 columns, nothing a host said
 * unescaped. */
#ifndef SLICEUP_COORDINATOR_VIEW_RECEIPT_TEXT_H
#define SLICEUP_COORDINATOR_VIEW_RECEIPT_TEXT_H

#include "common/model/receipt.h"

/* `rules`: how the run compares its hosts. */
void receipt_text (const struct slice_receipt *receipt, const struct drift_rule *rules, uint32_t rules_n,
                   struct buf *out);

#endif
