/* catalogue_lease.c - who may write a bundle's next generation, among runs. */
#include "coordinator/catalogue/catalogue_private.h"

#include "common/io/clock.h"
#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

/* Limit of folders without a token of this catalogue, far above any real number. */
enum { FOREIGN_MAX = 100000 };

/* ---- tokens ---- */

/* If catalogue.db was removed, folders, even half removed ones, still show which numbers were used. */
static bool lies_there (const struct catalogue *catalogue, struct text bundle, uint64_t token)
{
    static const char *const names[] = { "gen-", ".removing-gen-" };
    char path[PATH_MAX];
    struct stat st;
    for (int i = 0; i < 2; i++) {
        int len = snprintf (path, sizeof path, "%s/%.*s/%s%" PRIu64, catalogue->root, TEXT_ARG (bundle), names[i],
                            token);
        if (len > 0 && (size_t) len < sizeof path && lstat (path, &st) == 0)
            return true;
    }
    return false;
}

static int next_token (const struct catalogue *catalogue, struct text bundle, uint64_t above, uint64_t *token,
                       struct err *err)
{
    uint64_t last;
    if (database_numbers (catalogue->db, "read the number of the newest generation", &last, 1, err,
                          "SELECT seq FROM sqlite_sequence WHERE name = 'token'", "") < 0)
        return -1;
    if (last < above)
        last = above;
    if (last >= INT64_MAX - FOREIGN_MAX)
        return err_set (err, ERR_LIMIT, "%s has no token left: use another cache root", catalogue->root);
    for (uint32_t i = 1; i <= FOREIGN_MAX; i++) {
        *token = last + i;
        if (!lies_there (catalogue, bundle, *token))
            return 0;
    }
    return err_set (err, ERR_LIMIT, "more than %d generations in %s/%.*s are not in its catalogue: move them away",
                    FOREIGN_MAX, catalogue->root, TEXT_ARG (bundle));
}

/* ---- the lease ---- */

/* token 0: nobody has it. */
static int holder (const struct catalogue *catalogue, struct text bundle, struct lease_owner *out, struct arena *arena,
                   struct err *err)
{
    LOCAL_STATEMENT lease = database_ask (catalogue->db, err, "SELECT token, run, beat FROM lease WHERE bundle = ?1",
                                          "t", bundle);
    if (!lease)
        return -1;
    int row = database_step (catalogue->db, lease, "look up a lease", err);
    *out = (struct lease_owner){ 0 };
    if (row == SQLITE_ROW)
        *out = (struct lease_owner){ .token = (uint64_t) sqlite3_column_int64 (lease, 0),
                                     .run = database_text (lease, 1, arena),
                                     .beat = (uint64_t) sqlite3_column_int64 (lease, 2) };
    if (row < 0)
        return -1;
    if (out->run.len > NAME_MAX_BYTES || !text_is_utf8 (out->run))
        return err_set (err, ERR_DAMAGE, "%s/catalogue.db is damaged: the lease of token %" PRIu64 " has no run id",
                        catalogue->root, out->token);
    return 0;
}

static int abandon (const struct catalogue *catalogue, uint64_t token, struct text run, struct text why,
                    struct err *err)
{
    return database_change (catalogue->db, "abandon a generation", NULL, err,
                            "UPDATE token SET state = ?1, why = ?2 WHERE token = ?3 AND run = ?4 AND state = ?5",
                            "ititi", (uint64_t) GENERATION_ABANDONED, why, token, run, (uint64_t) GENERATION_GRANTED);
}

static int hand_out (const struct catalogue *catalogue, struct text bundle, struct text run, uint64_t token,
                     struct err *err)
{
    if (database_change (catalogue->db, "reserve a token", NULL, err,
                         "INSERT INTO token (token, bundle, run, wall_ms) VALUES (?1, ?2, ?3, ?4)", "itti", token,
                         bundle, run, clock_wall_ms ()) != 0)
        return -1;
    return database_change (catalogue->db, "take a lease", NULL, err,
                            "INSERT OR REPLACE INTO lease (bundle, token, run, beat) VALUES (?1, ?2, ?3, 1)", "tit",
                            bundle, token, run);
}

