#include "common/cache/audit.h"

#include "common/cache/manifest_mismatch.h"
#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* The first ones by path are kept, so that the same damage gives the same list. */
struct collection {
    struct finding_list list;
    struct arena *arena;
    uint64_t token, base; /* base: `token` began as its copy; 0: `token` is sealed */
};

static struct text escape (struct arena *arena, struct text text, uint32_t bytes_max)
{
    struct buf escaped;
    buf_init (&escaped, 8 * (size_t) text.len + 16);
    buf_escaped (&escaped, text, 0);
    struct text kept = text_copy (arena, text_clip (buf_as_text (&escaped), bytes_max));
    buf_release (&escaped);
    return kept;
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
    struct generation generation, sealed = { .root = -1, .fd = -1 };
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
    generation_close (&sealed);
    generation_close (&generation);
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
