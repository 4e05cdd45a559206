#include "common/io/atomic_file.h"
#include "common/base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/io/fd.h"
#include "common/io/plain_file.h"

enum { READ_BYTES = 64 * 1024 };

/* close can be the first to report a failed write (NFS): its answer counts. */
static int atomic_file_fill (int fd, const char *name, const void *bytes, size_t len, mode_t mode, struct err *err)
{
    int rc = 0;
    if (fd_write (fd, bytes, len) != 0)
        rc = err_errno (err, ERR_IO, "%s cannot be written", name);
    else if (fchmod (fd, mode) != 0)
        rc = err_errno (err, ERR_IO, "%s cannot be given mode %04o", name, (unsigned) mode);
    else if (fsync (fd) != 0)
        rc = err_errno (err, ERR_IO, "%s cannot be synced to disk", name);
    if (close (fd) != 0 && rc == 0)
        rc = err_errno (err, ERR_IO, "%s cannot be closed", name);
    return rc;
}

/* After the rename the new file is there; if the last sync fails, only a power cut may bring the old one back. */
int atomic_file_write (const char *path, const void *bytes, size_t len, mode_t mode, struct err *err)
{
    char beside[PATH_MAX], folder[PATH_MAX];
    int n = snprintf (beside, sizeof beside, "%s.XXXXXX", path);
    if (n < 0 || (size_t) n >= sizeof beside)
        return err_set (err, ERR_LIMIT, "the path of a file is longer than %d bytes: %.100s...", PATH_MAX, path);
    struct text above = path_folder (text_of (path));
    snprintf (folder, sizeof folder, "%.*s", above.len ? (int) above.len : 1, above.len ? above.ptr : ".");
    int fd = mkostemp (beside, O_CLOEXEC);
    if (fd < 0)
        return err_errno (err, ERR_IO, "%s cannot be created", beside);
    if (atomic_file_fill (fd, beside, bytes, len, mode, err) != 0)
        goto failed;
    if (rename (beside, path) != 0) {
        err_errno (err, ERR_IO, "%s cannot be replaced", path);
        goto failed;
    }
    return folder_sync (folder, err);
failed:
    unlink (beside);
    return -1;
}

static int atomic_file_read_all (int fd, const char *path, struct buf *out, struct err *err)
{
    uint8_t *piece = mem_alloc (READ_BYTES);
    ssize_t n;
    while ((n = fd_read (fd, piece, READ_BYTES)) > 0 && !out->overflow)
        buf_add (out, piece, (size_t) n);
    int rc = 0;
    if (out->overflow)
        rc = err_set (err, ERR_LIMIT, "%s is larger than the %zu bytes allowed", path, out->max);
    else if (n < 0)
        rc = err_errno (err, ERR_IO, "%s cannot be read", path);
    mem_free (piece);
    return rc;
}

int file_read (const char *path, struct buf *out, struct err *err)
{
    int fd = plain_file_open (path, O_RDONLY, err);
    if (fd < 0)
        return -1;
    buf_clear (out);
    int rc = atomic_file_read_all (fd, path, out, err);
    if (rc != 0)
        buf_clear (out);
    close (fd); /* only read: nothing to lose */
    return rc;
}
