/* socket_probe.h - tries whether a sandboxed program reaches a socket of an outside process, which could write for it.
 *
 * Two sockets made before rights go, one with a path, one with an abstract name (unix(7)), stand for all such
 * sockets. */
#ifndef SLICEUP_WORKER_SANDBOX_SOCKET_PROBE_H
#define SLICEUP_WORKER_SANDBOX_SOCKET_PROBE_H

#include <stdint.h>
#include <sys/un.h>

struct socket_probe {
    int folder_fd, path_fd, abstract_fd;
    struct sockaddr_un path, abstract;
    unsigned abstract_bytes;
};

/* The path lies in `scratch`. What cannot be made is not reached either. */
void socket_probe_open (struct socket_probe *socket_probe, const char *scratch);
/* Bits of PROBE_PATH_SOCKET and PROBE_ABSTRACT_SOCKET (write_probe.h) that are open. */
uint32_t socket_probe_try_connect (const struct socket_probe *socket_probe);
void socket_probe_close (struct socket_probe *socket_probe);

#endif
