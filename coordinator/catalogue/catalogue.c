/* catalogue.c - opens the catalogue, and has the shared parts of its queries. */
#include "coordinator/catalogue/catalogue_private.h"

#include "common/cache/storage.h"
#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FORMAT = 3,
    BUSY_MS = 30 * 1000, /* on a thread of its own */
    /* SQLite admits whoever asks at the right moment. Its own handler asks more and more rarely, so a process with
     * continuous transactions keeps others out. Here all ask equally often, and the last process pauses for longer than
     * that, so that a waiting one is next. */
    ASK_MS = 2,
    ASK_SPREAD_MS = 3,
    COURTESY_MS = 8,
};

static const char *const state_words[] = { "none", "granted", "published", "abandoned", "dropped", "removing" };
const struct enum_names generation_state_names = NAMES (state_words);

/* AUTOINCREMENT: a number is never reused, even after its row is gone (sqlite autoinc.html). state: of enum
 * generation_state, but never published, which means a row in `generation`. seen: an abandoned generation's first
 * digest, empty if no folder existed. used: the newest generation of its bundle when a run last used it. */
static const char tables[] =
    "CREATE TABLE token (token INTEGER PRIMARY KEY AUTOINCREMENT, bundle TEXT NOT NULL,"
    " run TEXT NOT NULL, wall_ms INTEGER NOT NULL, state INTEGER NOT NULL DEFAULT 1, why TEXT NOT NULL DEFAULT '');"
    "CREATE TABLE generation (token INTEGER PRIMARY KEY NOT NULL, bundle TEXT NOT NULL,"
    " run TEXT NOT NULL, record BLOB NOT NULL);"
    "CREATE INDEX generation_of_bundle ON generation (bundle, token);"
    "CREATE TABLE lease (bundle TEXT PRIMARY KEY NOT NULL, token INTEGER NOT NULL, run TEXT NOT NULL,"
    " beat INTEGER NOT NULL);"
    "CREATE TABLE user (token INTEGER NOT NULL, run TEXT NOT NULL, home TEXT NOT NULL, machine TEXT NOT NULL,"
    " PRIMARY KEY (token, run));"
    "CREATE TABLE seen (token INTEGER PRIMARY KEY NOT NULL, listing BLOB NOT NULL);"
    "CREATE INDEX token_of_bundle ON token (bundle, token);"
    "CREATE TABLE cover (bundle TEXT NOT NULL, cover TEXT NOT NULL, used INTEGER NOT NULL,"
    " PRIMARY KEY (bundle, cover));"
    "PRAGMA user_version = 3;";
_Static_assert(GENERATION_GRANTED == 1 && GENERATION_ABANDONED == 3, "catalogue.db stores these state numbers");

/* ---- transactions ---- */

static void pause_ms (uint64_t ms)
{
    (void) poll (NULL, 0, (int) ms); /* a signal may end it early */
}

static int wait_for_others (void *owner, int tries)
{
    struct catalogue *catalogue = owner;
    uint64_t now_ms = clock_boot_ms ();
    if (tries == 0)
        catalogue->busy_until_ms = now_ms + BUSY_MS;
    if (now_ms >= catalogue->busy_until_ms)
        return 0;
    pause_ms (ASK_MS + clock_boot_ns () / 1000 % (ASK_SPREAD_MS + 1));
    return 1;
}

int catalogue_begin_transaction (struct catalogue *catalogue, struct err *err)
{
    uint64_t now_ms = clock_boot_ms ();
    if (catalogue->looking)
        return database_run (catalogue->db, "BEGIN", "read the catalogue of caches", err);
    if (now_ms < catalogue->ended_ms + COURTESY_MS)
        pause_ms (catalogue->ended_ms + COURTESY_MS - now_ms);
    return database_run (catalogue->db, "BEGIN IMMEDIATE", "lock the catalogue of caches", err);
}

int catalogue_end_transaction (struct catalogue *catalogue, int rc, struct err *err)
{
    if (rc == 0)
        rc = database_run (catalogue->db, "COMMIT", "write the catalogue of caches to disk", err);
    if (rc != 0)
        (void) sqlite3_exec (catalogue->db, "ROLLBACK", NULL, NULL, NULL); /* SQLite may have rolled back already */
    catalogue->ended_ms = clock_boot_ms ();
    return rc;
}

/* ---- opening ---- */

static int format_unknown (const struct catalogue *catalogue, int format, struct err *err)
{
    return err_set (err, ERR_STATE,
                    "%s/catalogue.db has format %d, but this sliceup reads format %d: use another cache root, or the "
                    "sliceup that made it",
                    catalogue->root, format, FORMAT);
}

/* In a transaction, because another process may have done it since we checked. */
static int make_tables (const struct catalogue *catalogue, struct err *err)
{
    int format = -1;
    if (database_format (catalogue->db, &format, err) != 0)
        return -1;
    if (format == FORMAT)
        return 0;
    if (format != 0)
        return format_unknown (catalogue, format, err);
    return database_run (catalogue->db, tables, "make the tables", err);
}

static int catalogue_settle (struct catalogue *catalogue, struct err *err)
{
    int format = -1;
    /* A rollback journal, not WAL: a cache root may be on a file system of several machines. EXTRA syncs the folder
     * too, else a power loss could take back a granted token (sqlite pragma.html, synchronous). */
    if (database_run (catalogue->db, "PRAGMA synchronous = EXTRA", "set up syncing", err) != 0)
        return -1;
    if (database_format (catalogue->db, &format, err) != 0)
        return -1;
    if (format == FORMAT)
        return 0;
    if (catalogue->looking && format == 0)
        return err_set (err, ERR_STATE, "%s/catalogue.db has no tables yet: the next run or import makes them",
                        catalogue->root);
    if (catalogue_begin_transaction (catalogue, err) != 0)
        return -1;
    return catalogue_end_transaction (catalogue, make_tables (catalogue, err), err);
}

