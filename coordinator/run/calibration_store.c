#include "coordinator/run/calibration_store.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "common/wire/wire.h"
#include "coordinator/journal/database.h"
#include "coordinator/journal/run_dir.h"

enum { BUSY_MS = 10000, FORMAT = 3, FORMAT_OF_MEASURES = 2 };

static const char schema[] =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE IF NOT EXISTS measure (signature TEXT NOT NULL, run TEXT NOT NULL, rung TEXT NOT NULL,"
    " pass INTEGER NOT NULL, wall_ms INTEGER NOT NULL, record BLOB NOT NULL,"
    " PRIMARY KEY (run, rung, pass, wall_ms)) STRICT, WITHOUT ROWID;"
    "CREATE INDEX IF NOT EXISTS measure_by_signature ON measure (signature, wall_ms);"
    "CREATE TABLE IF NOT EXISTS run_hosts (run TEXT PRIMARY KEY, number INTEGER NOT NULL, record BLOB NOT NULL)"
    " STRICT, WITHOUT ROWID;"
    "PRAGMA user_version = 3;"
    "COMMIT";

static const char *path_in (const char *home, char path[RUN_PATH_BYTES])
{
    snprintf (path, RUN_PATH_BYTES, "%s/calibration.db", home);
    return path;
}

/* A process killed before it made the tables leaves an empty file (format 0); the next writer makes what is missing. */
static int calibration_store_prepare (sqlite3 *db, enum database_use use, const char *path, int *format,
                                      struct err *err)
{
    if (database_format (db, format, err) < 0)
        return -1;
    if (*format != FORMAT && *format != FORMAT_OF_MEASURES && *format != 0)
        return err_set (err, ERR_STATE,
                        "%s has format %d, expected %d: another version wrote it; move it away to start a new one",
                        path, *format, FORMAT);
    return *format < FORMAT && use == DATABASE_WRITE ? database_run (db, schema, "make the tables", err) : 0;
}

static sqlite3 *open_it (const char *home, enum database_use use, int *format, struct err *err)
{
    char path[RUN_PATH_BYTES];
    if (use == DATABASE_WRITE && access (path_in (home, path), F_OK) != 0 && errno == ENOENT &&
        database_file_create (path, err) < 0 && access (path, F_OK) != 0)
        return NULL; /* two runs may make it at once: then it is there */
    if (database_file_check (path_in (home, path), use, err) < 0)
        return NULL;
    sqlite3 *db = database_open (path, use, BUSY_MS, err);
    if (db && calibration_store_prepare (db, use, path, format, err) == 0)
        return db;
    database_close (db);
    return NULL;
}

/* Texts that are too long are cut, since the reader refuses them. */
static int calibration_store_add_one (sqlite3 *db, struct measure measure, struct err *err)
{
    (void) record_fit (&measure_record, &measure);
    LOCAL_BUF bytes = { .max = MEASURE_MAX_BYTES };
    wire_put_record (&bytes, &measure_record, &measure);
    return database_change (db, "write a measure", NULL, err,
                            "INSERT OR IGNORE INTO measure (signature, run, rung, pass, wall_ms, record)"
                            " VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                            "tttiib", measure.signature, measure.run, measure.rung, (uint64_t) measure.pass,
                            measure.ended_wall_ms, buf_as_text (&bytes));
}

static int calibration_store_add_all (sqlite3 *db, const struct measure_list *measures, struct err *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < measures->n && rc == 0; i++)
        rc = calibration_store_add_one (db, measures->items[i], err);
    for (uint32_t i = 0; i < measures->n && rc == 0; i++)
        rc = database_change (db, "forget old measures", NULL, err,
                              "DELETE FROM measure WHERE signature = ?1 AND wall_ms < (SELECT wall_ms FROM measure"
                              " WHERE signature = ?1 ORDER BY wall_ms DESC LIMIT 1 OFFSET ?2)",
                              "ti", measures->items[i].signature, (uint64_t) CALIBRATION_KEPT - 1);
    return rc;
}

int calibration_add (const char *home, const struct measure_list *measures, struct err *err)
{
    if (measures->n == 0)
        return 0;
    int format;
    sqlite3 *db = open_it (home, DATABASE_WRITE, &format, err);
    if (!db)
        return -1;
    int rc = database_run (db, "BEGIN IMMEDIATE", "begin a transaction", err);
    if (rc == 0 && (rc = calibration_store_add_all (db, measures, err)) == 0)
        rc = database_run (db, "COMMIT", "keep the measures", err);
    database_close (db); /* what was not committed is undone */
    return rc;
}

