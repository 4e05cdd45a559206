#include "coordinator/launch/launch_process.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LAST_BYTES = 2048, LAST_COLUMNS = 200 };

int launch_log_open (struct launch_log *log, const char *directory, struct err *err)
{
    char path[PATH_MAX];
    struct stat st;
    int len = snprintf (path, sizeof path, "%s/worker.log", directory);
    if (len < 0 || (size_t) len >= sizeof path)
        return err_set (err, ERR_LIMIT, "the path of a worker's directory is longer than %d bytes", PATH_MAX);
    /* O_NONBLOCK: what lies there could be a fifo. */
    int fd = open (path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_errno (err, ERR_IO, "cannot open %s", path);
    if (fstat (fd, &st) != 0 || !S_ISREG (st.st_mode)) {
        (void) close (fd); /* nothing was written */
        return err_set (err, ERR_STATE, "%s is not a regular file: remove it", path);
    }
    *log = (struct launch_log){ .path = mem_text (path), .begin = st.st_size };
    return fd;
}

void launch_log_release (struct launch_log *log)
{
    mem_free (log->path);
    log->path = NULL;
}

/* The end of what was written since `begin`, without its last newlines; how much of it. */
static size_t read_end (const struct launch_log *log, char bytes[LAST_BYTES])
{
    int fd = log->path ? open (log->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
    if (fd < 0)
        return 0;
    int64_t end = lseek (fd, 0, SEEK_END), from = end - log->begin > LAST_BYTES ? end - LAST_BYTES : log->begin;
    ssize_t n = end > from ? pread (fd, bytes, LAST_BYTES, from) : 0;
    (void) close (fd); /* only read */
    while (n > 0 && bytes[n - 1] == '\n')
        n--;
    return n > 0 ? (size_t) n : 0;
}

void launch_log_last_words (const struct launch_log *log, struct buf *out)
{
    char bytes[LAST_BYTES];
    size_t n = read_end (log, bytes);
    if (n == 0)
        return;
    const char *newline = memrchr (bytes, '\n', n);
    size_t begin = newline ? (size_t) (newline + 1 - bytes) : 0;
    buf_puts (out, "; its last output: ");
    buf_escaped (out, (struct text){ .ptr = bytes + begin, .len = (uint32_t) (n - begin) }, LAST_COLUMNS);
}
