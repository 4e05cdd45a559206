#include "coordinator/journal/database.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/path.h"
#include "common/io/atomic_file.h"

/* The longest value SQLite may build or read: above the longest fact (journal.h), far below memory. */
enum { VALUE_MAX_BYTES = 32 * 1024 * 1024 };

int database_file_create (const char *path, struct err *err)
{
    int fd = open (path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST)
        return err_set (err, ERR_STATE, "%s already exists, and sliceup does not overwrite it", path);
    if (fd < 0)
        return err_errno (err, ERR_IO, "cannot create %s", path);
    return close (fd) != 0 ? err_errno (err, ERR_IO, "cannot create %s", path) : 0;
}

int database_file_check (const char *path, enum database_use use, struct err *err)
{
    struct stat st;
    /* By name, because closing an open file would drop SQLite's locks in this process (sqlite howtocorrupt.html,
     * 2.2). */
    if (plain_file_check_path (path, err) < 0)
        return -1;
    if (lstat (path, &st) != 0)
        return err_errno (err, errno == ENOENT ? ERR_STATE : ERR_IO, "cannot open %s", path);
    if (use == DATABASE_WRITE && (st.st_mode & 077))
        return err_set (err, ERR_STATE,
                        "%s has mode %04o, expected 0600: only its owner may read or write it (chmod 600)", path,
                        (unsigned) (st.st_mode & 07777));
    return 0;
}

const char *database_why (sqlite3 *db)
{
    bool cut = sqlite3_extended_errcode (db) == SQLITE_IOERR_SHORT_READ;
    return cut ? "the file, or its write-ahead log, was cut short" : sqlite3_errmsg (db);
}

static enum err_code code_of (sqlite3 *db)
{
    if (sqlite3_extended_errcode (db) == SQLITE_IOERR_SHORT_READ)
        return ERR_DAMAGE;
    switch (sqlite3_errcode (db)) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_TOOBIG:
    case SQLITE_SCHEMA:
    case SQLITE_ERROR: /* our statements are constant: a table that is missing or has another shape */
        return ERR_DAMAGE;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return ERR_STATE;
    default: return ERR_IO;
    }
}

bool database_may_write_beside (const char *path)
{
    char folder[PATH_MAX];
    return faccessat (AT_FDCWD, path_folder_c (path, folder), W_OK, AT_EACCESS) == 0;
}

/* Why a commit failed SQLite notes with the file alone. 0: it is not known. */
static int database_errno (sqlite3 *db)
{
    sqlite3_file *log = NULL;
    int system = sqlite3_system_errno (db);
    if (system == 0)
        (void) sqlite3_file_control (db, "main", SQLITE_FCNTL_LAST_ERRNO, &system);
    (void) sqlite3_file_control (db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    if (system == 0 && log && log->pMethods)
        (void) log->pMethods->xFileControl (log, SQLITE_FCNTL_LAST_ERRNO, &system);
    return system;
}

static int database_explain (sqlite3 *db, const char *path, const char *doing, struct err *err)
{
    int system = database_errno (db), code = sqlite3_errcode (db);
    if (code == SQLITE_FULL)
        return err_set (err, code_of (db), "cannot %s in %s: that file system is full: free some space, then try again",
                        doing, path);
    if (code == SQLITE_READONLY &&
        (faccessat (AT_FDCWD, path, W_OK, AT_EACCESS) != 0 || !database_may_write_beside (path)))
        return err_set (err, code_of (db),
                        "cannot %s in %s: its storage is mounted read-only here, or user %u may not write there", doing,
                        path, (unsigned) geteuid ());
    if (code == SQLITE_CANTOPEN && system == EACCES)
        return err_set (err, code_of (db), "cannot %s in %s: user %u may not use it; only its owner may", doing, path,
                        (unsigned) geteuid ());
    if (system != 0 && code_of (db) != ERR_DAMAGE && (code == SQLITE_IOERR || code == SQLITE_CANTOPEN))
        return err_set (err, code_of (db), "cannot %s in %s: %s: %s%s", doing, path, sqlite3_errmsg (db),
                        strerror (system), err_advice_for_errno (system));
    return err_set (err, code_of (db), "cannot %s in %s: %s", doing, path, database_why (db));
}

int database_fail (sqlite3 *db, const char *doing, struct err *err)
{
    return database_explain (db, sqlite3_db_filename (db, "main"), doing, err);
}

/* Distrusts the file's own schema: no triggers, no views, no functions with side effects. */
static void distrust (sqlite3 *db)
{
    int off = 0;
    (void) sqlite3_db_config (db, SQLITE_DBCONFIG_DEFENSIVE, 1, &off);
    (void) sqlite3_db_config (db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, &off);
    (void) sqlite3_db_config (db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, &off);
    (void) sqlite3_db_config (db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, &off);
    (void) sqlite3_limit (db, SQLITE_LIMIT_LENGTH, VALUE_MAX_BYTES);
}

sqlite3 *database_open (const char *path, enum database_use use, int busy_ms, struct err *err)
{
    sqlite3 *db = NULL;
    int flags = use == DATABASE_READ ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
    int rc = sqlite3_open_v2 (path, &db, flags | SQLITE_OPEN_NOMUTEX, NULL);
    if (!db) /* and for no other reason */
        mem_exit_exhausted (0);
    if (rc == SQLITE_OK)
        rc = sqlite3_busy_timeout (db, busy_ms);
    if (rc == SQLITE_OK) {
        distrust (db);
        if (database_run (db, "PRAGMA cell_size_check = ON", "set up SQLite", err) == 0)
            return db;
    } else {
        database_explain (db, path, "open the database", err); /* it does not know its own name yet */
    }
    database_close (db);
    return NULL;
}

void statement_finalize_local (sqlite3_stmt **statement)
{
    sqlite3_finalize (*statement);
}

void database_close (sqlite3 *db)
{
    int rc = sqlite3_close (db);
    assert (rc == SQLITE_OK); /* SQLITE_BUSY: a statement was left open */
}

int database_run (sqlite3 *db, const char *sql, const char *doing, struct err *err)
{
    return sqlite3_exec (db, sql, NULL, NULL, NULL) != SQLITE_OK ? database_fail (db, doing, err) : 0;
}

sqlite3_stmt *database_prepare (sqlite3 *db, const char *sql, struct err *err)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v3 (db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) != SQLITE_OK)
        database_fail (db, "find the expected tables of this version", err);
    return statement;
}

