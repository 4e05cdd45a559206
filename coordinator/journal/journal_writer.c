#include "coordinator/journal/journal_writer.h"

#include "common/base/buf.h"
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* A queue above this frees its memory after a burst. */
enum { QUEUE_KEEP_BYTES = 4 * 1024 * 1024 };

/* One fact in the queue. `previous` stands right before the bytes: a link of the chain is one digest over both. */
struct queued {
    uint64_t index, at_ms, wall_ms;
    uint32_t kind, len;
    struct digest previous;
    uint8_t bytes[];
};
static_assert (offsetof (struct queued, bytes) == offsetof (struct queued, previous) + sizeof (struct digest),
               "adjacent");

struct journal_writer {
    sqlite3 *db;
    struct journal_marker *marker;
    sqlite3_stmt *insert, *note_last;
    struct digest chain; /* of the last fact written; the thread's own */
    struct buf writing;  /* the thread's own */
    int wake_fd;
    pthread_t thread;
    _Atomic uint64_t durable;

    pthread_mutex_t mutex; /* guards all below */
    pthread_cond_t filled, drained;
    struct buf incoming;
    uint64_t added; /* highest index ever queued */
    bool stopping, failed;
    struct err problem;
};

static size_t queued_bytes (uint32_t len)
{
    return (offsetof (struct queued, bytes) + len + 7) & ~(size_t) 7;
}

static int insert_one (struct journal_writer *writer, struct queued *fact, struct err *err)
{
    sqlite3_stmt *insert = writer->insert;
    fact->previous = writer->chain;
    writer->chain = digest_of (&fact->previous, sizeof fact->previous + fact->len);
    bool bound = sqlite3_bind_int64 (insert, 1, (sqlite3_int64) fact->index) == SQLITE_OK &&
                 sqlite3_bind_int64 (insert, 2, fact->kind) == SQLITE_OK &&
                 sqlite3_bind_int64 (insert, 3, (sqlite3_int64) fact->at_ms) == SQLITE_OK &&
                 sqlite3_bind_int64 (insert, 4, (sqlite3_int64) fact->wall_ms) == SQLITE_OK &&
                 sqlite3_bind_blob (insert, 5, fact->bytes, (int) fact->len, SQLITE_STATIC) == SQLITE_OK &&
                 sqlite3_bind_blob (insert, 6, &writer->chain, sizeof writer->chain, SQLITE_STATIC) == SQLITE_OK;
    if (bound && sqlite3_step (insert) == SQLITE_DONE && sqlite3_reset (insert) == SQLITE_OK)
        return 0;
    database_fail (writer->db, "write a fact", err);
    sqlite3_reset (insert); /* says the same error again */
    return -1;
}

static int note_last (struct journal_writer *writer, uint64_t last, struct err *err)
{
    sqlite3_stmt *note = writer->note_last;
    if (sqlite3_bind_int64 (note, 1, (sqlite3_int64) last) == SQLITE_OK && sqlite3_step (note) == SQLITE_DONE &&
        sqlite3_reset (note) == SQLITE_OK && sqlite3_changes (writer->db) == 1)
        return 0;
    database_fail (writer->db, "write the number of the last fact", err);
    sqlite3_reset (note); /* says the same error again */
    return -1;
}

static int insert_all (struct journal_writer *writer, uint64_t *last, struct err *err)
{
    for (size_t at = 0; at < writer->writing.len;) {
        struct queued *fact = (struct queued *) (void *) (writer->writing.ptr + at);
        if (insert_one (writer, fact, err) != 0)
            return -1;
        *last = fact->index;
        at += queued_bytes (fact->len);
    }
    return note_last (writer, *last, err);
}

static int commit_all (struct journal_writer *writer, uint64_t *last, struct err *err)
{
    if (database_run (writer->db, "BEGIN IMMEDIATE", "begin to write facts", err) != 0)
        return -1;
    if (insert_all (writer, last, err) == 0 && database_run (writer->db, "COMMIT", "make facts durable", err) == 0)
        return 0;
    int keep = 1;
    /* Keeps everything: the next opening checks the write-ahead log. An error means that SQLite has rolled back. */
    (void) sqlite3_db_config (writer->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, &keep);
    (void) sqlite3_exec (writer->db, "ROLLBACK", NULL, NULL, NULL);
    return -1;
}

static void wake (struct journal_writer *writer)
{
    uint64_t one = 1;
    ssize_t n = write (writer->wake_fd, &one, sizeof one);
    assert (n == sizeof one || errno == EAGAIN); /* EAGAIN: the counter is full, so it is readable */
}

static void journal_writer_fail (struct journal_writer *writer, const struct err *problem)
{
    pthread_mutex_lock (&writer->mutex);
    writer->failed = true;
    writer->problem = *problem;
    buf_release (&writer->incoming);
    buf_init (&writer->incoming, 0);
    pthread_cond_broadcast (&writer->drained);
    pthread_mutex_unlock (&writer->mutex);
    wake (writer);
}

static void forget_written (struct journal_writer *writer)
{
    size_t max = writer->writing.max;
    pthread_mutex_lock (&writer->mutex);
    if (writer->writing.capacity > QUEUE_KEEP_BYTES) {
        buf_release (&writer->writing);
        buf_init (&writer->writing, max);
    }
    buf_clear (&writer->writing);
    pthread_cond_broadcast (&writer->drained);
    pthread_mutex_unlock (&writer->mutex);
}

