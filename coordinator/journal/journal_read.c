#include "coordinator/journal/journal_private.h"

#include "common/io/atomic_file.h"
#include "common/wire/wire.h"
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A writer that opens or closes the journal excludes readers briefly. */
enum { READ_BUSY_MS = 5000 };

struct journal_reader {
    char *path;
    char run[JOURNAL_RUN_ID_MAX_BYTES + 1];
    sqlite3 *db;
    sqlite3_stmt *facts, *last;
    uint64_t index;           /* of the last fact verified */
    struct digest chain;      /* its */
    struct buf link;          /* previous chain and bytes, side by side */
    bool marked;              /* its meta table says that it has a mark */
    struct journal_mark mark; /* the mark before the snapshot was taken */
};

struct digest journal_chain_start (const char *run_id_hex)
{
    char start[64 + JOURNAL_RUN_ID_MAX_BYTES];
    int len = snprintf (start, sizeof start, "sliceup journal %d %s", JOURNAL_FORMAT, run_id_hex);
    return digest_of (start, (size_t) len);
}

const char *journal_reader_position (const struct journal_reader *reader, uint64_t *index, struct digest *chain)
{
    *index = reader->index;
    *chain = reader->chain;
    return reader->run;
}

static int damaged (const struct journal_reader *reader, uint64_t index, const char *what, struct err *err)
{
    return err_set (err, ERR_DAMAGE, "journal %s is damaged at fact %" PRIu64 ": %s; " JOURNAL_REMEDY, reader->path,
                    index, what);
}

/* SQLite stops at a page with unknown facts, so the error names the first fact that was not read. */
static int unreadable (const struct journal_reader *reader, uint64_t index, const char *why, struct err *err)
{
    struct journal_mark mark = reader->mark;
    char acknowledged[64] = "";
    if (mark.state == MARK_MISSING) /* or not looked at yet */
        (void) journal_mark_read (reader->path, reader->run[0] ? reader->run : NULL, &mark, NULL);
    if (mark.state == MARK_WHOLE)
        snprintf (acknowledged, sizeof acknowledged, ", but facts up to %" PRIu64 " were acknowledged", mark.index);
    return err_set (err, ERR_DAMAGE,
                    "journal %s is damaged: it cannot be read from fact %" PRIu64 " on%s: %s; " JOURNAL_REMEDY,
                    reader->path, index ? index : 1, acknowledged, why);
}

static bool lacks_shared_memory (const char *path)
{
    char shared[PATH_MAX];
    return access (journal_path_beside (path, "-shm", shared), F_OK) != 0 && errno == ENOENT;
}

/* SQLite's report of damage, with the index reached. */
static int read_failed (const struct journal_reader *reader, uint64_t index, struct err *err)
{
    struct err own = { 0 };
    database_fail (reader->db, "read the journal", &own);
    if (own.code == ERR_DAMAGE)
        return unreadable (reader, index, database_why (reader->db), err);
    if (own.code == ERR_IO && lacks_shared_memory (reader->path) && !database_may_write_beside (reader->path))
        return err_set (err, ERR_IO,
                        "cannot read the journal %s: SQLite needs %s-shm, which does not exist, and user %u may not "
                        "make it there: copy the folder to a place where you may write, and read it there",
                        reader->path, reader->path, (unsigned) geteuid ());
    return err_set (err, own.code, "%s", own.text);
}

/* Checks the valid chain against the acknowledged one of the mark. */
static int verify_marked (const struct journal_reader *reader, uint64_t index, const struct digest *chain,
                          struct err *err)
{
    if (reader->mark.state == MARK_WHOLE && reader->mark.index == index && !digest_equal (&reader->mark.chain, chain))
        return damaged (reader, index, "this fact or an earlier one was changed after it was acknowledged", err);
    return 0;
}

/* Checks the row of `facts`: the next index, a sane size, and the chain. */
static int verify (struct journal_reader *reader, struct digest *chain, struct err *err)
{
    sqlite3_stmt *row = reader->facts;
    uint64_t expected = reader->index + 1, found = (uint64_t) sqlite3_column_int64 (row, 0);
    int len = sqlite3_column_bytes (row, 1);
    if (found != expected)
        return damaged (reader, expected, "this fact is missing", err);
    if (sqlite3_column_type (row, 1) != SQLITE_BLOB || len < 1 || len > JOURNAL_FACT_MAX_BYTES)
        return damaged (reader, found, "its bytes cannot be a fact", err);
    if (sqlite3_column_type (row, 2) != SQLITE_BLOB || sqlite3_column_bytes (row, 2) != sizeof chain->bytes)
        return damaged (reader, found, "its chain digest is not a sha256", err);
    buf_clear (&reader->link);
    buf_add (&reader->link, reader->chain.bytes, sizeof reader->chain.bytes);
    buf_add (&reader->link, sqlite3_column_blob (row, 1), (size_t) len);
    *chain = digest_of (reader->link.ptr, reader->link.len);
    if (memcmp (chain->bytes, sqlite3_column_blob (row, 2), sizeof chain->bytes) != 0)
        return damaged (reader, found, "its bytes and the fact before it do not match its chain digest", err);
    return verify_marked (reader, found, chain, err);
}

