/* signature_file.h - the signatures of a plan as a file that its workers can fetch.
 *
 * It stands at <home>/signatures/<sha256>, so that runs with the same lists share it and a resumed run finds what it
 * was planned with. Knows no worker. */
#ifndef SLICEUP_COORDINATOR_CLI_SIGNATURE_FILE_H
#define SLICEUP_COORDINATOR_CLI_SIGNATURE_FILE_H

#include "common/base/err.h"
#include "common/model/plan.h"

/* Writes it, unless it is there, and names it in `plan->signature_table`; texts live in `arena`. A plan without
 * signatures names none. -1: it names none either, and failures are recognised by the coordinator alone. */
int signature_file_write (struct plan *plan, struct arena *arena, struct err *err);

#endif
