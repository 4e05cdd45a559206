/* journal_read.h - what the parts of the journal share for reading: the start of the chain and a reader's position. */
#ifndef SLICEUP_COORDINATOR_JOURNAL_JOURNAL_READ_H
#define SLICEUP_COORDINATOR_JOURNAL_JOURNAL_READ_H

#include "common/base/digest.h"
#include "common/base/text.h"
#include "coordinator/journal/database.h"
#include "coordinator/journal/journal.h"

enum { JOURNAL_FORMAT = 2, JOURNAL_RUN_ID_MAX_BYTES = 64 };

/* What every sentence about damage ends with. */
#define JOURNAL_REMEDY                                                                                                 \
    "another program changed it, or the disk lost data: keep the folder, restore a complete copy of it if you have "   \
    "one, else start a new run with sliceup run"

/* Before SQLite touches it: there, as database_file_check wants it, and not emptied. */
int journal_file_check (const char *path, enum database_use use, struct err *err);
/* What fact 1 is chained to: so a journal cannot be another run's, nor of another format. */
struct digest journal_chain_start (const char *run_id_hex);
/* The last fact that was verified, and its chain. */
void journal_reader_position (const struct journal_reader *reader, uint64_t *index, struct digest *chain);
const char *journal_reader_run_id (const struct journal_reader *reader); /* lives as long as the reader */

#endif
