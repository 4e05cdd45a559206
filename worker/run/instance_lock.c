/* The lock is fcntl's own, not an open file description's: only it tells the holder's pid, and no child inherits it. It
 * would end with the first descriptor of the file that this process closes; there is one, and it is kept. */
#include "worker/run/instance_lock.h"

#include "common/io/clock.h"
#include "common/io/plain_file.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ASK_AGAIN_MS = 20 };

/* 0: nobody. */
static pid_t holder (int fd)
{
    struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    if (fcntl (fd, F_GETLK, &whole) != 0 || whole.l_type == F_UNLCK)
        return 0;
    return whole.l_pid;
}

/* The number is asked again once the process is held by a descriptor: it cannot have become somebody else's between. */
static void tell_to_go (int fd, pid_t pid, int signal_number)
{
    int pidfd = (int) syscall (SYS_pidfd_open, pid, 0);
    if (pidfd < 0)
        return; /* gone meanwhile */
    if (holder (fd) == pid)
        (void) syscall (SYS_pidfd_send_signal, pidfd, signal_number, NULL, 0); /* gone meanwhile: just as well */
    close (pidfd);
}

static int wait_for_instance_lock (int fd, const char *path, struct err *err)
{
    struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    uint64_t began_ms = clock_boot_ms ();
    pid_t asked = 0;
    while (fcntl (fd, F_SETLK, &whole) != 0) {
        if (errno != EACCES && errno != EAGAIN && errno != EINTR)
            return err_errno (err, ERR_IO, "cannot lock %s", path);
        uint64_t waited_ms = clock_boot_ms () - began_ms;
        pid_t pid = holder (fd);
        if (waited_ms >= INSTANCE_LOCK_WAIT_MS)
            return err_set (
                err, ERR_STATE,
                "%s is locked by the worker with pid %d, which did not end when asked: end that process, then resume",
                path, (int) pid);
        if (pid > 0 && waited_ms >= INSTANCE_LOCK_POLITE_MS)
            tell_to_go (fd, pid, SIGKILL);
        else if (pid > 0 && pid != asked)
            tell_to_go (fd, pid, SIGTERM);
        asked = pid;
        (void) poll (NULL, 0, ASK_AGAIN_MS);
    }
    return 0;
}

int instance_lock_take_over (const char *directory, struct err *err)
{
    char path[PATH_MAX];
    if (snprintf (path, sizeof path, "%s/worker.lock", directory) >= (int) sizeof path)
        return err_set (err, ERR_LIMIT, "the path %s is too long", directory);
    int fd = plain_file_open (path, O_RDWR | O_CREAT, err);
    if (fd < 0)
        return -1;
    if (wait_for_instance_lock (fd, path, err) == 0)
        return 0;
    close (fd);
    return -1;
}
