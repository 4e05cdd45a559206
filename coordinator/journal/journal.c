#include "coordinator/journal/journal.h"

#include "common/base/buf.h"
#include "common/base/path.h"
#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "common/io/fd.h"
#include "coordinator/journal/journal_private.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

/* The first three locks in a log's shared memory are the writer's, which also recovers and checkpoints (sqlite
 * walformat.html, 2.3.1: WRITE, CKPT, RECOVER). Readers hold one of them briefly, to recover. */
enum { WRITE_BUSY_MS = 30 * 1000, WRITER_LOCKS = 3, STRANGER_MS = 5000, APART_MS = 1000 };

/* A queue above KEEP frees its memory after a burst. */
enum { QUEUE_MAX_BYTES = 64 * 1024 * 1024, QUEUE_KEEP_BYTES = 4 * 1024 * 1024 };

/* One fact in the queue. `previous` stands right before the bytes: a link of the chain is one digest over both. */
struct queued {
    uint64_t index, at_ms, wall_ms;
    uint32_t kind, len;
    struct digest previous;
    uint8_t bytes[];
};
static_assert (offsetof (struct queued, bytes) == offsetof (struct queued, previous) + sizeof (struct digest),
               "adjacent");

struct journal {
    int lock_fd, wake_fd;
    sqlite3 *db;                   /* this and the marker are the thread's, once it runs */
    struct journal_marker *marker; /* set after a commit is durable, and before that is reported */
    sqlite3_stmt *insert, *note_last;
    struct digest chain; /* of the last fact written; the thread's own */
    struct buf writing;  /* the thread's own */
    bool started;
    pthread_t thread;
    _Atomic uint64_t durable;

    pthread_mutex_t mutex; /* guards all below */
    pthread_cond_t filled, drained;
    struct buf incoming;
    uint64_t added; /* highest index ever queued */
    bool stopping, failed;
    struct err problem;
};

/* ---- the database ---- */

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

static const char schema[] =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE meta (name TEXT PRIMARY KEY NOT NULL, value) WITHOUT ROWID;"
    "CREATE TABLE fact (idx INTEGER PRIMARY KEY NOT NULL, kind INTEGER NOT NULL, at_ms INTEGER NOT NULL,"
    " wall_ms INTEGER NOT NULL, bytes BLOB NOT NULL, chain BLOB NOT NULL);";

