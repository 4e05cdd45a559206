#include "common/io/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
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

int proc_file_write (const char *path, const char *text)
{
    int fd = open (path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t bytes = (ssize_t) strlen (text), put = write (fd, text, (size_t) bytes);
    int code = errno;
    close (fd);
    errno = code;
    return put == bytes ? 0 : -1;
}

size_t file_read_start (const char *path, char *bytes, size_t bytes_max)
{
    int fd = open (path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : fd_read_whole (fd, bytes, bytes_max - 1);
    fd_close (fd);
    bytes[got > 0 ? got : 0] = '\0';
    return got > 0 ? (size_t) got : 0;
}

/* Field 2 is the program's name in parentheses, which may hold anything: fields are counted from the last ')'. */
bool proc_start_time (const char *stat_path, uint64_t *ticks)
{
    char stat[1024];
    char *field = file_read_start (stat_path, stat, sizeof stat) ? strrchr (stat, ')') : NULL;
    for (int i = 2; field && i < 22; i++)
        field = strchr (field + 1, ' ');
    return field && sscanf (field, " %" SCNu64, ticks) == 1;
}

uint32_t proc_children (const char *pid, const char *thread, pid_t *out, uint32_t max)
{
    char path[96];
    uint32_t n = 0;
    snprintf (path, sizeof path, "/proc/%.20s/task/%.20s/children", pid, thread);
    FILE *file = fopen (path, "re");
    for (int child; file && n < max && fscanf (file, "%d", &child) == 1; n++)
        if (out)
            out[n] = child;
    if (file)
        fclose (file);
    return n;
}

void fd_close (int fd)
{
    if (fd >= 0)
        close (fd);
}
