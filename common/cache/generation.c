#include "common/cache/generation.h"

#include "common/io/atomic_file.h"
#include "common/io/fd.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* The path came in a message. Absolute, and no "..", so that the path in the journal is the path that is opened. */
static int check_root (struct text root, char path[PATH_MAX_BYTES + 1], struct err *err)
{
    char shown[TREE_SHOWN_BYTES];
    if (!text_to_c (root, path, PATH_MAX_BYTES + 1) || path[0] != '/' || strstr (path, "/../") ||
        (root.len >= 3 && !strcmp (path + root.len - 3, "/..")))
        return err_set (err, ERR_REFUSED, "cache root \"%s\" is too long, or is not an absolute path without \"..\"",
                        tree_print_path (root, shown));
    return 0;
}

static int open_root (struct generation *generation, struct text root, bool make, struct err *err)
{
    if (check_root (root, generation->root_path, err))
        return -1;
    if (make && folder_make (generation->root_path, 0755, err))
        return err_prefix (err, "cache root");
    generation->root = open (generation->root_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (generation->root >= 0)
        return 0;
    if (errno == ENOTDIR)
        return err_set (err, ERR_IO, "cache root %.300s is a file, or lies below one: expected a folder",
                        generation->root_path);
    return err_errno (err, ERR_IO, "cannot open cache root %.300s: does this host see the shared cache?",
                      generation->root_path);
}

int generation_open_root (struct generation *generation, struct text root, uint64_t token, bool make, struct err *err)
{
    generation->root = generation->fd = -1;
    if (token == 0)
        return err_set (err, ERR_REFUSED, "no cache generation is named (token 0)");
    snprintf (generation->name, sizeof generation->name, "gen-%" PRIu64, token);
    return open_root (generation, root, make, err);
}

int generation_open_host_cache (struct generation *generation, struct text root, struct text host, struct err *err)
{
    generation->root = generation->fd = -1;
    if (!tree_name_valid (host) || host.len > HOST_NAME_MAX_BYTES)
        return err_set (err, ERR_REFUSED,
                        "the name of this host cannot be the name of its per-host cache: it is no valid file name of "
                        "at most %d bytes",
                        HOST_NAME_MAX_BYTES);
    char file[HOST_FILE_BYTES];
    host = host_file_name (host, file);
    snprintf (generation->name, sizeof generation->name, "host-%.*s", TEXT_ARG (host));
    return open_root (generation, root, true, err);
}

int generation_open (struct generation *generation, struct err *err)
{
    const char *name = generation->name, *where = generation->root_path;
    generation->fd = tree_open_below (generation->root, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (generation->fd >= 0)
        return 0;
    switch (errno) {
    case ENOSYS: return err_set (err, ERR_IO, "this kernel has no openat2: a shared cache needs Linux 5.6 or later");
    case ENOENT:
        return err_set (err, ERR_DAMAGE, "there is no %s in %s: it was removed, or this host sees another storage",
                        name, where);
    case ELOOP:
    case ENOTDIR: return err_set (err, ERR_DAMAGE, "%s in %s is not a folder", name, where);
    case EXDEV:
        return err_set (
            err, ERR_DAMAGE,
            "another file system is mounted at %s in %s: expected the generation on the file system of the cache", name,
            where);
    default: return err_errno (err, ERR_IO, "cannot open %s in %s", name, where);
    }
}

static int cannot_make (const struct generation *generation, struct err *err)
{
    const char *name = generation->name, *where = generation->root_path;
    switch (errno) {
    case EEXIST:
        return err_set (err, ERR_REFUSED, "%s already exists in %s, and a token is used only once: nothing was written",
                        name, where);
    case EROFS:
        return err_errno (
            err, ERR_IO,
            "cannot make %s in %s: this host sees the cache read-only, and a writer must be able to write it", name,
            where);
    case EACCES:
    case EPERM:
        return err_errno (err, ERR_IO,
                          "cannot make %s in %s: user %u may not write there; chown the folder to that user, or name a "
                          "writer that may",
                          name, where, (unsigned) geteuid ());
    default: return err_errno (err, ERR_IO, "cannot make %s in %s", name, where);
    }
}

int generation_make (struct generation *generation, mode_t mode, bool taken, struct err *err)
{
    bool made = mkdirat (generation->root, generation->name, mode) == 0;
    if (!made && !(taken && errno == EEXIST)) {
        cannot_make (generation, err);
        return generation_explain_space (generation, 1, err);
    }
    if (generation_open (generation, err) == 0)
        return 0;
    if (made && unlinkat (generation->root, generation->name, AT_REMOVEDIR))
        err_prefix (err, "(the new empty folder could not be removed)");
    return -1;
}

int generation_explain_space (const struct generation *generation, uint64_t needed_bytes, struct err *err)
{
    struct statvfs fs;
    struct err was;
    /* A storage without inodes of its own has 0 in all. */
    if (!err || err->code != ERR_IO || fstatvfs (generation->root, &fs))
        return -1;
    uint64_t free_bytes = (uint64_t) fs.f_bavail * fs.f_frsize;
    bool inodes = fs.f_files == 0 || fs.f_favail > 0;
    if (free_bytes >= needed_bytes && inodes)
        return -1;
    was = *err;
    return err_set (err, ERR_IO, "%.400s (needs %" PRIu64 " KiB; %" PRIu64 " KiB are free there%s)", was.text,
                    (needed_bytes + 1023) / 1024, free_bytes / 1024, inodes ? "" : ", with no inodes for more files");
}

void generation_close (struct generation *generation)
{
    fd_close (generation->fd);
    fd_close (generation->root);
    generation->root = generation->fd = -1;
}

int generation_path (const struct generation *generation, char *dir, size_t dir_bytes, struct err *err)
{
    int len = snprintf (dir, dir_bytes, "%s/%s", generation->root_path, generation->name);
    if (len < 0 || (size_t) len >= dir_bytes)
        return err_set (err, ERR_LIMIT, "the path of the cache %s is longer than %zu bytes", generation->name,
                        dir_bytes - 1);
    return 0;
}

/* Reads one byte more than the size, so that a file that grew has another digest. */
static int generation_read_all (int fd, struct arena *arena, struct text *out, struct err *err)
{
    struct stat st;
    if (fstat (fd, &st))
        return err_errno (err, ERR_IO, "cannot examine MANIFEST");
    if (st.st_size > MANIFEST_BYTES_MAX)
        return err_set (err, ERR_LIMIT, "MANIFEST is longer than %d bytes", MANIFEST_BYTES_MAX);
    char *bytes = arena_alloc (arena, (size_t) st.st_size + 1);
    ssize_t got = fd_read_whole (fd, bytes, (size_t) st.st_size + 1);
    if (got < 0)
        return err_errno (err, ERR_IO, "cannot read MANIFEST");
    *out = (struct text){ bytes, (uint32_t) got };
    return 0;
}

static int check_digest (struct text bytes, struct text sha256, struct err *err)
{
    struct digest wanted, digest = digest_of (bytes.ptr, bytes.len);
    if (!digest_parse (sha256, &wanted))
        return err_set (err, ERR_REFUSED,
                        "no valid sha256 is known for the generation's MANIFEST: expected 64 hexadecimal digits");
    if (digest_equal (&digest, &wanted))
        return 0;
    return err_set (err, ERR_DAMAGE, "MANIFEST is not the one that was published (sha256 %.12s, expected %.12s)",
                    DIGEST_TEXT (&digest), DIGEST_TEXT (&wanted));
}

int generation_read_manifest (const struct generation *generation, struct text sha256, struct arena *arena,
                              struct manifest *out, struct err *err)
{
    struct tree_entry entry = { .path = TEXT_LIT (MANIFEST_NAME), .kind = TREE_FILE };
    struct text bytes;
    assert (generation->fd >= 0);
    LOCAL_FD fd = tree_open_entry (generation->fd, &entry, err);
    if (fd < 0)
        return -1;
    int rc = generation_read_all (fd, arena, &bytes, err);
    return rc || check_digest (bytes, sha256, err) ? -1 : manifest_parse (bytes, arena, out, err);
}

/* ---- copying ---- */

/* For file systems between which the kernel copies nothing. */
static int copy_by_hand (int from, int to, uint64_t bytes)
{
    char chunk[64 * 1024];
    while (bytes) {
        ssize_t got = fd_read (from, chunk, bytes < sizeof chunk ? (size_t) bytes : sizeof chunk);
        if (got <= 0)
            return (int) got;
        if (fd_write (to, chunk, (size_t) got))
            return -1;
        bytes -= (uint64_t) got;
    }
    return 0;
}

/* copy_file_range(2) does not work between these file systems at all. */
static bool not_here (int error)
{
    return error == EXDEV || error == EINVAL || error == ENOSYS || error == EOPNOTSUPP || error == EPERM;
}

/* The kernel shares the blocks if the file system can. Stops early at the end of `from`: the digest then differs. */
static int copy_bytes (int from, int to, uint64_t bytes)
{
    while (bytes) {
        ssize_t put = copy_file_range (from, NULL, to, NULL, bytes < INT32_MAX ? (size_t) bytes : INT32_MAX, 0);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0 && not_here (errno))
            return copy_by_hand (from, to, bytes);
        /* Some file systems answer 0 at once for files whose size they do not know. */
        if (put <= 0)
            return put == 0 ? copy_by_hand (from, to, bytes) : -1;
        bytes -= (uint64_t) put;
    }
    return 0;
}

/* With that mode, whatever the umask is. */
static int make_folder (int parent, const char *name, mode_t mode)
{
    LOCAL_FD fd = mkdirat (parent, name, mode) ? -1
                                               : tree_open_below (parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    return fd < 0 ? -1 : fchmod (fd, mode);
}

static int copy_folder (const char *path, mode_t mode, int to, const char *shown, struct err *err)
{
    char above[PATH_MAX_BYTES + 1] = ".";
    const char *slash = strrchr (path, '/'), *name = slash ? slash + 1 : path;
    if (slash) {
        memcpy (above, path, (size_t) (slash - path));
        above[slash - path] = '\0';
    }
    LOCAL_FD parent = tree_open_below (to, above, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (parent < 0)
        return err_errno (err, ERR_IO, "cannot make the folder \"%s\"", shown);
    return make_folder (parent, name, mode) ? err_errno (err, ERR_IO, "cannot make the folder \"%s\"", shown) : 0;
}

static int copy_into (const struct manifest_entry *entry, int source, const char *path, int to, struct err *err)
{
    char shown[TREE_SHOWN_BYTES];
    int rc = -1;
    tree_print_path (entry->at.path, shown);
    int copy = tree_open_below (to, path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (copy < 0)
        return err_errno (err, ERR_IO, "cannot make a copy of \"%s\"", shown);
    if (copy_bytes (source, copy, entry->at.bytes) || fchmod (copy, entry->at.mode | S_IWUSR))
        err_errno (err, ERR_IO, "cannot copy \"%s\"", shown);
    else
        rc = manifest_check_bytes (entry, copy, err);
    /* NFS and quotas report a write that failed only here. */
    if (close (copy) && rc == 0)
        rc = err_errno (err, ERR_IO, "cannot copy \"%s\"", shown);
    return rc;
}

static int copy_entry (const struct manifest_entry *entry, int from, int to, struct err *err)
{
    char path[PATH_MAX_BYTES + 1], shown[TREE_SHOWN_BYTES];
    tree_print_path (entry->at.path, shown);
    if (!text_to_c (entry->at.path, path, sizeof path))
        return err_set (err, ERR_LIMIT, "the path \"%s\" is too long", shown);
    if (entry->at.kind == TREE_FOLDER)
        return copy_folder (path, entry->at.mode | S_IWUSR, to, shown, err);
    LOCAL_FD source = tree_open_entry (from, &entry->at, err);
    if (source < 0)
        return -1;
    return copy_into (entry, source, path, to, err);
}

int copy_entries (const struct manifest *manifest, int from, int to, struct err *err)
{
    for (uint32_t i = 0; i < manifest->n; i++)
        if (copy_entry (&manifest->items[i], from, to, err))
            return -1;
    return 0;
}
