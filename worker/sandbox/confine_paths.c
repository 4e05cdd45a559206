#include "worker/sandbox/confine_sandbox.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/base/path.h"
#include "common/cache/storage.h"
#include "common/io/proc.h"
#include "common/io/safe_path.h"

/* ---- lists ---- */

/* NULL: not there, or not reachable. */
static const char *real (const char *path, struct arena *arena)
{
    char resolved[PATH_MAX];
    return realpath (path, resolved) ? text_copy (arena, text_of (resolved)).ptr : NULL;
}

/* Never the root itself: that would open all that is closed. */
static void add_open (struct confine_paths *out, const char *path)
{
    if (path && strcmp (path, "/") != 0 && !path_is_below_any (path, out->open, out->open_n))
        out->open[out->open_n++] = path;
}

static int add_closed (struct confine_paths *out, const char *path, struct err *err)
{
    struct stat at;
    if (lstat (path, &at) < 0 || path_is_below_any (path, out->closed, out->closed_n))
        return 0; /* gone meanwhile, or closed with the folder */
    const char **list = S_ISDIR (at.st_mode) ? out->closed : out->closed_files;
    uint32_t *n = S_ISDIR (at.st_mode) ? &out->closed_n : &out->closed_files_n;
    if (*n == PLACES_CLOSED_MAX)
        return err_set (err, ERR_LIMIT, "the sandbox would have to protect more than %d paths from programs",
                        PLACES_CLOSED_MAX);
    list[(*n)++] = path;
    return 0;
}

/* ---- what is in them ---- */

/* Of /dev only shared memory and the like, because its nodes are the host's own. */
static const char *const usual[] = { "/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/dev/pts", "/dev/hugepages" };
enum { USUAL = sizeof usual / sizeof usual[0] };

bool confine_paths_is_usual (const char *path)
{
    for (size_t i = 0; i < USUAL; i++)
        if (strcmp (path, usual[i]) == 0)
            return true;
    return false;
}

bool confine_paths_below_usual (const char *path)
{
    return path_is_below_any (path, usual, USUAL);
}

struct writable {
    const struct confine_paths *paths;
    const char *path;
};

static int refuse_link (void *owner, const char *link, struct err *err)
{
    const struct writable *writable = owner;
    if (!confine_paths_is_open (writable->paths, link))
        return 0;
    return err_set (
        err, ERR_STATE,
        "cache.writable %.200s goes through the symbolic link %.200s, which programs may replace: name its target",
        writable->path, link);
}

static int find_open (const struct confine_args *args, struct arena *arena, struct confine_paths *out, struct err *err)
{
    for (size_t i = 0; i < USUAL; i++)
        add_open (out, real (usual[i], arena));
    for (uint32_t i = 0; i < args->writable_n; i++) {
        struct writable writable = { out, args->writable[i] };
        const char *path = real (args->writable[i], arena);
        if (path_links_each (args->writable[i], refuse_link, &writable, err) < 0)
            return -1;
        if (path && strcmp (path, "/") == 0)
            return err_set (err, ERR_STATE, "cache.writable %.200s is the whole file system: name a folder below /",
                            args->writable[i]);
        add_open (out, path);
    }
    return 0;
}

static int refuse_closed (const struct confine_args *args, const struct confine_paths *out, struct arena *arena,
                          struct err *err)
{
    for (uint32_t i = 0; i < args->writable_n; i++) {
        const char *path = real (args->writable[i], arena);
        if (path && path_is_below_any (path, out->closed, out->closed_n))
            return err_set (err, ERR_STATE,
                            "cache.writable %.200s is inside a folder that sliceup itself uses on this host, so no "
                            "program could write there: name another folder",
                            args->writable[i]);
    }
    return 0;
}

/* What is closed wins. */
static void drop_closed (struct confine_paths *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < out->open_n; i++)
        if (!path_is_below_any (out->open[i], out->closed, out->closed_n))
            out->open[n++] = out->open[i];
    out->open_n = n;
}

