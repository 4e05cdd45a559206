/* cache_bundles.c - the folders of a cache root that may hold generations. */
#include "coordinator/io/cache_audit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include "common/cache/tree.h"

enum { BUNDLES_MAX = 16384 };

struct bundles { struct arena *arena; struct text *items; uint32_t n; };

static int by_text (const void *a, const void *b)
{
    return text_compare (*(const struct text *) a, *(const struct text *) b);
}

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
    return tree_name_valid (text_of (name)) && fstatat (dirfd (in), name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR (st.st_mode);
}

/* A folder that cannot be opened holds nothing that anybody of ours could read either. */
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
            rc = err_set (err, ERR_LIMIT, "more than %d bundles lie in the cache root: that is no cache root", BUNDLES_MAX);
        else
            bundles->items[bundles->n++] = text_format (bundles->arena, "%s/%s", frontend, entry->d_name);
    }
    closedir (folder);
    return rc;
}

int cache_bundles (const char *root, struct arena *arena, struct text **out, uint32_t *n, struct err *err)
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
    qsort (bundles.items, bundles.n, sizeof *bundles.items, by_text);
    *out = bundles.items;
    *n = bundles.n;
    return 0;
}
