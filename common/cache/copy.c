#include "common/cache/copy.h"

#include "common/io/fd.h"
#include "common/model/plan.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

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
    int fd = mkdirat (parent, name, mode) ? -1 : tree_open_below (parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    int rc = fd < 0 ? -1 : fchmod (fd, mode);
    fd_close (fd);
    return rc;
}

static int copy_folder (const char *path, mode_t mode, int to, const char *shown, struct err *err)
{
    char above[PATH_MAX_BYTES + 1] = ".";
    const char *slash = strrchr (path, '/'), *name = slash ? slash + 1 : path;
    if (slash) {
        memcpy (above, path, (size_t) (slash - path));
        above[slash - path] = '\0';
    }
    int parent = tree_open_below (to, above, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (parent < 0)
        return err_errno (err, ERR_IO, "cannot make the folder \"%s\"", shown);
    int rc = make_folder (parent, name, mode) ? err_errno (err, ERR_IO, "cannot make the folder \"%s\"", shown) : 0;
    close (parent);
    return rc;
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
    int source = tree_open_entry (from, &entry->at, err);
    if (source < 0)
        return -1;
    int rc = copy_into (entry, source, path, to, err);
    close (source);
    return rc;
}

int copy_entries (const struct manifest *manifest, int from, int to, struct err *err)
{
    for (uint32_t i = 0; i < manifest->n; i++)
        if (copy_entry (&manifest->items[i], from, to, err))
            return -1;
    return 0;
}