/* SQLite returns the resulting mode, without an error. */
static int demand_wal (sqlite3 *db, struct err *err)
{
    LOCAL_STATEMENT pragma = database_prepare (db, "PRAGMA journal_mode = WAL", err);
    int rc = pragma ? sqlite3_step (pragma) : SQLITE_ERROR, done = -1;
    if (rc == SQLITE_ROW && strcmp ((const char *) sqlite3_column_text (pragma, 0), "wal") == 0)
        done = 0;
    else if (rc == SQLITE_ROW)
        err_set (err, ERR_IO, "SQLite cannot keep a write-ahead log beside the journal: is it on a local file system?");
    else if (pragma)
        database_fail (db, "set up the write-ahead log", err);
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

static int open_to_write (struct journal *journal, const char *path, struct err *err)
{
    sqlite3_file *file = NULL;
    journal->db = database_open (path, DATABASE_WRITE, WRITE_BUSY_MS, err);
    if (!journal->db)
        return -1;
    if (sqlite3_file_control (journal->db, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK && file->pMethods) {
        passing = *file->pMethods; /* the same for all files of this kind */
        plain_lock = passing.xShmLock;
        passing.xShmLock = lock_or_pass;
        file->pMethods = &passing;
    }
    return journal_settle (journal->db, err);
}

static int create_tables (sqlite3 *db, const char *run_id_hex, struct err *err)
{
    if (database_run (db, schema, "make the tables", err) != 0)
        return -1;
    if (database_change (db, "write the journal header", NULL, err,
                         "INSERT INTO meta (name, value) VALUES ('format', ?1), ('run', ?2), ('last', 0), ('mark', 1)",
                         "it", (uint64_t) JOURNAL_FORMAT, text_of (run_id_hex)) != 0)
        return -1;
    return database_run (db, "COMMIT", "write the tables to disk", err);
}

/* ---- its thread ---- */

static size_t queued_bytes (uint32_t len)
{
    return (offsetof (struct queued, bytes) + len + 7) & ~(size_t) 7;
}

static int insert_one (struct journal *journal, struct queued *fact, struct err *err)
{
    sqlite3_stmt *insert = journal->insert;
    fact->previous = journal->chain;
    journal->chain = digest_of (&fact->previous, sizeof fact->previous + fact->len);
    bool bound = sqlite3_bind_int64 (insert, 1, (sqlite3_int64) fact->index) == SQLITE_OK &&
                 sqlite3_bind_int64 (insert, 2, fact->kind) == SQLITE_OK &&
                 sqlite3_bind_int64 (insert, 3, (sqlite3_int64) fact->at_ms) == SQLITE_OK &&
                 sqlite3_bind_int64 (insert, 4, (sqlite3_int64) fact->wall_ms) == SQLITE_OK &&
                 sqlite3_bind_blob (insert, 5, fact->bytes, (int) fact->len, SQLITE_STATIC) == SQLITE_OK &&
                 sqlite3_bind_blob (insert, 6, &journal->chain, sizeof journal->chain, SQLITE_STATIC) == SQLITE_OK;
    if (bound && sqlite3_step (insert) == SQLITE_DONE && sqlite3_reset (insert) == SQLITE_OK)
        return 0;
    database_fail (journal->db, "write a fact", err);
    sqlite3_reset (insert); /* says the same error again */
    return -1;
}

static int note_last (struct journal *journal, uint64_t last, struct err *err)
{
    sqlite3_stmt *note = journal->note_last;
    if (sqlite3_bind_int64 (note, 1, (sqlite3_int64) last) == SQLITE_OK && sqlite3_step (note) == SQLITE_DONE &&
        sqlite3_reset (note) == SQLITE_OK && sqlite3_changes (journal->db) == 1)
        return 0;
    database_fail (journal->db, "write the number of the last fact", err);
    sqlite3_reset (note); /* says the same error again */
    return -1;
}

static int insert_all (struct journal *journal, uint64_t *last, struct err *err)
{
    for (size_t at = 0; at < journal->writing.len;) {
        struct queued *fact = (struct queued *) (void *) (journal->writing.ptr + at);
        if (insert_one (journal, fact, err) != 0)
            return -1;
        *last = fact->index;
        at += queued_bytes (fact->len);
    }
    return note_last (journal, *last, err);
}

static int commit_all (struct journal *journal, uint64_t *last, struct err *err)
{
    if (database_run (journal->db, "BEGIN IMMEDIATE", "begin to write facts", err) != 0)
        return -1;
    if (insert_all (journal, last, err) == 0 && database_run (journal->db, "COMMIT", "make facts durable", err) == 0)
        return 0;
    int keep = 1;
    /* Keeps everything: the next opening checks the write-ahead log. An error means that SQLite has rolled back. */
    (void) sqlite3_db_config (journal->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, &keep);
    (void) sqlite3_exec (journal->db, "ROLLBACK", NULL, NULL, NULL);
    return -1;
}

static void wake (struct journal *journal)
{
    uint64_t one = 1;
    ssize_t n = write (journal->wake_fd, &one, sizeof one);
    assert (n == sizeof one || errno == EAGAIN); /* EAGAIN: the counter is full, so it is readable */
}

static void give_up (struct journal *journal, const struct err *problem)
{
    pthread_mutex_lock (&journal->mutex);
    journal->failed = true;
    journal->problem = *problem;
    buf_release (&journal->incoming);
    buf_init (&journal->incoming, 0);
    pthread_cond_broadcast (&journal->drained);
    pthread_mutex_unlock (&journal->mutex);
    wake (journal);
}

static void forget_written (struct journal *journal)
{
    size_t max = journal->writing.max;
    pthread_mutex_lock (&journal->mutex);
    if (journal->writing.capacity > QUEUE_KEEP_BYTES) {
        buf_release (&journal->writing);
        buf_init (&journal->writing, max);
    }
    buf_clear (&journal->writing);
    pthread_cond_broadcast (&journal->drained);
    pthread_mutex_unlock (&journal->mutex);
}

/* False: nothing is left and nothing will come. */
static bool take_queued (struct journal *journal)
{
    pthread_mutex_lock (&journal->mutex);
    while (journal->incoming.len == 0 && !journal->stopping)
        pthread_cond_wait (&journal->filled, &journal->mutex);
    struct buf taken = journal->incoming;
    journal->incoming = journal->writing;
    journal->writing = taken;
    pthread_mutex_unlock (&journal->mutex);
    return taken.len > 0;
}

static void *write_facts (void *owner)
{
    struct journal *journal = owner;
    struct err problem = { 0 };
    while (take_queued (journal)) {
        uint64_t last = 0;
        if (commit_all (journal, &last, &problem) != 0 ||
            journal_marker_set (journal->marker, last, &journal->chain, &problem) != 0) {
            give_up (journal, &problem);
            return NULL;
        }
        atomic_store (&journal->durable, last);
        wake (journal);
        forget_written (journal);
    }
    return NULL;
}

static int writer_start (struct journal *journal, struct err *err)
{
    atomic_init (&journal->durable, journal->added);
    journal->wake_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (journal->wake_fd < 0)
        return err_errno (err, ERR_IO, "cannot make an eventfd");
    journal->insert = database_prepare (journal->db,
                                        "INSERT INTO fact (idx, kind, at_ms, wall_ms, bytes, chain) "
                                        "VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                                        err);
    if (!journal->insert)
        return -1;
    journal->note_last = database_prepare (journal->db, "UPDATE meta SET value = ?1 WHERE name = 'last'", err);
    if (!journal->note_last)
        return -1;
    int rc = journal_thread_start (&journal->thread, write_facts, journal, "journal", err);
    journal->started = rc == 0;
    return rc;
}

static void writer_stop (struct journal *journal)
{
    pthread_mutex_lock (&journal->mutex);
    journal->stopping = true;
    pthread_cond_signal (&journal->filled);
    pthread_mutex_unlock (&journal->mutex);
    int rc = pthread_join (journal->thread, NULL);
    assert (rc == 0);
}

/* ---- appending ---- */

static void queue_one (struct buf *queue, const struct queued *head, struct text bytes)
{
    static const uint8_t zeros[8];
    size_t used = offsetof (struct queued, bytes) + bytes.len;
    buf_add (queue, head, offsetof (struct queued, bytes));
    buf_add (queue, bytes.ptr, bytes.len);
    buf_add (queue, zeros, queued_bytes (bytes.len) - used);
    assert (!queue->overflow);
}

void journal_append (struct journal *journal, uint64_t index, uint32_t kind, uint64_t at_ms, uint64_t wall_ms,
                     struct text bytes)
{
    struct queued head = { .index = index, .at_ms = at_ms, .wall_ms = wall_ms, .kind = kind, .len = bytes.len };
    assert (bytes.len > 0 && bytes.len <= JOURNAL_FACT_MAX_BYTES && index <= INT64_MAX);
    pthread_mutex_lock (&journal->mutex);
    assert (index == journal->added + 1 && !journal->stopping);
    while (journal->incoming.len > QUEUE_MAX_BYTES) /* a failure empties it */
        pthread_cond_wait (&journal->drained, &journal->mutex);
    journal->added = index;
    if (!journal->failed) {
        queue_one (&journal->incoming, &head, bytes);
        pthread_cond_signal (&journal->filled);
    }
    pthread_mutex_unlock (&journal->mutex);
}

uint64_t journal_durable_index (const struct journal *journal)
{
    return atomic_load (&journal->durable);
}

void journal_note_alive (struct journal *journal)
{
    (void) futimens (journal->lock_fd, NULL); /* not made durable: on failure only the recorded time is too old */
}

int journal_fd (const struct journal *journal)
{
    return journal->wake_fd;
}

void journal_clear_wakeup (struct journal *journal)
{
    uint64_t times;
    ssize_t n = read (journal->wake_fd, &times, sizeof times);
    assert (n == sizeof times || errno == EAGAIN); /* EAGAIN: nothing happened since the last time */
}

bool journal_problem (struct journal *journal, struct err *err)
{
    pthread_mutex_lock (&journal->mutex);
    bool failed = journal->failed;
    if (failed && err)
        *err = journal->problem;
    pthread_mutex_unlock (&journal->mutex);
    return failed;
}

/* ---- its life ---- */

static struct journal *journal_make (void)
{
    size_t max = (size_t) QUEUE_MAX_BYTES + queued_bytes (JOURNAL_FACT_MAX_BYTES);
    struct journal *journal = mem_alloc (sizeof *journal);
    *journal = (struct journal){ .lock_fd = -1, .wake_fd = -1 };
    buf_init (&journal->incoming, max);
    buf_init (&journal->writing, max);
    pthread_mutex_init (&journal->mutex, NULL);
    pthread_cond_init (&journal->filled, NULL);
    pthread_cond_init (&journal->drained, NULL);
    return journal;
}

void journal_close (struct journal *journal)
{
    if (!journal)
        return;
    if (journal->started)
        writer_stop (journal);
    sqlite3_finalize (journal->insert); /* its error was already reported */
    sqlite3_finalize (journal->note_last);
    journal_marker_close (journal->marker);
    database_close (journal->db);
    fd_close (journal->wake_fd); /* an eventfd holds nothing */
    fd_close (journal->lock_fd); /* last: releases the lock; its text is of no value any more */
    buf_release (&journal->incoming);
    buf_release (&journal->writing);
    pthread_cond_destroy (&journal->drained);
    pthread_cond_destroy (&journal->filled);
    pthread_mutex_destroy (&journal->mutex);
    mem_free (journal);
}

static void remove_created (const char *path)
{
    static const char *const endings[] = { "", "-journal", "-wal", "-shm", ".mark" };
    char name[PATH_MAX];
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        (void) unlink (journal_path_beside (path, endings[i], name)); /* a failure shows when it is made again */
}

/* One file with all commits: what closing the database would do as well, but without telling that it failed. */
static int make_whole (const char *path, const char *run_id_hex, struct err *err)
{
    if (database_file_create (path, err) != 0)
        return -1;
    sqlite3 *db = database_open (path, DATABASE_WRITE, WRITE_BUSY_MS, err);
    int rc = db && journal_settle (db, err) == 0 && create_tables (db, run_id_hex, err) == 0
                 ? database_run (db, "PRAGMA wal_checkpoint (TRUNCATE)", "write the journal to disk", err)
                 : -1;
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
    char fresh[PATH_MAX], folder[PATH_MAX];
    journal_path_beside (path, ".new", fresh);
    if (access (path, F_OK) == 0 || errno != ENOENT)
        return err_set (err, ERR_STATE, "%s already exists, and sliceup does not overwrite it", path);
    remove_created (fresh);
    if (make_files (journal, fresh, run_id_hex, err) == 0 && journal_marker_rename (journal->marker, path, err) == 0 &&
        rename_to (fresh, path, err) == 0)
        return folder_sync (path_folder_c (path, folder), err);
    remove_created (fresh);
    return -1;
}

struct journal *journal_create (const char *path, const char *run_id_hex, struct err *err)
{
    assert (strlen (run_id_hex) > 0 && strlen (run_id_hex) <= JOURNAL_RUN_ID_MAX_BYTES);
    if (journal_place_check (path, err) != 0)
        return NULL;
    struct journal *journal = journal_make ();
    journal->chain = journal_chain_start (run_id_hex);
    journal->lock_fd = journal_lock_take (path, err);
    if (journal->lock_fd >= 0 && place_whole (journal, path, run_id_hex, err) == 0 &&
        open_to_write (journal, path, err) == 0 && writer_start (journal, err) == 0)
        return journal;
    journal_close (journal);
    return NULL;
}

/* Of the run's facts: sets `added` and `chain`. */
static int find_end (struct journal *journal, const char *path, char run[JOURNAL_RUN_ID_MAX_BYTES + 1], struct err *err)
{
    struct journal_reader *reader = journal_reader_open (path, err);
    if (!reader)
        return -1;
    int rc = journal_reader_read_rest (reader, NULL, NULL, err);
    snprintf (run, JOURNAL_RUN_ID_MAX_BYTES + 1, "%s",
              journal_reader_position (reader, &journal->added, &journal->chain));
    journal_reader_close (reader);
    return rc;
}

/* The opener acts on all facts. A killed writer may not have synced the last ones, so one commit makes all durable, and
 * then the mark is set. Journals of earlier versions get a mark. */
static int vouch (struct journal *journal, const char *path, const char *run, struct err *err)
{
    char folder[PATH_MAX];
    journal->marker = journal_marker_open (path, run, err);
    if (!journal->marker || journal_marker_start (journal->marker, err) != 0 ||
        folder_sync (path_folder_c (path, folder), err) != 0)
        return -1;
    if (database_run (journal->db, "INSERT OR REPLACE INTO meta (name, value) VALUES ('mark', 1)",
                      "write the journal to disk", err) != 0)
        return -1;
    return journal_marker_set (journal->marker, journal->added, &journal->chain, err);
}

struct journal *journal_open (const char *path, struct err *err)
{
    char run[JOURNAL_RUN_ID_MAX_BYTES + 1];
    if (journal_place_check (path, err) != 0 || journal_file_check (path, DATABASE_WRITE, err) != 0)
        return NULL;
    struct journal *journal = journal_make ();
    journal->lock_fd = journal_lock_take (path, err);
    if (journal->lock_fd >= 0 && find_end (journal, path, run, err) == 0 && open_to_write (journal, path, err) == 0 &&
        vouch (journal, path, run, err) == 0 && writer_start (journal, err) == 0)
        return journal;
    journal_close (journal);
    return NULL;
}
