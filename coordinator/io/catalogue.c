#include "coordinator/io/catalogue.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "common/wire/wire.h"
#include "coordinator/io/database.h"

enum {
    FORMAT = 1,
    BUSY_MS = 30 * 1000, /* on a thread of its own; SQLite lets those who wait in by chance, not in turn */
    BUNDLE_MAX_BYTES = 255,
    /* 2,048 covers of at most 255 bytes (fact.c), and the rest. */
    RECORD_MAX_BYTES = 1024 * 1024,
    /* Generations that lie there without a token of this catalogue: more than anybody ever kept in one folder. */
    FOREIGN_MAX = 100000,
};

struct catalogue {
    char *root;
    sqlite3 *db;
};

/* AUTOINCREMENT: a number is not used again, not even when its row is gone (sqlite autoinc.html). */
static const char schema[] =
    "CREATE TABLE IF NOT EXISTS token (token INTEGER PRIMARY KEY AUTOINCREMENT, bundle TEXT NOT NULL,"
    " run TEXT NOT NULL, wall_ms INTEGER NOT NULL);"
    "CREATE TABLE IF NOT EXISTS generation (token INTEGER PRIMARY KEY NOT NULL, bundle TEXT NOT NULL,"
    " run TEXT NOT NULL, record BLOB NOT NULL);"
    "CREATE INDEX IF NOT EXISTS generation_of_bundle ON generation (bundle, token);"
    "PRAGMA user_version = 1;";

static int bind_text (sqlite3_stmt *statement, int at, struct text text)
{
    return sqlite3_bind_text (statement, at, text.len ? text.ptr : "", (int) text.len, SQLITE_STATIC);
}

/* One row or none is expected: SQLITE_ROW, SQLITE_DONE, or -1 and explained. */
static int step (const struct catalogue *catalogue, sqlite3_stmt *statement, const char *doing, struct err *err)
{
    int rc = sqlite3_step (statement);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? rc : database_fail (catalogue->db, doing, err);
}

/* ---- transactions ---- */

static int begin (const struct catalogue *catalogue, struct err *err)
{
    return database_run (catalogue->db, "BEGIN IMMEDIATE", "lock the catalogue of caches", err);
}

/* `rc` is what the work inside came to; returns what the whole came to. */
static int finish (const struct catalogue *catalogue, int rc, struct err *err)
{
    if (rc == 0)
        rc = database_run (catalogue->db, "COMMIT", "make the catalogue of caches durable", err);
    if (rc != 0)
        (void) sqlite3_exec (catalogue->db, "ROLLBACK", NULL, NULL, NULL); /* SQLite may have rolled back already */
    return rc;
}

/* ---- opening ---- */

static int format_of (const struct catalogue *catalogue, int *format, struct err *err)
{
    sqlite3_stmt *pragma = database_prepare (catalogue->db, "PRAGMA user_version", err);
    if (!pragma)
        return -1;
    int rc = step (catalogue, pragma, "read the catalogue of caches", err);
    if (rc == SQLITE_ROW)
        *format = sqlite3_column_int (pragma, 0);
    sqlite3_finalize (pragma); /* repeats an error that is in `err` */
    return rc == SQLITE_ROW ? 0 : -1;
}

