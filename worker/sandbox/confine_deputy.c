#include "worker/sandbox/confine_deputy.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>
#include "worker/sandbox/confine_ways.h"

#define SOCKET_NAME ".deputy"

static int listening (const struct sockaddr_un *name, unsigned bytes)
{
    int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && bind (fd, (const struct sockaddr *) name, bytes) == 0 && listen (fd, 1) == 0)
        return fd;
    if (fd >= 0)
        close (fd);
    return -1;
}

static bool reaches (int listener, const struct sockaddr_un *name, unsigned bytes)
{
    int fd = listener < 0 ? -1 : socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool reached = fd >= 0 && connect (fd, (const struct sockaddr *) name, bytes) == 0;
    if (fd >= 0)
        close (fd);
    return reached;
}

/* Not by pid: those of several workers' namespaces are the same. */
static void name_abstract (struct deputy *deputy)
{
    uint64_t random = 0;
    (void) getrandom (&random, sizeof random, 0); /* a name that is taken is not bound, so not reached */
    deputy->abstract = (struct sockaddr_un) { .sun_family = AF_UNIX };
    int len = snprintf (deputy->abstract.sun_path + 1, sizeof deputy->abstract.sun_path - 1, "sliceup-confine-%016llx",
                        (unsigned long long) random);
    deputy->abstract_bytes = (unsigned) offsetof (struct sockaddr_un, sun_path) + 1 + (unsigned) len;
}

/* Through the folder's descriptor: a socket's path holds 108 bytes (unix(7)), which that of an attempt may pass. */
void deputy_open (struct deputy *deputy, const char *scratch)
{
    *deputy = (struct deputy) { .path_fd = -1, .abstract_fd = -1, .path.sun_family = AF_UNIX };
    name_abstract (deputy);
    deputy->abstract_fd = listening (&deputy->abstract, deputy->abstract_bytes);
    deputy->folder_fd = open (scratch, O_PATH | O_DIRECTORY | O_CLOEXEC);
    snprintf (deputy->path.sun_path, sizeof deputy->path.sun_path, "/proc/self/fd/%d/" SOCKET_NAME, deputy->folder_fd);
    if (deputy->folder_fd >= 0)
        deputy->path_fd = listening (&deputy->path, sizeof deputy->path);
}

uint32_t deputy_ways_try (const struct deputy *deputy)
{
    return (reaches (deputy->path_fd, &deputy->path, sizeof deputy->path) ? WAY_BIT (WAY_PATH_SOCKET) : 0)
           | (reaches (deputy->abstract_fd, &deputy->abstract, deputy->abstract_bytes)
                  ? WAY_BIT (WAY_ABSTRACT_SOCKET) : 0);
}

void deputy_close (struct deputy *deputy)
{
    const int fds[] = { deputy->path_fd, deputy->abstract_fd, deputy->folder_fd };
    if (deputy->path_fd >= 0)
        (void) unlinkat (deputy->folder_fd, SOCKET_NAME, 0);
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (fds[i] >= 0)
            close (fds[i]);
}
