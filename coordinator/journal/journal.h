/* journal.h - the run's facts on disk: SQLite (WAL, synchronous=FULL), append-only, with a sha256 chain.
 *
 * One writer process (an OFD lock beside the database says who); any number of readers. Writing happens on a thread of
 * its own with group commit: journal_append returns at once, and journal_fd becomes readable when more is durable. A
 * failed write or sync is final: journal_durable_index stays, journal_problem tells, the caller must stop.
 *
 * What was durable when others could first act on it is noted in a file of its own, <path>.mark, before
 * journal_durable_index rises: so that a log which SQLite ends at a bad checksum is not taken for one that ended there
 * (docs/spec/journal.md).
 *
 * Table fact (idx INTEGER PRIMARY KEY, kind, at_ms, wall_ms, bytes BLOB, chain BLOB): `bytes` is the wire encoding of
 * the fact, chain = sha256 (previous chain || bytes); fact 1 is chained to sha256 ("sliceup journal 1 " || run id).
 * Table meta holds the format version (journal_read.h), run id, the last index and that there is a mark. kind, at_ms
 * and wall_ms repeat what is in `bytes`, for people with an SQL shell; nothing of ours reads them. */
#ifndef SLICEUP_COORDINATOR_JOURNAL_JOURNAL_H
#define SLICEUP_COORDINATOR_JOURNAL_JOURNAL_H

#include "common/base/err.h"
#include "common/base/text.h"
#include <stdbool.h>
#include <stdint.h>

struct journal;
/* Must not exist; appears whole, and without facts. What one that was killed had begun under <path>.new is replaced. */
struct journal *journal_create (const char *path, const char *run_id_hex, struct err *err);
/* Opens to append; takes the lock (ERR_STATE and who holds it when another coordinator lives). */
struct journal *journal_open (const char *path, struct err *err);
void journal_close (struct journal *journal); /* waits until everything is durable */
/* `index` is the fact's: exactly one above the last. Copies the bytes. */
void journal_append (struct journal *journal, uint64_t index, uint32_t kind, uint64_t at_ms, uint64_t wall_ms,
                     struct text bytes);
uint64_t journal_durable_index (const struct journal *journal); /* highest durable index */
int journal_fd (const struct journal *journal);                 /* eventfd; read it away with journal_clear_wakeup */
void journal_clear_wakeup (struct journal *journal);
bool journal_problem (const struct journal *journal, struct err *err);

/* Reading, from any process. The chain is verified on the way, and at the end that everything acknowledged is there:
 * ERR_DAMAGE names the index and what was expected. */
/* -1 stops; no function: what is read is verified, and nobody is told. */
typedef int journal_fact_fn (void *owner, uint64_t index, struct text bytes, struct err *err);
int journal_read (const char *path, uint64_t after_index, journal_fact_fn *fn, void *owner, struct err *err);
/* Was anything ever recorded there? A journal that is not there: no. */
int journal_has_facts (const char *path, bool *any, struct err *err);
/* An open reader for following a live run: each call continues where the last one ended. */
struct journal_reader;
struct journal_reader *journal_reader_open (const char *path, struct err *err);
int journal_reader_read_rest (struct journal_reader *reader, journal_fact_fn *fn, void *owner, struct err *err);
/* The same, but no more than `most` facts; `*more`: there were that many. */
int journal_reader_read_some (struct journal_reader *reader, uint32_t most, journal_fact_fn *fn, void *owner,
                              bool *more, struct err *err);
/* The next call continues after this fact, whose chain is believed. 1: it is not there yet. */
int journal_reader_seek (struct journal_reader *reader, uint64_t after_index, struct err *err);
/* The same before the last fact that is there. 1: there is none. */
int journal_reader_seek_last (struct journal_reader *reader, struct err *err);
void journal_reader_close (struct journal_reader *reader);
bool journal_exists (const char *path); /* it is there, or a mark that names facts of it is */
/* Does a coordinator hold it now, and which? 1: yes; 0: no, or there is none; -1: unknown. `pid` may be NULL. */
int journal_is_locked (const char *path, int64_t *pid, struct err *err);
/* Its holder lives, as journal_last_alive_ms tells; once a second or so. */
void journal_note_alive (struct journal *journal);
/* When its last holder was last known to live, in wall ms; 0: unknown. It may have lived for a second or two longer. */
uint64_t journal_last_alive_ms (const char *path);
/* The process that holds it, as a pidfd (close it) and its pid: the kernel says that it has the lock. -1: ERR_STATE when
 * nobody holds it, or when that process cannot be seen from here. */
int journal_open_holder (const char *path, int64_t *pid, struct err *err);

#endif
