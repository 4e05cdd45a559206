#include "worker/sandbox/socket_probe.h"

#include "common/io/fd.h"
#include "worker/sandbox/write_probe.h"
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define SOCKET_NAME ".socket"

static int listening (const struct sockaddr_un *name, unsigned bytes)
{
    int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && bind (fd, (const struct sockaddr *) name, bytes) == 0 && listen (fd, 1) == 0)
        return fd;
    fd_close (fd);
    return -1;
}

static bool reaches (int listener, const struct sockaddr_un *name, unsigned bytes)
{
    int fd = listener < 0 ? -1 : socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool reached = fd >= 0 && connect (fd, (const struct sockaddr *) name, bytes) == 0;
    fd_close (fd);
    return reached;
}

/* Not by pid: those of several workers' namespaces are the same. */
static void name_abstract (struct socket_probe *probe)
{
    uint64_t random = 0;
    (void) getrandom (&random, sizeof random, 0); /* a name that is taken is not bound, so not reached */
    probe->abstract = (struct sockaddr_un){ .sun_family = AF_UNIX };
    int len = snprintf (probe->abstract.sun_path + 1, sizeof probe->abstract.sun_path - 1, "sliceup-confine-%016llx",
                        (unsigned long long) random);
    probe->abstract_bytes = (unsigned) offsetof (struct sockaddr_un, sun_path) + 1 + (unsigned) len;
}

/* Through the folder's descriptor: a socket's path holds 108 bytes (unix(7)), which that of an attempt may pass. */
void socket_probe_open (struct socket_probe *probe, const char *scratch)
{
    *probe = (struct socket_probe){ .path_fd = -1, .abstract_fd = -1, .path.sun_family = AF_UNIX };
    name_abstract (probe);
    probe->abstract_fd = listening (&probe->abstract, probe->abstract_bytes);
    probe->folder_fd = open (scratch, O_PATH | O_DIRECTORY | O_CLOEXEC);
    snprintf (probe->path.sun_path, sizeof probe->path.sun_path, "/proc/self/fd/%d/" SOCKET_NAME, probe->folder_fd);
    if (probe->folder_fd >= 0)
        probe->path_fd = listening (&probe->path, sizeof probe->path);
}

uint32_t socket_probe_try_connect (const struct socket_probe *probe)
{
    return (reaches (probe->path_fd, &probe->path, sizeof probe->path) ? PROBE_BIT (PROBE_PATH_SOCKET) : 0) |
           (reaches (probe->abstract_fd, &probe->abstract, probe->abstract_bytes) ? PROBE_BIT (PROBE_ABSTRACT_SOCKET)
                                                                                  : 0);
}

void socket_probe_close (struct socket_probe *probe)
{
    const int fds[] = { probe->path_fd, probe->abstract_fd, probe->folder_fd };
    if (probe->path_fd >= 0)
        (void) unlinkat (probe->folder_fd, SOCKET_NAME, 0);
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        fd_close (fds[i]);
}
