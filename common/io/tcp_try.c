#include "common/io/fd.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/duration.h"
#include "common/io/clock.h"

/* 0: connected; ETIMEDOUT: no answer. */
static int wait_connected (int fd, uint64_t until_ms)
{
    struct pollfd entry = { .fd = fd, .events = POLLOUT };
    uint64_t now_ms;
    int ready = 0, error = 0;
    socklen_t len = sizeof error;
    while (ready <= 0 && (now_ms = clock_boot_ms ()) < until_ms)
        ready = poll (&entry, 1, (int) (until_ms - now_ms));
    if (ready <= 0)
        return ETIMEDOUT;
    return getsockopt (fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 ? error : errno;
}

int tcp_connect (const struct addrinfo *to, uint64_t until_ms)
{
    int fd = socket (to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int error = fd < 0 || connect (fd, to->ai_addr, to->ai_addrlen) != 0 ? errno : 0;
    if (error == EINPROGRESS)
        error = wait_connected (fd, until_ms);
    if (error == 0)
        return fd;
    fd_close (fd);
    errno = error;
    return -1;
}

static int try_one (const struct addrinfo *to, uint64_t within_ms)
{
    int fd = tcp_connect (to, clock_boot_ms () + within_ms), error = fd < 0 ? errno : 0;
    fd_close (fd); /* nothing was sent */
    return error;
}

bool tcp_try (const char *address, uint16_t port, uint64_t within_ms, struct err *why)
{
    struct addrinfo hints = { .ai_flags = AI_NUMERICSERV, .ai_socktype = SOCK_STREAM }, *found = NULL;
    char service[8];
    uint64_t n = 0;
    int error = EHOSTUNREACH;
    snprintf (service, sizeof service, "%u", port);
    int rc = getaddrinfo (address, service, &hints, &found);
    for (const struct addrinfo *to = found; to; to = to->ai_next)
        n++;
    for (const struct addrinfo *to = found; to && error; to = to->ai_next)
        error = try_one (to, within_ms / n);
    if (rc != 0)
        err_set (why, ERR_IO, "%s", gai_strerror (rc));
    else if (error == ETIMEDOUT)
        err_set (why, ERR_IO, "no answer within %s", DURATION_TEXT (within_ms / n));
    else if (error)
        err_set (why, ERR_IO, "%s", strerror (error));
    if (found)
        freeaddrinfo (found);
    return rc == 0 && !error;
}