static int settle (const struct catalogue *catalogue, struct err *err)
{
    int format = -1;
    /* A rollback journal, not WAL: a cache root may be on a file system of several machines. EXTRA syncs the folder
     * too, or a power loss could take back a token that was handed out (sqlite pragma.html, synchronous). */
    if (database_run (catalogue->db, "PRAGMA synchronous = EXTRA", "set up syncing", err) != 0)
        return -1;
    if (format_of (catalogue, &format, err) != 0)
        return -1;
    if (format == FORMAT)
        return 0;
    if (format != 0)
        return err_set (err, ERR_STATE,
                        "%s/catalogue.db has format %d, this sliceup knows %d: use another cache root, or the "
                        "sliceup that made it",
                        catalogue->root, format, FORMAT);
    if (begin (catalogue, err) != 0)
        return -1;
    return finish (catalogue, database_run (catalogue->db, schema, "make the tables", err), err);
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

struct catalogue *catalogue_open (const char *cache_root, struct err *err)
{
    char path[PATH_MAX];
    int len = snprintf (path, sizeof path, "%s/catalogue.db", cache_root);
    if (len < 0 || (size_t) len >= sizeof path) {
        err_set (err, ERR_LIMIT, "the path of the cache root is longer than %d bytes", PATH_MAX);
        return NULL;
    }
    if (folder_make (cache_root, 0700, err) != 0 || file_prepare (path, err) != 0)
        return NULL;
    sqlite3 *db = database_open (path, DATABASE_WRITE, BUSY_MS, err);
    if (!db)
        return NULL;
    struct catalogue *catalogue = mem_alloc (sizeof *catalogue);
    *catalogue = (struct catalogue) { .root = mem_text (cache_root), .db = db };
    if (settle (catalogue, err) == 0)
        return catalogue;
    catalogue_close (catalogue);
    return NULL;
}

void catalogue_close (struct catalogue *catalogue)
{
    if (!catalogue)
        return;
    database_close (catalogue->db);
    mem_free (catalogue->root);
    mem_free (catalogue);
}

/* ---- tokens ---- */

/* A bundle names a folder below the root: nothing in it may lead out of there. */
static int bundle_check (struct text bundle, struct err *err)
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
                    "a bundle's name of %" PRIu32 " bytes is no folder below the cache root: expected "
                    "<frontend>/<bundle>, at most %d bytes",
                    bundle.len, BUNDLE_MAX_BYTES);
}

/* When catalogue.db was removed, the folders still say which numbers were used. */
static bool generation_lies_there (const struct catalogue *catalogue, struct text bundle, uint64_t token)
{
    char path[PATH_MAX];
    struct stat st;
    int len = snprintf (path, sizeof path, "%s/%.*s/gen-%" PRIu64, catalogue->root, TEXT_ARG (bundle), token);
    return len > 0 && (size_t) len < sizeof path && lstat (path, &st) == 0;
}

static int forget_token (const struct catalogue *catalogue, uint64_t token, struct err *err)
{
    sqlite3_stmt *forget = database_prepare (catalogue->db, "DELETE FROM token WHERE token = ?1", err);
    if (!forget)
        return -1;
    int rc = sqlite3_bind_int64 (forget, 1, (sqlite3_int64) token);
    if (rc == SQLITE_OK)
        rc = step (catalogue, forget, "pass over a token", err);
    sqlite3_finalize (forget); /* repeats an error that is in `err` */
    return rc == SQLITE_DONE ? 0 : -1;
}

static int next_token (const struct catalogue *catalogue, sqlite3_stmt *insert, struct text bundle, uint64_t *token,
                       struct err *err)
{
    for (uint32_t i = 0; i < FOREIGN_MAX; i++) {
        if (step (catalogue, insert, "reserve a token", err) != SQLITE_DONE)
            return -1;
        sqlite3_reset (insert); /* nothing failed */
        *token = (uint64_t) sqlite3_last_insert_rowid (catalogue->db);
        if (!generation_lies_there (catalogue, bundle, *token))
            return 0;
        if (forget_token (catalogue, *token, err) != 0)
            return -1;
    }
    return err_set (err, ERR_LIMIT,
                    "more than %d generations lie in %s/%.*s that its catalogue knows nothing of: move them away",
                    FOREIGN_MAX, catalogue->root, TEXT_ARG (bundle));
}

