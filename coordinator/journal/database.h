/* database.h - SQLite as this room uses it: private files, a distrusted schema, errors as sentences.
 *
 * Knows nothing of facts and generations; the journal and the catalogue build on it. A handle belongs to one thread at
 * a time. Errors: ERR_DAMAGE when SQLite finds the file is not what it wrote, or shorter, ERR_STATE when another
 * process kept it locked for longer than `busy_ms`, else ERR_IO. */
#ifndef SLICEUP_COORDINATOR_JOURNAL_DATABASE_H
#define SLICEUP_COORDINATOR_JOURNAL_DATABASE_H

#include "common/base/err.h"
#include <sqlite3.h>
#include <stdbool.h>

enum database_use { DATABASE_READ, DATABASE_WRITE };

/* An empty file of mode 0600 that did not exist before: ERR_STATE when it does. */
int database_file_create (const char *path, struct err *err);
/* A regular file, no symlink; to write it, one that nobody else may write or (it holds what programs said) read. */
int database_file_check (const char *path, enum database_use use, struct err *err);
sqlite3 *database_open (const char *path, enum database_use use, int busy_ms, struct err *err);
void database_close (sqlite3 *db); /* NULL is fine; statements must be finalized */
/* Statements without results. `doing` is for the error: "begin a transaction". */
int database_run (sqlite3 *db, const char *sql, const char *doing, struct err *err);
sqlite3_stmt *database_prepare (sqlite3 *db, const char *sql, struct err *err);
/* Explains what SQLite last refused; always returns -1. `doing`: "write a fact". */
int database_fail (sqlite3 *db, const char *doing, struct err *err);
bool database_may_write_beside (const char *path); /* in its folder; what cannot be asked is taken for yes */
const char *database_why (sqlite3 *db);            /* SQLite's reason alone */

#endif
