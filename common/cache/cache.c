#include "common/cache/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/base/rng.h"
#include "common/cache/generation.h"
#include "common/io/atomic_file.h"
#include "common/io/fd.h"

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
    LOCAL_ARENA arena = { 0 };
    struct manifest manifest;
    int rc = manifest_find_mismatches (base, sha256, AUDIT_STAT, 0, manifest_refuse_mismatch, NULL, err);
    if (rc == 0)
        rc = generation_read_manifest (base, sha256, &arena, &manifest, err);
    if (rc == 0 && (rc = copy_entries (&manifest, base->fd, to->fd, err)) < 0)
        generation_explain_space (to, manifest.bytes, err);
    return rc;
}

static int seed (const struct generation *to, const struct cache_access *access, struct err *err)
{
    LOCAL_GENERATION base = GENERATION_CLOSED;
    if (generation_open_root (&base, access->frontend_root, access->base, false, err))
        return -1;
    if (generation_open (&base, err) || copy_base (to, &base, access->base_sha256, err))
        return err_prefix (err, "cannot begin %s with a copy of %s", to->name, base.name);
    return 0;
}

int cache_prepare_writer (const struct cache_access *access, char *dir, size_t dir_bytes, struct err *err)
{
    LOCAL_GENERATION generation = GENERATION_CLOSED;
    if (check_role (access, CACHE_ROLE_WRITER, err))
        return -1;
    if (access->base == access->token)
        return err_set (err, ERR_REFUSED, "the coordinator asks for a generation %llu that begins as a copy of itself",
                        (unsigned long long) access->token);
    if (generation_open_root (&generation, access->frontend_root, access->token, true, err))
        return -1;
    if (generation_path (&generation, dir, dir_bytes, err) || generation_make (&generation, 0755, false, err))
        return -1;
    int rc = access->base ? seed (&generation, access, err) : 0;
    if (rc)
        unmake_generation (&generation, err);
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
    LOCAL_GENERATION generation = GENERATION_CLOSED;
    if (generation_open_root (&generation, access->frontend_root, access->token, false, err))
        return -1;
    if (generation_path (&generation, dir, dir_bytes, err) || generation_open (&generation, err) ||
        manifest_find_mismatches (&generation, access->sha256, depth, drawn, manifest_refuse_mismatch, NULL, err))
        return err_prefix (err, "cannot use the cache %s in %.160s", generation.name, generation.root_path);
    return 0;
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
    LOCAL_GENERATION own = GENERATION_CLOSED;
    LOCAL_ARENA arena = { 0 };
    struct tree tree;
    if (check_role (access, CACHE_ROLE_OWN, err) ||
        generation_open_host_cache (&own, access->frontend_root, host, err) ||
        generation_path (&own, dir, bytes, err) || generation_make (&own, 0700, true, err))
        return -1;
    if (close_to_others (&own, err) || tree_list (own.fd, NULL, &arena, &tree, err))
        return err_prefix (err, "cannot use the cache %s in %.160s", own.name, own.root_path);
    return 0;
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

/* ---- sealing ---- */

/* syncfs(2) also waits for whatever else is being written there, so a few entries are made durable one by one. */
enum { SYNC_EACH_MAX = 512, WITNESS_DIGITS = 32 };
enum { WRITE_AND_WAIT = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER };

/* Since Linux 5.8 syncfs(2) reports failed writes. Shared storage needs fsync: an NFS client then writes again what the
 * server lost, and a FUSE file system may never get a syncfs. */
static bool syncs_at_once (int root)
{
    struct statfs fs;
    struct utsname kernel;
    unsigned major, minor;
    if (fstatfs (root, &fs) || uname (&kernel) || sscanf (kernel.release, "%u.%u", &major, &minor) != 2)
        return false;
    if (major < 5 || (major == 5 && minor < 8))
        return false;
    return fs.f_type == EXT4_SUPER_MAGIC || fs.f_type == XFS_SUPER_MAGIC || fs.f_type == BTRFS_SUPER_MAGIC;
}

/* EINVAL: a file system that keeps nothing back for a folder. */
static int sync_folder (int fd)
{
    return fsync (fd) && errno != EINVAL ? -1 : 0;
}

/* Takes write rights away, and starts writing dirty pages, so that the disk works while the bytes are hashed. */
static int close_entry (int root, struct tree_entry *entry, struct err *err)
{
    char shown[TREE_SHOWN_BYTES];
    struct stat st;
    LOCAL_FD fd = tree_open_entry (root, entry, err);
    if (fd < 0)
        return -1;
    int rc = fchmod (fd, entry->mode & 0555) || fstat (fd, &st) ? -1 : 0;
    if (rc)
        err_errno (err, ERR_IO, "cannot remove write permission from \"%s\"", tree_print_path (entry->path, shown));
    else
        entry->mode = st.st_mode & 0777; /* as the file system kept it: some mounts have one mode for everything */
    if (rc == 0 && entry->kind == TREE_FILE)
        (void) sync_file_range (fd, 0, 0, SYNC_FILE_RANGE_WRITE); /* a hint: fsync reports errors */
    return rc;
}

/* Before syncfs each file is checked for failed writes, because the kernel reports an error to only one caller. */
static int sync_entry (const struct tree_entry *entry, int fd, bool at_once)
{
    if (at_once)
        return entry->kind == TREE_FOLDER ? 0 : sync_file_range (fd, 0, 0, WRITE_AND_WAIT);
    return entry->kind == TREE_FOLDER ? sync_folder (fd) : fsync (fd);
}

static int make_durable (struct manifest_entry *entry, int fd, bool at_once, struct err *err)
{
    uint64_t bytes = 0;
    if (entry->at.kind == TREE_FILE && manifest_hash_file (fd, entry->at.bytes, &entry->digest, &bytes, err))
        return -1;
    if (bytes != entry->at.bytes)
        return err_set (err, ERR_STATE, "the size of this file changed while it was read");
    return sync_entry (&entry->at, fd, at_once) ? err_errno (err, ERR_IO, "cannot sync this file or folder to disk")
                                                : 0;
}

static int seal_entry (int root, struct manifest_entry *entry, bool at_once, struct err *err)
{
    char shown[TREE_SHOWN_BYTES];
    LOCAL_FD fd = tree_open_entry (root, &entry->at, err);
    if (fd < 0)
        return -1;
    return make_durable (entry, fd, at_once, err) ? err_prefix (err, "\"%s\"", tree_print_path (entry->at.path, shown))
                                                  : 0;
}

static int seal_entries (int root, const struct tree *tree, struct arena *arena, struct manifest *out, struct err *err)
{
    *out = (struct manifest){ .items = arena_array (arena, tree->n, sizeof *out->items), .n = tree->n };
    for (uint32_t i = 0; i < tree->n; i++) {
        out->items[i].at = tree->items[i];
        if (close_entry (root, &out->items[i].at, err))
            return -1;
        out->files += tree->items[i].kind == TREE_FILE;
        out->bytes += tree->items[i].bytes;
    }
    bool at_once = tree->n > SYNC_EACH_MAX && syncs_at_once (root);
    for (uint32_t i = 0; i < tree->n; i++)
        if (seal_entry (root, &out->items[i], at_once, err))
            return -1;
    if (at_once && syncfs (root))
        return err_errno (err, ERR_IO, "cannot sync the generation's %u files and folders to disk", tree->n);
    return 0;
}

static int check_still (int root, const struct manifest *manifest, struct arena *arena, struct err *err)
{
    struct tree again;
    if (tree_list (root, NULL, arena, &again, err))
        return -1;
    if (manifest_check_tree (manifest, &again, err))
        return err_prefix (err, "another process changed the generation while it was being sealed");
    return 0;
}

/* The copy must hold its base unchanged, because hosts load it as sealed. A writer may only add. */
static int check_base (const struct cache_access *access, const struct manifest *manifest, struct arena *arena,
                       struct err *err)
{
    LOCAL_GENERATION base = GENERATION_CLOSED;
    struct manifest sealed;
    if (!access->base)
        return 0;
    if (generation_open_root (&base, access->frontend_root, access->base, false, err) || generation_open (&base, err) ||
        generation_read_manifest (&base, access->base_sha256, arena, &sealed, err) ||
        manifest_check_base (manifest, &sealed, err))
        return err_prefix (err, "compared with %s, from which it began", base.name);
    return 0;
}

static int write_bytes (int fd, const void *bytes, size_t len)
{
    return fd_write (fd, bytes, len) || fchmod (fd, 0444) || fsync (fd) ? -1 : 0;
}

static int write_new (int root, const char *name, const char *shown, const void *bytes, size_t len, struct err *err)
{
    int fd = tree_open_below (root, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_errno (err, ERR_IO, "cannot make %s", name);
    int rc = write_bytes (fd, bytes, len) ? err_errno (err, ERR_IO, "cannot write %s", shown) : 0;
    if (close (fd) && rc == 0)
        rc = err_errno (err, ERR_IO, "cannot write %s", shown);
    return rc;
}

/* The content is random, so that no two WITNESS files are equal byte by byte. Nothing depends on it. */
static int write_witness (int root, struct err *err)
{
    char line[WITNESS_DIGITS + 1];
    if (random_hex (line, WITNESS_DIGITS, WITNESS_NAME, err) != 0)
        return -1;
    line[WITNESS_DIGITS] = '\n';
    return write_new (root, WITNESS_NAME, WITNESS_NAME, line, sizeof line, err);
}

/* Removes the files that a seal adds. Without MANIFEST no host reads the generation. */
static int take_back (int root, struct err *err)
{
    static const char *const added[] = { MANIFEST_NAME, MANIFEST_PART_NAME, WITNESS_NAME };
    struct stat st;
    /* The files can be removed only from a writable folder. */
    if (fstat (root, &st) == 0 && !(st.st_mode & 0200) && fchmod (root, 0755))
        err_prefix (err, "(and the generation's folder cannot be made writable again)");
    for (size_t i = 0; i < sizeof added / sizeof *added; i++)
        if (unlinkat (root, added[i], 0) && errno != ENOENT)
            err_prefix (err, "(%s could not be removed from the failed generation)", added[i]);
    return -1;
}

/* A plain rename: NFS lacks RENAME_NOREPLACE, and no MANIFEST was there when the names were checked. */
static int seal_publish (const struct generation *generation, const struct buf *bytes, struct err *err)
{
    int root = generation->fd;
    if (write_witness (root, err) || write_new (root, MANIFEST_PART_NAME, MANIFEST_NAME, bytes->ptr, bytes->len, err)) {
        generation_explain_space (generation, bytes->len, err); /* before take_back frees space */
        return take_back (root, err);
    }
    if (renameat (root, MANIFEST_PART_NAME, root, MANIFEST_NAME)) {
        err_errno (err, ERR_IO, "cannot rename " MANIFEST_PART_NAME " to MANIFEST");
        return take_back (root, err);
    }
    if (sync_folder (root) || fchmod (root, 0555) || sync_folder (root) || sync_folder (generation->root)) {
        err_errno (err, ERR_IO, "cannot make the generation's folder read-only, or cannot sync it to disk");
        return take_back (root, err);
    }
    return 0;
}

static int seal_generation (const struct generation *generation, const struct cache_access *access, struct arena *arena,
                            struct manifest *manifest, struct buf *bytes, struct err *err)
{
    struct tree tree;
    if (tree_list (generation->fd, NULL, arena, &tree, err))
        return -1;
    for (uint32_t i = 0; i < tree.n; i++)
        if (manifest_is_reserved (tree.items[i].path))
            return err_set (err, ERR_REFUSED,
                            "\"%.*s\" already exists: the generation was sealed before, or the program made this file",
                            TEXT_ARG (tree.items[i].path));
    if (seal_entries (generation->fd, &tree, arena, manifest, err) ||
        check_still (generation->fd, manifest, arena, err))
        return generation_explain_space (generation, manifest->bytes, err);
    if (check_base (access, manifest, arena, err))
        return -1;
    manifest_print (manifest, bytes);
    if (bytes->overflow)
        return err_set (
            err, ERR_LIMIT,
            "MANIFEST would be longer than %d bytes: the generation has too many files and folders, or too long names",
            MANIFEST_BYTES_MAX);
    return seal_publish (generation, bytes, err);
}

static void seal_describe (const struct cache_access *access, const struct manifest *manifest, const struct buf *bytes,
                           struct arena *arena, struct seal *seal)
{
    struct digest digest = digest_of (bytes->ptr, bytes->len);
    *seal = (struct seal){ .token = access->token,
                           .sha256 = text_copy (arena, text_of (DIGEST_TEXT (&digest))),
                           .entries = manifest->files,
                           .bytes = manifest->bytes };
}

int cache_seal (const struct cache_access *access, struct seal *seal, struct arena *arena, struct err *err)
{
    LOCAL_GENERATION generation = GENERATION_CLOSED;
    struct manifest manifest;
    LOCAL_ARENA scratch = { 0 };
    if (access->role != CACHE_ROLE_WRITER)
        return err_set (err, ERR_REFUSED,
                        "only the writer of a cache generation can seal it, and this host is not its writer");
    if (generation_open_root (&generation, access->frontend_root, access->token, false, err))
        return -1;
    LOCAL_BUF bytes = { .max = MANIFEST_BYTES_MAX };
    if (generation_open (&generation, err) || seal_generation (&generation, access, &scratch, &manifest, &bytes, err))
        return err_prefix (err, "cannot seal %s in %.160s", generation.name, generation.root_path);
    seal_describe (access, &manifest, &bytes, arena, seal);
    return 0;
}
