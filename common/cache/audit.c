#include "common/cache/audit.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/base/rng.h"

/* ---- differences from a manifest ---- */

enum {
    SAMPLE_WHOLE_BYTES = 1024 * 1024, /* below: always read. audit.h */
    SAMPLE_ONE_IN = 8,                /* of the larger ones */
};
/* CLOSED: it has a problem, and may hide what was sealed below it. */
enum { MARK_MET = 1, MARK_READ = 2, MARK_CLOSED = 4 };

struct look {
    struct manifest manifest;
    uint8_t *marks; /* of each entry of the manifest */
    manifest_mismatch_fn *each;
    void *owner;
    struct arena *arena;
    bool cut;  /* a limit stopped the walk */
    bool copy; /* of the sealed generation, to which a writer may have added */
};

static int manifest_mismatch_tell (const struct look *look, enum finding_kind kind, struct text path, const char *how,
                                   struct err *err)
{
    struct manifest_mismatch difference = { kind, path, how };
    return look->each (look->owner, &difference, err);
}

int manifest_refuse_mismatch (void *owner, const struct manifest_mismatch *difference, struct err *err)
{
    char shown[TREE_SHOWN_BYTES];
    (void) owner;
    return err_set (err, ERR_DAMAGE, "\"%s\" %s", tree_print_path (difference->path, shown), difference->how);
}

/* ---- what is to be read ---- */

static bool is_large (const struct manifest_entry *entry)
{
    return entry->at.bytes >= SAMPLE_WHOLE_BYTES;
}

/* Draws at least one large file, else a lone large one would be read in only one of eight audits. */
static void draw (struct look *look, uint64_t seed)
{
    struct rng rng = rng_seed (seed);
    uint32_t large = 0, at = 0;
    for (uint32_t i = 0; i < look->manifest.n; i++)
        large += is_large (&look->manifest.items[i]);
    uint32_t sure = large ? (uint32_t) rng_below (&rng, large) : 0;
    for (uint32_t i = 0; i < look->manifest.n; i++) {
        bool drawn = !is_large (&look->manifest.items[i]) || at++ == sure || rng_below (&rng, SAMPLE_ONE_IN) == 0;
        look->marks[i] = drawn ? MARK_READ : 0;
    }
}

static void plan (struct look *look, enum audit_depth depth, uint64_t seed)
{
    look->marks = arena_alloc (look->arena, look->manifest.n);
    if (depth == AUDIT_FULL)
        memset (look->marks, MARK_READ, look->manifest.n);
    else if (depth == AUDIT_SAMPLE)
        draw (look, seed);
}

/* ---- what is there ---- */

static int meet_odd (struct look *look, const struct tree_walk_item *seen, struct err *err)
{
    uint32_t at;
    bool sealed = manifest_find (&look->manifest, seen->at.path, &at);
    if (sealed)
        look->marks[at] |= MARK_MET | MARK_CLOSED;
    look->cut = look->cut || (seen->code == ERR_LIMIT && !seen->st);
    if (!sealed && look->copy)
        return 0;
    return manifest_mismatch_tell (look, sealed ? FINDING_CHANGED : FINDING_EXTRA, seen->at.path, seen->problem, err);
}

static int refuse_open (const struct tree_walk_item *seen, struct err *err)
{
    char shown[TREE_SHOWN_BYTES];
    return err_set (err, ERR_REFUSED,
                    "\"%s\" has mode %04o on this mount, so other users may write to it: mount it with modes that let "
                    "only its owner write, or set another cache.root",
                    tree_print_path (seen->at.path, shown), (unsigned) seen->at.mode);
}

static int meet_entry (void *owner, const struct tree_walk_item *seen, struct err *err)
{
    struct look *look = owner;
    char how[DIFFERENCE_BYTES];
    uint32_t at;
    if (seen->problem)
        return meet_odd (look, seen, err);
    if (!manifest_find (&look->manifest, seen->at.path, &at))
        return look->copy
                   ? 0
                   : manifest_mismatch_tell (look, FINDING_EXTRA, seen->at.path, "exists, but was never sealed", err);
    const struct manifest_entry *entry = &look->manifest.items[at];
    bool wanted = (look->marks[at] & MARK_READ) && entry->at.kind == TREE_FILE;
    look->marks[at] |= MARK_MET;
    struct tree_entry now = seen->at;
    if (look->copy) /* writable until it is sealed */
        now.mode = (now.mode & ~0222u) | (entry->at.mode & 0222);
    if (manifest_entry_differs (&entry->at, &now, how))
        return manifest_mismatch_tell (look, FINDING_CHANGED, seen->at.path, how, err);
    if (now.mode & (S_IWGRP | S_IWOTH)) /* sealed so on a mount that has one mode for all */
        return refuse_open (seen, err);
    int rc = wanted ? manifest_bytes_differ (entry, seen->fd, how, err) : 0;
    return rc > 0 ? manifest_mismatch_tell (look, FINDING_CHANGED, seen->at.path, how, err) : rc;
}

