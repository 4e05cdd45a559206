#include "common/io/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/path.h"
#include "common/io/fd.h"
#include "common/io/safe_path.h"

int atomic_file_begin (struct atomic_file *file, const char *path, struct err *err)
{
    int n = snprintf (file->beside, sizeof file->beside, "%s.XXXXXX", path);
    if (n < 0 || (size_t) n >= sizeof file->beside)
        return err_set (err, ERR_LIMIT, "the path of a file is longer than %d bytes: %.100s...", PATH_MAX, path);
    snprintf (file->path, sizeof file->path, "%s", path);
    file->failed = 0;
    file->fd = mkostemp (file->beside, O_CLOEXEC);
    return file->fd < 0 ? err_errno (err, ERR_IO, "%s cannot be created", file->beside) : 0;
}

bool atomic_file_add (const void *bytes, size_t len, void *to)
{
    struct atomic_file *file = to;
    if (!file->failed && fd_write (file->fd, bytes, len) != 0)
        file->failed = errno;
    return !file->failed;
}

/* close can be the first to report a failed write (NFS): its answer counts. */
static int finish (const struct atomic_file *file, mode_t mode, struct err *err)
{
    int rc = 0;
    errno = file->failed;
    if (file->failed)
        rc = err_errno (err, ERR_IO, "%s cannot be written", file->beside);
    else if (fchmod (file->fd, mode) != 0)
        rc = err_errno (err, ERR_IO, "%s cannot be given mode %04o", file->beside, (unsigned) mode);
    else if (fsync (file->fd) != 0)
        rc = err_errno (err, ERR_IO, "%s cannot be synced to disk", file->beside);
    if (close (file->fd) != 0 && rc == 0)
        rc = err_errno (err, ERR_IO, "%s cannot be closed", file->beside);
    if (rc == 0 && rename (file->beside, file->path) != 0)
        rc = err_errno (err, ERR_IO, "%s cannot be replaced", file->path);
    return rc;
}

/* After the rename the new file is in place; if the last sync fails, a power cut may restore the old one. */
int atomic_file_end (struct atomic_file *file, bool whole, mode_t mode, struct err *err)
{
    char folder[PATH_MAX];
    if ((whole || file->failed) && finish (file, mode, err) == 0)
        return folder_sync (path_folder_c (file->path, folder), err);
    if (!whole && !file->failed)
        close (file->fd); /* nobody wants what it holds */
    unlink (file->beside);
    return -1;
}

int atomic_file_write (const char *path, const void *bytes, size_t len, mode_t mode, struct err *err)
{
    struct atomic_file file;
    if (atomic_file_begin (&file, path, err) < 0)
        return -1;
    (void) atomic_file_add (bytes, len, &file); /* its end says it */
    return atomic_file_end (&file, true, mode, err);
}

static int atomic_file_read_all (int fd, const char *path, struct buf *out, struct err *err)
{
    int rc = fd_read_all (fd, out);
    if (out->overflow)
        return err_set (err, ERR_LIMIT, "%s is larger than the %zu bytes allowed", path, out->max);
    return rc == 0 ? 0 : err_errno (err, ERR_IO, "%s cannot be read", path);
}

int file_read (const char *path, struct buf *out, struct err *err)
{
    LOCAL_FD fd = plain_file_open (path, O_RDONLY, err);
    if (fd < 0)
        return -1;
    buf_clear (out);
    int rc = atomic_file_read_all (fd, path, out, err);
    if (rc != 0)
        buf_clear (out);
    return rc;
}

/* ---- plain file ---- */

static const char *kind_of (mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFLNK: return "a symbolic link";
    case S_IFDIR: return "a folder";
    case S_IFIFO: return "a FIFO";
    case S_IFSOCK: return "a socket";
    default: return "a device";
    }
}

static int plain_file_refuse (const char *path, mode_t mode, struct err *err)
{
    return err_set (err, ERR_STATE, "%s is %s, expected a regular file", path, kind_of (mode));
}

int plain_file_check_path (const char *path, struct err *err)
{
    struct stat at;
    if (lstat (path, &at) != 0)
        return errno == ENOENT ? 0 : err_errno (err, ERR_IO, "cannot examine %s", path);
    return S_ISREG (at.st_mode) ? 1 : plain_file_refuse (path, at.st_mode, err);
}

static int open_failed (const char *path, struct err *err)
{
    int refused = errno;
    struct stat at;
    if (lstat (path, &at) == 0 && !S_ISREG (at.st_mode))
        plain_file_refuse (path, at.st_mode, err);
    else {
        errno = refused;
        err_errno (err, ERR_IO, "%s cannot be opened", path);
    }
    errno = refused;
    return -1;
}

int plain_file_open (const char *path, int flags, struct err *err)
{
    struct stat at = { 0 };
    int fd = open (path, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
    if (fd < 0)
        return open_failed (path, err);
    if (fstat (fd, &at) == 0 && S_ISREG (at.st_mode))
        return fd;
    plain_file_refuse (path, at.st_mode, err);
    (void) close (fd); /* nothing was done with it */
    errno = EINVAL;
    return -1;
}

/* ---- private file ---- */

/* Checks owner and mode of the open file, so nobody can replace it between check and read. */
static int private_file_check (int fd, const char *path, const struct buf *out, struct err *err)
{
    const struct safe_path_rule rule = { .what = "key file", .instead = "make a new one", .own = true };
    struct stat at;
    if (fstat (fd, &at) != 0)
        return err_errno (err, ERR_IO, "key file %s cannot be examined", path);
    if (!S_ISREG (at.st_mode))
        return err_set (err, ERR_REFUSED, "key file %s is not a regular file", path);
    if (at.st_mode & 077)
        return err_set (err, ERR_REFUSED,
                        "key file %s has mode %04o, so other users may read it: make a new one, or chmod 600 if no "
                        "other user read it",
                        path, (unsigned) at.st_mode & 07777);
    if (safe_path_check_end (path, &at, &rule, err) < 0)
        return -1;
    if (at.st_size < 1 || (size_t) at.st_size > out->max - out->len)
        return err_set (err, ERR_DAMAGE, "key file %s has %lld bytes, expected 1 to %zu", path, (long long) at.st_size,
                        out->max - out->len);
    return 0;
}

static int private_file_read_all (int fd, const char *path, struct buf *out, struct err *err)
{
    if (fd_read_all (fd, out) < 0)
        return err_errno (err, ERR_IO, "key file %s cannot be read", path);
    return out->overflow ? err_set (err, ERR_DAMAGE, "key file %s grew while it was read", path) : 0;
}

static int read_by (const char *path, int flags, struct buf *out, struct err *err)
{
    LOCAL_FD fd = open (path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags);
    if (fd < 0)
        return err_errno (err, ERR_IO, "key file %s cannot be opened", path);
    return private_file_check (fd, path, out, err) || private_file_read_all (fd, path, out, err) ? -1 : 0;
}

int private_file_read (const char *path, struct buf *out, struct err *err)
{
    return read_by (path, 0, out, err);
}

int private_file_read_nofollow (const char *path, struct buf *out, struct err *err)
{
    return read_by (path, O_NOFOLLOW, out, err);
}
