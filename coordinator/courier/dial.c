#include "coordinator/courier/dial.h"

#include "common/io/clock.h"
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

/* A peer that vanished is noticed within about 30 s, idle or not (tcp(7)). */
enum { QUIET_S = 10, PROBE_S = 5, PROBES = 4, UNACKNOWLEDGED_MS = 30 * 1000 };
/* An address that does not answer leaves time for the next one. */
enum { ONE_ADDRESS_MS = 10 * 1000 };

static void tune (int fd)
{
    const struct {
        int level, name, value;
    } options[] = { { IPPROTO_TCP, TCP_NODELAY, 1 },        { SOL_SOCKET, SO_KEEPALIVE, 1 },
                    { IPPROTO_TCP, TCP_KEEPIDLE, QUIET_S }, { IPPROTO_TCP, TCP_KEEPINTVL, PROBE_S },
                    { IPPROTO_TCP, TCP_KEEPCNT, PROBES },   { IPPROTO_TCP, TCP_USER_TIMEOUT, UNACKNOWLEDGED_MS } };
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) /* in vain: the deadline holds without */
        (void) setsockopt (fd, options[i].level, options[i].name, &options[i].value, sizeof (int));
}

/* 0, or what went wrong. */
static int wait_connected (int fd, uint64_t until_ms)
{
    for (;;) {
        uint64_t now_ms = clock_boot_ms ();
        struct pollfd entry = { .fd = fd, .events = POLLOUT };
        int why = 0;
        if (now_ms >= until_ms)
            return ETIMEDOUT;
        if (poll (&entry, 1, (int) (until_ms - now_ms)) <= 0)
            continue; /* in vain, or EINTR: the clock decides */
        return getsockopt (fd, SOL_SOCKET, SO_ERROR, &why, &(socklen_t){ sizeof why }) != 0 ? errno : why;
    }
}

static int connect_to (const struct addrinfo *to, uint64_t until_ms, int *why)
{
    int fd = socket (to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    *why = fd < 0 ? errno : 0;
    if (fd < 0)
        return -1;
    tune (fd);
    if (connect (fd, to->ai_addr, to->ai_addrlen) != 0)
        *why = errno == EINPROGRESS ? wait_connected (fd, until_ms) : errno;
    if (*why == 0)
        return fd;
    (void) close (fd);
    return -1;
}

static int connect_any (const struct addrinfo *list, uint16_t port, uint64_t until_ms, struct err *err)
{
    int fd = -1, why = 0;
    for (const struct addrinfo *at = list; at && fd < 0; at = at->ai_next) {
        uint64_t share_ms = clock_boot_ms () + ONE_ADDRESS_MS;
        fd = connect_to (at, at->ai_next && share_ms < until_ms ? share_ms : until_ms, &why);
    }
    errno = why;
    if (fd < 0)
        return err_errno (
            err, ERR_IO,
            "cannot connect to port %u (is the host up, does sshd listen there, does a firewall allow this machine?)",
            port);
    return fd;
}

int dial (const char *address, uint16_t port, uint64_t until_ms, struct reporter *reporter, struct err *err)
{
    const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV };
    struct addrinfo *list = NULL;
    char service[8];
    snprintf (service, sizeof service, "%u", port);
    reporter_send_step (reporter, STEP_RESOLVE, "the name service");
    int rc = getaddrinfo (address, service, &hints, &list);
    if (rc != 0)
        return err_set (err, ERR_IO,
                        "this machine cannot resolve the address for its ssh connection (%s): correct the "
                        "name, or give the address of the host",
                        rc == EAI_SYSTEM ? "system error" : gai_strerror (rc));
    reporter_send_step (reporter, STEP_CONNECT, "the host to accept the connection");
    int fd = connect_any (list, port, until_ms, err);
    freeaddrinfo (list);
    return fd;
}

int dial_local_address (int fd, char out[DIAL_ADDRESS_BYTES], struct err *err)
{
    struct sockaddr_storage near;
    socklen_t len = sizeof near;
    if (getsockname (fd, (struct sockaddr *) &near, &len) != 0)
        return err_errno (err, ERR_IO, "cannot find the address of this machine");
    if (getnameinfo ((struct sockaddr *) &near, len, out, DIAL_ADDRESS_BYTES, NULL, 0, NI_NUMERICHOST) != 0)
        return err_set (err, ERR_IO, "cannot find the address of this machine: set coordinator.address");
    return 0;
}
