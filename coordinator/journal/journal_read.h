/* journal_read.h - what the parts of the journal share for reading: the start of the chain and a reader's position. */
#ifndef SLICEUP_COORDINATOR_JOURNAL_JOURNAL_READ_H
#define SLICEUP_COORDINATOR_JOURNAL_JOURNAL_READ_H

#include "common/base/digest.h"
#include "common/base/text.h"
#include "coordinator/database/database.h"
#include "coordinator/journal/journal.h"

/* Written is JOURNAL_FORMAT; those since JOURNAL_FORMAT_FIRST are read. */
enum { JOURNAL_FORMAT_FIRST = 1, JOURNAL_FORMAT = 2, JOURNAL_RUN_ID_MAX_BYTES = 64 };

/* What every sentence about damage ends with. */
#define JOURNAL_REMEDY                                                                                                 \
    "another program changed it, or the disk lost data: keep the folder, restore a complete copy of it if you have "   \
    "one, else start a new run with sliceup run"

/* Before SQLite touches it: there, as database_file_check wants it, and not emptied. */
int journal_file_check (const char *path, enum database_use use, struct err *err);
/* What fact 1 is chained to: so a journal cannot be another run's, nor of another format. */
struct digest journal_chain_start (const char *run_id_hex, uint64_t format);
/* The last fact that was verified, and its chain. */
void journal_reader_position (const struct journal_reader *reader, uint64_t *index, struct digest *chain);
uint64_t journal_reader_format (const struct journal_reader *reader);
const char *journal_reader_run_id (const struct journal_reader *reader); /* lives as long as the reader */

/* journal_former.c - what a journal of format 1 holds, in the words of today.
 * In format 1 an outcome was no-report for six reasons, which the ending of the attempt tells apart, and a failure
 * could belong to the frontend or the backend. The facts of a journal pass through here one by one, in their order;
 * whoever begins in the middle of a pass has not seen how its attempts ended, and reads lost. Nothing is written. */
struct journal_former;
struct journal_former *journal_former_create (void);
void journal_former_destroy (struct journal_former *former); /* NULL: nothing */
/* The same fact as it is encoded today; what is no fact comes back as it is. Valid until the next call. */
struct text journal_former_translate (struct journal_former *former, struct text bytes);

#endif
