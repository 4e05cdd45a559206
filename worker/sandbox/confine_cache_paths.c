#include "worker/sandbox/confine_cache_paths.h"

#include "common/base/path.h"
#include "common/cache/storage.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

static int resolve (const char *path, const char *what, struct arena *arena, const char **out, struct err *err)
{
    char real[PATH_MAX];
    struct stat at;
    if (!realpath (path, real) || stat (real, &at) < 0)
        return err_errno (err, ERR_IO, "cannot find %s %.300s", what, path);
    if (!S_ISDIR (at.st_mode))
        return err_set (err, ERR_STATE, "%s %.300s is not a folder", what, path);
    if (strlen (real) > PATH_MAX_BYTES)
        return err_set (err, ERR_LIMIT, "%s %.300s is longer than %d bytes when its symbolic links are resolved", what,
                        path, PATH_MAX_BYTES);
    *out = text_copy (arena, text_of (real)).ptr;
    return 0;
}

/* A reader may come before the first writer. */
static int resolve_bundle (const struct confine_args *args, struct arena *arena, struct confine_cache_paths *out,
                           struct err *err)
{
    char *path = (char *) text_copy (arena, text_of (args->bundle)).ptr;
    char real[PATH_MAX];
    while (!realpath (path, real) && errno == ENOENT && strrchr (path, '/') != path)
        *strrchr (path, '/') = '\0';
    if (resolve (path, "the folder of the cache family", arena, &out->bundle, err) < 0)
        return -1;
    if (path_is_below (out->bundle, out->root))
        return 0;
    return err_set (err, ERR_STATE,
                    "%.200s leads to %.200s, outside the cache root: symbolic links in a cache are not followed",
                    args->bundle, out->bundle);
}

static int resolve_place (const struct confine_args *args, struct arena *arena, struct confine_cache_paths *out,
                          struct err *err)
{
    if (args->directory && resolve (args->directory, "the worker's folder", arena, &out->directory, err) < 0)
        return -1;
    if (!args->place)
        return 0;
    if (resolve (args->place, "the folder that shows the cache to programs", arena, &out->place, err) < 0)
        return -1;
    if (out->directory)
        return 0;
    const char *slash = strrchr (out->place, '/');
    struct text directory = { out->place, (uint32_t) (slash - out->place) };
    out->directory = text_copy (arena, directory).ptr;
    return 0;
}

static int resolve_generation (const struct confine_args *args, struct arena *arena, struct confine_cache_paths *out,
                               struct err *err)
{
    const char *path = args->generation;
    if (args->role == CACHE_ROLE_NONE)
        return 0;
    if (!path)
        path = text_format (arena, "%s/generation", out->place).ptr;
    if (resolve (path, "the generation that the program is to see", arena, &out->generation, err) < 0)
        return -1;
    bool reads = args->role == CACHE_ROLE_READER;
    /* The whole cache: only for somebody who looks, with no program to show it to. */
    bool whole = strcmp (out->generation, out->root) == 0;
    bool inside = path_is_below (out->generation, out->bundle) && !(whole && (out->place || !reads));
    if (!inside && !(reads && out->directory && path_is_below (out->generation, out->directory)))
        return err_set (err, ERR_STATE, "%.200s leads to %.200s, which is not in the cache family's folder %.200s",
                        path, out->generation, out->bundle);
    out->own = reads ? NULL : out->generation;
    return !args->base ? 0 : resolve (args->base, "the generation to start from", arena, &out->base, err);
}

static int confine_cache_paths_look (struct confine_cache_paths *out, struct err *err)
{
    struct statvfs at;
    if (statvfs (out->root, &at) < 0)
        return err_errno (err, ERR_IO, "cannot inspect the cache root %.300s", out->root);
    out->read_only = at.f_flag & ST_RDONLY;
    return storage_describe_mount (out->root, out->mount, sizeof out->mount, err);
}

static void add_hidden (const char *path, struct arena *arena, struct confine_cache_paths *out)
{
    char real[PATH_MAX];
    if (realpath (path, real))
        out->hidden[out->hidden_n++] = text_copy (arena, text_of (real)).ptr;
}

/* Whoever may read the catalogue may lock it (fcntl(2)), and then nobody writes it any more. */
static void find_hidden (const struct confine_args *args, struct arena *arena, struct confine_cache_paths *out)
{
    for (uint32_t i = 0; i < args->hidden_n; i++)
        add_hidden (args->hidden[i], arena, out);
    add_hidden (text_format (arena, "%s/catalogue.db", out->root).ptr, arena, out);
    add_hidden (text_format (arena, "%s/catalogue.db-wal", out->root).ptr, arena, out);
    add_hidden (text_format (arena, "%s/catalogue.db-shm", out->root).ptr, arena, out);
}

int confine_cache_paths_resolve (const struct confine_args *args, struct arena *arena, struct confine_cache_paths *out,
                                 struct err *err)
{
    *out = (struct confine_cache_paths){ 0 };
    if (resolve (args->root, "the cache root", arena, &out->root, err) < 0 ||
        resolve (args->scratch, "the program's own folder", arena, &out->scratch, err) < 0)
        return -1;
    if (path_is_below (out->scratch, out->root))
        return err_set (
            err, ERR_STATE,
            "%.200s is inside the cache root %.200s, where programs may not write: choose another cache.root",
            out->scratch, out->root);
    if (resolve_bundle (args, arena, out, err) < 0 || resolve_place (args, arena, out, err) < 0 ||
        resolve_generation (args, arena, out, err) < 0 || confine_cache_paths_look (out, err) < 0)
        return -1;
    find_hidden (args, arena, out);
    return confine_paths_find (args, out->root, out->directory, out->scratch, out->own, arena, &out->paths, err);
}