/* ---- statements with values ---- */

static bool database_bind (sqlite3_stmt *statement, const char *kinds, va_list values)
{
    int rc = SQLITE_OK;
    for (int i = 0; kinds[i] && rc == SQLITE_OK; i++) {
        if (kinds[i] == 'i') {
            rc = sqlite3_bind_int64 (statement, i + 1, (sqlite3_int64) va_arg (values, uint64_t));
            continue;
        }
        struct text text = va_arg (values, struct text);
        const char *ptr = text.len ? text.ptr : "";
        rc = kinds[i] == 't' ? sqlite3_bind_text (statement, i + 1, ptr, (int) text.len, SQLITE_TRANSIENT)
                             : sqlite3_bind_blob (statement, i + 1, ptr, (int) text.len, SQLITE_TRANSIENT);
    }
    return rc == SQLITE_OK;
}

static sqlite3_stmt *database_ask_list (sqlite3 *db, struct err *err, const char *sql, const char *kinds,
                                        va_list values)
{
    sqlite3_stmt *statement = database_prepare (db, sql, err);
    if (!statement || database_bind (statement, kinds, values))
        return statement;
    database_fail (db, "read or change a table", err);
    sqlite3_finalize (statement); /* its error is already in `err` */
    return NULL;
}

sqlite3_stmt *database_ask (sqlite3 *db, struct err *err, const char *sql, const char *kinds, ...)
{
    va_list values;
    va_start (values, kinds);
    sqlite3_stmt *statement = database_ask_list (db, err, sql, kinds, values);
    va_end (values);
    return statement;
}

int database_step (sqlite3 *db, sqlite3_stmt *statement, const char *doing, struct err *err)
{
    int rc = sqlite3_step (statement);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? rc : database_fail (db, doing, err);
}

int database_change (sqlite3 *db, const char *doing, int *changed, struct err *err, const char *sql, const char *kinds,
                     ...)
{
    va_list values;
    va_start (values, kinds);
    LOCAL_STATEMENT statement = database_ask_list (db, err, sql, kinds, values);
    va_end (values);
    if (!statement)
        return -1;
    int rc = database_step (db, statement, doing, err);
    if (changed)
        *changed = sqlite3_changes (db);
    return rc == SQLITE_DONE ? 0 : -1;
}

struct text database_text (sqlite3_stmt *row, int column, struct arena *arena)
{
    const void *bytes = sqlite3_column_blob (row, column);
    return text_copy (arena, (struct text){ bytes, (uint32_t) sqlite3_column_bytes (row, column) });
}

int database_numbers (sqlite3 *db, const char *doing, uint64_t *numbers, int n, struct err *err, const char *sql,
                      const char *kinds, ...)
{
    va_list values;
    va_start (values, kinds);
    LOCAL_STATEMENT statement = database_ask_list (db, err, sql, kinds, values);
    va_end (values);
    int rc = statement ? database_step (db, statement, doing, err) : -1;
    for (int i = 0; i < n; i++)
        numbers[i] = rc == SQLITE_ROW ? (uint64_t) sqlite3_column_int64 (statement, i) : 0;
    return rc;
}

int database_format (sqlite3 *db, int *format, struct err *err)
{
    uint64_t version;
    int rc = database_numbers (db, "read the format", &version, 1, err, "PRAGMA user_version", "");
    *format = (int) version;
    return rc < 0 ? -1 : 0;
}

/* ---- workqueue ---- */

enum { WORKQUEUE_MAX = 4096 };

struct work_item {
    work_item_fn *work, *done;
    void *job;
    STAILQ_ENTRY (work_item) next;
};
STAILQ_HEAD (work_list, work_item);

struct workqueue {
    struct loop *loop;
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t given;
    struct work_list waiting, finished;
    uint32_t n;
    bool closing;
    int wake_fd;
};