/* ---- links ---- */

struct linking {
    struct confine_paths *out;
    struct arena *arena;
};

static int add_link (void *owner, const char *link, struct err *err)
{
    const struct linking *linking = owner;
    struct confine_paths *out = linking->out;
    if (!confine_paths_is_open (out, link) || path_is_below_any (link, out->links, out->links_n))
        return 0;
    if (out->links_n == PLACES_LINKS_MAX)
        return err_set (err, ERR_LIMIT, "the sandbox would have to protect more than %d symbolic links from programs",
                        PLACES_LINKS_MAX);
    out->links[out->links_n++] = text_copy (linking->arena, text_of (link)).ptr;
    return 0;
}

static int find_links (const struct confine_args *args, struct arena *arena, struct confine_paths *out, struct err *err)
{
    struct linking linking = { out, arena };
    if (path_links_each (args->root, add_link, &linking, err) < 0 ||
        (args->directory && path_links_each (args->directory, add_link, &linking, err) < 0))
        return -1;
    for (uint32_t i = 0; i < args->protected_n; i++)
        if (path_links_each (args->protected[i], add_link, &linking, err) < 0)
            return -1;
    for (uint32_t i = 0; i < out->links_n; i++)
        out->protected[out->protected_n++] = out->links[i];
    return 0;
}

/* ---- other names ---- */

static const char *rest_below (const char *path, const char *folder)
{
    return strcmp (folder, "/") == 0 ? path : path + strlen (folder);
}

/* The name of `inner` (a path within the file system) below the mount, if the mount shows it. */
static const char *confine_paths_name_of (const struct proc_mount *mount, const char *inner, struct arena *arena)
{
    if (path_is_below (inner, mount->within)) {
        const char *below = rest_below (inner, mount->within), *point = strcmp (mount->point, "/") ? mount->point : "";
        return text_format (arena, "%s%s%s", point, below[0] && below[0] != '/' ? "/" : "", below).ptr;
    }
    return path_is_below (mount->within, inner) ? mount->point : NULL;
}

/* Another mount may lie over it. */
static bool shows (const char *path, const struct stat *of)
{
    struct stat at;
    return path[0] && lstat (path, &at) == 0 && S_ISDIR (at.st_mode) && at.st_dev == of->st_dev;
}

/* Which mount `folder` lies on, and its path within the file system. */
static const struct proc_mount *mount_of (const struct proc_mounts *mounts, const char *folder, struct arena *arena,
                                          const char **inner, struct err *err)
{
    const struct proc_mount *own = proc_mounts_find (mounts, folder, err);
    if (own && !path_is_below (folder, own->point)) {
        err_set (err, ERR_STATE, "/proc/self/mountinfo does not list the mount of %.300s", folder);
        return NULL;
    }
    if (!own)
        return NULL;
    const char *below = rest_below (folder, own->point), *within = strcmp (own->within, "/") ? own->within : "";
    *inner = text_format (arena, "%s%s%s", within, below[0] && below[0] != '/' ? "/" : "", below).ptr;
    if (!(*inner)[0])
        *inner = "/";
    return own;
}

/* A storage can be mounted at several places, so paths below `folder` have several names. Adds the other reachable ones
 * to `out` (`*n` of `max` used). It cannot know mounts of one server with different device numbers. */
static int find_aliases (const struct proc_mounts *mounts, const char *folder, struct arena *arena, const char **out,
                         uint32_t max, uint32_t *n, struct err *err)
{
    struct stat at;
    const char *inner;
    const struct proc_mount *own = mount_of (mounts, folder, arena, &inner, err);
    if (!own)
        return -1;
    if (stat (folder, &at) < 0)
        return err_errno (err, ERR_IO, "cannot inspect %.300s", folder);
    for (uint32_t i = 0; i < mounts->n; i++) {
        const struct proc_mount *mount = &mounts->items[i];
        if (mount == own || mount->major != own->major || mount->minor != own->minor)
            continue;
        const char *name = confine_paths_name_of (mount, inner, arena);
        if (!name || path_is_below (name, folder) || !shows (name, &at))
            continue;
        if (*n == max)
            return err_set (err, ERR_LIMIT,
                            "%.200s and the other protected paths are mounted in more than %u other places", folder,
                            max);
        out[(*n)++] = name;
    }
    return 0;
}