/* False: nothing is left and nothing will come. */
static bool take_queued (struct journal_writer *writer)
{
    pthread_mutex_lock (&writer->mutex);
    while (writer->incoming.len == 0 && !writer->stopping)
        pthread_cond_wait (&writer->filled, &writer->mutex);
    struct buf taken = writer->incoming;
    writer->incoming = writer->writing;
    writer->writing = taken;
    pthread_mutex_unlock (&writer->mutex);
    return taken.len > 0;
}

static void *write_facts (void *owner)
{
    struct journal_writer *writer = owner;
    struct err problem = { 0 };
    while (take_queued (writer)) {
        uint64_t last = 0;
        if (commit_all (writer, &last, &problem) != 0 ||
            journal_marker_set (writer->marker, last, &writer->chain, &problem) != 0) {
            journal_writer_fail (writer, &problem);
            return NULL;
        }
        atomic_store (&writer->durable, last);
        wake (writer);
        forget_written (writer);
    }
    return NULL;
}

static void writer_free (struct journal_writer *writer)
{
    sqlite3_finalize (writer->insert); /* its error was already reported */
    sqlite3_finalize (writer->note_last);
    if (writer->wake_fd >= 0)
        (void) close (writer->wake_fd); /* an eventfd holds nothing */
    buf_release (&writer->incoming);
    buf_release (&writer->writing);
    pthread_cond_destroy (&writer->drained);
    pthread_cond_destroy (&writer->filled);
    pthread_mutex_destroy (&writer->mutex);
    mem_free (writer);
}

struct journal_writer *journal_writer_start (sqlite3 *db, struct journal_marker *marker, uint64_t last,
                                             struct digest chain, struct err *err)
{
    size_t max = (size_t) JOURNAL_QUEUE_MAX_BYTES + queued_bytes (JOURNAL_FACT_MAX_BYTES);
    struct journal_writer *writer = mem_alloc (sizeof *writer);
    *writer = (struct journal_writer){ .db = db, .marker = marker, .chain = chain, .added = last };
    atomic_init (&writer->durable, last);
    buf_init (&writer->incoming, max);
    buf_init (&writer->writing, max);
    pthread_mutex_init (&writer->mutex, NULL);
    pthread_cond_init (&writer->filled, NULL);
    pthread_cond_init (&writer->drained, NULL);
    writer->wake_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (writer->wake_fd < 0) {
        err_errno (err, ERR_IO, "cannot make an eventfd");
        goto out;
    }
    writer->insert = database_prepare (db,
                                       "INSERT INTO fact (idx, kind, at_ms, wall_ms, bytes, chain) "
                                       "VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                                       err);
    if (!writer->insert)
        goto out;
    writer->note_last = database_prepare (db, "UPDATE meta SET value = ?1 WHERE name = 'last'", err);
    if (writer->note_last && journal_thread_start (&writer->thread, write_facts, writer, "journal", err) == 0)
        return writer;
out:
    writer_free (writer);
    return NULL;
}

void journal_writer_stop (struct journal_writer *writer)
{
    if (!writer)
        return;
    pthread_mutex_lock (&writer->mutex);
    writer->stopping = true;
    pthread_cond_signal (&writer->filled);
    pthread_mutex_unlock (&writer->mutex);
    int rc = pthread_join (writer->thread, NULL);
    assert (rc == 0);
    writer_free (writer);
}

static void queue_one (struct buf *queue, const struct queued *head, struct text bytes)
{
    static const uint8_t zeros[8];
    size_t used = offsetof (struct queued, bytes) + bytes.len;
    buf_add (queue, head, offsetof (struct queued, bytes));
    buf_add (queue, bytes.ptr, bytes.len);
    buf_add (queue, zeros, queued_bytes (bytes.len) - used);
    assert (!queue->overflow);
}

void journal_writer_add (struct journal_writer *writer, uint64_t index, uint32_t kind, uint64_t at_ms, uint64_t wall_ms,
                         struct text bytes)
{
    struct queued head = { .index = index, .at_ms = at_ms, .wall_ms = wall_ms, .kind = kind, .len = bytes.len };
    assert (bytes.len > 0 && bytes.len <= JOURNAL_FACT_MAX_BYTES && index <= INT64_MAX);
    pthread_mutex_lock (&writer->mutex);
    assert (index == writer->added + 1 && !writer->stopping);
    while (writer->incoming.len > JOURNAL_QUEUE_MAX_BYTES) /* a failure empties it */
        pthread_cond_wait (&writer->drained, &writer->mutex);
    writer->added = index;
    if (!writer->failed) {
        queue_one (&writer->incoming, &head, bytes);
        pthread_cond_signal (&writer->filled);
    }
    pthread_mutex_unlock (&writer->mutex);
}

uint64_t journal_writer_durable_index (const struct journal_writer *writer)
{
    return atomic_load (&writer->durable);
}

int journal_writer_fd (const struct journal_writer *writer)
{
    return writer->wake_fd;
}

bool journal_writer_problem (struct journal_writer *writer, struct err *err)
{
    pthread_mutex_lock (&writer->mutex);
    bool failed = writer->failed;
    if (failed && err)
        *err = writer->problem;
    pthread_mutex_unlock (&writer->mutex);
    return failed;
}