static int reserve (const struct catalogue *catalogue, struct text bundle, struct text run, uint64_t *token,
                    struct err *err)
{
    sqlite3_stmt *insert = database_prepare (catalogue->db,
                                             "INSERT INTO token (bundle, run, wall_ms) VALUES (?1, ?2, ?3)", err);
    if (!insert)
        return -1;
    int rc = -1;
    if (bind_text (insert, 1, bundle) == SQLITE_OK && bind_text (insert, 2, run) == SQLITE_OK &&
        sqlite3_bind_int64 (insert, 3, (sqlite3_int64) clock_wall_ms ()) == SQLITE_OK)
        rc = next_token (catalogue, insert, bundle, token, err);
    else
        database_fail (catalogue->db, "reserve a token", err);
    sqlite3_finalize (insert); /* repeats an error that is in `err` */
    return rc;
}

int catalogue_token (struct catalogue *catalogue, struct text bundle, struct text run, uint64_t *token, struct err *err)
{
    uint64_t reserved = 0;
    if (bundle_check (bundle, err) != 0)
        return -1;
    if (begin (catalogue, err) != 0)
        return -1;
    if (finish (catalogue, reserve (catalogue, bundle, run, &reserved, err), err) != 0)
        return -1;
    *token = reserved;
    return 0;
}

/* ---- generations ---- */

static int record_read (const struct catalogue *catalogue, sqlite3_stmt *row, struct text bundle,
                        struct fact_generation *out, struct arena *arena, struct err *err)
{
    struct err own = { 0 };
    struct fact_generation found = { 0 };
    uint64_t token = (uint64_t) sqlite3_column_int64 (row, 0);
    struct text record = { .len = (uint32_t) sqlite3_column_bytes (row, 1) };
    struct text run = { .ptr = (const char *) sqlite3_column_text (row, 2),
                        .len = (uint32_t) sqlite3_column_bytes (row, 2) };
    record.ptr = arena_copy (arena, sqlite3_column_blob (row, 1), record.len);
    if (wire_get_record (record, fact_body (FACT_GENERATION_PUBLISHED), &found, arena, &own) != 0)
        return err_set (err, ERR_DAMAGE, "%s/catalogue.db is damaged at generation %" PRIu64 ": %s", catalogue->root,
                        token, own.text);
    if (found.token != token || !text_equal (found.bundle, bundle))
        return err_set (err, ERR_DAMAGE,
                        "%s/catalogue.db is damaged at generation %" PRIu64 ": its record is of another one",
                        catalogue->root, token);
    found.from_run = text_copy (arena, run);
    if (!record_check (fact_body (FACT_GENERATION_PUBLISHED), &found, NULL))
        return err_set (err, ERR_DAMAGE,
                        "%s/catalogue.db is damaged at generation %" PRIu64 ": its run is not a run's id",
                        catalogue->root, token);
    *out = found;
    return 0;
}

int catalogue_find (struct catalogue *catalogue, struct text bundle, struct fact_generation *out, struct arena *arena,
                    struct err *err)
{
    sqlite3_stmt *newest = database_prepare (
        catalogue->db, "SELECT token, record, run FROM generation WHERE bundle = ?1 ORDER BY token DESC LIMIT 1", err);
    int rc = -1;
    if (!newest)
        return -1;
    int row = bind_text (newest, 1, bundle) == SQLITE_OK ? step (catalogue, newest, "find a generation", err)
                                                         : database_fail (catalogue->db, "find a generation", err);
    if (row == SQLITE_ROW) {
        rc = record_read (catalogue, newest, bundle, out, arena, err);
    } else if (row == SQLITE_DONE) {
        *out = (struct fact_generation) { 0 };
        rc = 0;
    }
    sqlite3_finalize (newest); /* repeats an error that is in `err` */
    return rc;
}

