/* catalogue_audit.c - compares the cache root with the catalogue. */
#include "coordinator/catalogue/catalogue_private.h"

#include "common/cache/audit.h"
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* More findings than this help nobody. */
enum { ROOT_FINDINGS_MAX = 1024 };

struct look {
    struct catalogue *catalogue;
    struct text bundle, bundle_root;
    struct arena *arena;
    struct cache_root_finding *items;
    uint32_t n;
    const struct generation_stat *stored;
    uint32_t stored_n;
    struct catalogue_list known;
    bool inside; /* look into published ones too */
};

static void catalogue_audit_add (struct look *look, enum finding_kind kind, uint64_t token, struct text path,
                                 struct text detail, struct text run)
{
    if (look->n == ROOT_FINDINGS_MAX)
        return;
    look->items[look->n++] = (struct cache_root_finding){
        .finding = { .kind = kind,
                     .token = token,
                     .path = text_copy (look->arena, path),
                     .detail = text_copy (look->arena, text_clip (detail, SENTENCE_MAX_BYTES)) },
        .run = text_copy (look->arena, run)
    };
}

static const struct generation_stat *stored_of (const struct look *look, uint64_t token)
{
    for (uint32_t i = 0; i < look->stored_n; i++)
        if (look->stored[i].token == token)
            return &look->stored[i];
    return NULL;
}

/* ---- foreign tokens ---- */

