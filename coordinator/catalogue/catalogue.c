/* catalogue.c - opens the catalogue, and has the shared parts of its queries. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/path.h"
#include "common/cache/audit.h"
#include "common/cache/storage.h"
#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "common/io/fd.h"
#include "coordinator/catalogue/catalogue.h"
#include "coordinator/catalogue/catalogue_private.h"
#include "coordinator/journal/journal.h"
#include "coordinator/journal/run_dir.h"

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

const struct enum_names generation_state_names = NAMED ("none", "granted", "published", "abandoned", "dropped",
                                                        "removing");

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

/* ---- everything that is in it, for people ---- */

enum { TOKENS_MAX = 1000000, USERS_MAX = 100000 };

static int bad (const struct catalogue *catalogue, uint64_t token, const char *what, struct err *err)
{
    return err_set (err, ERR_DAMAGE, "%s/catalogue.db is damaged at token %" PRIu64 ": %s", catalogue->root, token,
                    what);
}

static bool plain (struct text text, uint32_t max)
{
    return text.len <= max && text_is_utf8 (text) && !(text.len && memchr (text.ptr, 0, text.len));
}

static int check_count (const struct catalogue *catalogue, uint64_t found, uint32_t max, struct err *err)
{
    if (found <= max)
        return 0;
    return err_set (err, ERR_LIMIT,
                    "%s/catalogue.db has %" PRIu64 " generations, or runs that use one generation, more than the limit "
                    "of %u: use another cache root",
                    catalogue->root, found, max);
}

static int read_user (const struct catalogue *catalogue, sqlite3_stmt *row, uint64_t token, struct arena *arena,
                      struct generation_user *out, struct err *err)
{
    *out = (struct generation_user){ .run = database_text (row, 0, arena),
                                     .home = database_text (row, 1, arena),
                                     .machine = database_text (row, 2, arena) };
    if (plain (out->run, NAME_MAX_BYTES) && plain (out->home, PATH_MAX_BYTES) && plain (out->machine, NAME_MAX_BYTES))
        return 0;
    return bad (catalogue, token, "the run that uses it is not recorded as valid text", err);
}

static int read_users (const struct catalogue *catalogue, struct arena *arena, struct catalogue_entry *entry,
                       struct err *err)
{
    uint64_t n;
    int rc = 0;
    if (database_numbers (catalogue->db, "count the rows of the catalogue", &n, 1, err,
                          "SELECT count (*) FROM user WHERE token = ?1", "i", entry->token) < 0 ||
        check_count (catalogue, n, USERS_MAX, err) < 0)
        return -1;
    if (n == 0)
        return 0;
    LOCAL_STATEMENT rows = database_ask (
        catalogue->db, err, "SELECT run, home, machine FROM user WHERE token = ?1 ORDER BY run", "i", entry->token);
    if (!rows)
        return -1;
    entry->users.items = arena_array (arena, n, sizeof *entry->users.items);
    while (rc == 0 && entry->users.n < n &&
           (rc = database_step (catalogue->db, rows, "list the runs that use a generation", err)) == SQLITE_ROW)
        rc = read_user (catalogue, rows, entry->token, arena, &entry->users.items[entry->users.n++], err);
    return rc < 0 ? -1 : 0;
}

static int read_entry (const struct catalogue *catalogue, sqlite3_stmt *row, struct arena *arena,
                       struct catalogue_entry *out, struct err *err)
{
    int state = sqlite3_column_int (row, 3);
    *out = (struct catalogue_entry){ .token = (uint64_t) sqlite3_column_int64 (row, 0),
                                     .bundle = database_text (row, 1, arena),
                                     .run = database_text (row, 2, arena),
                                     .wall_ms = (uint64_t) sqlite3_column_int64 (row, 4),
                                     .why = database_text (row, 5, arena),
                                     .leased = sqlite3_column_int (row, 8) };
    if (state <= GENERATION_NONE || state > GENERATION_REMOVING || state == GENERATION_PUBLISHED)
        return bad (catalogue, out->token, "this sliceup does not know its state", err);
    if (catalogue_family_name_check (out->bundle, NULL) != 0 || !text_is_utf8 (out->bundle) ||
        !plain (out->run, 2 * RUN_ID_BYTES) || !plain (out->why, SENTENCE_MAX_BYTES))
        return bad (catalogue, out->token, "its cache family, run or reason is not valid text", err);
    out->state = (enum generation_state) state;
    if (sqlite3_column_type (row, 6) == SQLITE_NULL)
        return 0;
    if (state == GENERATION_GRANTED || state == GENERATION_ABANDONED)
        out->state = GENERATION_PUBLISHED;
    return catalogue_decode_generation (catalogue, row, 6, 7, out->token, out->bundle, &out->published, arena, err);
}