static bool is_hidden (const struct look *look, struct text path)
{
    uint32_t at;
    while (path.len)
        if (path.ptr[--path.len] == '/' && manifest_find (&look->manifest, path, &at) &&
            (look->marks[at] & MARK_CLOSED))
            return true;
    return false;
}

static int tell_missing (struct look *look, struct err *err)
{
    for (uint32_t i = 0; i < look->manifest.n && !look->cut; i++) {
        struct text path = look->manifest.items[i].at.path;
        if (!(look->marks[i] & MARK_MET) && !is_hidden (look, path) &&
            manifest_mismatch_tell (look, FINDING_MISSING, path, "was sealed, but is missing", err))
            return -1;
    }
    return 0;
}

/* ---- what is not in the manifest ---- */

/* Programs may have tried to write to it, so only its kind counts, not its content. It may be missing: an imported
 * generation never had one. */
static int look_at_witness (const struct look *look, int fd, const struct stat *top, struct err *err)
{
    struct stat st;
    if (fstatat (fd, WITNESS_NAME, &st, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT ? 0 : err_errno (err, ERR_IO, "cannot examine WITNESS");
    if (S_ISREG (st.st_mode) && st.st_nlink == 1 && st.st_uid == top->st_uid)
        return 0;
    return manifest_mismatch_tell (
        look, FINDING_CHANGED, TEXT_LIT (WITNESS_NAME),
        "is not a regular file, has more than one name (hard links), or belongs to another user than the generation",
        err);
}

/* False if the mount has one mode for all folders. */
static bool keeps_modes (const struct look *look, int fd)
{
    struct statfs fs;
    struct stat st;
    if (fstatfs (fd, &fs) || fs.f_type == FUSE_SUPER_MAGIC)
        return false;
    if (fstatat (fd, MANIFEST_NAME, &st, AT_SYMLINK_NOFOLLOW) || (st.st_mode & 0222))
        return false;
    for (uint32_t i = 0; i < look->manifest.n; i++)
        if (look->manifest.items[i].at.kind == TREE_FOLDER && (look->manifest.items[i].at.mode & 0222))
            return false;
    return true;
}

static int look_at_top (const struct look *look, int fd, struct err *err)
{
    char how[DIFFERENCE_BYTES];
    struct stat top;
    if (fstat (fd, &top))
        return err_errno (err, ERR_IO, "cannot examine the generation's folder");
    if (look_at_witness (look, fd, &top, err))
        return -1;
    if (!(top.st_mode & 07222) || !keeps_modes (look, fd))
        return 0;
    snprintf (how, sizeof how, "is the folder of the sealed generation, but has mode %04o, which allows writing",
              (unsigned) (top.st_mode & 07777));
    return manifest_mismatch_tell (look, FINDING_CHANGED, TEXT_LIT ("."), how, err);
}

/* ---- the manifest ---- */

/* A MANIFEST that is missing or differs is a finding; one that cannot be read is an error. */
static int tell_manifest (struct look *look, const struct generation *of, const struct err *why, struct err *err)
{
    static const char name[] = MANIFEST_NAME " ", quoted[] = "\"" MANIFEST_NAME "\" ";
    struct stat st;
    const char *how = why->text;
    if (why->code != ERR_DAMAGE && why->code != ERR_LIMIT)
        return err_set (err, why->code, "%s", why->text);
    bool missing = fstatat (of->fd, MANIFEST_NAME, &st, AT_SYMLINK_NOFOLLOW) && errno == ENOENT;
    if (!strncmp (how, name, sizeof name - 1))
        how += sizeof name - 1;
    else if (!strncmp (how, quoted, sizeof quoted - 1))
        how += sizeof quoted - 1;
    return manifest_mismatch_tell (look, missing ? FINDING_MISSING : FINDING_CHANGED, TEXT_LIT (MANIFEST_NAME),
                                   missing ? "was sealed, but is missing" : how, err);
}

static int look_below (struct look *look, const struct generation *generation, enum audit_depth depth, uint64_t seed,
                       struct err *err)
{
    plan (look, depth, seed);
    int rc = tree_walk (generation->fd, manifest_unlisted, depth != AUDIT_STAT, meet_entry, look, err);
    return rc ? rc : tell_missing (look, err);
}

/* The same for a generation that began as a copy of `base`, whose manifest has that digest: reports what it lacks of
 * base's bytes. It may hold more, and its owner may still write it. */
static int manifest_find_base_mismatches (const struct generation *generation, const struct generation *base,
                                          struct text sha256, manifest_mismatch_fn *each, void *owner, struct err *err)
{
    LOCAL_ARENA arena = { 0 };
    struct look look = { .each = each, .owner = owner, .arena = &arena, .copy = true };
    if (generation_read_manifest (base, sha256, &arena, &look.manifest, err))
        return -1;
    return look_below (&look, generation, AUDIT_FULL, 0, err) ? -1 : 0;
}

int manifest_find_mismatches (const struct generation *generation, struct text sha256, enum audit_depth depth,
                              uint64_t seed, manifest_mismatch_fn *each, void *owner, struct err *err)
{
    LOCAL_ARENA arena = { 0 };
    struct look look = { .each = each, .owner = owner, .arena = &arena };
    struct err why = { 0 };
    int rc;
    if (generation_read_manifest (generation, sha256, &arena, &look.manifest, &why)) {
        rc = tell_manifest (&look, generation, &why, err);
    } else {
        rc = look_below (&look, generation, depth, seed, err);
        if (rc == 0)
            rc = look_at_top (&look, generation->fd, err);
    }
    return rc ? -1 : 0;
}

/* ---- the audit ---- */

/* The first ones by path are kept, so that the same damage gives the same list. */
struct collection {
    struct finding_list list;
    struct arena *arena;
    uint64_t token, base; /* base: `token` began as its copy; 0: `token` is sealed */
};

static struct text escape (struct arena *arena, struct text text, uint32_t bytes_max)
{
    LOCAL_BUF escaped = { .max = 8 * (size_t) text.len + 16 };
    buf_escaped (&escaped, text, 0);
    return text_copy (arena, text_clip (buf_as_text (&escaped), bytes_max));
}

/* The path unchanged, or escaped and cut if a record cannot hold it. */
static struct text path_for_record (struct arena *arena, struct text path)
{
    if (tree_path_valid (path) && path.len <= NAME_MAX_BYTES)
        return text_copy (arena, path);
    return escape (arena, path, NAME_MAX_BYTES);
}

static int audit_collect (void *owner, const struct manifest_mismatch *difference, struct err *err)
{
    struct collection *collection = owner;
    struct finding_list *list = &collection->list;
    struct text how = text_of (difference->how);
    uint32_t at = list->n;
    (void) err;
    while (at && text_compare (difference->path, list->items[at - 1].path) < 0)
        at--;
    if (list->n == FINDINGS_MAX)
        list->more++;
    if (at == FINDINGS_MAX)
        return 0;
    if (collection->base)
        how = text_format (collection->arena, "%.*s, in this writer's copy of generation %" PRIu64, TEXT_ARG (how),
                           collection->base);
    uint32_t behind = list->n < FINDINGS_MAX ? list->n++ - at : FINDINGS_MAX - 1 - at;
    memmove (&list->items[at + 1], &list->items[at], behind * sizeof *list->items);
    list->items[at] = (struct finding){ difference->kind, collection->token,
                                        path_for_record (collection->arena, difference->path),
                                        escape (collection->arena, how, SENTENCE_MAX_BYTES) };
    return 0;
}

/* A missing or replaced generation is a finding. */
static int collect_whole (struct collection *collection, const struct generation *generation, const struct err *why,
                          struct err *err)
{
    if (why->code != ERR_DAMAGE)
        return err_set (err, why->code, "%s", why->text);
    bool gone = faccessat (generation->root, generation->name, F_OK, AT_SYMLINK_NOFOLLOW) < 0;
    struct manifest_mismatch difference = { gone ? FINDING_MISSING : FINDING_CHANGED, TEXT_LIT ("."), why->text };
    return audit_collect (collection, &difference, err);
}

/* `base`: `token` began as its copy, and is compared with its manifest; 0: with its own. */
static int audit_audit (struct text bundle_root, uint64_t token, uint64_t base, struct text sha256,
                        enum audit_depth depth, uint64_t seed, struct arena *arena, struct finding_list *out,
                        struct err *err)
{
    LOCAL_GENERATION generation = GENERATION_CLOSED, sealed = GENERATION_CLOSED;
    struct err why = { 0 };
    struct collection collection = { .arena = arena, .token = token, .base = base };
    if (generation_open_root (&generation, bundle_root, token, false, err))
        return -1;
    collection.list.items = arena_array (arena, FINDINGS_MAX, sizeof *collection.list.items);
    int rc = -1;
    if (generation_open (&generation, &why))
        rc = collect_whole (&collection, &generation, &why, err);
    else if (!base)
        rc = manifest_find_mismatches (&generation, sha256, depth, seed, audit_collect, &collection, err);
    else if (generation_open_root (&sealed, bundle_root, base, false, err) == 0 && generation_open (&sealed, err) == 0)
        rc = manifest_find_base_mismatches (&generation, &sealed, sha256, audit_collect, &collection, err);
    if (rc)
        err_prefix (err, "cannot examine %s in %.160s", generation.name, generation.root_path);
    else
        *out = collection.list;
    return rc;
}

int audit_generation (struct text bundle_root, uint64_t token, struct text sha256, enum audit_depth depth,
                      uint64_t seed, struct arena *arena, struct finding_list *out, struct err *err)
{
    assert (depth >= AUDIT_STAT && depth <= AUDIT_FULL);
    return audit_audit (bundle_root, token, 0, sha256, depth, seed, arena, out, err);
}

int audit_base (struct text bundle_root, uint64_t token, uint64_t base, struct text base_sha256, struct arena *arena,
                struct finding_list *out, struct err *err)
{
    return audit_audit (bundle_root, token, base, base_sha256, AUDIT_FULL, 0, arena, out, err);
}