/* Both are sorted by token. */
static bool known (const struct look *look, uint64_t token)
{
    uint32_t low = 0, high = look->known.n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (look->known.items[middle].token == token)
            return true;
        if (look->known.items[middle].token < token)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

/* A generation collected between our two checks is no finding. */
static bool still_there (const struct look *look, uint64_t token)
{
    char path[PATH_MAX];
    struct stat st;
    int len = snprintf (path, sizeof path, "%.*s/gen-%" PRIu64, TEXT_ARG (look->bundle_root), token);
    return len > 0 && (size_t) len < sizeof path && lstat (path, &st) == 0;
}

static void look_for_foreign (struct look *look)
{
    for (uint32_t i = 0; i < look->stored_n; i++) {
        const struct generation_stat *there = &look->stored[i];
        if (known (look, there->token) || !still_there (look, there->token))
            continue;
        catalogue_audit_add (
            look, FINDING_FOREIGN_TOKEN, there->token, text_format (look->arena, "gen-%" PRIu64, there->token),
            text_format (look->arena,
                         "holds %u entries, %" PRIu64
                         " bytes, but this cache family has no such generation (no run got token %" PRIu64
                         ", or gc removed the generation): move the folder away",
                         there->entries, there->bytes, there->token),
            TEXT_LIT (""));
    }
}

/* ---- late writes ---- */

struct memory {
    bool known, lay_there;
    struct digest listing;
};

static int catalogue_audit_recall (const struct look *look, uint64_t token, struct memory *out, struct err *err)
{
    sqlite3_stmt *row = catalogue_prepare (look->catalogue, err, "SELECT listing FROM seen WHERE token = ?1", "i",
                                           token);
    if (!row)
        return -1;
    int rc = catalogue_step (look->catalogue, row, "look up what the folder of an abandoned generation held", err);
    *out = (struct memory){ .known = rc == SQLITE_ROW };
    if (rc == SQLITE_ROW && sqlite3_column_bytes (row, 0) == sizeof out->listing) {
        out->lay_there = true;
        memcpy (&out->listing, sqlite3_column_blob (row, 0), sizeof out->listing);
    }
    sqlite3_finalize (row); /* its error is already in `err` */
    return rc < 0 ? -1 : 0;
}

/* If two audits see it first at the same time, the first one's record stays. A removed generation is forgotten: people
 * may remove abandoned ones, and if it comes back somebody wrote. */
static int remember (const struct look *look, uint64_t token, const struct generation_stat *there,
                     const struct memory *before, struct err *err)
{
    struct text listing = { 0 };
    if (look->catalogue->looking || (before->known && (there || !before->lay_there)))
        return 0;
    if (there)
        listing = (struct text){ (const char *) &there->listing, sizeof there->listing };
    if (catalogue_begin_transaction (look->catalogue, err) != 0)
        return -1;
    const char *sql = before->known ? "UPDATE seen SET listing = ?2 WHERE token = ?1"
                                    : "INSERT OR IGNORE INTO seen (token, listing) VALUES (?1, ?2)";
    return catalogue_end_transaction (look->catalogue,
                                      catalogue_change (look->catalogue,
                                                        "record what the folder of an abandoned generation holds", NULL,
                                                        err, sql, "ib", token, listing),
                                      err);
}

static int look_at_abandoned (struct look *look, const struct catalogue_entry *entry, struct err *err)
{
    struct memory before;
    const struct generation_stat *there = stored_of (look, entry->token);
    if (catalogue_audit_recall (look, entry->token, &before, err) != 0 ||
        remember (look, entry->token, there, &before, err) != 0)
        return -1;
    if (!before.known || !there || (before.lay_there && digest_equal (&before.listing, &there->listing)))
        return 0;
    catalogue_audit_add (
        look, FINDING_LATE_WRITE, entry->token, text_format (look->arena, "gen-%" PRIu64, entry->token),
        text_format (look->arena,
                     "the abandoned generation changed after its lease ended (%.*s): it now holds %u entries, %" PRIu64
                     " bytes",
                     TEXT_ARG (entry->why), there->entries, there->bytes),
        entry->run);
    return 0;
}

/* ---- published ones ---- */

static int look_inside (struct look *look, const struct catalogue_entry *entry, struct err *err)
{
    struct finding_list found = { 0 };
    if (audit_generation (look->bundle_root, entry->token, entry->published.sha256, AUDIT_STAT, 0, look->arena, &found,
                          err) != 0)
        return -1;
    for (uint32_t i = 0; i < found.n; i++)
        catalogue_audit_add (look, found.items[i].kind, entry->token, found.items[i].path, found.items[i].detail,
                             entry->run);
    return 0;
}

/* Findings are dropped if it was collected meanwhile. */
static int look_at_published (struct look *look, const struct catalogue_entry *entry, struct err *err)
{
    uint32_t before = look->n;
    enum generation_state state = GENERATION_PUBLISHED;
    bool lies = stored_of (look, entry->token);
    if (!lies && !still_there (look, entry->token))
        catalogue_audit_add (look, FINDING_MISSING, entry->token,
                             text_format (look->arena, "gen-%" PRIu64, entry->token),
                             TEXT_LIT ("the generation was published, but its folder is missing"), entry->run);
    int rc = lies && look->inside ? look_inside (look, entry, err) : 0;
    if (rc == 0 && look->n == before)
        return 0;
    if (catalogue_generation_state (look->catalogue, entry->token, &state, rc ? NULL : err) != 0)
        return -1;
    if (state == GENERATION_PUBLISHED)
        return rc;
    look->n = before;
    return 0;
}

/* ---- all of it ---- */

static int catalogue_audit_look_over (struct look *look, struct err *err)
{
    for (uint32_t i = 0; i < look->known.n; i++) {
        const struct catalogue_entry *entry = &look->known.items[i];
        if (entry->state == GENERATION_ABANDONED && look_at_abandoned (look, entry, err) != 0)
            return -1;
        if (entry->state == GENERATION_PUBLISHED && look_at_published (look, entry, err) != 0)
            return -1;
    }
    return 0;
}

static int catalogue_audit_audit (struct look *look, struct cache_root_finding **out, uint32_t *n, struct err *err)
{
    struct generation_stat *stored = NULL;
    if (catalogue_family_name_check (look->bundle, err) != 0)
        return -1;
    look->bundle_root = text_format (look->arena, "%s/%.*s", look->catalogue->root, TEXT_ARG (look->bundle));
    /* Reads the folder first, so that every generation in it already has its row. */
    if (audit_list_generations (look->bundle_root, look->arena, &stored, &look->stored_n, err) != 0 ||
        catalogue_list (look->catalogue, look->bundle, look->arena, &look->known, err) != 0)
        return -1;
    look->stored = stored;
    look->items = arena_array (look->arena, ROOT_FINDINGS_MAX, sizeof *look->items);
    look_for_foreign (look);
    if (catalogue_audit_look_over (look, err) != 0)
        return -1;
    *out = look->items;
    *n = look->n;
    return 0;
}

int catalogue_audit_generations (struct catalogue *catalogue, struct text bundle, struct arena *arena,
                                 struct cache_root_finding **out, uint32_t *n, struct err *err)
{
    struct look look = { .catalogue = catalogue, .bundle = bundle, .arena = arena, .inside = true };
    return catalogue_audit_audit (&look, out, n, err);
}

int catalogue_audit_unpublished (struct catalogue *catalogue, struct text bundle, struct arena *arena,
                                 struct cache_root_finding **out, uint32_t *n, struct err *err)
{
    struct look look = { .catalogue = catalogue, .bundle = bundle, .arena = arena };
    return catalogue_audit_audit (&look, out, n, err);
}