static bool same_lease_owner (const struct lease_owner *a, const struct lease_owner *b)
{
    return a->token == b->token && a->beat == b->beat && text_equal (a->run, b->run);
}

static int acquire (const struct catalogue *catalogue, struct text bundle, struct text run, uint64_t above,
                    const struct lease_owner *over, uint64_t *token, struct lease_owner *now, struct arena *arena,
                    struct err *err)
{
    *token = 0;
    if (holder (catalogue, bundle, now, arena, err) != 0)
        return -1;
    bool own = now->token && text_equal (now->run, run);
    if (now->token && !own && !(over && over->token && same_lease_owner (over, now)))
        return 0;
    struct text why = own ? TEXT_LIT ("its run began another generation")
                          : text_format (arena, "run %.*s took over the lease to write", TEXT_ARG (run));
    if (now->token && abandon (catalogue, now->token, now->run, why, err) != 0)
        return -1;
    return next_token (catalogue, bundle, above, token, err) != 0 ? -1 : hand_out (catalogue, bundle, run, *token, err);
}

int catalogue_acquire_lease (struct catalogue *catalogue, struct text bundle, struct text run, uint64_t above,
                             const struct lease_owner *over, uint64_t *token, struct lease_owner *lease_owner,
                             struct arena *arena, struct err *err)
{
    uint64_t reserved = 0;
    struct lease_owner now;
    assert (run.len);
    if (catalogue_family_name_check (bundle, err) != 0 || catalogue_begin_transaction (catalogue, err) != 0)
        return -1;
    int rc = acquire (catalogue, bundle, run, above, over, &reserved, &now, arena, err);
    if (catalogue_end_transaction (catalogue, rc, err) != 0)
        return -1;
    *token = reserved;
    *lease_owner = reserved ? (struct lease_owner){ 0 } : now;
    return 0;
}

/* ---- while it is held ---- */

/* Our row is gone: was it published or given up, or did another run take the lease? */
static int lost (const struct catalogue *catalogue, uint64_t token, bool *taken, struct err *err)
{
    uint64_t found[3]; /* state, published, others */
    int rc = database_numbers (
        catalogue->db, "look up a token", found, 3, err,
        "SELECT t.state, EXISTS (SELECT 1 FROM generation g WHERE g.token = t.token),"
        " EXISTS (SELECT 1 FROM lease l WHERE l.bundle = t.bundle) FROM token t WHERE t.token = ?1",
        "i", token);
    *taken = !found[1] && (found[0] != GENERATION_GRANTED || found[2]);
    return rc < 0 ? -1 : 0;
}

int catalogue_beat (struct catalogue *catalogue, uint64_t token, struct text run, bool *taken, struct err *err)
{
    int changed = 0;
    bool gone = false;
    if (catalogue_begin_transaction (catalogue, err) != 0)
        return -1;
    int rc = database_change (catalogue->db, "raise a beat", &changed, err,
                              "UPDATE lease SET beat = beat + 1 WHERE token = ?1 AND run = ?2", "it", token, run);
    if (rc == 0 && changed == 0)
        rc = lost (catalogue, token, &gone, err);
    if (catalogue_end_transaction (catalogue, rc, err) != 0)
        return -1;
    *taken = gone;
    return 0;
}

int catalogue_release_lease (struct catalogue *catalogue, uint64_t token, struct text run, bool abandoned,
                             struct err *err)
{
    if (catalogue_begin_transaction (catalogue, err) != 0)
        return -1;
    int rc = database_change (catalogue->db, "give up a lease", NULL, err,
                              "DELETE FROM lease WHERE token = ?1 AND run = ?2", "it", token, run);
    if (rc == 0 && abandoned)
        rc = abandon (catalogue, token, run, TEXT_LIT ("its run gave up the lease before sealing the generation"), err);
    return catalogue_end_transaction (catalogue, rc, err);
}
