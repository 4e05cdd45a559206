/* run_receipt.h - the receipt of a run, built from its journal, and the files that hold it. */
#ifndef SLICEUP_COORDINATOR_CLI_RUN_RECEIPT_H
#define SLICEUP_COORDINATOR_CLI_RUN_RECEIPT_H

#include "common/model/receipt.h"
#include "coordinator/home/run_dir.h"
#include "coordinator/receipt/drift.h"
#include "coordinator/receipt/receipt_fold.h"

/* `fold` keeps the texts: destroy it after the receipt was used. */
int receipt_build (const struct run_dir *dir, struct receipt_fold *fold, struct arena *arena, struct slice_receipt *out,
                   struct err *err);
/* What the hosts are compared by in all outputs: the plan's rules, the versions of its pin file, and, of a whole slice,
 * its arithmetic. In the arena. `plan` NULL: nothing. */
void receipt_make_drift_query (const struct slice_receipt *receipt, const struct plan *plan, struct arena *arena,
                               struct drift_query *out);
/* How many differences that should not be there its hosts have, as receipt.json lists them. False: some may be missing,
 * because the pin file is not at hand as it was. */
bool receipt_count_drift (const struct slice_receipt *receipt, const struct plan *plan, uint32_t *findings);
/* receipt.json and receipts/<host>.json, each written whole or not at all. `drift`: how many differences there are; may be NULL. */
int receipt_write_files (const struct run_dir *dir, uint32_t *drift, struct err *err);

#endif
