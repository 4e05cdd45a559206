/* journal_read.h - what the journal's own parts share of reading: the chain's start, and where a reader stands. */
#ifndef SLICEUP_COORDINATOR_JOURNAL_JOURNAL_READ_H
#define SLICEUP_COORDINATOR_JOURNAL_JOURNAL_READ_H

#include "common/base/digest.h"
#include "coordinator/database/database.h"
#include "coordinator/journal/journal.h"

/* Written is JOURNAL_FORMAT; those since JOURNAL_FORMAT_FIRST are read. */
enum { JOURNAL_FORMAT_FIRST = 1, JOURNAL_FORMAT = 2, JOURNAL_RUN_ID_MAX_BYTES = 64 };

/* What every sentence about damage ends with. */
#define JOURNAL_REMEDY                                                                                                 \
    "something else than sliceup changed it, or the disk lost data: keep the folder, put a whole copy of it back if "  \
    "there is one, else begin anew with sliceup run"

/* Before SQLite touches it: there, as database_file_check wants it, and not emptied. */
int journal_file_check (const char *path, enum database_use use, struct err *err);
/* What fact 1 is chained to: so a journal cannot be another run's. */
struct digest journal_chain_start (const char *run_id_hex);
/* The last fact that was verified, and its chain. */
void journal_reader_position (const struct journal_reader *reader, uint64_t *index, struct digest *chain);
uint64_t journal_reader_format (const struct journal_reader *reader);
const char *journal_reader_run (const struct journal_reader *reader); /* lives as long as the reader */

#endif