static struct work_item *wait_for_work_item (struct workqueue *workqueue)
{
    pthread_mutex_lock (&workqueue->lock);
    while (STAILQ_EMPTY (&workqueue->waiting) && !workqueue->closing)
        pthread_cond_wait (&workqueue->given, &workqueue->lock);
    struct work_item *work_item = STAILQ_FIRST (&workqueue->waiting);
    if (work_item)
        STAILQ_REMOVE_HEAD (&workqueue->waiting, next);
    pthread_mutex_unlock (&workqueue->lock);
    return work_item;
}

static void hand_back (struct workqueue *workqueue, struct work_item *work_item)
{
    pthread_mutex_lock (&workqueue->lock);
    STAILQ_INSERT_TAIL (&workqueue->finished, work_item, next);
    pthread_mutex_unlock (&workqueue->lock);
    uint64_t one = 1;
    if (write (workqueue->wake_fd, &one, sizeof (one)) < 0)
        return; /* the counter is full: the loop is awake already */
}

static void *workqueue_run (void *owner)
{
    struct workqueue *workqueue = owner;
    struct work_item *work_item;
    while ((work_item = wait_for_work_item (workqueue)) != NULL) {
        work_item->work (work_item->job);
        hand_back (workqueue, work_item);
    }
    return NULL;
}

/* Takes all finished tasks; later ones wake the loop again. */
static struct work_item *take_finished (struct workqueue *workqueue)
{
    pthread_mutex_lock (&workqueue->lock);
    struct work_item *all = STAILQ_FIRST (&workqueue->finished);
    for (struct work_item *work_item = all; work_item; work_item = STAILQ_NEXT (work_item, next))
        workqueue->n--;
    STAILQ_INIT (&workqueue->finished);
    pthread_mutex_unlock (&workqueue->lock);
    return all;
}

static void workqueue_deliver (void *owner, int fd, uint32_t events)
{
    (void) events;
    struct workqueue *workqueue = owner;
    uint64_t count;
    if (read (fd, &count, sizeof (count)) < 0)
        count = 0; /* nothing to read away is fine */
    for (struct work_item *work_item = take_finished (workqueue), *next; work_item; work_item = next) {
        next = STAILQ_NEXT (work_item, next);
        if (work_item->done)
            work_item->done (work_item->job);
        mem_free (work_item);
    }
}

struct workqueue *workqueue_open (struct loop *loop, struct err *err)
{
    struct workqueue *workqueue = mem_alloc (sizeof (*workqueue));
    workqueue->loop = loop;
    STAILQ_INIT (&workqueue->waiting);
    STAILQ_INIT (&workqueue->finished);
    pthread_mutex_init (&workqueue->lock, NULL);
    pthread_cond_init (&workqueue->given, NULL);
    workqueue->wake_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (workqueue->wake_fd < 0) {
        err_errno (err, ERR_IO, "cannot create a descriptor for the queue of disk work");
        goto failed;
    }
    if (loop_watch (loop, workqueue->wake_fd, EPOLLIN, workqueue_deliver, workqueue, err) < 0)
        goto failed;
    errno = pthread_create (&workqueue->thread, NULL, workqueue_run, workqueue);
    if (errno == 0)
        return workqueue;
    err_errno (err, ERR_IO, "cannot start a thread for the queue of disk work");
    loop_forget (loop, workqueue->wake_fd);
failed:
    if (workqueue->wake_fd >= 0)
        close (workqueue->wake_fd);
    mem_free (workqueue);
    return NULL;
}

void workqueue_close (struct workqueue *workqueue)
{
    if (workqueue == NULL)
        return;
    pthread_mutex_lock (&workqueue->lock);
    workqueue->closing = true;
    pthread_cond_signal (&workqueue->given);
    pthread_mutex_unlock (&workqueue->lock);
    pthread_join (workqueue->thread, NULL);
    workqueue_deliver (workqueue, workqueue->wake_fd, 0);
    loop_forget (workqueue->loop, workqueue->wake_fd);
    close (workqueue->wake_fd);
    pthread_cond_destroy (&workqueue->given);
    pthread_mutex_destroy (&workqueue->lock);
    mem_free (workqueue);
}

uint32_t workqueue_length (struct workqueue *workqueue)
{
    pthread_mutex_lock (&workqueue->lock);
    uint32_t n = workqueue->n;
    pthread_mutex_unlock (&workqueue->lock);
    return n;
}

bool workqueue_submit (struct workqueue *workqueue, work_item_fn *work, work_item_fn *done, void *job)
{
    pthread_mutex_lock (&workqueue->lock);
    bool room = workqueue->n < WORKQUEUE_MAX && !workqueue->closing;
    if (room) {
        struct work_item *work_item = mem_alloc (sizeof (*work_item));
        *work_item = (struct work_item){ .work = work, .done = done, .job = job };
        STAILQ_INSERT_TAIL (&workqueue->waiting, work_item, next);
        workqueue->n++;
        pthread_cond_signal (&workqueue->given);
    }
    pthread_mutex_unlock (&workqueue->lock);
    return room;
}
