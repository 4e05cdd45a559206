#include "common/io/private_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/io/fd.h"
#include "common/io/safe_path.h"

/* Owner and mode are asked of the open file, so nobody can exchange it between the question and the reading. */
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
    char block[4096];
    ssize_t n;
    while ((n = fd_read (fd, block, sizeof block)) > 0)
        buf_add (out, block, (size_t) n);
    if (n < 0)
        return err_errno (err, ERR_IO, "key file %s cannot be read", path);
    explicit_bzero (block, sizeof block);
    return out->overflow ? err_set (err, ERR_DAMAGE, "key file %s grew while it was read", path) : 0;
}

static int read_by (const char *path, int flags, struct buf *out, struct err *err)
{
    int fd = open (path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags);
    if (fd < 0)
        return err_errno (err, ERR_IO, "key file %s cannot be opened", path);
    int rc = private_file_check (fd, path, out, err);
    if (rc == 0)
        rc = private_file_read_all (fd, path, out, err);
    close (fd);
    return rc;
}

int private_file_read (const char *path, struct buf *out, struct err *err)
{
    return read_by (path, 0, out, err);
}

int private_file_read_nofollow (const char *path, struct buf *out, struct err *err)
{
    return read_by (path, O_NOFOLLOW, out, err);
}