static int calibration_store_read_all (sqlite3 *db, struct text signature, struct arena *arena,
                                       struct measure_list *out, struct err *err)
{
    LOCAL_STATEMENT row = database_ask (db, err,
                                        "SELECT record FROM measure WHERE ?1 = '' OR signature = ?1"
                                        " ORDER BY wall_ms DESC, rung, pass LIMIT ?2",
                                        "ti", signature, (uint64_t) CALIBRATION_READ_MAX);
    int rc = row ? 0 : -1;
    LOCAL_MEM struct measure *items = NULL;
    uint32_t capacity = 0;
    while (rc == 0 && (rc = database_step (db, row, "read the measures", err)) == SQLITE_ROW) {
        items = mem_room (items, out->n, &capacity, 64, sizeof *items);
        rc = wire_get_record (database_text (row, 0, arena), &measure_record, &items[out->n++], arena, err);
        if (rc < 0)
            err_set (err, ERR_DAMAGE, "%s holds a measure that cannot be read: move it away to start a new one",
                     sqlite3_db_filename (db, "main"));
    }
    out->items = arena_copy (arena, items, out->n * sizeof *items);
    return rc == SQLITE_DONE ? 0 : -1;
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
    int format;
    sqlite3 *db = open_it (home, DATABASE_READ, &format, err);
    if (!db)
        return -1;
    int rc = !format ? 0 : calibration_store_read_all (db, signature, arena, out, err);
    database_close (db);
    return rc;
}

int calibration_forget (const char *home, struct text signature, uint32_t *forgotten, struct err *err)
{
    int changed = 0, format;
    *forgotten = 0;
    if (was_never_made (home))
        return 0;
    sqlite3 *db = open_it (home, DATABASE_WRITE, &format, err);
    int rc = db ? database_change (db, "forget a launch", &changed, err, "DELETE FROM measure WHERE signature = ?1",
                                   "t", signature)
                : -1;
    *forgotten = rc == 0 ? (uint32_t) changed : 0;
    database_close (db);
    return rc;
}

/* ---- hosts of runs ---- */

int calibration_add_hosts (const char *home, const struct run_hosts *hosts, struct err *err)
{
    int format;
    LOCAL_BUF bytes = { .max = RUN_HOSTS_MAX_BYTES };
    wire_put_record (&bytes, &run_hosts_record, hosts);
    if (bytes.overflow || !record_check (&run_hosts_record, hosts, NULL))
        return err_set (err, ERR_LIMIT, "what is to be remembered of its hosts takes more than %d bytes",
                        RUN_HOSTS_MAX_BYTES);
    sqlite3 *db = open_it (home, DATABASE_WRITE, &format, err);
    int rc = db ? database_change (db, "remember the hosts of a run", NULL, err,
                                   "INSERT OR REPLACE INTO run_hosts (run, number, record) VALUES (?1, coalesce ("
                                   "(SELECT number FROM run_hosts WHERE run = ?1),"
                                   " (SELECT max (number) + 1 FROM run_hosts), 1), ?2)",
                                   "tb", hosts->run, buf_as_text (&bytes))
                : -1;
    if (rc == 0) /* in the order in which they ended here: a wall clock may be wrong */
        rc = database_change (db, "forget the hosts of old runs", NULL, err,
                              "DELETE FROM run_hosts WHERE number <= (SELECT max (number) FROM run_hosts) - ?1", "i",
                              (uint64_t) RUNS_OF_HOSTS_KEPT);
    database_close (db);
    return rc;
}

static int read_all_hosts (sqlite3 *db, struct arena *arena, struct run_hosts_list *out, struct err *err)
{
    LOCAL_STATEMENT row = database_ask (db, err, "SELECT record FROM run_hosts ORDER BY number DESC LIMIT ?1", "i",
                                        (uint64_t) RUNS_OF_HOSTS_KEPT);
    int rc = row ? 0 : -1;
    out->items = arena_array (arena, RUNS_OF_HOSTS_KEPT, sizeof *out->items);
    while (rc == 0 && (rc = database_step (db, row, "read the hosts of runs", err)) == SQLITE_ROW) {
        rc = wire_get_record (database_text (row, 0, arena), &run_hosts_record, &out->items[out->n++], arena, err);
        if (rc < 0)
            err_set (err, ERR_DAMAGE, "%s holds a run whose hosts cannot be read: move it away to start a new one",
                     sqlite3_db_filename (db, "main"));
    }
    return rc == SQLITE_DONE ? 0 : -1;
}

int calibration_read_hosts (const char *home, struct arena *arena, struct run_hosts_list *out, struct err *err)
{
    *out = (struct run_hosts_list){ 0 };
    if (was_never_made (home))
        return 0;
    int format;
    sqlite3 *db = open_it (home, DATABASE_READ, &format, err);
    if (!db)
        return -1;
    int rc = format < FORMAT ? 0 : read_all_hosts (db, arena, out, err);
    database_close (db);
    return rc;
}