static int file_prepare (const char *path, struct err *err)
{
    struct stat st;
    struct err created = { 0 };
    if (lstat (path, &st) != 0 && errno == ENOENT && database_file_create (path, &created) != 0 &&
        created.code != ERR_STATE)
        return err_set (err, created.code, "%s", created.text); /* ERR_STATE: another run made it first */
    return database_file_check (path, DATABASE_WRITE, err);
}

static struct catalogue *catalogue_open_file (const char *root, const char *path, enum database_use use, int *why,
                                              struct err *err)
{
    sqlite3 *db = database_open (path, use, BUSY_MS, err);
    if (!db)
        return NULL;
    struct catalogue *catalogue = mem_alloc (sizeof *catalogue);
    *catalogue = (struct catalogue){ .root = mem_text (root), .db = db, .looking = use == DATABASE_READ };
    if (sqlite3_busy_handler (db, wait_for_others, catalogue) != SQLITE_OK)
        database_fail (db, "set up waiting", err);
    else if (catalogue_settle (catalogue, err) == 0)
        return catalogue;
    *why = sqlite3_extended_errcode (db);
    if (*why == SQLITE_NOTADB || *why == SQLITE_CORRUPT)
        err_set (err, ERR_DAMAGE,
                 "%s is damaged (%s): restore a copy of it, or use another cache root; without it sliceup cannot tell "
                 "which generations are sealed",
                 path, sqlite3_errmsg (db));
    catalogue_close (catalogue);
    return NULL;
}

/* A process killed during a change leaves a journal. SQLite reads nothing until it is rolled back, which a read-only
 * connection may not do (sqlite rescode.html, SQLITE_READONLY_ROLLBACK). */
static int roll_back (const char *root, const char *path, struct err *err)
{
    struct err own = { 0 };
    sqlite3 *db = database_open (path, DATABASE_WRITE, BUSY_MS, &own);
    int rc = db ? database_run (db, "SELECT count (*) FROM sqlite_schema", "roll back an interrupted change", &own)
                : -1;
    database_close (db);
    if (rc == 0)
        return 0;
    return err_set (err, own.code,
                    "a change of %s/catalogue.db was interrupted and must be rolled back before reading, but user %u "
                    "cannot do that here: try again as its owner, where the cache is writable (%.200s)",
                    root, (unsigned) geteuid (), own.text);
}

static struct catalogue *open_to_look (const char *root, const char *path, struct err *err)
{
    int why = SQLITE_OK;
    struct err own = { 0 };
    struct catalogue *catalogue = catalogue_open_file (root, path, DATABASE_READ, &why, &own);
    if (!catalogue && why == SQLITE_READONLY_ROLLBACK)
        return roll_back (root, path, err) == 0 ? catalogue_open_file (root, path, DATABASE_READ, &why, err) : NULL;
    if (!catalogue)
        err_set (err, own.code, "%s", own.text);
    return catalogue;
}

static int catalogue_path_of (const char *root, char path[PATH_MAX], struct err *err)
{
    int len = snprintf (path, PATH_MAX, "%s/catalogue.db", root);
    if (len > 0 && len < PATH_MAX)
        return 0;
    return err_set (err, ERR_LIMIT, "the path of the cache root is longer than %d bytes", PATH_MAX);
}

struct catalogue *catalogue_open (const char *cache_root, struct err *err)
{
    char path[PATH_MAX], storage[STORAGE_ID_BYTES];
    int why;
    if (catalogue_path_of (cache_root, path, err) != 0 || folder_make (cache_root, 0755, err) != 0 ||
        file_prepare (path, err) != 0)
        return NULL;
    /* Made here rather than on a host, so that the first reader finds it. */
    return storage_id (cache_root, true, storage, err) != 0
               ? NULL
               : catalogue_open_file (cache_root, path, DATABASE_WRITE, &why, err);
}

struct catalogue *catalogue_open_read_only (const char *cache_root, struct err *err)
{
    char path[PATH_MAX];
    struct stat st;
    if (catalogue_path_of (cache_root, path, err) != 0)
        return NULL;
    if (lstat (path, &st) != 0 && errno == ENOENT) {
        err_set (err, ERR_STATE,
                 "there is no catalogue.db in %s: no run has used a shared cache there yet, or it is not a cache root",
                 cache_root);
        return NULL;
    }
    return database_file_check (path, DATABASE_READ, err) == 0 ? open_to_look (cache_root, path, err) : NULL;
}

void catalogue_close (struct catalogue *catalogue)
{
    if (!catalogue)
        return;
    database_close (catalogue->db);
    mem_free (catalogue->root);
    mem_free (catalogue);
}

/* ---- names ---- */

int catalogue_family_name_check (struct text bundle, struct err *err)
{
    bool bad = bundle.len == 0 || bundle.len > BUNDLE_MAX_BYTES || bundle.ptr[0] == '/';
    for (uint32_t i = 0, begin = 0; !bad && i <= bundle.len; i++) {
        bad = i < bundle.len && bundle.ptr[i] == '\0';
        if (i < bundle.len && bundle.ptr[i] != '/')
            continue;
        struct text part = { .ptr = bundle.ptr + begin, .len = i - begin };
        bad = bad || part.len == 0 || text_is (part, ".") || text_is (part, "..");
        begin = i + 1;
    }
    if (!bad)
        return 0;
    return err_set (err, ERR_REFUSED,
                    "the name of a cache family (%u bytes) is not valid: expected <frontend>/<bundle> of at most %d "
                    "bytes, with no part that is empty, '.' or '..'",
                    bundle.len, BUNDLE_MAX_BYTES);
}
