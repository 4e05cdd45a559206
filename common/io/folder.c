#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/io/atomic_file.h"
#include "common/io/fd.h"

/* Each level of a tree being removed holds one descriptor; deeper folders are first moved up. */
enum { DEPTH_MAX = 64, OPEN_FOLDER = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

int folder_sync (const char *path, struct err *err)
{
    LOCAL_FD fd = open (path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_errno (err, ERR_IO, "folder %s cannot be opened", path);
    if (fsync (fd) != 0 && errno != EINVAL) /* EINVAL: a file system that has nothing to sync in a folder */
        return err_errno (err, ERR_IO, "folder %s cannot be synced to disk", path);
    return 0;
}

static int make_one (const char *path, mode_t mode, struct err *err)
{
    struct stat at;
    if (mkdir (path, mode) == 0)
        return 0;
    int why = errno; /* not EEXIST only: mkdir on an automounted or read-only parent says EROFS or EACCES first */
    if (stat (path, &at) == 0 && S_ISDIR (at.st_mode))
        return 0;
    if (why == EEXIST)
        return err_set (err, ERR_IO, "%s exists but is not a folder: move it away", path);
    errno = why;
    return err_errno (err, ERR_IO, "folder %s cannot be made", path);
}

int folder_make (const char *path, mode_t mode, struct err *err)
{
    char part[PATH_MAX];
    size_t len = strlen (path);
    if (len == 0 || len >= sizeof part)
        return err_set (err, ERR_LIMIT, "the path of a folder must have 1 to %d bytes; this one has %zu", PATH_MAX - 1,
                        len);
    if (make_one (path, mode, NULL) == 0) /* mostly its parents exist */
        return 0;
    for (size_t at = 1; at < len; at++) {
        if (path[at] != '/' || path[at - 1] == '/')
            continue;
        memcpy (part, path, at);
        part[at] = '\0';
        if (make_one (part, mode, err) != 0)
            return -1;
    }
    return make_one (path, mode, err);
}

struct removal {
    const char *path;
    int top_fd;   /* where folders below DEPTH_MAX go, to be met again */
    dev_t device; /* other mounted file systems are never emptied */
    unsigned moved;
};

static int empty (struct removal *removal, int fd, unsigned depth, struct err *err);

static int folder_open_folder (int parent_fd, const char *name)
{
    int fd = openat (parent_fd, name, OPEN_FOLDER);
    if (fd >= 0 || errno != EACCES)
        return fd;
    /* Sealed folders are read-only and ours. */
    if (fchmodat (parent_fd, name, 0700, AT_SYMLINK_NOFOLLOW) != 0)
        return -1;
    return openat (parent_fd, name, OPEN_FOLDER);
}

static int move_up (struct removal *removal, int parent_fd, const char *name, struct err *err)
{
    char above[32];
    for (int tries = 0; tries < 1000; tries++) {
        snprintf (above, sizeof above, ".removed-%u", removal->moved++);
        if (renameat (parent_fd, name, removal->top_fd, above) == 0)
            return 0;
        /* A folder that changes its parent has its own "..", so it must be writable itself. */
        if (errno == EACCES && fchmodat (parent_fd, name, 0700, AT_SYMLINK_NOFOLLOW) == 0)
            continue;
        if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR)
            break;
    }
    return err_errno (err, ERR_IO, "a deep folder below %s cannot be moved up for removal", removal->path);
}

static int remove_folder (struct removal *removal, int parent_fd, const char *name, unsigned depth, struct err *err)
{
    if (depth >= DEPTH_MAX)
        return move_up (removal, parent_fd, name, err);
    int fd = folder_open_folder (parent_fd, name);
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0)
        return err_errno (err, ERR_IO, "a folder below %s cannot be opened for removal", removal->path);
    if (empty (removal, fd, depth, err) != 0) /* closes fd */
        return -1;
    if (unlinkat (parent_fd, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
        return err_errno (err, ERR_IO, "a folder below %s cannot be removed", removal->path);
    return 0;
}

static int remove_entry (struct removal *removal, int parent_fd, const char *name, unsigned depth, struct err *err)
{
    if (unlinkat (parent_fd, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno == EISDIR || errno == EPERM) /* Linux says EISDIR, POSIX EPERM */
        return remove_folder (removal, parent_fd, name, depth, err);
    return err_errno (err, ERR_IO, "a file below %s cannot be removed", removal->path);
}

/* Treats an error of readdir as the folder's end: removing the folder then fails as not empty. */
static int empty_listed (struct removal *removal, DIR *folder, unsigned depth, struct err *err)
{
    struct dirent *entry;
    while ((entry = readdir (folder)) != NULL) {
        if (strcmp (entry->d_name, ".") == 0 || strcmp (entry->d_name, "..") == 0)
            continue;
        if (remove_entry (removal, dirfd (folder), entry->d_name, depth + 1, err) != 0)
            return -1;
    }
    return 0;
}

static int empty (struct removal *removal, int fd, unsigned depth, struct err *err)
{
    struct stat at;
    unsigned moved;
    int rc = -1;
    LOCAL_DIR folder = fdopendir (fd);
    if (!folder) {
        close (fd);
        return err_errno (err, ERR_IO, "folder %s, or one below it, cannot be read for removal", removal->path);
    }
    if (fstat (fd, &at) != 0)
        err_errno (err, ERR_IO, "folder %s, or one below it, cannot be examined for removal", removal->path);
    else if (at.st_dev != removal->device)
        err_set (err, ERR_REFUSED, "another file system is mounted below %s: unmount it, then remove the folder",
                 removal->path);
    else if ((at.st_mode & 0700) != 0700 && fchmod (fd, 0700) != 0)
        err_errno (err, ERR_IO, "folder %s, or one below it, cannot be made writable for removal", removal->path);
    else
        do {
            moved = removal->moved;
            rewinddir (folder);
            rc = empty_listed (removal, folder, depth, err);
        } while (rc == 0 && depth == 0 && moved != removal->moved); /* what was moved up came after we looked */
    return rc;
}

int folder_remove (const char *path, struct err *err)
{
    struct stat at;
    if (lstat (path, &at) != 0)
        return errno == ENOENT ? 0 : err_errno (err, ERR_IO, "%s cannot be examined", path);
    if (!S_ISDIR (at.st_mode)) {
        if (unlink (path) != 0 && errno != ENOENT)
            return err_errno (err, ERR_IO, "%s cannot be removed", path);
        return 0;
    }
    int fd = folder_open_folder (AT_FDCWD, path);
    if (fd < 0)
        return err_errno (err, ERR_IO, "folder %s cannot be opened for removal", path);
    struct removal removal = { .path = path, .top_fd = fd, .device = at.st_dev };
    if (empty (&removal, fd, 0, err) != 0)
        return -1;
    if (rmdir (path) != 0 && errno != ENOENT)
        return err_errno (err, ERR_IO, "folder %s cannot be removed", path);
    return 0;
}

uint64_t folder_count_bytes (const char *path)
{
    char *roots[] = { (char *) path, NULL };
    uint64_t bytes = 0;
    FTSENT *entry;
    FTS *walk = fts_open (roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
    while (walk && (entry = fts_read (walk)))
        if (entry->fts_info == FTS_F || entry->fts_info == FTS_D || entry->fts_info == FTS_SL)
            bytes += (uint64_t) entry->fts_statp->st_blocks * 512;
    if (walk)
        fts_close (walk);
    return bytes;
}