/* ---- what is closed ---- */

/* The names of `folder` with `rest` behind each. */
static int add_aliases (const struct proc_mounts *mounts, const char *folder, const char *rest, struct arena *arena,
                        struct confine_paths *out, struct err *err)
{
    const char *names[PLACES_CLOSED_MAX];
    uint32_t n = 0;
    if (find_aliases (mounts, folder, arena, names, PLACES_CLOSED_MAX, &n, err) < 0)
        return -1;
    for (uint32_t i = 0; i < n; i++)
        if (add_closed (out, *rest ? text_format (arena, "%s%s", names[i], rest).ptr : names[i], err) < 0)
            return -1;
    return 0;
}

/* Of a file, through the folder that it lies in. */
static int add_aliases_of_file (const struct proc_mounts *mounts, const char *path, struct arena *arena,
                                struct confine_paths *out, struct err *err)
{
    return add_aliases (mounts, text_copy (arena, path_folder (text_of (path))).ptr, strrchr (path, '/'), arena, out,
                        err);
}

static int add_protected (struct confine_paths *out, const char *path, struct err *err)
{
    if (!path || path_is_below_any (path, out->protected, out->protected_n))
        return 0;
    out->protected[out->protected_n++] = path;
    return add_closed (out, path, err);
}

static int find_closed (const struct confine_args *args, const char *root, const char *directory, struct arena *arena,
                        struct confine_paths *out, struct err *err)
{
    struct proc_mounts mounts;
    if (proc_mounts_read ("/proc/self", arena, &mounts, err) < 0 || add_closed (out, root, err) < 0 ||
        add_protected (out, directory, err) < 0)
        return -1;
    for (uint32_t i = 0; i < args->protected_n; i++)
        if (add_protected (out, real (args->protected[i], arena), err) < 0)
            return -1;
    uint32_t folders_n = out->closed_n, files_n = out->closed_files_n;
    for (uint32_t i = 0; i < folders_n; i++)
        if (add_aliases (&mounts, out->closed[i], "", arena, out, err) < 0)
            return -1;
    for (uint32_t i = 0; i < files_n; i++)
        if (add_aliases_of_file (&mounts, out->closed_files[i], arena, out, err) < 0)
            return -1;
    return 0;
}

/* `directory` is the worker's, `own` the generation that may be written; NULL: none. ERR_STATE: a program could change
 * the target of one of the plan's writable paths, or a path is the whole file system. */
static int confine_paths_find (const struct confine_args *args, const char *root, const char *directory,
                               const char *scratch, const char *own, struct arena *arena, struct confine_paths *out,
                               struct err *err)
{
    *out = (struct confine_paths){ 0 };
    out->own[out->own_n++] = scratch;
    if (own)
        out->own[out->own_n++] = own;
    if (find_open (args, arena, out, err) < 0 || find_closed (args, root, directory, arena, out, err) < 0)
        return -1;
    if (refuse_closed (args, out, arena, err) < 0)
        return -1;
    drop_closed (out);
    return find_links (args, arena, out, err);
}

const char *confine_paths_open_holding (const struct confine_paths *paths, const char *path)
{
    for (uint32_t i = 0; i < paths->open_n; i++)
        if (path_is_below (path, paths->open[i]))
            return paths->open[i];
    return NULL;
}

bool confine_paths_is_open (const struct confine_paths *paths, const char *path)
{
    return confine_paths_open_holding (paths, path) != NULL;
}

/* ---- confine cache paths ---- */

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
    if (!out->directory)
        out->directory = text_copy (arena, path_folder (text_of (out->place))).ptr;
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
    /* The whole cache: only for a report without a program. */
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