static int read_rows (struct journal_reader *reader, uint32_t most, journal_fact_fn *fn, void *owner, bool *more,
                      struct err *err)
{
    int rc = SQLITE_ROW;
    *more = true;
    for (uint32_t n = 0; n < most && (rc = sqlite3_step (reader->facts)) == SQLITE_ROW; n++) {
        struct digest chain;
        if (verify (reader, &chain, err) != 0)
            return -1;
        struct text bytes = { .ptr = sqlite3_column_blob (reader->facts, 1),
                              .len = (uint32_t) sqlite3_column_bytes (reader->facts, 1) };
        if (fn && fn (owner, reader->index + 1, bytes, err) != 0)
            return -1;
        reader->index++;
        reader->chain = chain;
    }
    *more = rc == SQLITE_ROW;
    return rc == SQLITE_DONE || rc == SQLITE_ROW ? 0 : read_failed (reader, reader->index + 1, err);
}

/* A chain does not show a missing end, but the index written in the same transaction does. */
static int verify_end (struct journal_reader *reader, struct err *err)
{
    int rc = sqlite3_step (reader->last);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        return read_failed (reader, reader->index + 1, err);
    uint64_t last = rc == SQLITE_ROW ? (uint64_t) sqlite3_column_int64 (reader->last, 0) : 0;
    if (rc == SQLITE_DONE || sqlite3_column_type (reader->last, 0) != SQLITE_INTEGER || last < reader->index)
        return damaged (reader, reader->index, "the recorded number of the last fact is missing or too small", err);
    return last > reader->index ? damaged (reader, reader->index + 1, "this fact is missing", err) : 0;
}

/* Nothing follows the end of the run, so a journal that holds it is known to be whole without its mark. */
static bool journal_read_is_over (const struct journal_reader *reader)
{
    struct fact fact;
    LOCAL_ARENA arena = { 0 };
    size_t before = sizeof reader->chain.bytes;
    if (reader->link.len <= before)
        return false;
    struct text bytes = { (const char *) reader->link.ptr + before, (uint32_t) (reader->link.len - before) };
    return wire_get_fact (bytes, &fact, &arena, NULL) == 0 && fact.kind == FACT_RUN_ENDED;
}

static int verify_acknowledged (const struct journal_reader *reader, struct err *err)
{
    const struct journal_mark *mark = &reader->mark;
    char what[96];
    if (mark->state == MARK_WHOLE && mark->index > reader->index) {
        snprintf (what, sizeof what, "this fact is missing, but facts up to %" PRIu64 " were acknowledged",
                  mark->index);
        return damaged (reader, reader->index + 1, what, err);
    }
    if (mark->state == MARK_WHOLE || !reader->marked || journal_read_is_over (reader))
        return 0;
    return err_set (
        err, ERR_DAMAGE,
        "journal %s ends at fact %" PRIu64
        ", and it is unknown whether more facts were acknowledged: its mark, %s.mark, is %s; " JOURNAL_REMEDY,
        reader->path, reader->index, reader->path, mark->state == MARK_MISSING ? "missing" : "damaged");
}

static int read_from (struct journal_reader *reader, uint32_t most, journal_fact_fn *fn, void *owner, bool *more,
                      struct err *err)
{
    if (sqlite3_bind_int64 (reader->facts, 1, (sqlite3_int64) reader->index) != SQLITE_OK)
        return read_failed (reader, reader->index + 1, err);
    int rc = verify_marked (reader, reader->index, &reader->chain, err);
    if (rc == 0)
        rc = read_rows (reader, most, fn, owner, more, err);
    if (rc == 0 && !*more)
        rc = verify_end (reader, err);
    if (rc == 0 && !*more)
        rc = verify_acknowledged (reader, err);
    sqlite3_reset (reader->facts); /* their errors are already in `err` */
    sqlite3_reset (reader->last);
    return rc;
}

int journal_reader_read_some (struct journal_reader *reader, uint32_t most, journal_fact_fn *fn, void *owner,
                              bool *more, struct err *err)
{
    *more = false;
    /* Reads the mark first: its fact was durable before, so the snapshot has it, however fast the writer is. */
    if (journal_mark_read (reader->path, reader->run, &reader->mark, err) != 0)
        return -1;
    /* Uses one snapshot, else a commit between the two statements would look like a missing fact. */
    if (database_run (reader->db, "BEGIN", "begin to read", err) != 0)
        return -1;
    int rc = read_from (reader, most, fn, owner, more, err);
    (void) sqlite3_exec (reader->db, "ROLLBACK", NULL, NULL, NULL); /* ends the snapshot, unless an error did already */
    return rc;
}

