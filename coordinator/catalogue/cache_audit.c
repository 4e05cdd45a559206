/* cache_audit.c - compares a cache root with its catalogue, one family for a run or all of them for people, and lists
 * the folders of a root. */
#include "coordinator/catalogue/catalogue.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cache/audit.h"
#include "common/cache/generation.h"
#include "common/cache/storage.h"
#include "common/io/fd.h"
#include "coordinator/catalogue/catalogue_private.h"

/* More findings than this help nobody. */
enum { FOUND_MAX = 4096, FAMILY_FOUND_MAX = 1024, PROBLEMS_MAX = 1024 };

struct look {
    const struct cache_audit_options *audit;
    struct arena *arena;
    struct cache_audit_result *out;
    uint32_t found_max;
    bool goes_on; /* what cannot be read is a problem of the root; else it ends the audit */
    uint32_t done, all;
    /* of the family that is looked at: */
    struct text bundle, bundle_root;
    const struct generation_stat *stored;
    uint32_t stored_n;
    struct catalogue_list known;
};

static bool asked (const struct cache_audit_options *audit, uint64_t token)
{
    for (uint32_t i = 0; i < audit->tokens_n; i++)
        if (audit->tokens[i] == token)
            return true;
    return audit->tokens_n == 0;
}

static bool wanted (const struct look *look, const struct catalogue_entry *entry)
{
    return entry->state == GENERATION_PUBLISHED && asked (look->audit, entry->token);
}

static void cache_audit_add (struct look *look, enum finding_kind kind, uint64_t token, struct text path,
                             struct text detail, struct text run)
{
    if (look->out->found.n == look->found_max || !asked (look->audit, token))
        return;
    look->out->found.items[look->out->found.n++] = (struct cache_root_finding){
        .finding = { .kind = kind,
                     .token = token,
                     .path = text_copy (look->arena, path),
                     .detail = text_copy (look->arena, text_clip (detail, SENTENCE_MAX_BYTES)) },
        .run = text_copy (look->arena, run),
        .bundle = look->bundle
    };
}

