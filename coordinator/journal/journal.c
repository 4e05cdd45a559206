#include "coordinator/journal/journal.h"

#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "coordinator/journal/journal_lock.h"
#include "coordinator/journal/journal_read.h"
#include "coordinator/journal/journal_writer.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The first three locks in a log's shared memory are the writer's, which also recovers and checkpoints (sqlite
 * walformat.html, 2.3.1: WRITE, CKPT, RECOVER). Readers hold one of them briefly, to recover. */
enum { WRITE_BUSY_MS = 30 * 1000, WRITER_LOCKS = 3, STRANGER_MS = 5000, APART_MS = 1000 };

struct journal {
    int lock_fd;
    sqlite3 *db;
    struct journal_marker *marker;
    struct journal_writer *writer;
};

static sqlite3_io_methods passing;
static int (*plain_lock) (sqlite3_file *, int, int, int);
static _Atomic uint64_t refused_ms[WRITER_LOCKS]; /* since when it is refused; 0: it is not */
static _Atomic uint64_t asked_ms[WRITER_LOCKS];   /* last try: after a long pause a refusal is a new one */

/* <path>.lock decides who may write. Any reader can hold a read lock here, so it is not awaited. */
static int lock_or_pass (sqlite3_file *file, int first, int n, int flags)
{
    int rc = plain_lock (file, first, n, flags);
    if (first >= WRITER_LOCKS || flags != (SQLITE_SHM_LOCK | SQLITE_SHM_EXCLUSIVE))
        return rc;
    uint64_t now_ms = clock_boot_ms (), since_ms = now_ms - asked_ms[first] < APART_MS ? refused_ms[first] : 0;
    asked_ms[first] = now_ms;
    refused_ms[first] = rc != SQLITE_BUSY ? 0 : since_ms ? since_ms : now_ms;
    return rc == SQLITE_BUSY && since_ms && now_ms - since_ms >= STRANGER_MS ? SQLITE_OK : rc;
}

static sqlite3 *open_to_write (const char *path, struct err *err)
{
    sqlite3 *db = database_open (path, DATABASE_WRITE, WRITE_BUSY_MS, err);
    sqlite3_file *file = NULL;
    if (db && sqlite3_file_control (db, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK && file->pMethods) {
        passing = *file->pMethods; /* the same for all files of this kind */
        plain_lock = passing.xShmLock;
        passing.xShmLock = lock_or_pass;
        file->pMethods = &passing;
    }
    return db;
}

static const char schema[] =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE meta (name TEXT PRIMARY KEY NOT NULL, value) WITHOUT ROWID;"
    "CREATE TABLE fact (idx INTEGER PRIMARY KEY NOT NULL, kind INTEGER NOT NULL, at_ms INTEGER NOT NULL,"
    " wall_ms INTEGER NOT NULL, bytes BLOB NOT NULL, chain BLOB NOT NULL);";

static int write_meta (sqlite3 *db, const char *run_id_hex, struct err *err)
{
    sqlite3_stmt *insert = database_prepare (
        db, "INSERT INTO meta (name, value) VALUES ('format', ?1), ('run', ?2), ('last', 0), ('mark', 1)", err);
    if (!insert)
        return -1;
    bool written = sqlite3_bind_int (insert, 1, JOURNAL_FORMAT) == SQLITE_OK &&
                   sqlite3_bind_text (insert, 2, run_id_hex, -1, SQLITE_STATIC) == SQLITE_OK &&
                   sqlite3_step (insert) == SQLITE_DONE;
    if (!written)
        database_fail (db, "write the journal header", err);
    sqlite3_finalize (insert); /* its error is already in `err` */
    return written ? 0 : -1;
}

static int sync_folder_of (const char *path, struct err *err)
{
    char folder[PATH_MAX];
    const char *slash = strrchr (path, '/');
    assert (slash && slash > path && slash - path < PATH_MAX); /* journal_place_check */
    memcpy (folder, path, (size_t) (slash - path));
    folder[slash - path] = '\0';
    return folder_sync (folder, err);
}

/* SQLite returns the resulting mode, without an error. */
static int demand_wal (sqlite3 *db, struct err *err)
{
    sqlite3_stmt *pragma = database_prepare (db, "PRAGMA journal_mode = WAL", err);
    int rc = pragma ? sqlite3_step (pragma) : SQLITE_ERROR, done = -1;
    if (rc == SQLITE_ROW && strcmp ((const char *) sqlite3_column_text (pragma, 0), "wal") == 0)
        done = 0;
    else if (rc == SQLITE_ROW)
        err_set (err, ERR_IO, "SQLite cannot keep a write-ahead log beside the journal: is it on a local file system?");
    else if (pragma)
        database_fail (db, "set up the write-ahead log", err);
    sqlite3_finalize (pragma); /* its error is already in `err` */
    return done;
}

/* The page size counts before the first table only, the sync level for this connection only. */
static int journal_settle (sqlite3 *db, struct err *err)
{
    /* 8 KiB: half the write calls of 4 KiB in a burst, and one page still holds a usual fact and the commit's note. */
    if (database_run (db, "PRAGMA page_size = 8192", "set the page size", err) != 0)
        return -1;
    return demand_wal (db, err) != 0 ? -1 : database_run (db, "PRAGMA synchronous = FULL", "set up syncing", err);
}

static int create_tables (sqlite3 *db, const char *run_id_hex, struct err *err)
{
    if (database_run (db, schema, "make the tables", err) != 0)
        return -1;
    return write_meta (db, run_id_hex, err) != 0 ? -1 : database_run (db, "COMMIT", "write the tables to disk", err);
}

static void journal_release (struct journal *journal)
{
    journal_writer_stop (journal->writer);
    journal_marker_close (journal->marker);
    database_close (journal->db);
    if (journal->lock_fd >= 0)
        (void) close (journal->lock_fd); /* last: releases the lock; its text is of no value any more */
    mem_free (journal);
}

static void remove_created (const char *path)
{
    static const char *const endings[] = { "", "-journal", "-wal", "-shm", ".mark" };
    char name[PATH_MAX];
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        int len = snprintf (name, sizeof name, "%s%s", path, endings[i]);
        if (len > 0 && (size_t) len < sizeof name)
            (void) unlink (name); /* most do not exist; a failure shows when it is made again */
    }
}