/* Only a token that was handed out to this run for this bundle may become a generation. */
static int token_check (const struct catalogue *catalogue, struct text run, const struct fact_generation *generation,
                        struct err *err)
{
    sqlite3_stmt *granted = database_prepare (catalogue->db,
                                              "SELECT 1 FROM token WHERE token = ?1 AND bundle = ?2 AND run = ?3", err);
    int row = -1;
    if (!granted)
        return -1;
    if (sqlite3_bind_int64 (granted, 1, (sqlite3_int64) generation->token) != SQLITE_OK ||
        bind_text (granted, 2, generation->bundle) != SQLITE_OK || bind_text (granted, 3, run) != SQLITE_OK)
        database_fail (catalogue->db, "look up a token", err);
    else
        row = step (catalogue, granted, "look up a token", err);
    sqlite3_finalize (granted); /* repeats an error that is in `err` */
    if (row == SQLITE_DONE)
        return err_set (err, ERR_REFUSED,
                        "generation %" PRIu64 " cannot be published in %s: this token was not handed out to "
                        "this run for this bundle",
                        generation->token, catalogue->root);
    return row == SQLITE_ROW ? 0 : -1;
}

/* SQLITE_DONE: not there yet. SQLITE_ROW: there, and the same. */
static int published_before (const struct catalogue *catalogue, const struct fact_generation *generation,
                             const struct buf *record, struct err *err)
{
    sqlite3_stmt *before = database_prepare (catalogue->db, "SELECT record FROM generation WHERE token = ?1", err);
    if (!before)
        return -1;
    int row = sqlite3_bind_int64 (before, 1, (sqlite3_int64) generation->token);
    row = row == SQLITE_OK ? step (catalogue, before, "look up a generation", err)
                           : database_fail (catalogue->db, "look up a generation", err);
    bool same = row == SQLITE_ROW && (size_t) sqlite3_column_bytes (before, 0) == record->len &&
                memcmp (sqlite3_column_blob (before, 0), record->ptr, record->len) == 0;
    sqlite3_finalize (before); /* repeats an error that is in `err` */
    if (row == SQLITE_ROW && !same)
        return err_set (err, ERR_REFUSED, "generation %" PRIu64 " is published in %s already, with other content",
                        generation->token, catalogue->root);
    return row;
}

static int insert_generation (const struct catalogue *catalogue, struct text run,
                              const struct fact_generation *generation, const struct buf *record, struct err *err)
{
    sqlite3_stmt *insert = database_prepare (
        catalogue->db, "INSERT INTO generation (token, bundle, run, record) VALUES (?1, ?2, ?3, ?4)", err);
    int rc = -1;
    if (!insert)
        return -1;
    if (sqlite3_bind_int64 (insert, 1, (sqlite3_int64) generation->token) != SQLITE_OK ||
        bind_text (insert, 2, generation->bundle) != SQLITE_OK || bind_text (insert, 3, run) != SQLITE_OK ||
        sqlite3_bind_blob (insert, 4, record->ptr, (int) record->len, SQLITE_STATIC) != SQLITE_OK)
        database_fail (catalogue->db, "publish a generation", err);
    else if (step (catalogue, insert, "publish a generation", err) == SQLITE_DONE)
        rc = 0;
    sqlite3_finalize (insert); /* repeats an error that is in `err` */
    return rc;
}

static int publish (const struct catalogue *catalogue, struct text run, const struct fact_generation *generation,
                    const struct buf *record, struct err *err)
{
    if (token_check (catalogue, run, generation, err) != 0)
        return -1;
    int row = published_before (catalogue, generation, record, err);
    if (row != SQLITE_DONE)
        return row == SQLITE_ROW ? 0 : -1;
    return insert_generation (catalogue, run, generation, record, err);
}

int catalogue_publish (struct catalogue *catalogue, struct text run, const struct fact_generation *generation,
                       struct err *err)
{
    struct buf record;
    int rc = -1;
    assert (generation->token > 0 && generation->token <= INT64_MAX);
    buf_init (&record, RECORD_MAX_BYTES);
    wire_put_record (&record, fact_body (FACT_GENERATION_PUBLISHED), generation);
    if (record.overflow)
        err_set (err, ERR_LIMIT, "generation %" PRIu64 " has a record of more than %d bytes", generation->token,
                 RECORD_MAX_BYTES);
    else if (begin (catalogue, err) == 0)
        rc = finish (catalogue, publish (catalogue, run, generation, &record, err), err);
    buf_release (&record);
    return rc;
}
