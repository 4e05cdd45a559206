/* cache_families.c - the folders of a cache root that may hold generations, and the folders of single hosts in them. */
#include "coordinator/catalogue/cache_audit.h"

#include "common/cache/tree.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OWN "host-"

enum { BUNDLES_MAX = 16384, OWN_MAX = 16384 };

struct bundles {
    struct arena *arena;
    struct text *items;
    uint32_t n;
};

static DIR *open_folder (int at, const char *name)
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

/* A folder that cannot be opened here cannot be read by this user's runs either. */
static int add_frontend (struct bundles *bundles, DIR *root, const char *frontend, struct err *err)
{
    int rc = 0;
    DIR *folder = open_folder (dirfd (root), frontend);
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

/* What its host writes while we look may be half counted. */
static void measure (struct host_cache *own, DIR *in, const char *name)
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
        measure (&items[(*n)++], folder, entry->d_name);
    }
    closedir (folder);
    _Static_assert(offsetof (struct host_cache, host) == 0, "text_order compares what each begins with");
    if (*n)
        qsort (items, *n, sizeof *items, text_order);
    *out = arena_copy (arena, items, *n * sizeof *items);
    mem_free (items);
    return 0;
}
