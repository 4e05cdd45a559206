#include "worker/standin/exchange.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

enum { MAGIC = 0x6c636e68 };

struct head {
    uint32_t magic, unused;
    uint64_t program, bytes;
};
/* How far one peer is, both ways, the head included. */
struct progress {
    size_t sent, received;
    bool gone; /* its connection ended, and it would be ready for ever */
    struct head head;
};

static size_t whole (size_t bytes)
{
    return sizeof (struct head) + bytes;
}

/* Moves a part between the socket and "head, then values" at `at`. The result is that of send and recv. */
static ssize_t send_part (int fd, const struct head *head, const char *values, size_t bytes, size_t at)
{
    bool in_head = at < sizeof *head;
    const char *from = in_head ? (const char *) head + at : values + (at - sizeof *head);
    return send (fd, from, in_head ? sizeof *head - at : whole (bytes) - at, MSG_NOSIGNAL);
}

static ssize_t receive_part (int fd, struct head *head, char *values, size_t bytes, size_t at)
{
    bool in_head = at < sizeof *head;
    char *to = in_head ? (char *) head + at : values + (at - sizeof *head);
    return recv (fd, to, in_head ? sizeof *head - at : whole (bytes) - at, 0);
}

/* The text of a device that finds the others at another program: openxla/xla:docs/errors/error_0200.md. */
static int check_head (const struct exchange *exchange, const struct exchange_peer *peer, const struct head *head,
                       struct refusal *refusal)
{
    if (head->magic == MAGIC && head->program == exchange->program && head->bytes == peer->bytes)
        return 0;
    return refuse (
        refusal, PJRT_INTERNAL,
        "Accelerator device halted prematurely, perhaps due to an on-device check-failure. Node %u halted unexpectedly "
        "at tag:pc TensorCoreSequencer:1:0x1d9: scheckne: An unexpected leader shows up in the launch group with a "
        "different launch id than the current group leader.",
        peer->process);
}

static void note (struct progress *progress, ssize_t moved, size_t *at)
{
    if (moved > 0)
        *at += (size_t) moved;
    else if (moved == 0 || (errno != EAGAIN && errno != EINTR))
        progress->gone = true;
}

static int serve (const struct exchange *exchange, const struct head *own, const struct exchange_peer *peer,
                  struct progress *progress, short events, struct refusal *refusal)
{
    int fd = exchange->meeting->fds[peer->process];
    if ((events & POLLOUT) && progress->sent < whole (exchange->bytes))
        note (progress, send_part (fd, own, exchange->values, exchange->bytes, progress->sent), &progress->sent);
    if (!(events & (POLLIN | POLLHUP | POLLERR)) || progress->received == whole (peer->bytes))
        return 0;
    bool had_head = progress->received >= sizeof *own;
    note (progress, receive_part (fd, &progress->head, peer->values, peer->bytes, progress->received),
          &progress->received);
    return !had_head && progress->received >= sizeof *own ? check_head (exchange, peer, &progress->head, refusal) : 0;
}

/* What each peer is waited for. 0: nothing more. */
static uint32_t fill (const struct exchange *exchange, const struct progress *progress, struct pollfd *wanted)
{
    uint32_t open = 0;
    for (uint32_t i = 0; i < exchange->peers_n; i++) {
        const struct exchange_peer *peer = &exchange->peers[i];
        short events = (progress[i].sent < whole (exchange->bytes) ? POLLOUT : 0) |
                       (progress[i].received < whole (peer->bytes) ? POLLIN : 0);
        bool asked = events && !progress[i].gone;
        wanted[i] = (struct pollfd){ .fd = asked ? exchange->meeting->fds[peer->process] : -1, .events = events };
        open += events != 0;
    }
    return open;
}

int exchange_run (const struct exchange *exchange, struct refusal *refusal)
{
    struct head own = { .magic = MAGIC, .program = exchange->program, .bytes = exchange->bytes };
    struct progress progress[PLACE_PROCESSES_MAX] = { 0 };
    struct pollfd wanted[PLACE_PROCESSES_MAX] = { 0 };
    while (fill (exchange, progress, wanted) > 0) {
        if (poll (wanted, exchange->peers_n, -1) < 0 && errno != EINTR)
            return refuse (refusal, PJRT_INTERNAL, "poll: %s", strerror (errno));
        for (uint32_t i = 0; i < exchange->peers_n; i++)
            if (wanted[i].fd >= 0 && wanted[i].revents &&
                serve (exchange, &own, &exchange->peers[i], &progress[i], wanted[i].revents, refusal) < 0)
                return -1;
    }
    return 0;
}
