/* unlucky.c - a machine that dies or stalls at a chosen moment: preloaded into `sliceup` by tests/lib/unlucky.py.
 *
 *   UNLUCKY_DIE=n      SIGKILL right before the n-th call that makes, changes or removes a file
 *   UNLUCKY_STOP=n     SIGSTOP there
 *   UNLUCKY_GATE=path  nothing becomes durable while there is a file of that name
 *   UNLUCKY_CLOCK=n    its wall clock is n seconds ahead; a worker may have that, too
 *
 * Else the coordinator alone is unlucky, not the processes that it starts. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static _Atomic long calls;

static bool is_coordinator (void)
{
    return strcmp (program_invocation_short_name, "sliceup") == 0;
}

static bool is_now (const char *variable, long call)
{
    const char *chosen = getenv (variable);
    return chosen && call == atol (chosen);
}

static void another_call (void)
{
    if (!is_coordinator ())
        return;
    long call = atomic_fetch_add (&calls, 1) + 1;
    while (is_now ("UNLUCKY_DIE", call))
        kill (getpid (), SIGKILL);
    if (is_now ("UNLUCKY_STOP", call))
        kill (getpid (), SIGSTOP);
}

static void wait_at_gate (void)
{
    const char *gate = getenv ("UNLUCKY_GATE");
    struct stat st;
    struct timespec moment = { .tv_nsec = 5 * 1000 * 1000 };
    while (gate && is_coordinator () && stat (gate, &st) == 0)
        nanosleep (&moment, NULL);
}

static bool is_file (int fd)
{
    struct stat st;
    return fstat (fd, &st) == 0 && S_ISREG (st.st_mode);
}

/* A program of a worker is no part of its bad luck. */
__attribute__ ((constructor)) static void keep_clock (void)
{
    if (getenv ("UNLUCKY_CLOCK"))
        unsetenv ("LD_PRELOAD");
}

int clock_gettime (clockid_t id, struct timespec *now)
{
    const char *ahead = getenv ("UNLUCKY_CLOCK");
    int rc = (int) syscall (SYS_clock_gettime, id, now);
    if (rc == 0 && ahead && id == CLOCK_REALTIME)
        now->tv_sec += atol (ahead);
    return rc;
}

#define TAKEN(type, name, parameters, ...)                                                                             \
    type name parameters;                                                                                              \
    type name parameters                                                                                               \
    {                                                                                                                  \
        another_call ();                                                                                               \
        return (type) syscall (__VA_ARGS__);                                                                           \
    }

TAKEN (int, mkdir, (const char *path, mode_t mode), SYS_mkdirat, AT_FDCWD, path, mode)
TAKEN (int, mkdirat, (int at, const char *path, mode_t mode), SYS_mkdirat, at, path, mode)
TAKEN (int, rename, (const char *from, const char *to), SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0)
TAKEN (int, renameat, (int at, const char *from, int to_at, const char *to), SYS_renameat2, at, from, to_at, to, 0)
TAKEN (int, renameat2, (int at, const char *from, int to_at, const char *to, unsigned flags), SYS_renameat2, at, from,
       to_at, to, flags)
TAKEN (int, link, (const char *from, const char *to), SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0)
TAKEN (int, unlink, (const char *path), SYS_unlinkat, AT_FDCWD, path, 0)
TAKEN (int, unlinkat, (int at, const char *path, int flags), SYS_unlinkat, at, path, flags)
TAKEN (int, rmdir, (const char *path), SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR)
TAKEN (int, ftruncate, (int fd, off_t length), SYS_ftruncate, fd, length)
TAKEN (int, ftruncate64, (int fd, off_t length), SYS_ftruncate, fd, length)
TAKEN (ssize_t, pwrite, (int fd, const void *from, size_t n, off_t at), SYS_pwrite64, fd, from, n, at)
TAKEN (ssize_t, pwrite64, (int fd, const void *from, size_t n, off_t at), SYS_pwrite64, fd, from, n, at)

int fsync (int fd)
{
    another_call ();
    wait_at_gate ();
    return (int) syscall (SYS_fsync, fd);
}

int fdatasync (int fd)
{
    another_call ();
    wait_at_gate ();
    return (int) syscall (SYS_fdatasync, fd);
}

ssize_t write (int fd, const void *from, size_t n)
{
    if (is_file (fd))
        another_call ();
    return syscall (SYS_write, fd, from, n);
}

static int open_by (int at, const char *path, int flags, va_list more)
{
    mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg (more, mode_t) : 0;
    if (flags & O_CREAT)
        another_call ();
    return (int) syscall (SYS_openat, at, path, flags, mode);
}

#define OPENS(name)                                                                                                    \
    int name (const char *path, int flags, ...);                                                                       \
    int name (const char *path, int flags, ...)                                                                        \
    {                                                                                                                  \
        va_list more;                                                                                                  \
        va_start (more, flags);                                                                                        \
        int fd = open_by (AT_FDCWD, path, flags, more);                                                                \
        va_end (more);                                                                                                 \
        return fd;                                                                                                     \
    }
OPENS (open)
OPENS (open64)
