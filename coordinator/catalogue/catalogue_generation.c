/* catalogue_generation.c - finds, records, quarantines, uses and collects published generations. */
#include "coordinator/catalogue/catalogue_private.h"

#include "common/cache/generation.h"
#include "common/wire/wire.h"
#include "coordinator/verdict/agree.h"
#include <assert.h>
#include <inttypes.h>
#include <string.h>

_Static_assert(GENERATION_BASE_MAX_ENTRIES <= TREE_ENTRIES_MAX / 4,
               "a base and the entries that a cold pass adds must fit in one sealed generation");

/* ---- reading a record ---- */

static int damaged (const struct catalogue *catalogue, uint64_t token, const char *how, struct err *err)
{
    return err_set (err, ERR_DAMAGE, "%s/catalogue.db is damaged at generation %" PRIu64 ": %s", catalogue->root, token,
                    how);
}

int catalogue_decode_generation (const struct catalogue *catalogue, sqlite3_stmt *row, int record, int run,
                                 uint64_t token, struct text bundle, struct fact_generation *out, struct arena *arena,
                                 struct err *err)
{
    struct err own = { 0 };
    const struct record *body = fact_record_of_kind (FACT_GENERATION_PUBLISHED);
    struct fact_generation found = { 0 };
    if (wire_get_record (database_text (row, record, arena), body, &found, arena, &own) != 0)
        return damaged (catalogue, token, own.text, err);
    if (found.token != token || !text_equal (found.bundle, bundle))
        return damaged (catalogue, token, "its record names another generation or cache family", err);
    struct text origin = found.from_run; /* of an imported generation: the run that wrote it, elsewhere */
    found.from_run = database_text (row, run, arena);
    if (origin.len)
        found.from_run = origin;
    if (!record_check (body, &found, NULL) || !run_id_valid (found.from_run))
        return damaged (catalogue, token, "the run in its record is not a run id", err);
    *out = found;
    return 0;
}

/* ---- which covers of a bundle's newest generation runs have a use for, and since which generation ---- */

/* A generation's record does not change; whoever builds upon it lets go of what was unused for longest (agree.h). */

static int cover_mark_used (const struct catalogue *catalogue, const struct fact_generation *generation,
                            const text_list *used, struct err *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < used->n && rc == 0; i++)
        if (text_is_among (used->items[i], generation->covers.items, generation->covers.n))
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
    LOCAL_STATEMENT rows = database_ask (catalogue->db, err,
                                         "SELECT cover FROM cover WHERE bundle = ?1 ORDER BY used, cover", "t", bundle);
    if (!rows)
        return -1;
    while ((row = database_step (catalogue->db, rows, "list which rungs use a generation", err)) == SQLITE_ROW) {
        if (out->n == capacity)
            out->items = mem_grow (out->items, capacity = 2 * capacity + 64, sizeof *out->items);
        out->items[out->n++] = database_text (rows, 0, arena);
    }
    return row == SQLITE_DONE ? 0 : -1;
}

/* Appends the items of `of` that `from` has (`there`), or lacks. */
static void add_where (text_list *to, const text_list *of, const text_list *from, bool there)
{
    for (uint32_t i = 0; i < of->n; i++)
        if (text_is_among (of->items[i], from->items, from->n) == there)
            to->items[to->n++] = of->items[i];
}

