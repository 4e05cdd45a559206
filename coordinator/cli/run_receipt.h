/* run_receipt.h - the receipt of a run, built from its journal, and the files that hold it. */
#ifndef SLICEUP_COORDINATOR_CLI_RUN_RECEIPT_H
#define SLICEUP_COORDINATOR_CLI_RUN_RECEIPT_H

#include "coordinator/cli/cli.h"
#include "coordinator/journal/run_dir.h"
#include "coordinator/report/report.h"
#include "coordinator/story/host_history.h"
#include "coordinator/story/measure_fold.h"

/* `board` keeps the texts: destroy it after the receipt was used, also when this failed. */
int receipt_build (const struct run_dir *dir, struct board **board, struct arena *arena, struct slice_receipt *out,
                   struct err *err);
/* What the hosts are compared by in all outputs: the plan's rules, the versions of its pin file, and, of a whole slice,
 * its arithmetic. In the arena. `plan` NULL: nothing. */
void receipt_make_drift_query (const struct slice_receipt *receipt, const struct plan *plan, struct arena *arena,
                               struct drift_query *out);
/* How many differences that should not be there its hosts have, as receipt.json lists them. False: some may be missing,
 * because the pin file is not at hand as it was. */
bool receipt_count_drift (const struct slice_receipt *receipt, const struct plan *plan, uint32_t *findings);
/* All that a report shows of a run, read from its journal. Release it also when that failed. */
struct run_report {
    struct measure_fold *measures; /* of who reads it: learns what the launches took; NULL: nobody asks */
    struct report_book *book;
    const struct report *report;
    struct arena arena; /* of its drift */
};
/* `held`: a coordinator has the run. */
int run_report_read (const struct run_dir *dir, bool held, struct run_report *out, struct err *err);
void run_report_release (struct run_report *run);

/* Writes one file of a report while it is printed, whole or not at all. */
typedef void report_printer (const struct report *report, struct buf *out);
int report_file_write (const char *path, mode_t mode, report_printer *print, const struct report *report,
                       struct err *err);

/* What a run leaves in its folder, by name (run_dir.h); ends with a name of NULL. */
extern const struct run_file {
    const char *name;
    report_printer *print;
} run_files[];
/* These, and receipts/<host>.json, each written whole or not at all; and its measures are kept (planning.h). `drift`: how
 * many differences there are; may be NULL. `card`: what the run came to (view/plain.h), or of one that passed how its hosts differ; empty: its sentence says all. `hosts`: how they fared, in `arena`. */
int receipt_write_files (const struct cli *cli, const struct run_dir *dir, uint32_t *drift, struct buf *card,
                         struct run_hosts *hosts, struct arena *arena, struct err *err);

#endif
