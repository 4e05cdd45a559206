#include "worker/standin/client.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { MAGIC = 0x73746e64, RETRY_MS = 100, HELLO_S = 5, BACKLOG = PLACE_PROCESSES_MAX };

/* The first message of each side. Both have the same byte order. */
struct hello {
    uint32_t magic, id, world;
    struct slice_grid slice;
    char kind[16], coordinator[64];
};

static struct hello hello_of (const struct place *place)
{
    struct hello hello = { .magic = MAGIC, .id = place->id, .world = place->world, .slice = place->slice };
    strncpy (hello.kind, place->generation->kind, sizeof hello.kind - 1);
    snprintf (hello.coordinator, sizeof hello.coordinator, "%.63s",
              place->coordinator); /* of a longer one the beginning */
    return hello;
}

static struct addrinfo *meeting_find (const struct process_address *address)
{
    const struct addrinfo wanted = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    return getaddrinfo (address->name, address->port, &wanted, &found) == 0 ? found : NULL;
}

static int listen_at (const struct process_address *address)
{
    struct addrinfo *at = meeting_find (address);
    int fd = at ? socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1, on = 1;
    if (fd >= 0)
        (void) setsockopt (fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    int why = 0;
    if (fd >= 0 && (bind (fd, at->ai_addr, at->ai_addrlen) < 0 || listen (fd, BACKLOG) < 0)) {
        why = errno;
        close (fd);
        fd = -1;
    }
    if (at)
        freeaddrinfo (at);
    errno = why;
    return fd;
}

static int meeting_connect_to (const struct process_address *address)
{
    struct addrinfo *at = meeting_find (address);
    int fd = at ? socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
    if (fd >= 0 && connect (fd, at->ai_addr, at->ai_addrlen) < 0) {
        close (fd);
        fd = -1;
    }
    if (at)
        freeaddrinfo (at);
    return fd;
}

/* The accepting side answers once it accepts. Anybody may connect, so it waits only a while. */
static bool swap (int fd, const struct hello *own, bool accepted, struct hello *other)
{
    const struct timeval limit = { .tv_sec = accepted ? HELLO_S : 0 }; /* 0: none */
    int on = 1;
    (void) setsockopt (fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    (void) setsockopt (fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return send (fd, own, sizeof *own, MSG_NOSIGNAL) == sizeof *own &&
           recv (fd, other, sizeof *other, MSG_WAITALL) == sizeof *other && other->magic == MAGIC;
}

static bool is_same_slice (const struct hello *a, const struct hello *b)
{
    return a->world == b->world && memcmp (&a->slice, &b->slice, sizeof a->slice) == 0 &&
           memcmp (a->kind, b->kind, sizeof a->kind) == 0 &&
           memcmp (a->coordinator, b->coordinator, sizeof a->coordinator) == 0;
}

/* The latest connection of a process counts, since it may have been restarted. */
static void meeting_keep (struct meeting *meeting, uint32_t id, int fd)
{
    (void) fcntl (fd, F_SETFL, O_NONBLOCK);
    if (meeting->fds[id] >= 0)
        close (meeting->fds[id]);
    else
        meeting->n++;
    meeting->fds[id] = fd;
}

/* Ignores peers with another protocol. -1: another slice. */
static int meeting_take (struct meeting *meeting, const struct place *place, int fd, bool accepted,
                         struct refusal *refusal)
{
    struct hello own = hello_of (place), other;
    bool known = swap (fd, &own, accepted, &other);
    if (known && is_same_slice (&own, &other) && other.id < place->world && other.id != place->id) {
        meeting_keep (meeting, other.id, fd);
        return 0;
    }
    close (fd);
    return known && !is_same_slice (&own, &other)
               ? refuse (refusal, PJRT_INTERNAL, "Failed to get global TPU topology.")
               : 0;
}

/* Pauses before each further try, also if another program answers there. */
static int meet_lower (struct meeting *meeting, const struct place *place, struct refusal *refusal)
{
    for (uint32_t i = 0; i < place->id; i++)
        for (;;) {
            int fd = meeting_connect_to (&place->addresses[i]);
            if (fd >= 0 && meeting_take (meeting, place, fd, false, refusal) < 0)
                return -1;
            if (meeting->fds[i] >= 0)
                break;
            (void) poll (NULL, 0, RETRY_MS);
        }
    return 0;
}

static int meet_higher (struct meeting *meeting, const struct place *place, int listening, struct refusal *refusal)
{
    while (meeting->n < place->world - 1) {
        struct pollfd ready = { .fd = listening, .events = POLLIN };
        if (poll (&ready, 1, -1) < 0 && errno != EINTR)
            return refuse (refusal, PJRT_INTERNAL, "Failed to get global TPU topology.");
        int fd = accept (listening, NULL, NULL);
        (void) fcntl (fd, F_SETFD, FD_CLOEXEC);
        if (fd >= 0 && meeting_take (meeting, place, fd, true, refusal) < 0)
            return -1;
    }
    return 0;
}

int meeting_open (struct meeting *meeting, const struct place *place, struct refusal *refusal)
{
    for (uint32_t i = 0; i < PLACE_PROCESSES_MAX; i++)
        meeting->fds[i] = -1;
    meeting->n = 0;
    int listening = listen_at (&place->addresses[place->id]);
    if (listening < 0 && errno == EADDRINUSE)
        return refuse (refusal, PJRT_UNAVAILABLE, "TPU initialization failed: cannot listen at %s:%s: %s",
                       place->addresses[place->id].name, place->addresses[place->id].port, strerror (EADDRINUSE));
    if (listening < 0)
        return refuse (refusal, PJRT_INVALID_ARGUMENT, "unexpected worker hostname");
    int rc = meet_lower (meeting, place, refusal);
    if (rc == 0)
        rc = meet_higher (meeting, place, listening, refusal);
    close (listening);
    if (rc < 0)
        meeting_close (meeting);
    return rc;
}

void meeting_close (struct meeting *meeting)
{
    for (uint32_t i = 0; i < PLACE_PROCESSES_MAX; i++) {
        if (meeting->fds[i] >= 0)
            close (meeting->fds[i]);
        meeting->fds[i] = -1;
    }
    meeting->n = 0;
}
