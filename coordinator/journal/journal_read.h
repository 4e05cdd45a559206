/* journal_read.h - shared by the readers of a journal: the start of the chain and a reader's position. */
#ifndef SLICEUP_COORDINATOR_JOURNAL_JOURNAL_READ_H
#define SLICEUP_COORDINATOR_JOURNAL_JOURNAL_READ_H

#include "common/base/digest.h"
#include "coordinator/journal/database.h"
#include "coordinator/journal/journal.h"

enum { JOURNAL_FORMAT = 2, JOURNAL_RUN_ID_MAX_BYTES = 64 };

/* The end of every sentence about damage. */
#define JOURNAL_REMEDY                                                                                                 \
    "another program changed it, or the disk lost data: keep the folder, restore a complete copy of it if you have "   \
    "one, else start a new run with sliceup run"

/* Call it before SQLite opens the file: checks that it exists, passes database_file_check, and is not empty. */
int journal_file_check (const char *path, enum database_use use, struct err *err);
/* The digest before fact 1, so that another run's journal, or another format, does not verify. */
struct digest journal_chain_start (const char *run_id_hex);
/* The last verified fact, and its chain. */
void journal_reader_position (const struct journal_reader *reader, uint64_t *index, struct digest *chain);
const char *journal_reader_run_id (const struct journal_reader *reader); /* lives as long as the reader */

#endif