int journal_reader_read_rest (struct journal_reader *reader, journal_fact_fn *fn, void *owner, struct err *err)
{
    bool more;
    return journal_reader_read_some (reader, UINT32_MAX, fn, owner, &more, err);
}

/* Takes the chain of the row of `at`, if there is one. */
static int take_chain (struct journal_reader *reader, sqlite3_stmt *at, uint64_t index, struct err *err)
{
    int rc = sqlite3_step (at);
    if (rc == SQLITE_DONE)
        return 1;
    if (rc != SQLITE_ROW)
        return read_failed (reader, index, err);
    if (sqlite3_column_type (at, 0) != SQLITE_BLOB || sqlite3_column_bytes (at, 0) != sizeof reader->chain.bytes)
        return damaged (reader, index, "its chain digest is not a sha256", err);
    memcpy (reader->chain.bytes, sqlite3_column_blob (at, 0), sizeof reader->chain.bytes);
    reader->index = index;
    return 0;
}

int journal_reader_seek (struct journal_reader *reader, uint64_t after_index, struct err *err)
{
    if (after_index == 0) {
        reader->index = 0;
        reader->chain = journal_chain_start (reader->run);
        return 0;
    }
    if (after_index > INT64_MAX)
        return 1;
    LOCAL_STATEMENT at = database_prepare (reader->db, "SELECT chain FROM fact WHERE idx = ?1", NULL);
    if (!at || sqlite3_bind_int64 (at, 1, (sqlite3_int64) after_index) != SQLITE_OK)
        return read_failed (reader, after_index, err);
    return take_chain (reader, at, after_index, err);
}

int journal_reader_seek_last (struct journal_reader *reader, struct err *err)
{
    LOCAL_STATEMENT newest = database_prepare (reader->db, "SELECT max (idx) FROM fact", NULL);
    if (!newest || sqlite3_step (newest) != SQLITE_ROW)
        return read_failed (reader, 0, err);
    sqlite3_int64 last = sqlite3_column_int64 (newest, 0);
    return last < 1 ? 1 : journal_reader_seek (reader, (uint64_t) last - 1, err);
}

static bool meta_text (sqlite3_stmt *meta, int column, char *out, size_t out_bytes)
{
    const char *value = (const char *) sqlite3_column_text (meta, column);
    struct text text = { .ptr = value, .len = value ? (uint32_t) sqlite3_column_bytes (meta, column) : 0 };
    return text.len > 0 && text_to_c (text, out, out_bytes);
}

/* Journals of earlier versions have no row `mark`. */
static const char meta_values[] = "SELECT (SELECT value FROM meta WHERE name = 'format'),"
                                  " (SELECT value FROM meta WHERE name = 'run'),"
                                  " EXISTS (SELECT 1 FROM meta WHERE name = 'mark')";

static int meta_check (struct journal_reader *reader, sqlite3_stmt *meta, struct err *err)
{
    char text[24];
    uint64_t format;
    if (sqlite3_step (meta) != SQLITE_ROW)
        return read_failed (reader, 0, err);
    if (!meta_text (meta, 0, text, sizeof text))
        return damaged (reader, 0, "the journal has no format version", err);
    if (!text_to_u64 (text_of (text), &format) || format == 0)
        return err_set (err, ERR_DAMAGE, "journal %s is damaged: its format is not a number; " JOURNAL_REMEDY,
                        reader->path);
    if (format != JOURNAL_FORMAT)
        return err_set (err, ERR_STATE,
                        "journal %s has format %" PRIu64 ", but this sliceup reads format %d: use the "
                        "sliceup that wrote it",
                        reader->path, format, JOURNAL_FORMAT);
    if (!meta_text (meta, 1, reader->run, sizeof reader->run))
        return damaged (reader, 0, "the journal has no run id", err);
    reader->chain = journal_chain_start (reader->run);
    reader->marked = sqlite3_column_int (meta, 2);
    return 0;
}

static sqlite3_stmt *journal_read_prepare (const struct journal_reader *reader, const char *sql, struct err *err)
{
    sqlite3_stmt *statement = database_prepare (reader->db, sql, NULL);
    if (!statement)
        read_failed (reader, 0, err);
    return statement;
}