/* Closing the database leaves one file with all commits. */
static int make_whole (const char *path, const char *run_id_hex, struct err *err)
{
    if (database_file_create (path, err) != 0)
        return -1;
    sqlite3 *db = database_open (path, DATABASE_WRITE, WRITE_BUSY_MS, err);
    int rc = db && journal_settle (db, err) == 0 && create_tables (db, run_id_hex, err) == 0 ? 0 : -1;
    database_close (db);
    return rc;
}

static int rename_to (const char *fresh, const char *path, struct err *err)
{
    if (renameat2 (AT_FDCWD, fresh, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
        return 0;
    return errno != EEXIST ? err_errno (err, ERR_IO, "cannot name %s", path)
                           : err_set (err, ERR_STATE, "%s already exists, and sliceup does not overwrite it", path);
}

static int make_files (struct journal *journal, const char *fresh, const char *run_id_hex, struct err *err)
{
    if (make_whole (fresh, run_id_hex, err) != 0)
        return -1;
    journal->marker = journal_marker_create (fresh, run_id_hex, err);
    return journal->marker ? journal_marker_start (journal->marker, err) : -1;
}

/* Uses another name until it is complete, so that a killed process leaves no journal instead of a part. The mark is
 * placed first: alone and without a fact it reports no loss. */
static int place_whole (struct journal *journal, const char *path, const char *run_id_hex, struct err *err)
{
    char fresh[PATH_MAX];
    int len = snprintf (fresh, sizeof fresh, "%s.new", path);
    if (len < 0 || (size_t) len >= sizeof fresh)
        return err_set (err, ERR_LIMIT, "the journal's path is longer than %d bytes", PATH_MAX);
    if (access (path, F_OK) == 0 || errno != ENOENT)
        return err_set (err, ERR_STATE, "%s already exists, and sliceup does not overwrite it", path);
    remove_created (fresh);
    if (make_files (journal, fresh, run_id_hex, err) == 0 && journal_marker_rename (journal->marker, path, err) == 0 &&
        rename_to (fresh, path, err) == 0)
        return sync_folder_of (path, err);
    remove_created (fresh);
    return -1;
}

struct journal *journal_create (const char *path, const char *run_id_hex, struct err *err)
{
    assert (strlen (run_id_hex) > 0 && strlen (run_id_hex) <= JOURNAL_RUN_ID_MAX_BYTES);
    if (journal_place_check (path, err) != 0)
        return NULL;
    struct journal *journal = mem_alloc (sizeof *journal);
    journal->lock_fd = journal_lock_take (path, err);
    if (journal->lock_fd < 0 || place_whole (journal, path, run_id_hex, err) != 0)
        goto out;
    journal->db = open_to_write (path, err);
    if (!journal->db || journal_settle (journal->db, err) != 0)
        goto out;
    journal->writer = journal_writer_start (journal->db, journal->marker, 0, journal_chain_start (run_id_hex), err);
    if (journal->writer)
        return journal;
out:
    journal_release (journal);
    return NULL;
}

struct end {
    uint64_t last;
    struct digest chain;
    char run[JOURNAL_RUN_ID_MAX_BYTES + 1];
};

static int find_end (const char *path, struct end *end, struct err *err)
{
    struct journal_reader *reader = journal_reader_open (path, err);
    if (!reader)
        return -1;
    int rc = journal_reader_read_rest (reader, NULL, NULL, err);
    journal_reader_position (reader, &end->last, &end->chain);
    snprintf (end->run, sizeof end->run, "%s", journal_reader_run_id (reader));
    journal_reader_close (reader);
    return rc;
}

/* The opener acts on all facts. A killed writer may not have synced the last ones, so one commit makes all durable, and
 * then the mark is set. Journals of earlier versions get a mark. */
static int vouch (struct journal *journal, const char *path, const struct end *end, struct err *err)
{
    journal->marker = journal_marker_open (path, end->run, err);
    if (!journal->marker || journal_marker_start (journal->marker, err) != 0 || sync_folder_of (path, err) != 0)
        return -1;
    if (database_run (journal->db, "INSERT OR REPLACE INTO meta (name, value) VALUES ('mark', 1)",
                      "write the journal to disk", err) != 0)
        return -1;
    return journal_marker_set (journal->marker, end->last, &end->chain, err);
}

struct journal *journal_open (const char *path, struct err *err)
{
    struct end end;
    if (journal_place_check (path, err) != 0 || journal_file_check (path, DATABASE_WRITE, err) != 0)
        return NULL;
    struct journal *journal = mem_alloc (sizeof *journal);
    journal->lock_fd = journal_lock_take (path, err);
    if (journal->lock_fd < 0 || find_end (path, &end, err) != 0)
        goto out;
    journal->db = open_to_write (path, err);
    if (!journal->db || journal_settle (journal->db, err) != 0 || vouch (journal, path, &end, err) != 0)
        goto out;
    journal->writer = journal_writer_start (journal->db, journal->marker, end.last, end.chain, err);
    if (journal->writer)
        return journal;
out:
    journal_release (journal);
    return NULL;
}

void journal_close (struct journal *journal)
{
    if (journal)
        journal_release (journal);
}

void journal_append (struct journal *journal, uint64_t index, uint32_t kind, uint64_t at_ms, uint64_t wall_ms,
                     struct text bytes)
{
    journal_writer_add (journal->writer, index, kind, at_ms, wall_ms, bytes);
}

uint64_t journal_durable_index (const struct journal *journal)
{
    return journal_writer_durable_index (journal->writer);
}

void journal_note_alive (struct journal *journal)
{
    journal_lock_note_alive (journal->lock_fd);
}

int journal_fd (const struct journal *journal)
{
    return journal_writer_fd (journal->writer);
}

void journal_clear_wakeup (struct journal *journal)
{
    uint64_t times;
    ssize_t n = read (journal_fd (journal), &times, sizeof times);
    assert (n == sizeof times || errno == EAGAIN); /* EAGAIN: nothing happened since the last time */
}

bool journal_problem (const struct journal *journal, struct err *err)
{
    return journal_writer_problem (journal->writer, err);
}
