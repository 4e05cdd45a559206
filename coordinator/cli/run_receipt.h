/* run_receipt.h - the receipt of a run, built from its journal, and the files that hold it. */
#ifndef SLICEUP_COORDINATOR_CLI_RUN_RECEIPT_H
#define SLICEUP_COORDINATOR_CLI_RUN_RECEIPT_H

#include "common/model/receipt.h"
#include "coordinator/home/run_dir.h"
#include "coordinator/receipt/receipt_fold.h"

/* `fold` keeps the texts: destroy it after the receipt was used. */
int receipt_build (const struct run_dir *dir, struct receipt_fold *fold, struct arena *arena, struct slice_receipt *out,
                   struct err *err);
/* receipt.json and receipts/<host>.json, each written whole or not at all. */
int receipt_write_files (const struct run_dir *dir, struct err *err);

#endif
