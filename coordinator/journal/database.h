/* database.h - SQLite as this room uses it: private files, an untrusted schema, errors as sentences.
 *
 * Knows nothing of facts and generations; the journal and the catalogue build on it. A handle belongs to one thread at
 * a time. Errors: ERR_DAMAGE if the file is shorter or not as SQLite wrote it, ERR_STATE if another process kept it
 * locked for longer than `busy_ms`, else ERR_IO. */
#ifndef SLICEUP_COORDINATOR_JOURNAL_DATABASE_H
#define SLICEUP_COORDINATOR_JOURNAL_DATABASE_H

#include <sqlite3.h>
#include <stdbool.h>

#include "common/base/text.h"
#include "common/io/loop.h"

enum database_use { DATABASE_READ, DATABASE_WRITE };

/* Creates an empty file of mode 0600; ERR_STATE: it exists already. */
int database_file_create (const char *path, struct err *err);
/* Checks that it is a regular file, no symlink; for writing, also that nobody else may write or read it (output of
 * programs). */
int database_file_check (const char *path, enum database_use use, struct err *err);
sqlite3 *database_open (const char *path, enum database_use use, int busy_ms, struct err *err);
void statement_finalize_local (sqlite3_stmt **statement); /* its error is already told */
#define LOCAL_STATEMENT __attribute__ ((cleanup (statement_finalize_local))) sqlite3_stmt * /* ends with its block */
void database_close (sqlite3 *db); /* NULL is fine; statements must be finalized */
/* Runs statements without results. `doing` is for the error: "begin a transaction". */
int database_run (sqlite3 *db, const char *sql, const char *doing, struct err *err);
sqlite3_stmt *database_prepare (sqlite3 *db, const char *sql, struct err *err);
/* The same with values for ?1, ?2, ... by `kinds`: 'i' a uint64_t, 't' a struct text, 'b' a struct text of bytes. */
sqlite3_stmt *database_ask (sqlite3 *db, struct err *err, const char *sql, const char *kinds, ...);
/* SQLITE_ROW, SQLITE_DONE, or -1 with `err`. */
int database_step (sqlite3 *db, sqlite3_stmt *statement, const char *doing, struct err *err);
/* Runs a statement without rows; `changed` (may be NULL) gets how many rows it changed. */
int database_change (sqlite3 *db, const char *doing, int *changed, struct err *err, const char *sql, const char *kinds,
                     ...);
struct text database_text (sqlite3_stmt *row, int column, struct arena *arena); /* copied; its bytes are not checked */
/* The first `n` columns of the first row, as numbers; 0 where there is none. SQLITE_ROW, SQLITE_DONE, or -1. */
int database_numbers (sqlite3 *db, const char *doing, uint64_t *numbers, int n, struct err *err, const char *sql,
                      const char *kinds, ...);
int database_format (sqlite3 *db, int *format, struct err *err); /* 0: the tables were not made yet */
/* Explains SQLite's last error; always returns -1. `doing`: "write a fact". */
int database_fail (sqlite3 *db, const char *doing, struct err *err);
bool database_may_write_beside (const char *path); /* may we write to its folder? */
const char *database_why (sqlite3 *db);            /* only SQLite's reason */

/* ---- workqueue ---- */

/* Runs work that may wait for a disk on a separate thread, so that the loop never waits.
 *
 * Tasks run one by one, in order: `work` on the task thread, which uses only its job; then `done` on the loop's. */

typedef void work_item_fn (void *job);
struct workqueue;
struct workqueue *workqueue_open (struct loop *loop, struct err *err);
/* Finishes every task first; their `done` are called. */
void workqueue_close (struct workqueue *workqueue);
uint32_t workqueue_length (struct workqueue *workqueue); /* tasks whose `done` was not called yet */
/* The task owns `job` until `done` gets it; `done` may be NULL if `work` frees it. False: too many are queued. */
bool workqueue_submit (struct workqueue *workqueue, work_item_fn *work, work_item_fn *done, void *job);

#endif
