#include "worker/standin/device_lock.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The first byte of an abstract name is 0. */
static socklen_t name_of (const char *what, const char *host, struct sockaddr_un *name)
{
    *name = (struct sockaddr_un){ .sun_family = AF_UNIX };
    int len = snprintf (name->sun_path + 1, sizeof name->sun_path - 1, "sliceup stand-in %s %.64s", what,
                        host ? host : "");
    return (socklen_t) (offsetof (struct sockaddr_un, sun_path) + 1 + (size_t) len);
}

/* 0: nobody that can be told. Nobody takes connections there: so none is waited for. */
static pid_t holder_of (const struct sockaddr_un *name, socklen_t len)
{
    struct ucred who = { 0 };
    socklen_t who_len = sizeof who;
    int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool known = fd >= 0 && connect (fd, (const struct sockaddr *) name, len) == 0 &&
                 getsockopt (fd, SOL_SOCKET, SO_PEERCRED, &who, &who_len) == 0;
    if (fd >= 0)
        close (fd);
    return known ? who.pid : 0;
}

/* The descriptor stays open until the process ends. False: another process has the name. */
static bool take (const char *what, const char *host, pid_t *holder)
{
    struct sockaddr_un name;
    socklen_t len = name_of (what, host, &name);
    int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind (fd, (const struct sockaddr *) &name, len) == 0 && listen (fd, SOMAXCONN) == 0)
        return true;
    if (fd >= 0)
        close (fd);
    *holder = holder_of (&name, len);
    return false;
}

static int refuse_held (pid_t holder, struct refusal *refusal)
{
    if (holder <= 0)
        return refuse (
            refusal, PJRT_ABORTED,
            "Internal error when accessing libtpu multi-process lockfile. Run \"$ sudo rm /tmp/libtpu_lockfile\".");
    return refuse (
        refusal, PJRT_ABORTED,
        "The TPU is already in use by process with pid %d. Not attempting to load libtpu.so in this process.",
        (int) holder);
}

int device_lock_take (const char *host, bool lock_file, struct refusal *refusal)
{
    static bool locked, opened;
    pid_t holder = 0;
    if (lock_file && !locked && !take ("lock", host, &holder))
        return refuse_held (holder, refusal);
    locked |= lock_file;
    if (!opened && !take ("device", host, &holder))
        return refuse (
            refusal, PJRT_UNKNOWN,
            "TPU initialization failed: open(/dev/vfio/0): Device or resource busy: Device or resource busy; Couldn't "
            "open iommu group /dev/vfio/0");
    if (!opened)
        (void) open ("/dev/vfio/0", O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* none: nothing to show */
    opened = true;
    return 0;
}
