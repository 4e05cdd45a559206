#include "coordinator/catalogue/cache_audit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cache/audit.h"
#include "common/cache/owners.h"
#include "common/cache/tree.h"

enum { FOUND_MAX = 4096, PROBLEMS_MAX = 1024 };

struct round {
    const struct cache_audit_options *audit;
    struct arena *arena;
    struct cache_audit_result *out;
    struct catalogue_list known;
    uint32_t done, all;
};

/* ---- what is asked for ---- */

static bool asked (const struct cache_audit_options *audit, uint64_t token)
{
    for (uint32_t i = 0; i < audit->tokens_n; i++)
        if (audit->tokens[i] == token)
            return true;
    return audit->tokens_n == 0;
}

static bool wanted (const struct round *round, const struct catalogue_entry *entry)
{
    return entry->state == GENERATION_PUBLISHED && asked (round->audit, entry->token);
}

static int check_tokens (const struct round *round, struct err *err)
{
    for (uint32_t i = 0; i < round->audit->tokens_n; i++) {
        bool there = false;
        for (uint32_t k = 0; k < round->known.n; k++)
            there = there || round->known.items[k].token == round->audit->tokens[i];
        if (!there)
            return err_set (err, ERR_USAGE, "%s has no generation %" PRIu64 "; sliceup cache ls lists them",
                            round->audit->root, round->audit->tokens[i]);
    }
    return 0;
}

/* ---- what was found ---- */

static void add_found (struct round *round, struct text bundle, const struct cache_root_finding *found)
{
    if (round->out->found.n < FOUND_MAX)
        round->out->found.items[round->out->found.n++] = (struct cache_audit_finding){ bundle, *found };
}

static void add_problem (struct round *round, struct text bundle, uint64_t token, const struct err *why)
{
    if (round->out->problems.n < PROBLEMS_MAX)
        round->out->problems.items[round->out->problems.n++] =
            (struct cache_audit_problem){ bundle, token, text_copy (round->arena, text_of (why->text)) };
}

/* ---- one generation ---- */

static bool lies_there (const struct round *round, const struct catalogue_entry *entry)
{
    char path[PATH_MAX];
    struct stat st;
    int len = snprintf (path, sizeof path, "%s/%.*s/gen-%" PRIu64, round->audit->root, TEXT_ARG (entry->bundle),
                        entry->token);
    return len > 0 && (size_t) len < sizeof path && lstat (path, &st) == 0;
}

static void look_inside (struct round *round, const struct catalogue_entry *entry)
{
    struct finding_list list = { 0 };
    struct err err = { 0 };
    struct text bundle_root = text_format (round->arena, "%s/%.*s", round->audit->root, TEXT_ARG (entry->bundle));
    if (owners_check_entries (bundle_root, entry->token, round->audit->trust, &err) != 0 ||
        audit_generation (bundle_root, entry->token, entry->published.sha256,
                          round->audit->every_byte ? AUDIT_FULL : AUDIT_STAT, 0, round->arena, &list, &err) != 0)
        add_problem (round, entry->bundle, entry->token, &err);
    for (uint32_t i = 0; i < list.n; i++)
        add_found (round, entry->bundle, &(struct cache_root_finding){ .finding = list.items[i], .run = entry->run });
    if (list.more) {
        struct finding rest = { .kind = FINDING_CHANGED,
                                .token = entry->token,
                                .path = TEXT_LIT ("..."),
                                .detail = text_format (round->arena, "and %u more differences", list.more) };
        add_found (round, entry->bundle, &(struct cache_root_finding){ .finding = rest, .run = entry->run });
    }
}

/* A missing generation was found before. One that was collected meanwhile is no finding. */
static void cache_audit_look_at (struct round *round, const struct catalogue_entry *entry)
{
    const struct cache_audit_options *audit = round->audit;
    uint32_t found = round->out->found.n, problems = round->out->problems.n;
    enum generation_state state = GENERATION_PUBLISHED;
    struct cache_audit_progress progress = {
        .bundle = entry->bundle, .token = entry->token, .done = round->done++, .all = round->all
    };
    if (audit->progress)
        audit->progress (audit->owner, &progress);
    if (!lies_there (round, entry))
        return;
    look_inside (round, entry);
    bool clean = found == round->out->found.n && problems == round->out->problems.n;
    if (!clean && catalogue_generation_state (audit->catalogue, entry->token, &state, NULL) == 0 &&
        state != GENERATION_PUBLISHED) {
        round->out->found.n = found;
        round->out->problems.n = problems;
        return;
    }
    round->out->generations++;
    round->out->bytes += entry->published.bytes;
}

/* ---- one bundle ---- */

