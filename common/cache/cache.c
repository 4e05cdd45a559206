#include "common/cache/cache.h"

#include "common/io/atomic_file.h"
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int check_role (const struct cache_access *access, enum cache_role role, struct err *err)
{
    if (access->role == role)
        return 0;
    return err_set (err, ERR_REFUSED,
                    "the coordinator gave this host the cache role \"%s\", but this step is for role \"%s\"",
                    enum_name_of (&cache_role_names, access->role), enum_name_of (&cache_role_names, role));
}

/* No host knows the generation yet, so it can be removed. */
static int unmake_generation (const struct generation *generation, struct err *err)
{
    char path[PATH_MAX_BYTES + GENERATION_NAME_BYTES + 2];
    struct err why;
    if (generation_path (generation, path, sizeof path, &why) || folder_remove (path, &why))
        err_prefix (err, "(the incomplete %s could not be removed: %.120s)", generation->name, why.text);
    return -1;
}

/* Names, sizes and modes of the base are checked before anything is copied, the bytes in the copy. */
static int copy_base (const struct generation *to, const struct generation *base, struct text sha256, struct err *err)
{
    struct arena arena = { 0 };
    struct manifest manifest;
    int rc = manifest_find_mismatches (base, sha256, AUDIT_STAT, 0, manifest_refuse_mismatch, NULL, err);
    if (rc == 0)
        rc = generation_read_manifest (base, sha256, &arena, &manifest, err);
    if (rc == 0 && (rc = copy_entries (&manifest, base->fd, to->fd, err)) < 0)
        generation_explain_space (to, manifest.bytes, err);
    arena_release (&arena);
    return rc;
}

static int seed (const struct generation *to, const struct cache_access *access, struct err *err)
{
    struct generation base;
    if (generation_open_root (&base, access->frontend_root, access->base, false, err))
        return -1;
    int rc = generation_open (&base, err);
    if (rc == 0)
        rc = copy_base (to, &base, access->base_sha256, err);
    if (rc)
        err_prefix (err, "cannot begin %s with a copy of %s", to->name, base.name);
    generation_close (&base);
    return rc;
}

int cache_prepare_writer (const struct cache_access *access, char *dir, size_t dir_bytes, struct err *err)
{
    struct generation generation;
    int rc = -1;
    if (check_role (access, CACHE_ROLE_WRITER, err))
        return -1;
    if (access->base == access->token)
        return err_set (err, ERR_REFUSED, "the coordinator asks for a generation %llu that begins as a copy of itself",
                        (unsigned long long) access->token);
    if (generation_open_root (&generation, access->frontend_root, access->token, true, err))
        return -1;
    if (generation_path (&generation, dir, dir_bytes, err) || generation_make (&generation, 0755, false, err))
        goto out;
    rc = access->base ? seed (&generation, access, err) : 0;
    if (rc)
        unmake_generation (&generation, err);
out:
    generation_close (&generation);
    return rc;
}

/* A reader without a generation gets an empty cache, in which it can leave nothing for the next attempt. */
static int prepare_empty (const char *private_dir, char *dir, size_t dir_bytes, struct err *err)
{
    int len = snprintf (dir, dir_bytes, "%s", private_dir);
    if (private_dir[0] != '/' || len < 0 || (size_t) len >= dir_bytes)
        return err_set (err, ERR_LIMIT,
                        "the private cache folder \"%.200s\" is not an absolute path of at most %zu bytes", private_dir,
                        dir_bytes - 1);
    if (folder_remove (private_dir, err))
        return err_prefix (err, "private cache folder");
    if (mkdir (private_dir, 0555) || chmod (private_dir, 0555))
        return err_errno (err, ERR_IO, "cannot make the private cache folder %.200s", private_dir);
    return 0;
}

static int prepare_published (const struct cache_access *access, enum audit_depth depth, uint64_t drawn, char *dir,
                              size_t dir_bytes, struct err *err)
{
    struct generation generation;
    int rc = -1;
    if (generation_open_root (&generation, access->frontend_root, access->token, false, err))
        return -1;
    if (generation_path (&generation, dir, dir_bytes, err) == 0 && generation_open (&generation, err) == 0)
        rc = manifest_find_mismatches (&generation, access->sha256, depth, drawn, manifest_refuse_mismatch, NULL, err);
    if (rc)
        err_prefix (err, "cannot use the cache %s in %.160s", generation.name, generation.root_path);
    generation_close (&generation);
    return rc;
}

int cache_prepare_reader (const struct cache_access *access, enum audit_depth depth, uint64_t drawn,
                          const char *private_dir, char *dir, size_t dir_bytes, struct err *err)
{
    if (check_role (access, CACHE_ROLE_READER, err))
        return -1;
    return access->token ? prepare_published (access, depth, drawn, dir, dir_bytes, err)
                         : prepare_empty (private_dir, dir, dir_bytes, err);
}

/* Sets the mode to 0700, whatever it was. */
static int close_to_others (const struct generation *generation, struct err *err)
{
    struct stat st;
    if (fstat (generation->fd, &st))
        return err_errno (err, ERR_IO, "cannot examine the per-host cache");
    if (st.st_uid != geteuid ())
        return err_set (err, ERR_REFUSED,
                        "the per-host cache belongs to user %u, but the worker of this host runs as user %u: remove "
                        "the cache, or chown it to the user of the worker",
                        (unsigned) st.st_uid, (unsigned) geteuid ());
    if ((st.st_mode & 07777) != 0700 && fchmod (generation->fd, 0700))
        return err_errno (err, ERR_IO, "cannot remove the access of other users to the per-host cache");
    return 0;
}

int cache_prepare_host_cache (const struct cache_access *access, struct text host, char *dir, size_t bytes,
                              struct err *err)
{
    struct generation own;
    struct arena arena = { 0 };
    struct tree tree;
    if (check_role (access, CACHE_ROLE_OWN, err))
        return -1;
    if (generation_open_host_cache (&own, access->frontend_root, host, err))
        return -1;
    int rc = generation_path (&own, dir, bytes, err);
    if (rc == 0)
        rc = generation_make (&own, 0700, true, err);
    if (rc == 0 && (close_to_others (&own, err) || tree_list (own.fd, NULL, &arena, &tree, err)))
        rc = err_prefix (err, "cannot use the cache %s in %.160s", own.name, own.root_path);
    arena_release (&arena);
    generation_close (&own);
    return rc;
}

int cache_set_symlink (const char *link_path, const char *dir, struct err *err)
{
    char fresh[PATH_MAX_BYTES + 8];
    int len = snprintf (fresh, sizeof fresh, "%s.next", link_path);
    if (len < 0 || (size_t) len >= sizeof fresh)
        return err_set (err, ERR_LIMIT, "the path of the cache's symbolic link is longer than %d bytes",
                        PATH_MAX_BYTES);
    /* Left by a process that was killed between the two calls below. */
    if (unlink (fresh) && errno != ENOENT)
        return err_errno (err, ERR_IO, "cannot remove %s", fresh);
    if (symlink (dir, fresh))
        return err_errno (err, ERR_IO, "cannot make the cache's symbolic link %s", fresh);
    if (rename (fresh, link_path) == 0)
        return 0;
    err_errno (err, ERR_IO, "cannot make the cache's symbolic link %s point to %.200s", link_path, dir);
    if (unlink (fresh))
        err_prefix (err, "(%s could not be removed)", fresh);
    return -1;
}
