#include "worker/io/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/io/atomic_file.h"
#include "worker/io/copy.h"
#include "worker/io/generation.h"

static int check_role (const struct cache_order *order, enum cache_role role, struct err *err)
{
    if (order->role == role)
        return 0;
    return err_set (err, ERR_REFUSED, "the cache order is for role \"%s\", not \"%s\"",
                    names_of (&cache_role_names, order->role), names_of (&cache_role_names, role));
}

/* Set, kinds, sizes and modes first: a wrong set is found without reading a byte. */
static int check_set (const struct generation *generation, const struct manifest *manifest, struct arena *arena,
                      struct err *err)
{
    struct tree tree;
    if (tree_list (generation->fd, MANIFEST_NAME, arena, &tree, err))
        return -1;
    return manifest_compare (manifest, &tree, err);
}

static int check_all_bytes (const struct generation *generation, const struct manifest *manifest, struct err *err)
{
    for (uint32_t i = 0; i < manifest->n; i++) {
        const struct manifest_entry *entry = &manifest->items[i];
        int fd = tree_open_entry (generation->fd, &entry->at, err);
        if (fd < 0)
            return -1;
        int rc = entry->at.kind == TREE_FILE ? manifest_check_bytes (entry, fd, err) : 0;
        close (fd);
        if (rc)
            return -1;
    }
    return 0;
}

static int make_generation (struct generation *generation, struct err *err)
{
    if (mkdirat (generation->root, generation->name, 0755)) {
        if (errno == EEXIST)
            return err_set (err, ERR_REFUSED, "%s exists already in %s: a token is used once; nothing was written",
                            generation->name, generation->root_path);
        return err_errno (err, ERR_IO, "cannot make %s in %s", generation->name, generation->root_path);
    }
    if (generation_open (generation, err) == 0)
        return 0;
    if (unlinkat (generation->root, generation->name, AT_REMOVEDIR))
        err_prefix (err, "(and the empty folder stays)");
    return -1;
}

/* Nobody was told of it yet, so nobody can miss it. */
static int unmake_generation (const struct generation *generation, struct err *err)
{
    char path[PATH_MAX_BYTES + GENERATION_NAME_BYTES + 2];
    struct err why;
    if (generation_path (generation, path, sizeof path, &why) || folder_remove (path, &why))
        err_prefix (err, "(%s stays, half made: %.120s)", generation->name, why.text);
    return -1;
}

static int seed (struct generation *to, const struct cache_order *order, struct err *err)
{
    struct generation base;
    struct arena arena = { 0 };
    struct manifest manifest;
    int rc = -1;
    if (generation_open_root (&base, order->frontend_root, order->base, false, err))
        return -1;
    if (generation_open (&base, err) || generation_manifest (&base, order->base_sha256, &arena, &manifest, err) ||
        check_set (&base, &manifest, &arena, err) || copy_entries (&manifest, base.fd, to->fd, err))
        err_prefix (err, "cannot seed %s from %s", to->name, base.name);
    else
        rc = 0;
    generation_close (&base);
    arena_release (&arena);
    return rc;
}

int cache_prepare_writer (const struct cache_order *order, char *dir, size_t dir_bytes, struct err *err)
{
    struct generation generation;
    int rc = -1;
    if (check_role (order, CACHE_ROLE_WRITER, err))
        return -1;
    if (order->base == order->token)
        return err_set (err, ERR_REFUSED, "the cache order seeds generation %llu from itself",
                        (unsigned long long) order->token);
    if (generation_open_root (&generation, order->frontend_root, order->token, true, err))
        return -1;
    if (generation_path (&generation, dir, dir_bytes, err) || make_generation (&generation, err))
        goto out;
    rc = order->base ? seed (&generation, order, err) : 0;
    if (rc)
        unmake_generation (&generation, err);
out:
    generation_close (&generation);
    return rc;
}

/* A reader without a generation finds an empty cache in which nothing can be left behind for the next attempt. */
static int prepare_empty (const char *private_dir, char *dir, size_t dir_bytes, struct err *err)
{
    int len = snprintf (dir, dir_bytes, "%s", private_dir);
    if (private_dir[0] != '/' || len < 0 || (size_t) len >= dir_bytes)
        return err_set (err, ERR_LIMIT,
                        "the private cache folder \"%.200s\" is not an absolute path of at most %zu bytes", private_dir,
                        dir_bytes - 1);
    if (folder_remove (private_dir, err))
        return err_prefix (err, "private cache folder");
    /* The umask may take from the 0555 of mkdir. */
    if (mkdir (private_dir, 0555) || chmod (private_dir, 0555))
        return err_errno (err, ERR_IO, "cannot make the private cache folder %.200s", private_dir);
    return 0;
}

static int prepare_published (const struct cache_order *order, char *dir, size_t dir_bytes, struct err *err)
{
    struct generation generation;
    struct arena arena = { 0 };
    struct manifest manifest;
    int rc = -1;
    if (generation_open_root (&generation, order->frontend_root, order->token, false, err))
        return -1;
    if (generation_path (&generation, dir, dir_bytes, err) == 0 && generation_open (&generation, err) == 0 &&
        generation_manifest (&generation, order->sha256, &arena, &manifest, err) == 0 &&
        check_set (&generation, &manifest, &arena, err) == 0 && check_all_bytes (&generation, &manifest, err) == 0)
        rc = 0;
    else
        err_prefix (err, "%s in %.160s cannot be used", generation.name, generation.root_path);
    arena_release (&arena);
    generation_close (&generation);
    return rc;
}

int cache_prepare_reader (const struct cache_order *order, const char *private_dir, char *dir, size_t dir_bytes,
                          struct err *err)
{
    if (check_role (order, CACHE_ROLE_READER, err))
        return -1;
    return order->token ? prepare_published (order, dir, dir_bytes, err)
                        : prepare_empty (private_dir, dir, dir_bytes, err);
}

int cache_link (const char *link_path, const char *dir, struct err *err)
{
    char fresh[PATH_MAX_BYTES + 8];
    int len = snprintf (fresh, sizeof fresh, "%s.next", link_path);
    if (len < 0 || (size_t) len >= sizeof fresh)
        return err_set (err, ERR_LIMIT, "the path of the cache link is longer than %d bytes", PATH_MAX_BYTES);
    /* Left by a process that was killed between the two calls below. */
    if (unlink (fresh) && errno != ENOENT)
        return err_errno (err, ERR_IO, "cannot remove %s", fresh);
    if (symlink (dir, fresh))
        return err_errno (err, ERR_IO, "cannot make the cache link %s", fresh);
    if (rename (fresh, link_path) == 0)
        return 0;
    err_errno (err, ERR_IO, "cannot point %s at %.200s", link_path, dir);
    if (unlink (fresh))
        err_prefix (err, "(%s stays)", fresh);
    return -1;
}