static const char everything[] =
    "SELECT t.token, t.bundle, t.run, t.state, t.wall_ms, t.why, g.record, g.run, l.token IS NOT NULL"
    " FROM token t LEFT JOIN generation g ON g.token = t.token"
    " LEFT JOIN lease l ON l.bundle = t.bundle AND l.token = t.token AND l.run = t.run"
    " WHERE ?1 = '' OR t.bundle = ?1 ORDER BY t.bundle, t.token";

static int catalogue_list_list (const struct catalogue *catalogue, struct text bundle, struct arena *arena,
                                struct catalogue_list *out, struct err *err)
{
    uint64_t n;
    int rc = 0;
    if (database_numbers (catalogue->db, "count the rows of the catalogue", &n, 1, err,
                          "SELECT count (*) FROM token WHERE ?1 = '' OR bundle = ?1", "t", bundle) < 0 ||
        check_count (catalogue, n, TOKENS_MAX, err) < 0)
        return -1;
    LOCAL_STATEMENT rows = database_ask (catalogue->db, err, everything, "t", bundle);
    if (!rows)
        return -1;
    *out = (struct catalogue_list){ .items = arena_array (arena, n, sizeof *out->items) };
    while (rc == 0 && out->n < n &&
           (rc = database_step (catalogue->db, rows, "list the generations", err)) == SQLITE_ROW)
        rc = read_entry (catalogue, rows, arena, &out->items[out->n++], err);
    for (uint32_t i = 0; rc >= 0 && i < out->n; i++)
        rc = read_users (catalogue, arena, &out->items[i], err);
    return rc < 0 ? -1 : 0;
}

int catalogue_list (struct catalogue *catalogue, struct text bundle, struct arena *arena, struct catalogue_list *out,
                    struct err *err)
{
    struct catalogue_list found = { 0 };
    /* One transaction, so that the list is of one moment. */
    if (database_run (catalogue->db, "BEGIN", "read the catalogue of caches", err) != 0)
        return -1;
    if (catalogue_end_transaction (catalogue, catalogue_list_list (catalogue, bundle, arena, &found, err), err) != 0)
        return -1;
    *out = found;
    return 0;
}

int catalogue_generation_state (struct catalogue *catalogue, uint64_t token, enum generation_state *state,
                                struct err *err)
{
    uint64_t found[2]; /* state, whether it was published */
    if (database_numbers (catalogue->db, "look up a token", found, 2, err,
                          "SELECT t.state, g.token IS NOT NULL FROM token t LEFT JOIN generation g ON "
                          "g.token = t.token WHERE t.token = ?1",
                          "i", token) < 0)
        return -1;
    if (found[0] > GENERATION_REMOVING)
        return bad (catalogue, token, "this sliceup does not know its state", err);
    bool kept = found[0] == GENERATION_GRANTED || found[0] == GENERATION_ABANDONED;
    *state = kept && found[1] ? GENERATION_PUBLISHED : (enum generation_state) found[0];
    return 0;
}

/* ---- removing ---- */

#define REMOVING ".removing-gen-"

/* ---- removing ---- */

static int collect_path_of (const char *root, struct text bundle, const char *name, uint64_t token, char out[PATH_MAX],
                            struct err *err)
{
    int len = snprintf (out, PATH_MAX, "%s/%.*s/%s%" PRIu64, root, TEXT_ARG (bundle), name, token);
    if (len > 0 && len < PATH_MAX)
        return 0;
    return err_set (err, ERR_LIMIT, "the path of generation %" PRIu64 " is longer than %d bytes", token, PATH_MAX);
}

static int hide (const char *from, const char *to, struct err *err)
{
    char parent[PATH_MAX];
    if (folder_remove (to, err) != 0) /* left by an import that was undone twice */
        return -1;
    if (rename (from, to) != 0 && errno != ENOENT) /* ENOENT: it was never made, or was hidden before */
        return err_errno (err, ERR_IO, "cannot rename %s in order to remove it", from);
    struct stat st;
    return lstat (path_folder_c (to, parent), &st) != 0 && errno == ENOENT ? 0 : folder_sync (parent, err);
}

