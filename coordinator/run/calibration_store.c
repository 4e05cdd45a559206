#include "coordinator/run/calibration_store.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "coordinator/journal/database.h"
#include "coordinator/journal/run_dir.h"

enum { BUSY_MS = 10000, FORMAT = 1 };

#define COLUMN_NAMES                                                                                                   \
    "signature, shape, rung, slice, run, pins, pass, outcome, layer, failure, cause, bad, hosts, predicted_bytes, "    \
    "device_peak_bytes, host_peak_bytes, start_ms, duration_ms, wall_ms"

static const char schema[] =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE IF NOT EXISTS measure (signature TEXT NOT NULL, shape TEXT NOT NULL, rung TEXT NOT NULL, slice TEXT "
    "NOT NULL,"
    " run TEXT NOT NULL, pins TEXT NOT NULL, pass TEXT NOT NULL, outcome TEXT NOT NULL, layer TEXT NOT NULL, failure "
    "TEXT NOT NULL,"
    " cause TEXT NOT NULL, bad INTEGER NOT NULL, hosts INTEGER NOT NULL, predicted_bytes INTEGER NOT NULL,"
    " device_peak_bytes INTEGER NOT NULL, host_peak_bytes INTEGER NOT NULL, start_ms INTEGER NOT NULL, duration_ms "
    "INTEGER NOT NULL,"
    " wall_ms INTEGER NOT NULL, PRIMARY KEY (run, rung, pass, wall_ms)) STRICT, WITHOUT ROWID;"
    "CREATE INDEX IF NOT EXISTS measure_by_signature ON measure (signature, wall_ms);"
    "PRAGMA user_version = 1;"
    "COMMIT";

static const char *path_in (const char *home, char path[RUN_PATH_BYTES])
{
    snprintf (path, RUN_PATH_BYTES, "%s/calibration.db", home);
    return path;
}

static int format_of (sqlite3 *db, int *format, struct err *err)
{
    sqlite3_stmt *row = database_prepare (db, "PRAGMA user_version", err);
    if (!row)
        return -1;
    int rc = sqlite3_step (row);
    *format = rc == SQLITE_ROW ? sqlite3_column_int (row, 0) : 0;
    sqlite3_finalize (row); /* its error is handled here */
    return rc == SQLITE_ROW ? 0 : database_fail (db, "read the format", err);
}

/* A process killed before it made the tables leaves an empty file; the next writer makes them. */
static int calibration_store_prepare (sqlite3 *db, enum database_use use, const char *path, bool *empty,
                                      struct err *err)
{
    int format;
    if (format_of (db, &format, err) < 0)
        return -1;
    *empty = format == 0;
    if (format == 0 && use == DATABASE_WRITE)
        return database_run (db, schema, "make the tables", err);
    if (format != FORMAT && format != 0)
        return err_set (err, ERR_STATE,
                        "%s has format %d, expected %d: another version wrote it; move it away to start a new one",
                        path, format, FORMAT);
    return 0;
}

static sqlite3 *open_it (const char *home, enum database_use use, bool *empty, struct err *err)
{
    char path[RUN_PATH_BYTES];
    if (use == DATABASE_WRITE && access (path_in (home, path), F_OK) != 0 && errno == ENOENT &&
        database_file_create (path, err) < 0 && access (path, F_OK) != 0)
        return NULL; /* two runs may make it at once: then it is there */
    if (database_file_check (path_in (home, path), use, err) < 0)
        return NULL;
    sqlite3 *db = database_open (path, use, BUSY_MS, err);
    if (db && calibration_store_prepare (db, use, path, empty, err) == 0)
        return db;
    database_close (db);
    return NULL;
}

static void bind_text (sqlite3_stmt *row, int at, struct text text)
{
    (void) sqlite3_bind_text (row, at, text.len ? text.ptr : "", (int) text.len,
                              SQLITE_STATIC); /* a failure shows at the step */
}

static void bind_number (sqlite3_stmt *row, int at, uint64_t number)
{
    (void) sqlite3_bind_int64 (row, at, (sqlite3_int64) (number <= INT64_MAX ? number : INT64_MAX));
}

static int calibration_store_add_one (sqlite3 *db, sqlite3_stmt *row, const struct measure *measure, struct err *err)
{
    const struct text texts[] = { measure->signature,
                                  measure->shape,
                                  measure->rung,
                                  measure->slice,
                                  measure->run,
                                  measure->pins,
                                  text_of (enum_name_of (&pass_names, measure->pass)),
                                  text_of (enum_name_of (&outcome_names, measure->outcome)),
                                  text_of (enum_name_of (&owner_names, measure->owner)),
                                  measure->failure,
                                  measure->cause };
    const uint64_t numbers[] = { measure->bad,
                                 measure->hosts,
                                 measure->predicted_bytes,
                                 measure->device_peak_bytes,
                                 measure->host_peak_bytes,
                                 measure->start_ms,
                                 measure->duration_ms,
                                 measure->wall_ms };
    int at = 1;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        bind_text (row, at++, texts[i]);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        bind_number (row, at++, numbers[i]);
    int rc = sqlite3_step (row) == SQLITE_DONE ? 0 : database_fail (db, "write a measure", err);
    (void) sqlite3_reset (row); /* repeats the step's error */
    return rc;
}

static int forget_old (sqlite3 *db, struct text signature, struct err *err)
{
    sqlite3_stmt *row = database_prepare (
        db,
        "DELETE FROM measure WHERE signature = ?1 AND wall_ms < (SELECT wall_ms FROM measure"
        " WHERE signature = ?1 ORDER BY wall_ms DESC LIMIT 1 OFFSET ?2)",
        err);
    if (!row)
        return -1;
    bind_text (row, 1, signature);
    bind_number (row, 2, CALIBRATION_KEPT - 1);
    int rc = sqlite3_step (row) == SQLITE_DONE ? 0 : database_fail (db, "forget old measures", err);
    sqlite3_finalize (row); /* repeats the step's error */
    return rc;
}

static int calibration_store_add_all (sqlite3 *db, const struct measure_list *measures, struct err *err)
{
    sqlite3_stmt *row = database_prepare (db,
                                          "INSERT OR IGNORE INTO measure (" COLUMN_NAMES ") VALUES"
                                          " (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19)",
                                          err);
    int rc = row ? 0 : -1;
    for (uint32_t i = 0; i < measures->n && rc == 0; i++)
        rc = calibration_store_add_one (db, row, &measures->items[i], err);
    sqlite3_finalize (row); /* repeats the step's error */
    for (uint32_t i = 0; i < measures->n && rc == 0; i++)
        rc = forget_old (db, measures->items[i].signature, err);
    return rc;
}

int calibration_add (const char *home, const struct measure_list *measures, struct err *err)
{
    if (measures->n == 0)
        return 0;
    bool empty;
    sqlite3 *db = open_it (home, DATABASE_WRITE, &empty, err);
    if (!db)
        return -1;
    int rc = database_run (db, "BEGIN IMMEDIATE", "begin a transaction", err);
    if (rc == 0 && (rc = calibration_store_add_all (db, measures, err)) == 0)
        rc = database_run (db, "COMMIT", "keep the measures", err);
    database_close (db); /* what was not committed is undone */
    return rc;
}

static struct text calibration_store_read_text (sqlite3_stmt *row, int at, struct arena *arena)
{
    struct text text = { (const char *) sqlite3_column_text (row, at), (uint32_t) sqlite3_column_bytes (row, at) };
    return text.len > SENTENCE_MAX_BYTES || !text_is_utf8 (text) ? TEXT_LIT ("(not readable)")
                                                                 : text_copy (arena, text);
}

static uint32_t calibration_store_read_word (sqlite3_stmt *row, int at, const struct enum_names *names,
                                             struct arena *arena)
{
    uint32_t word = 0;
    return enum_value_of (names, calibration_store_read_text (row, at, arena), &word) ? word : 0;
}

static uint64_t calibration_store_read_number (sqlite3_stmt *row, int at)
{
    sqlite3_int64 number = sqlite3_column_int64 (row, at);
    return number > 0 ? (uint64_t) number : 0;
}

static void calibration_store_read_one (sqlite3_stmt *row, struct arena *arena, struct measure *out)
{
    *out = (struct measure){ .signature = calibration_store_read_text (row, 0, arena),
                             .shape = calibration_store_read_text (row, 1, arena),
                             .rung = calibration_store_read_text (row, 2, arena),
                             .slice = calibration_store_read_text (row, 3, arena),
                             .run = calibration_store_read_text (row, 4, arena),
                             .pins = calibration_store_read_text (row, 5, arena),
                             .pass = (enum pass) calibration_store_read_word (row, 6, &pass_names, arena),
                             .outcome = (enum outcome) calibration_store_read_word (row, 7, &outcome_names, arena),
                             .owner = (enum owner) calibration_store_read_word (row, 8, &owner_names, arena),
                             .failure = calibration_store_read_text (row, 9, arena),
                             .cause = calibration_store_read_text (row, 10, arena),
                             .bad = calibration_store_read_number (row, 11) != 0,
                             .hosts = (uint32_t) calibration_store_read_number (row, 12),
                             .predicted_bytes = calibration_store_read_number (row, 13),
                             .device_peak_bytes = calibration_store_read_number (row, 14),
                             .host_peak_bytes = calibration_store_read_number (row, 15),
                             .start_ms = calibration_store_read_number (row, 16),
                             .duration_ms = calibration_store_read_number (row, 17),
                             .wall_ms = calibration_store_read_number (row, 18) };
}

static int calibration_store_read_all (sqlite3 *db, struct text signature, struct arena *arena,
                                       struct measure_list *out, struct err *err)
{
    sqlite3_stmt *row = database_prepare (db,
                                          "SELECT " COLUMN_NAMES " FROM measure WHERE ?1 = '' OR signature = ?1"
                                          " ORDER BY wall_ms DESC, rung, pass LIMIT ?2",
                                          err);
    int rc = SQLITE_DONE;
    uint32_t room = 0;
    if (!row)
        return -1;
    bind_text (row, 1, signature);
    bind_number (row, 2, CALIBRATION_READ_MAX);
    while ((rc = sqlite3_step (row)) == SQLITE_ROW) {
        if (out->n == room) { /* doubled: at most twice the items */
            struct measure *items = arena_array (arena, room = room ? 2 * room : 64, sizeof *items);
            for (uint32_t i = 0; i < out->n; i++)
                items[i] = out->items[i];
            out->items = items;
        }
        calibration_store_read_one (row, arena, &out->items[out->n++]);
    }
    int failed = rc == SQLITE_DONE ? 0 : database_fail (db, "read the measures", err);
    sqlite3_finalize (row); /* repeats the step's error */
    return failed;
}

static bool was_never_made (const char *home)
{
    char path[RUN_PATH_BYTES];
    return access (path_in (home, path), F_OK) != 0 && errno == ENOENT;
}

int calibration_read (const char *home, struct text signature, struct arena *arena, struct measure_list *out,
                      struct err *err)
{
    *out = (struct measure_list){ 0 };
    if (was_never_made (home))
        return 0;
    bool empty;
    sqlite3 *db = open_it (home, DATABASE_READ, &empty, err);
    if (!db)
        return -1;
    int rc = empty ? 0 : calibration_store_read_all (db, signature, arena, out, err);
    database_close (db);
    return rc;
}

int calibration_forget (const char *home, struct text signature, uint32_t *forgotten, struct err *err)
{
    *forgotten = 0;
    if (was_never_made (home))
        return 0;
    bool empty;
    sqlite3 *db = open_it (home, DATABASE_WRITE, &empty, err);
    sqlite3_stmt *row = db ? database_prepare (db, "DELETE FROM measure WHERE signature = ?1", err) : NULL;
    int rc = -1;
    if (row) {
        bind_text (row, 1, signature);
        rc = sqlite3_step (row) == SQLITE_DONE ? 0 : database_fail (db, "forget a launch", err);
        *forgotten = rc == 0 ? (uint32_t) sqlite3_changes (db) : 0;
        sqlite3_finalize (row); /* repeats the step's error */
    }
    database_close (db);
    return rc;
}
