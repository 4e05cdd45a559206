/* journal_writer.h - the journal's own thread: a bounded queue in, group commits out.
 *
 * Each transaction takes all that is queued. The first failure is final: facts not durable by then never will be, later
 * facts are dropped, and nothing is retried (after a failed sync the kernel may report pages as clean that never
 * reached the disk). The mark is set after a commit is durable and before that is reported. Borrows the database handle
 * and the marker, which nobody else may use until journal_writer_stop. journal_writer_add is for one thread; the rest
 * for any. */
#ifndef SLICEUP_COORDINATOR_JOURNAL_JOURNAL_WRITER_H
#define SLICEUP_COORDINATOR_JOURNAL_JOURNAL_WRITER_H

#include "common/base/digest.h"
#include "common/base/err.h"
#include "common/base/text.h"
#include "coordinator/journal/journal_mark.h"
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

enum { JOURNAL_FACT_MAX_BYTES = 16 * 1024 * 1024, JOURNAL_QUEUE_MAX_BYTES = 64 * 1024 * 1024 };

struct journal_writer;
/* `last` is the highest index in the journal, `chain` its digest. */
struct journal_writer *journal_writer_start (sqlite3 *db, struct journal_marker *marker, uint64_t last,
                                             struct digest chain, struct err *err);
void journal_writer_stop (struct journal_writer *writer); /* waits until all queued is durable, or the writer failed */
/* Waits only while more than JOURNAL_QUEUE_MAX_BYTES are queued. */
void journal_writer_add (struct journal_writer *writer, uint64_t index, uint32_t kind, uint64_t at_ms, uint64_t wall_ms,
                         struct text bytes);
uint64_t journal_writer_durable_index (const struct journal_writer *writer);
int journal_writer_fd (const struct journal_writer *writer);
bool journal_writer_problem (struct journal_writer *writer, struct err *err);

#endif