static int cover_sort_by_use (const struct catalogue *catalogue, struct fact_generation *generation,
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

static int cover_drop_absent (const struct catalogue *catalogue, const struct fact_generation *generation,
                              struct err *err)
{
    LOCAL_ARENA arena = { 0 };
    text_list used;
    int rc = list_used (catalogue, generation->bundle, &arena, &used, err);
    for (uint32_t i = 0; i < used.n && rc == 0; i++)
        if (!text_is_among (used.items[i], generation->covers.items, generation->covers.n))
            rc = database_change (catalogue->db, "remove the record of rungs that used a generation", NULL, err,
                                  "DELETE FROM cover WHERE bundle = ?1 AND cover = ?2", "tt", generation->bundle,
                                  used.items[i]);
    mem_free (used.items);
    return rc;
}

/* ---- finding ---- */

int catalogue_find_newest (struct catalogue *catalogue, struct text bundle, struct fact_generation *out,
                           struct arena *arena, struct err *err)
{
    /* A record without its token's row is damage, so it must not be skipped. */
    LOCAL_STATEMENT newest = database_ask (
        catalogue->db, err,
        "SELECT g.token, g.record, g.run FROM generation g LEFT JOIN token t ON t.token = g.token"
        " WHERE g.bundle = ?1 AND (t.state IS NULL OR t.state NOT IN (?2, ?3)) ORDER BY g.token DESC LIMIT 1",
        "tii", bundle, (uint64_t) GENERATION_DROPPED, (uint64_t) GENERATION_REMOVING);
    int rc = -1;
    if (!newest)
        return -1;
    int row = database_step (catalogue->db, newest, "find a generation", err);
    if (row == SQLITE_ROW) {
        uint64_t token = (uint64_t) sqlite3_column_int64 (newest, 0);
        rc = catalogue_decode_generation (catalogue, newest, 1, 2, token, bundle, out, arena, err);
        if (rc == 0 && !catalogue->looking)
            rc = cover_sort_by_use (catalogue, out, arena, err);
    } else if (row == SQLITE_DONE) {
        *out = (struct fact_generation){ 0 };
        rc = 0;
    }
    return rc;
}

/* ---- publishing ---- */

/* Only a token granted to this run for this bundle may become a generation. */
static int token_check (const struct catalogue *catalogue, struct text run, const struct fact_generation *generation,
                        struct err *err)
{
    int row = database_numbers (catalogue->db, "look up a token", NULL, 0, err,
                                "SELECT 1 FROM token WHERE token = ?1 AND bundle = ?2 AND run = ?3 AND state <> ?4",
                                "itti", generation->token, generation->bundle, run, (uint64_t) GENERATION_REMOVING);
    if (row == SQLITE_DONE)
        return err_set (err, ERR_REFUSED,
                        "generation %" PRIu64 " cannot be published in %s: this run was not granted this token for "
                        "this cache family, or gc removed the generation",
                        generation->token, catalogue->root);
    return row == SQLITE_ROW ? 0 : -1;
}

/* SQLITE_DONE: not there yet. SQLITE_ROW: there, and the same. */
static int published_before (const struct catalogue *catalogue, const struct fact_generation *generation,
                             struct text record, struct err *err)
{
    LOCAL_STATEMENT before = database_ask (catalogue->db, err, "SELECT record FROM generation WHERE token = ?1", "i",
                                           generation->token);
    if (!before)
        return -1;
    int row = database_step (catalogue->db, before, "look up a generation", err);
    bool same = row == SQLITE_ROW && (uint32_t) sqlite3_column_bytes (before, 0) == record.len &&
                memcmp (sqlite3_column_blob (before, 0), record.ptr, record.len) == 0;
    if (row == SQLITE_ROW && !same)
        return err_set (err, ERR_REFUSED,
                        "the catalogue of %s already has a record of generation %" PRIu64
                        ", and it differs from the one to publish",
                        catalogue->root, generation->token);
    return row;
}

/* A run that lost the lease may still publish what it sealed, since nobody else writes under its token. */
static int catalogue_generation_publish (const struct catalogue *catalogue, struct text run,
                                         const struct fact_generation *generation, struct text record, struct err *err)
{
    if (token_check (catalogue, run, generation, err) != 0)
        return -1;
    int row = published_before (catalogue, generation, record, err);
    if (row < 0)
        return -1;
    if (row == SQLITE_DONE &&
        (database_change (catalogue->db, "publish a generation", NULL, err,
                          "INSERT INTO generation (token, bundle, run, record) VALUES (?1, ?2, ?3, ?4)", "ittb",
                          generation->token, generation->bundle, run, record) != 0 ||
         cover_drop_absent (catalogue, generation, err) != 0))
        return -1;
    return database_change (catalogue->db, "give up a lease", NULL, err,
                            "DELETE FROM lease WHERE token = ?1 AND run = ?2", "it", generation->token, run);
}

int catalogue_publish (struct catalogue *catalogue, struct text run, const struct fact_generation *generation,
                       struct err *err)
{
    int rc = -1;
    assert (generation->token > 0 && generation->token <= INT64_MAX);
    LOCAL_BUF record = { .max = CATALOGUE_RECORD_MAX_BYTES };
    wire_put_record (&record, fact_record_of_kind (FACT_GENERATION_PUBLISHED), generation);
    if (record.overflow)
        err_set (err, ERR_LIMIT, "cannot publish generation %" PRIu64 ": its record would be longer than %d bytes",
                 generation->token, CATALOGUE_RECORD_MAX_BYTES);
    else if (catalogue_begin_transaction (catalogue, err) == 0)
        rc = catalogue_end_transaction (
            catalogue, catalogue_generation_publish (catalogue, run, generation, buf_as_text (&record), err), err);
    return rc;
}

/* Nothing to do for a token that was collected or never granted here, since nobody finds it. */
int catalogue_quarantine (struct catalogue *catalogue, uint64_t token, struct text run, struct text why,
                          struct err *err)
{
    LOCAL_ARENA arena = { 0 };
    struct text said = text_format (&arena, "%.*s (run %.8s)", TEXT_ARG (text_clip (why, SENTENCE_MAX_BYTES - 64)),
                                    run.len >= 8 ? run.ptr : "?");
    if (catalogue_begin_transaction (catalogue, err) != 0)
        return -1;
    return catalogue_end_transaction (
        catalogue,
        database_change (catalogue->db, "quarantine a generation", NULL, err,
                         "UPDATE token SET state = ?1, why = ?2 WHERE token = ?3 AND state NOT IN (?1, ?4)", "itii",
                         (uint64_t) GENERATION_DROPPED, said, token, (uint64_t) GENERATION_REMOVING),
        err);
}

/* ---- who uses what ---- */

/* SQLITE_DONE when there is no such token. */
static int state_of (const struct catalogue *catalogue, uint64_t token, uint64_t *state, struct err *err)
{
    return database_numbers (catalogue->db, "look up a token", state, 1, err,
                             "SELECT state FROM token WHERE token = ?1", "i", token);
}

static int use (const struct catalogue *catalogue, const struct fact_generation *generation, const text_list *covers,
                const struct generation_user *user, struct err *err)
{
    uint64_t token = generation->token;
    uint64_t state;
    if (state_of (catalogue, token, &state, err) < 0)
        return -1;
    if (state == GENERATION_NONE || state == GENERATION_DROPPED || state == GENERATION_REMOVING)
        return err_set (err, ERR_STATE,
                        "generation %" PRIu64 " of %s cannot be used: it was %s after this run found it", token,
                        catalogue->root, state == GENERATION_DROPPED ? "quarantined" : "collected");
    if (database_change (catalogue->db, "record that a run uses a generation", NULL, err,
                         "INSERT OR REPLACE INTO user (token, run, home, machine) VALUES (?1, ?2, ?3, ?4)", "ittt",
                         token, user->run, user->home, user->machine) != 0)
        return -1;
    return cover_mark_used (catalogue, generation, covers, err);
}

int catalogue_use_generation (struct catalogue *catalogue, const struct fact_generation *generation,
                              const text_list *covers, const struct generation_user *user, struct err *err)
{
    if (catalogue_begin_transaction (catalogue, err) != 0)
        return -1;
    return catalogue_end_transaction (catalogue, use (catalogue, generation, covers, user, err), err);
}

int catalogue_unuse_all (struct catalogue *catalogue, struct text run, struct err *err)
{
    if (catalogue_begin_transaction (catalogue, err) != 0)
        return -1;
    return catalogue_end_transaction (catalogue,
                                      database_change (catalogue->db, "remove the record that a run uses a generation",
                                                       NULL, err, "DELETE FROM user WHERE run = ?1", "t", run),
                                      err);
}

/* ---- collecting ---- */

/* Why this one must stay, as a text in the one column of the one row; no row: it may go. */
static const char why_it_stays[] =
    "SELECT 'run ' || run || ' has the lease with it' FROM lease WHERE token = ?1 "
    "UNION ALL SELECT 'it was handed out, and its writer has not ended' FROM token t WHERE t.token = ?1 AND t.state = "
    "?2"
    " AND NOT EXISTS (SELECT 1 FROM generation g WHERE g.token = t.token) "
    "UNION ALL SELECT 'it is the newest one published of its bundle' FROM generation g JOIN token t ON t.token = "
    "g.token"
    " WHERE g.token = ?1 AND t.state NOT IN (?3, ?4) AND NOT EXISTS (SELECT 1 FROM generation h JOIN token u"
    " ON u.token = h.token WHERE h.bundle = g.bundle AND h.token > g.token AND u.state NOT IN (?3, ?4)) "
    "UNION ALL SELECT 'run ' || run || ' of ' || machine || ' uses it' FROM user WHERE token = ?1 LIMIT 1";

static int may_go (const struct catalogue *catalogue, uint64_t token, struct err *err)
{
    LOCAL_ARENA arena = { 0 };
    LOCAL_STATEMENT row = database_ask (catalogue->db, err, why_it_stays, "iiii", token, (uint64_t) GENERATION_GRANTED,
                                        (uint64_t) GENERATION_DROPPED, (uint64_t) GENERATION_REMOVING);
    if (!row)
        return -1;
    int rc = database_step (catalogue->db, row, "look up which runs use a generation", err);
    struct text why = rc == SQLITE_ROW ? database_text (row, 0, &arena) : TEXT_LIT ("");
    if (rc == SQLITE_ROW)
        rc = err_set (err, ERR_STATE, "generation %" PRIu64 " is kept: %.*s", token, TEXT_ARG (text_clip (why, 200)));
    return rc == SQLITE_DONE ? 0 : -1;
}

static int retire (const struct catalogue *catalogue, uint64_t token, const struct text *over, uint32_t n,
                   struct err *err)
{
    uint64_t state;
    int rc = state_of (catalogue, token, &state, err);
    if (rc == SQLITE_DONE)
        return err_set (err, ERR_STATE, "%s has no generation %" PRIu64, catalogue->root, token);
    for (uint32_t i = 0; rc >= 0 && i < n; i++)
        rc = database_change (catalogue->db, "remove the records of runs that used a generation", NULL, err,
                              "DELETE FROM user WHERE token = ?1 AND run = ?2", "it", token, over[i]);
    if (rc < 0 || may_go (catalogue, token, err) != 0)
        return -1;
    return database_change (catalogue->db, "mark a generation for removal", NULL, err,
                            "UPDATE token SET state = ?1 WHERE token = ?2", "ii", (uint64_t) GENERATION_REMOVING,
                            token);
}

int catalogue_begin_removal (struct catalogue *catalogue, uint64_t token, const struct text *over, uint32_t n,
                             struct err *err)
{
    if (catalogue_begin_transaction (catalogue, err) != 0)
        return -1;
    return catalogue_end_transaction (catalogue, retire (catalogue, token, over, n, err), err);
}

static int catalogue_generation_forget (const struct catalogue *catalogue, uint64_t token, struct err *err)
{
    static const char *const rows[] = { "DELETE FROM generation WHERE token = ?1",
                                        "DELETE FROM seen WHERE token = ?1",
                                        "DELETE FROM cover WHERE bundle = (SELECT bundle FROM token WHERE token = ?1)"
                                        " AND NOT EXISTS (SELECT 1 FROM generation g WHERE g.bundle = cover.bundle)",
                                        "DELETE FROM user WHERE token = ?1",
                                        "DELETE FROM lease WHERE token = ?1",
                                        "DELETE FROM token WHERE token = ?1" };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (database_change (catalogue->db, "forget a generation", NULL, err, rows[i], "i", token) != 0)
            return -1;
    return 0;
}

int catalogue_finish_removal (struct catalogue *catalogue, uint64_t token, struct err *err)
{
    if (catalogue_begin_transaction (catalogue, err) != 0)
        return -1;
    return catalogue_end_transaction (catalogue, catalogue_generation_forget (catalogue, token, err), err);
}
