/* journal.h - the run's facts on disk: SQLite (WAL, synchronous=FULL), append-only, with a sha256 chain.
 *
 * One writer process, which holds an OFD lock beside the database; any number of readers. A separate thread writes,
 * with group commit: each transaction takes all that is queued. journal_append returns at once, unless more than 64 MiB
 * are queued, and journal_fd becomes readable when more is durable. A failed write or sync is final: later facts are
 * dropped, journal_durable_index no longer rises, journal_problem explains, the caller must stop (after a failed sync
 * the kernel may report pages as clean that never reached the disk).
 *
 * Before journal_durable_index rises, the last durable fact is noted in a separate file, <path>.mark. So a log that
 * SQLite cuts at a bad checksum is not taken as complete. docs/spec/journal.md: tables, chain, mark, locks. */
#ifndef SLICEUP_COORDINATOR_JOURNAL_JOURNAL_H
#define SLICEUP_COORDINATOR_JOURNAL_JOURNAL_H

#include "common/base/err.h"
#include "common/base/text.h"
#include <stdbool.h>
#include <stdint.h>

enum { JOURNAL_FACT_MAX_BYTES = 16 * 1024 * 1024 };

struct journal;
/* Creates a journal without facts, atomically; it must not exist. Replaces a <path>.new that a killed process left. */
struct journal *journal_create (const char *path, const char *run_id_hex, struct err *err);
/* Opens to append; takes the lock (ERR_STATE names another live coordinator that holds it). */
struct journal *journal_open (const char *path, struct err *err);
void journal_close (struct journal *journal); /* waits until everything is durable */
/* `index` must be the last fact's plus one. Copies the bytes. */
void journal_append (struct journal *journal, uint64_t index, uint32_t kind, uint64_t at_ms, uint64_t wall_ms,
                     struct text bytes);
uint64_t journal_durable_index (const struct journal *journal); /* highest durable index */
int journal_fd (const struct journal *journal);                 /* eventfd; read it away with journal_clear_wakeup */
void journal_clear_wakeup (struct journal *journal);
bool journal_problem (struct journal *journal, struct err *err);

/* Reading, from any process. Verifies the chain, and at the end that no acknowledged fact is missing: ERR_DAMAGE names
 * the index and what was expected. */
/* -1 stops; without a function, facts are only verified. */
typedef int journal_fact_fn (void *owner, uint64_t index, struct text bytes, struct err *err);
int journal_read (const char *path, journal_fact_fn *fn, void *owner, struct err *err);
/* Was anything ever recorded there? No, if there is no journal. ERR_DAMAGE: it was, and is gone. */
int journal_has_facts (const char *path, bool *any, struct err *err);
/* An open reader for following a live run: each call continues where the last one ended. */
struct journal_reader;
struct journal_reader *journal_reader_open (const char *path, struct err *err);
int journal_reader_read_rest (struct journal_reader *reader, journal_fact_fn *fn, void *owner, struct err *err);
/* The same, but at most `most` facts; `*more`: there were that many. */
int journal_reader_read_some (struct journal_reader *reader, uint32_t most, journal_fact_fn *fn, void *owner,
                              bool *more, struct err *err);
/* The next call continues after this fact, whose chain is not verified. 1: it is not there yet. */
int journal_reader_seek (struct journal_reader *reader, uint64_t after_index, struct err *err);
/* The next call begins with the last fact. 1: there is none. */
int journal_reader_seek_last (struct journal_reader *reader, struct err *err);
void journal_reader_close (struct journal_reader *reader);
bool journal_exists (const char *path); /* it exists, or a mark that names its facts does */
/* Does a coordinator hold it now, and which? 1: yes; 0: no, or no journal; -1: unknown. `pid` may be NULL. */
int journal_is_locked (const char *path, int64_t *pid, struct err *err);
/* Notes that its holder lives, for journal_last_alive_ms; call it about once a second. */
void journal_note_alive (struct journal *journal);
/* When its last holder last noted that it lives, in wall ms; 0: unknown. It may have lived a second or two longer. */
uint64_t journal_last_alive_ms (const char *path);
/* The process that holds the lock, by the kernel's word, as a pidfd (close it) and its pid. -1: ERR_STATE: nobody holds
 * it, or that process is not visible from here. */
int journal_open_holder (const char *path, int64_t *pid, struct err *err);

#endif
