#include "worker/environment/build_lock.h"

#include "common/base/buf.h"
#include "common/base/duration.h"
#include "common/io/clock.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

enum { HOLDER_BYTES = 160, HOLDER_COLUMNS = 80, FIRST_WAIT_MS = 10, LONGEST_WAIT_MS = 500 };

static void read_holder (int fd, char holder[HOLDER_BYTES])
{
    char raw[HOLDER_BYTES];
    struct buf shown;
    ssize_t len = pread (fd, raw, sizeof raw, 0);
    buf_init (&shown, HOLDER_BYTES - 1);
    buf_escaped (&shown, (struct text){ raw, len > 0 ? (uint32_t) len : 0 }, HOLDER_COLUMNS);
    snprintf (holder, HOLDER_BYTES, "%s", shown.len ? buf_c (&shown) : "an unnamed process");
    buf_release (&shown);
}

static int write_holder (int fd, struct err *err)
{
    char host[65] = "unknown", holder[HOLDER_BYTES];
    if (gethostname (host, sizeof host - 1))
        snprintf (host, sizeof host, "unknown");
    /* A parent that is not seen is outside our pid namespace, where we have another number (pid_namespaces(7)). */
    int len = getppid () == 0 ? snprintf (holder, sizeof holder, "a program of a worker on %s", host)
                              : snprintf (holder, sizeof holder, "process %d on %s", (int) getpid (), host);
    if (ftruncate (fd, 0) || pwrite (fd, holder, (size_t) len, 0) != len)
        return err_errno (err, ERR_IO, "cannot write the name of this process into the lock file of the environment");
    return 0;
}

static void pause_ms (uint64_t ms)
{
    struct timespec time = { .tv_sec = (time_t) (ms / 1000), .tv_nsec = (long) (ms % 1000) * 1000000 };
    /* Interrupted: looked at again a little sooner. */
    if (nanosleep (&time, NULL) && errno != EINTR)
        return;
}

/* flock has no limit of its own, and a signal to interrupt it would be the whole process's affair: hence ask again. */
static int wait_for (int fd, const char *path, uint64_t limit_ms, lock_waiting_fn *fn, void *owner, struct err *err)
{
    char holder[HOLDER_BYTES] = "", before[HOLDER_BYTES] = "", limit[DURATION_TEXT_BYTES];
    uint64_t deadline_ms = clock_boot_ms () + limit_ms, wait_ms = FIRST_WAIT_MS;
    while (flock (fd, LOCK_EX | LOCK_NB)) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return err_errno (err, ERR_IO, "cannot lock %.300s", path);
        read_holder (fd, holder);
        if (fn && strcmp (holder, before))
            fn (owner, holder);
        memcpy (before, holder, sizeof before);
        if (clock_boot_ms () >= deadline_ms)
            return err_set (err, ERR_LIMIT, "%.250s is still held by %.120s after %s", path, holder,
                            duration_print (limit_ms, limit));
        pause_ms (wait_ms);
        wait_ms = wait_ms * 2 < LONGEST_WAIT_MS ? wait_ms * 2 : LONGEST_WAIT_MS;
    }
    return 0;
}

int lock_take (const char *path, uint64_t limit_ms, lock_waiting_fn *waiting, void *owner, struct err *err)
{
    int fd = open (path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0)
        return err_errno (err, ERR_IO, "cannot open the lock %.300s", path);
    if (wait_for (fd, path, limit_ms, waiting, owner, err) || write_holder (fd, err)) {
        close (fd);
        return -1;
    }
    return fd;
}
