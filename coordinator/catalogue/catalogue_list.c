/* catalogue_list.c - everything the catalogue knows, for people. */
#include <inttypes.h>
#include <string.h>

#include "coordinator/catalogue/catalogue_private.h"
#include "coordinator/verdict/majority.h"

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
    sqlite3_stmt *rows = database_ask (
        catalogue->db, err, "SELECT run, home, machine FROM user WHERE token = ?1 ORDER BY run", "i", entry->token);
    if (!rows)
        return -1;
    entry->users.items = arena_array (arena, n, sizeof *entry->users.items);
    while (rc == 0 && entry->users.n < n &&
           (rc = database_step (catalogue->db, rows, "list the runs that use a generation", err)) == SQLITE_ROW)
        rc = read_user (catalogue, rows, entry->token, arena, &entry->users.items[entry->users.n++], err);
    sqlite3_finalize (rows); /* its error is already in `err` */
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
    sqlite3_stmt *rows = database_ask (catalogue->db, err, everything, "t", bundle);
    if (!rows)
        return -1;
    *out = (struct catalogue_list){ .items = arena_array (arena, n, sizeof *out->items) };
    while (rc == 0 && out->n < n &&
           (rc = database_step (catalogue->db, rows, "list the generations", err)) == SQLITE_ROW)
        rc = read_entry (catalogue, rows, arena, &out->items[out->n++], err);
    sqlite3_finalize (rows); /* its error is already in `err` */
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

/* ---- which covers of a bundle's newest generation runs have a use for, and since which generation. A
generation's record does not change; whoever builds upon it lets go of what was unused for longest (majority.h) ---- */

int catalogue_cover_mark_used (const struct catalogue *catalogue, const struct fact_generation *generation,
                               const text_list *used, struct err *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < used->n && rc == 0; i++)
        if (covers_have (&generation->covers, used->items[i]))
            rc = database_change (catalogue->db, "record which rungs use a generation", NULL, err,
                                  "INSERT INTO cover (bundle, cover, used) VALUES (?1, ?2, ?3)"
                                  " ON CONFLICT DO UPDATE SET used = max (used, excluded.used)",
                                  "tti", generation->bundle, used->items[i], generation->token);
    return rc;
}

/* All covers of a bundle with a known use, the longest unused first. */
static int list_used (const struct catalogue *catalogue, struct text bundle, struct arena *arena, text_list *out,
                      struct err *err)
{
    uint32_t capacity = 0;
    int row;
    *out = (text_list){ 0 };
    sqlite3_stmt *rows = database_ask (catalogue->db, err,
                                       "SELECT cover FROM cover WHERE bundle = ?1 ORDER BY used, cover", "t", bundle);
    if (!rows)
        return -1;
    while ((row = database_step (catalogue->db, rows, "list which rungs use a generation", err)) == SQLITE_ROW) {
        if (out->n == capacity)
            out->items = mem_grow (out->items, capacity = 2 * capacity + 64, sizeof *out->items);
        out->items[out->n++] = database_text (rows, 0, arena);
    }
    sqlite3_finalize (rows); /* its error is already in `err` */
    return row == SQLITE_DONE ? 0 : -1;
}

/* Appends the items of `of` that `from` has (`there`), or lacks. */
static void add_where (text_list *to, const text_list *of, const text_list *from, bool there)
{
    for (uint32_t i = 0; i < of->n; i++)
        if (covers_have (from, of->items[i]) == there)
            to->items[to->n++] = of->items[i];
}

int catalogue_cover_sort_by_use (const struct catalogue *catalogue, struct fact_generation *generation,
                                 struct arena *arena, struct err *err)
{
    text_list used;
    int rc = list_used (catalogue, generation->bundle, arena, &used, err);
    if (rc == 0) {
        text_list ordered = { .items = arena_array (arena, (size_t) generation->covers.n + used.n,
                                                    sizeof *ordered.items) };
        add_where (&ordered, &generation->covers, &used, false); /* never used since they were made */
        add_where (&ordered, &used, &generation->covers, true);
        generation->covers = ordered;
    }
    mem_free (used.items);
    return rc;
}

int catalogue_cover_drop_absent (const struct catalogue *catalogue, const struct fact_generation *generation,
                                 struct err *err)
{
    struct arena arena = { 0 };
    text_list used;
    int rc = list_used (catalogue, generation->bundle, &arena, &used, err);
    for (uint32_t i = 0; i < used.n && rc == 0; i++)
        if (!covers_have (&generation->covers, used.items[i]))
            rc = database_change (catalogue->db, "remove the record of rungs that used a generation", NULL, err,
                                  "DELETE FROM cover WHERE bundle = ?1 AND cover = ?2", "tt", generation->bundle,
                                  used.items[i]);
    mem_free (used.items);
    arena_release (&arena);
    return rc;
}