static void cache_audit_look_over (struct round *round, struct text bundle)
{
    struct cache_root_finding *found = NULL;
    struct err err = { 0 };
    uint32_t n = 0;
    if (catalogue_audit_unpublished (round->audit->catalogue, bundle, round->arena, &found, &n, &err) != 0) {
        add_problem (round, bundle, 0, &err);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        if (asked (round->audit, found[i].finding.token))
            add_found (round, bundle, &found[i]);
}

static bool know_bundle (const struct round *round, struct text bundle)
{
    for (uint32_t i = 0; i < round->known.n; i++)
        if (text_equal (round->known.items[i].bundle, bundle))
            return true;
    return false;
}

static int look_at_folders (struct round *round, struct err *err)
{
    struct text *bundles = NULL;
    uint32_t n = 0;
    if (cache_list_families (round->audit->root, round->arena, &bundles, &n, err) != 0)
        return -1;
    for (uint32_t i = 0; i < n; i++)
        if (!know_bundle (round, bundles[i]))
            cache_audit_look_over (round, bundles[i]);
    return 0;
}

int cache_audit (const struct cache_audit_options *audit, struct arena *arena, struct cache_audit_result *out,
                 struct err *err)
{
    struct round round = { .audit = audit, .arena = arena, .out = out };
    *out =
        (struct cache_audit_result){ .found.items = arena_array (arena, FOUND_MAX, sizeof *out->found.items),
                                     .problems.items = arena_array (arena, PROBLEMS_MAX, sizeof *out->problems.items) };
    if (catalogue_list (audit->catalogue, TEXT_LIT (""), arena, &round.known, err) != 0 ||
        check_tokens (&round, err) != 0)
        return -1;
    for (uint32_t i = 0; i < round.known.n; i++)
        round.all += wanted (&round, &round.known.items[i]);
    for (uint32_t i = 0; i < round.known.n; i++) {
        const struct catalogue_entry *entry = &round.known.items[i];
        if (i == 0 || !text_equal (entry->bundle, entry[-1].bundle))
            cache_audit_look_over (&round, entry->bundle);
        if (wanted (&round, entry))
            cache_audit_look_at (&round, entry);
    }
    return look_at_folders (&round, err);
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
    DIR *folder = cache_audit_open_folder (dirfd (root), frontend);
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
    closedir (folder);
    return rc;
}

int cache_list_families (const char *root, struct arena *arena, struct text **out, uint32_t *n, struct err *err)
{
    struct bundles bundles = { .arena = arena, .items = arena_array (arena, BUNDLES_MAX, sizeof *bundles.items) };
    int rc = 0;
    DIR *folder = opendir (root); /* the administrator's path: it may be a link */
    if (!folder)
        return err_errno (err, errno == ENOENT ? ERR_STATE : ERR_IO, "cannot list cache root %s", root);
    for (struct dirent *entry = readdir (folder); entry && rc == 0; entry = readdir (folder))
        if (is_folder (folder, entry->d_name))
            rc = add_frontend (&bundles, folder, entry->d_name, err);
    closedir (folder);
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
    int fd = openat (dirfd (in), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    own->closed = fd < 0 || tree_walk (fd, NULL, false, count_file, own, NULL) != 0;
    if (fd >= 0)
        close (fd);
}

int cache_list_per_host (const char *root, struct text bundle, struct arena *arena, struct host_cache **out,
                         uint32_t *n, struct err *err)
{
    char path[PATH_MAX];
    struct host_cache *items = NULL;
    *out = NULL;
    *n = 0;
    if (snprintf (path, sizeof path, "%s/%.*s", root, TEXT_ARG (bundle)) >= (int) sizeof path)
        return err_set (err, ERR_LIMIT, "the path of a cache family is longer than %d bytes", PATH_MAX);
    DIR *folder = opendir (path);
    if (!folder)
        return errno == ENOENT || errno == EACCES ? 0 : err_errno (err, ERR_IO, "cannot list %s", path);
    for (struct dirent *entry = readdir (folder); entry && *n < OWN_MAX; entry = readdir (folder)) {
        if (strncmp (entry->d_name, OWN, sizeof OWN - 1) != 0 || !is_folder (folder, entry->d_name))
            continue;
        items = mem_grow (items, *n + 1, sizeof *items);
        items[*n] = (struct host_cache){ .host = text_copy (arena, text_of (entry->d_name + sizeof OWN - 1)) };
        cache_audit_measure (&items[(*n)++], folder, entry->d_name);
    }
    closedir (folder);
    _Static_assert(offsetof (struct host_cache, host) == 0, "text_order compares what each begins with");
    if (*n)
        qsort (items, *n, sizeof *items, text_order);
    *out = arena_copy (arena, items, *n * sizeof *items);
    mem_free (items);
    return 0;
}