/* 0: the audit goes on without what failed. `token` 0: of the whole family. */
static int cache_audit_failed (struct look *look, uint64_t token, struct err *err)
{
    if (!look->goes_on)
        return -1;
    if (look->out->problems.n < PROBLEMS_MAX)
        look->out->problems.items[look->out->problems.n++] =
            (struct cache_audit_problem){ look->bundle, token, text_copy (look->arena, text_of (err->text)) };
    *err = (struct err){ 0 };
    return 0;
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
        cache_audit_add (look, FINDING_FOREIGN_TOKEN, there->token,
                         text_format (look->arena, "gen-%" PRIu64, there->token),
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

static int cache_audit_recall (const struct look *look, uint64_t token, struct memory *out, struct err *err)
{
    LOCAL_STATEMENT row = database_ask (look->audit->catalogue->db, err, "SELECT listing FROM seen WHERE token = ?1",
                                        "i", token);
    if (!row)
        return -1;
    int rc = database_step (look->audit->catalogue->db, row, "look up what the folder of an abandoned generation held",
                            err);
    *out = (struct memory){ .known = rc == SQLITE_ROW };
    if (rc == SQLITE_ROW && sqlite3_column_bytes (row, 0) == sizeof out->listing) {
        out->lay_there = true;
        memcpy (&out->listing, sqlite3_column_blob (row, 0), sizeof out->listing);
    }
    return rc < 0 ? -1 : 0;
}

/* If two audits see it first at the same time, the first one's record stays. A removed generation is forgotten: people
 * may remove abandoned ones, and if it comes back somebody wrote. */
static int remember (const struct look *look, uint64_t token, const struct generation_stat *there,
                     const struct memory *before, struct err *err)
{
    struct text listing = { 0 };
    if (look->audit->catalogue->looking || (before->known && (there || !before->lay_there)))
        return 0;
    if (there)
        listing = (struct text){ (const char *) &there->listing, sizeof there->listing };
    if (catalogue_begin_transaction (look->audit->catalogue, err) != 0)
        return -1;
    const char *sql = before->known ? "UPDATE seen SET listing = ?2 WHERE token = ?1"
                                    : "INSERT OR IGNORE INTO seen (token, listing) VALUES (?1, ?2)";
    return catalogue_end_transaction (look->audit->catalogue,
                                      database_change (look->audit->catalogue->db,
                                                       "record what the folder of an abandoned generation holds", NULL,
                                                       err, sql, "ib", token, listing),
                                      err);
}

static int look_at_abandoned (struct look *look, const struct catalogue_entry *entry, struct err *err)
{
    struct memory before;
    const struct generation_stat *there = stored_of (look, entry->token);
    if (cache_audit_recall (look, entry->token, &before, err) != 0 ||
        remember (look, entry->token, there, &before, err) != 0)
        return -1;
    if (!before.known || !there || (before.lay_there && digest_equal (&before.listing, &there->listing)))
        return 0;
    cache_audit_add (
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
    const struct cache_audit_options *audit = look->audit;
    struct finding_list list = { 0 };
    if ((audit->trust && owners_check_entries (look->bundle_root, entry->token, audit->trust, err) != 0) ||
        audit_generation (look->bundle_root, entry->token, entry->published.sha256,
                          audit->every_byte ? AUDIT_FULL : AUDIT_STAT, 0, look->arena, &list, err) != 0)
        return -1;
    for (uint32_t i = 0; i < list.n; i++)
        cache_audit_add (look, list.items[i].kind, entry->token, list.items[i].path, list.items[i].detail, entry->run);
    if (list.more && look->goes_on)
        cache_audit_add (look, FINDING_CHANGED, entry->token, TEXT_LIT ("..."),
                         text_format (look->arena, "and %u more differences", list.more), entry->run);
    return 0;
}

/* Findings are dropped if it was collected meanwhile. */
static int look_at_published (struct look *look, const struct catalogue_entry *entry, struct err *err)
{
    struct cache_audit_result *out = look->out;
    uint32_t before = out->found.n;
    enum generation_state state = GENERATION_PUBLISHED;
    bool lies = still_there (look, entry->token);
    if (!lies)
        cache_audit_add (look, FINDING_MISSING, entry->token, text_format (look->arena, "gen-%" PRIu64, entry->token),
                         TEXT_LIT ("the generation was published, but its folder is missing"), entry->run);
    int rc = lies ? look_inside (look, entry, err) : 0;
    bool clean = rc == 0 && out->found.n == before;
    if (!clean && catalogue_generation_state (look->audit->catalogue, entry->token, &state, rc ? NULL : err) != 0)
        return -1;
    if (state != GENERATION_PUBLISHED) {
        out->found.n = before;
        return 0;
    }
    out->generations += lies;
    out->bytes += lies ? entry->published.bytes : 0;
    return rc;
}

/* ---- one family ---- */

static int look_at_unpublished (struct look *look, struct err *err)
{
    look_for_foreign (look);
    for (uint32_t i = 0; i < look->known.n; i++)
        if (look->known.items[i].state == GENERATION_ABANDONED &&
            look_at_abandoned (look, &look->known.items[i], err) != 0)
            return -1;
    return 0;
}

static int look_at_all_published (struct look *look, struct err *err)
{
    const struct cache_audit_options *audit = look->audit;
    for (uint32_t i = 0; i < look->known.n; i++) {
        const struct catalogue_entry *entry = &look->known.items[i];
        if (!wanted (look, entry))
            continue;
        struct cache_audit_progress progress = { look->bundle, entry->token, look->done++, look->all };
        if (audit->progress)
            audit->progress (audit->owner, &progress);
        if (look_at_published (look, entry, err) != 0 && cache_audit_failed (look, entry->token, err) != 0)
            return -1;
    }
    return 0;
}

static int look_at_family (struct look *look, struct text bundle, struct err *err)
{
    struct generation_stat *stored = NULL;
    look->bundle = bundle;
    if (catalogue_family_name_check (bundle, err) != 0)
        return cache_audit_failed (look, 0, err);
    look->bundle_root = text_format (look->arena, "%s/%.*s", look->audit->root, TEXT_ARG (bundle));
    /* Reads the folder first, so that every generation in it already has its row. */
    bool listed = audit_list_generations (look->bundle_root, look->arena, &stored, &look->stored_n, err) == 0;
    if (!listed && cache_audit_failed (look, 0, err) != 0)
        return -1;
    look->stored = stored;
    if (catalogue_list (look->audit->catalogue, bundle, look->arena, &look->known, err) != 0)
        return cache_audit_failed (look, 0, err);
    if (listed && look_at_unpublished (look, err) != 0 && cache_audit_failed (look, 0, err) != 0)
        return -1;
    return look_at_all_published (look, err);
}

int catalogue_audit_generations (struct catalogue *catalogue, struct text bundle, struct arena *arena,
                                 struct cache_root_finding **out, uint32_t *n, struct err *err)
{
    struct cache_audit_result result = { .found.items = arena_array (arena, FAMILY_FOUND_MAX, sizeof **out) };
    const struct cache_audit_options audit = { .catalogue = catalogue, .root = catalogue->root };
    struct look look = { .audit = &audit, .arena = arena, .out = &result, .found_max = FAMILY_FOUND_MAX };
    if (look_at_family (&look, bundle, err) != 0)
        return -1;
    *out = result.found.items;
    *n = result.found.n;
    return 0;
}

/* ---- a whole root ---- */

static int check_tokens (const struct cache_audit_options *audit, const struct catalogue_list *known, struct err *err)
{
    for (uint32_t i = 0; i < audit->tokens_n; i++) {
        bool there = false;
        for (uint32_t k = 0; k < known->n; k++)
            there = there || known->items[k].token == audit->tokens[i];
        if (!there)
            return err_set (err, ERR_USAGE, "%s has no generation %" PRIu64 "; sliceup cache ls lists them",
                            audit->root, audit->tokens[i]);
    }
    return 0;
}

/* Those of the catalogue, then those of which only folders are there. */
static int look_at_families (struct look *look, const struct catalogue_list *known, struct err *err)
{
    struct text *bundles = NULL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < known->n; i++)
        if ((i == 0 || !text_equal (known->items[i].bundle, known->items[i - 1].bundle)) &&
            look_at_family (look, known->items[i].bundle, err) != 0)
            return -1;
    if (cache_list_families (look->audit->root, look->arena, &bundles, &n, err) != 0)
        return -1;
    for (uint32_t i = 0; i < n; i++)
        if (!LIST_FIND (*known, struct catalogue_entry, bundle, bundles[i]) &&
            look_at_family (look, bundles[i], err) != 0)
            return -1;
    return 0;
}

int cache_audit (const struct cache_audit_options *audit, struct arena *arena, struct cache_audit_result *out,
                 struct err *err)
{
    struct look look = { .audit = audit, .arena = arena, .out = out, .found_max = FOUND_MAX, .goes_on = true };
    struct catalogue_list known;
    *out =
        (struct cache_audit_result){ .found.items = arena_array (arena, FOUND_MAX, sizeof *out->found.items),
                                     .problems.items = arena_array (arena, PROBLEMS_MAX, sizeof *out->problems.items) };
    if (catalogue_list (audit->catalogue, TEXT_LIT (""), arena, &known, err) != 0 ||
        check_tokens (audit, &known, err) != 0)
        return -1;
    for (uint32_t i = 0; i < known.n; i++)
        look.all += wanted (&look, &known.items[i]);
    return look_at_families (&look, &known, err);
}

/* ---- the folders of a cache root that may hold generations, and the folders of single hosts in them ---- */
#define OWN "host-"

enum { BUNDLES_MAX = 16384, OWN_MAX = 16384 };

struct bundles {
    struct arena *arena;
    struct text *items;
    uint32_t n;
};

static DIR *cache_audit_open_folder (int at, const char *name)
{
    int fd = openat (at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir (fd);
    if (fd >= 0 && !folder)
        close (fd);
    return folder;
}

static bool is_folder (DIR *in, const char *name)
{
    struct stat st;
    return tree_name_valid (text_of (name)) && fstatat (dirfd (in), name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR (st.st_mode);
}

/* This user's runs cannot read a folder that we cannot open. */
static int add_frontend (struct bundles *bundles, DIR *root, const char *frontend, struct err *err)
{
    int rc = 0;
    LOCAL_DIR folder = cache_audit_open_folder (dirfd (root), frontend);
    if (!folder)
        return 0;
    for (struct dirent *entry = readdir (folder); entry && rc == 0; entry = readdir (folder)) {
        if (!is_folder (folder, entry->d_name))
            continue;
        if (bundles->n == BUNDLES_MAX)
            rc = err_set (err, ERR_LIMIT, "more than %d cache families in the cache root: is cache.root right?",
                          BUNDLES_MAX);
        else
            bundles->items[bundles->n++] = text_format (bundles->arena, "%s/%s", frontend, entry->d_name);
    }
    return rc;
}

int cache_list_families (const char *root, struct arena *arena, struct text **out, uint32_t *n, struct err *err)
{
    struct bundles bundles = { .arena = arena, .items = arena_array (arena, BUNDLES_MAX, sizeof *bundles.items) };
    int rc = 0;
    LOCAL_DIR folder = opendir (root); /* the administrator's path: it may be a link */
    if (!folder)
        return err_errno (err, errno == ENOENT ? ERR_STATE : ERR_IO, "cannot list cache root %s", root);
    for (struct dirent *entry = readdir (folder); entry && rc == 0; entry = readdir (folder))
        if (is_folder (folder, entry->d_name))
            rc = add_frontend (&bundles, folder, entry->d_name, err);
    if (rc != 0)
        return -1;
    qsort (bundles.items, bundles.n, sizeof *bundles.items, text_order);
    *out = bundles.items;
    *n = bundles.n;
    return 0;
}

/* ---- of single hosts ---- */

static int count_file (void *owner, const struct tree_walk_item *seen, struct err *err)
{
    struct host_cache *own = owner;
    (void) err;
    own->entries += seen->at.kind == TREE_FILE;
    own->bytes += seen->at.bytes;
    return 0;
}

/* Files that its host writes meanwhile may be counted in part. */
static void cache_audit_measure (struct host_cache *own, DIR *in, const char *name)
{
    LOCAL_FD fd = openat (dirfd (in), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    own->closed = fd < 0 || tree_walk (fd, NULL, false, count_file, own, NULL) != 0;
}

int cache_list_per_host (const char *root, struct text bundle, struct arena *arena, struct host_cache **out,
                         uint32_t *n, struct err *err)
{
    char path[PATH_MAX];
    LOCAL_MEM struct host_cache *items = NULL;
    *out = NULL;
    *n = 0;
    if (snprintf (path, sizeof path, "%s/%.*s", root, TEXT_ARG (bundle)) >= (int) sizeof path)
        return err_set (err, ERR_LIMIT, "the path of a cache family is longer than %d bytes", PATH_MAX);
    LOCAL_DIR folder = opendir (path);
    if (!folder)
        return errno == ENOENT || errno == EACCES ? 0 : err_errno (err, ERR_IO, "cannot list %s", path);
    for (struct dirent *entry = readdir (folder); entry && *n < OWN_MAX; entry = readdir (folder)) {
        if (strncmp (entry->d_name, OWN, sizeof OWN - 1) != 0 || !is_folder (folder, entry->d_name))
            continue;
        items = mem_grow (items, *n + 1, sizeof *items);
        items[*n] = (struct host_cache){ .host = text_copy (arena, text_of (entry->d_name + sizeof OWN - 1)) };
        cache_audit_measure (&items[(*n)++], folder, entry->d_name);
    }
    _Static_assert(offsetof (struct host_cache, host) == 0, "text_order compares what each begins with");
    if (*n)
        qsort (items, *n, sizeof *items, text_order);
    *out = arena_copy (arena, items, *n * sizeof *items);
    return 0;
}
