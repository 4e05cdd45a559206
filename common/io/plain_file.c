#include "common/io/plain_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

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