int collect_count_bytes (const char *root, struct text bundle, uint64_t token, struct collect_result *out,
                         struct err *err)
{
    LOCAL_ARENA arena = { 0 };
    struct generation_stat *stored = NULL;
    uint32_t n = 0;
    *out = (struct collect_result){ 0 };
    int rc = audit_list_generations (text_format (&arena, "%s/%.*s", root, TEXT_ARG (bundle)), &arena, &stored, &n,
                                     err);
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        if (stored[i].token == token)
            *out = (struct collect_result){ .bytes = stored[i].bytes, .entries = stored[i].entries };
    return rc;
}

int collect_generation (struct catalogue *catalogue, const char *root, struct text bundle, uint64_t token,
                        const struct text *over, uint32_t over_n, struct collect_result *freed, struct err *err)
{
    char there[PATH_MAX], hidden[PATH_MAX];
    if (collect_path_of (root, bundle, "gen-", token, there, err) != 0 ||
        collect_path_of (root, bundle, REMOVING, token, hidden, err) != 0 ||
        catalogue_begin_removal (catalogue, token, over, over_n, err) != 0)
        return -1;
    (void) collect_count_bytes (root, bundle, token, freed, NULL); /* removed even if it cannot be measured */
    if (hide (there, hidden, err) != 0 || catalogue_finish_removal (catalogue, token, err) != 0)
        return -1;
    return folder_remove (hidden, err);
}

/* ---- what was left ---- */

static int remove_left (const char *folder, const char *name, uint32_t *removed, struct err *err)
{
    char path[PATH_MAX];
    uint64_t token;
    size_t prefix = sizeof REMOVING - 1;
    if (strncmp (name, REMOVING, prefix) != 0 || !text_to_u64 (text_of (name + prefix), &token))
        return 0;
    if (snprintf (path, sizeof path, "%s/%s", folder, name) >= (int) sizeof path)
        return err_set (err, ERR_LIMIT, "the path of %s is longer than %d bytes", name, PATH_MAX);
    if (folder_remove (path, err) != 0)
        return -1;
    ++*removed;
    return 0;
}

int collect_leftovers (const char *root, struct text bundle, uint32_t *removed, struct err *err)
{
    char folder[PATH_MAX];
    int rc = 0;
    *removed = 0;
    if (snprintf (folder, sizeof folder, "%s/%.*s", root, TEXT_ARG (bundle)) >= (int) sizeof folder)
        return err_set (err, ERR_LIMIT, "the path of cache family %.*s is longer than %d bytes", TEXT_ARG (bundle),
                        PATH_MAX);
    LOCAL_DIR listed = opendir (folder);
    if (!listed)
        return errno == ENOENT ? 0 : err_errno (err, ERR_IO, "cannot list %s", folder);
    for (struct dirent *entry = readdir (listed); rc == 0 && entry; entry = readdir (listed))
        rc = remove_left (folder, entry->d_name, removed, err);
    return rc;
}

/* ---- who still reads ---- */

static bool here (struct text machine)
{
    char own[256] = "";
    return gethostname (own, sizeof own - 1) == 0 && own[0] && text_is (machine, own);
}

bool collect_user_has_ended (const struct generation_user *user, char why[STANDS_BYTES])
{
    struct run_dir dir;
    struct err err = { 0 };
    bool ended = false;
    int held;
    why[0] = '\0';
    if (!here (user->machine))
        snprintf (why, STANDS_BYTES, "belongs to another machine, %.*s", TEXT_ARG (text_clip (user->machine, 64)));
    else if (!run_dir_name (&dir, user->home, user->run))
        snprintf (why, STANDS_BYTES, "has no valid run id or home in the catalogue");
    else if ((held = journal_is_locked (RUN_PATH (&dir, "journal.db"), NULL, &err)) > 0)
        snprintf (why, STANDS_BYTES, "still runs");
    else if (held < 0 || run_facts_read_end (&dir, &ended, &err) != 0)
        snprintf (why, STANDS_BYTES, "cannot be read: %.180s", err.text);
    else if (!ended)
        snprintf (why, STANDS_BYTES, "was interrupted and may be resumed");
    return why[0] == '\0';
}
