#include "common/io/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

ssize_t fd_read (int fd, void *bytes, size_t max)
{
    ssize_t got;
    do
        got = read (fd, bytes, max);
    while (got < 0 && errno == EINTR);
    return got;
}

ssize_t fd_read_whole (int fd, void *bytes, size_t max)
{
    size_t len = 0;
    ssize_t got = 1;
    while (got > 0 && len < max) {
        got = fd_read (fd, (char *) bytes + len, max - len);
        len += got > 0 ? (size_t) got : 0;
    }
    return got < 0 ? -1 : (ssize_t) len;
}

int fd_read_all (int fd, struct buf *out)
{
    uint8_t piece[16 * 1024];
    ssize_t got;
    while ((got = fd_read (fd, piece, sizeof piece)) > 0 && !out->overflow)
        buf_add (out, piece, (size_t) got);
    explicit_bzero (piece, sizeof piece); /* some read a secret */
    return got < 0 ? -1 : 0;
}

int fd_write (int fd, const void *bytes, size_t len)
{
    for (size_t done = 0; done < len;) {
        ssize_t put = write (fd, (const char *) bytes + done, len - done);
        if (put < 0 && errno != EINTR)
            return -1;
        done += put > 0 ? (size_t) put : 0;
    }
    return 0;
}

size_t file_read_start (const char *path, char *bytes, size_t bytes_max)
{
    LOCAL_FD fd = open (path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : fd_read_whole (fd, bytes, bytes_max - 1);
    bytes[got > 0 ? got : 0] = '\0';
    return got > 0 ? (size_t) got : 0;
}

void fd_close (int fd)
{
    if (fd >= 0)
        close (fd);
}

void fd_close_local (int *fd)
{
    int code = errno;
    fd_close (*fd);
    errno = code;
}

void folder_close_local (DIR **folder)
{
    if (*folder)
        closedir (*folder);
}