static int reader_prepare (struct journal_reader *reader, struct err *err)
{
    LOCAL_STATEMENT meta = journal_read_prepare (reader, meta_values, err);
    int rc = meta ? meta_check (reader, meta, err) : -1;
    if (rc != 0)
        return -1;
    reader->facts = journal_read_prepare (reader, "SELECT idx, bytes, chain FROM fact WHERE idx > ?1 ORDER BY idx",
                                          err);
    if (!reader->facts)
        return -1;
    reader->last = journal_read_prepare (reader, "SELECT value FROM meta WHERE name = 'last'", err);
    return reader->last ? 0 : -1;
}

/* A mark precedes its journal: alone, it tells of a lost journal if it names facts. An unreadable one counts, too. */
static bool mark_names_facts (const char *path)
{
    struct journal_mark mark;
    return journal_mark_read (path, NULL, &mark, NULL) != 0 || mark.state == MARK_DAMAGED || mark.index > 0;
}

bool journal_exists (const char *path)
{
    return access (path, F_OK) == 0 || errno != ENOENT || mark_names_facts (path);
}

/* A link to it is fine; anything else in its place means that its facts are lost. */
static int check_log (const char *path, struct err *err)
{
    char name[PATH_MAX];
    struct stat at;
    struct err why = { 0 };
    if (plain_file_check_path (journal_path_beside (path, "-wal", name), &why) >= 0)
        return 0;
    if (why.code != ERR_STATE || lstat (name, &at) != 0 || S_ISLNK (at.st_mode))
        return err_set (err, why.code, "%s", why.text);
    return err_set (err, ERR_DAMAGE, "journal %s is damaged: %s; " JOURNAL_REMEDY, path, why.text);
}

/* Checks the files that SQLite opens with the journal, since its errors do not name them. */
static int check_beside (const char *path, struct err *err)
{
    char name[PATH_MAX];
    struct stat at;
    if (check_log (path, err) < 0 || plain_file_check_path (journal_path_beside (path, "-shm", name), err) < 0)
        return -1;
    int there = plain_file_check_path (journal_path_beside (path, "-journal", name), err);
    if (there > 0 && stat (name, &at) == 0 && at.st_size > 0) /* SQLite passes over an empty one */
        return err_set (err, ERR_STATE,
                        "%s is a rollback file of SQLite, which sliceup never makes for a journal, so another program "
                        "made it; move it elsewhere, and try again",
                        name);
    return there < 0 ? -1 : 0;
}

int journal_file_check (const char *path, enum database_use use, struct err *err)
{
    struct stat st;
    int rc = lstat (path, &st);
    if (rc != 0 && errno == ENOENT && journal_exists (path))
        return err_set (err, ERR_DAMAGE, "journal %s is missing, but its mark, %s.mark, exists; " JOURNAL_REMEDY, path,
                        path);
    if (rc == 0 && S_ISREG (st.st_mode) && st.st_size == 0) /* SQLite would remove the log as a leftover */
        return err_set (err, ERR_DAMAGE, "journal %s is damaged: the file is empty; " JOURNAL_REMEDY, path);
    return database_file_check (path, use, err) != 0 ? -1 : check_beside (path, err);
}

struct journal_reader *journal_reader_open (const char *path, struct err *err)
{
    if (journal_file_check (path, DATABASE_READ, err) != 0)
        return NULL;
    sqlite3 *db = database_open (path, DATABASE_READ, READ_BUSY_MS, err);
    if (!db)
        return NULL;
    struct journal_reader *reader = mem_alloc (sizeof *reader);
    reader->path = mem_text (path);
    reader->db = db;
    buf_init (&reader->link, sizeof reader->chain.bytes + (size_t) JOURNAL_FACT_MAX_BYTES);
    if (reader_prepare (reader, err) == 0)
        return reader;
    journal_reader_close (reader);
    return NULL;
}

void journal_reader_close (struct journal_reader *reader)
{
    if (!reader)
        return;
    sqlite3_finalize (reader->facts); /* its error was already reported */
    sqlite3_finalize (reader->last);
    database_close (reader->db);
    buf_release (&reader->link);
    mem_free (reader->path);
    mem_free (reader);
}

int journal_has_facts (const char *path, bool *any, struct err *err)
{
    *any = false;
    if (!journal_exists (path))
        return 0;
    struct journal_reader *reader = journal_reader_open (path, err);
    int rc = reader ? journal_reader_seek_last (reader, err) : -1;
    *any = rc == 0;
    if (rc > 0) /* the mark says whether there should be any */
        rc = journal_reader_read_rest (reader, NULL, NULL, err);
    journal_reader_close (reader);
    return rc;
}

int journal_read (const char *path, journal_fact_fn *fn, void *owner, struct err *err)
{
    struct journal_reader *reader = journal_reader_open (path, err);
    if (!reader)
        return -1;
    int rc = journal_reader_read_rest (reader, fn, owner, err);
    journal_reader_close (reader);
    return rc;
}
