/* reduction_text.h - one metric and what was proved of it, in one line. Pure. */
#ifndef SLICEUP_COORDINATOR_VIEW_REDUCTION_TEXT_H
#define SLICEUP_COORDINATOR_VIEW_REDUCTION_TEXT_H

#include "common/model/receipt.h"

/* "collective loss = 3.5  local over data, model: why, missing h2, on h1; earlier values ...". Without newline. */
void reduction_text (const struct reduction_receipt *metric, struct buf *out);

#endif
