#include "coordinator/courier/ssh_login.h"

#include "common/io/fd.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* The largest ssh packet (RFC 4253, 6.1); senders wait while this is full. */
enum { CHUNK_BYTES = 32 * 1024, END_WAIT_S = 2 };

struct chunk {
    size_t at, len;
    char bytes[CHUNK_BYTES];
};

struct jump {
    ssh_session session;
    ssh_channel channel;
    int fd, wake_fd; /* our end of the socket pair; told to end */
    pthread_t thread;
    struct chunk out, in; /* to the channel, from the channel */
    bool moved;           /* in this pass: libssh may have buffered more, which poll does not report */
    bool fd_ended, channel_ended;
};

/* ---- the pump ---- */

static void take_from_socket (struct jump *jump)
{
    struct chunk *out = &jump->out;
    if (out->len > 0 || jump->fd_ended)
        return;
    ssize_t n = read (jump->fd, out->bytes, sizeof out->bytes);
    if (n > 0) {
        out->at = 0;
        out->len = (size_t) n;
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        jump->fd_ended = true;
    }
}

static void give_to_channel (struct jump *jump)
{
    struct chunk *out = &jump->out;
    if (out->len == 0)
        return;
    int n = ssh_channel_write (jump->channel, out->bytes + out->at, (uint32_t) out->len);
    if (n < 0) {
        jump->channel_ended = true;
        return;
    }
    out->at += (size_t) n;
    out->len -= (size_t) n;
    jump->moved = jump->moved || n > 0;
}

static void take_from_channel (struct jump *jump)
{
    struct chunk *in = &jump->in;
    if (in->len > 0 || jump->channel_ended)
        return;
    int n = ssh_channel_read_nonblocking (jump->channel, in->bytes, sizeof in->bytes, 0);
    if (n > 0) {
        in->at = 0;
        in->len = (size_t) n;
        jump->moved = true;
    } else if (n < 0 || ssh_channel_is_eof (jump->channel)) {
        jump->channel_ended = true;
    }
}

static void give_to_socket (struct jump *jump)
{
    struct chunk *in = &jump->in;
    if (in->len == 0)
        return;
    ssize_t n = send (jump->fd, in->bytes + in->at, in->len, MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN && errno != EINTR)
        jump->fd_ended = true;
    if (n <= 0)
        return;
    in->at += (size_t) n;
    in->len -= (size_t) n;
    jump->moved = true;
}

/* Does not read the channel while the socket is full. poll does not report a window that opened while reading. */
static short session_events_of (const struct jump *jump)
{
    bool may_send = jump->out.len > 0 && ssh_channel_window_size (jump->channel) > 0;
    bool pending = may_send || (ssh_get_poll_flags (jump->session) & SSH_WRITE_PENDING);
    if (jump->channel_ended)
        return 0;
    return (jump->in.len == 0 || jump->out.len > 0 ? POLLIN : 0) | (pending ? POLLOUT : 0);
}

static void wait_for_more (const struct jump *jump)
{
    short session_events = session_events_of (jump);
    short fd_events = (jump->out.len == 0 ? POLLIN : 0) | (jump->in.len > 0 ? POLLOUT : 0);
    struct pollfd entries[] = { { .fd = session_events ? ssh_get_fd (jump->session) : -1, .events = session_events },
                                { .fd = fd_events ? jump->fd : -1, .events = fd_events },
                                { .fd = jump->wake_fd, .events = POLLIN } };
    (void) poll (entries, 3, -1); /* ended by jump_close at the latest */
}

static bool is_told_to_end (const struct jump *jump)
{
    struct pollfd entry = { .fd = jump->wake_fd, .events = POLLIN };
    return poll (&entry, 1, 0) != 0;
}

static bool jump_is_over (const struct jump *jump)
{
    return jump->fd_ended || (jump->channel_ended && jump->in.len == 0);
}

static void *pump (void *owner)
{
    struct jump *jump = owner;
    while (!jump_is_over (jump) && !is_told_to_end (jump)) {
        jump->moved = false;
        take_from_socket (jump);
        give_to_channel (jump);
        give_to_socket (jump);
        take_from_channel (jump); /* last, because writing also buffers packets, which poll does not report again */
        if (!jump->moved && !jump_is_over (jump))
            wait_for_more (jump);
    }
    (void) shutdown (jump->fd, SHUT_RDWR); /* the session inside sees its peer gone */
    return NULL;
}

/* ---- opening and closing ---- */

static void jump_free (struct jump *jump)
{
    if (jump->channel)
        ssh_channel_free (jump->channel);
    if (jump->session)
        ssh_login_close (jump->session);
    fd_close (jump->fd);
    fd_close (jump->wake_fd);
    mem_free (jump);
}

static int forward (struct jump *jump, const char *address, uint16_t port, struct err *err)
{
    jump->channel = ssh_channel_new (jump->session);
    if (!jump->channel)
        return err_set (err, ERR_LIMIT, "not enough memory for an ssh channel");
    if (ssh_channel_open_forward (jump->channel, address, port, "127.0.0.1", 0) != SSH_OK)
        return err_set (
            err, ERR_IO,
            "the jump host cannot connect to port %u of the host (is forwarding allowed, does it resolve the host's "
            "address, is sshd up?): %s",
            port, ssh_get_error (jump->session));
    ssh_set_blocking (jump->session, 0);
    return 0;
}

static int start_pump (struct jump *jump, int *fd, struct err *err)
{
    int pair[2];
    if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0)
        return err_errno (err, ERR_IO, "cannot create a socket for the connection through the jump host");
    jump->fd = pair[0];
    jump->wake_fd = eventfd (0, EFD_CLOEXEC);
    int why = jump->wake_fd < 0 ? errno : pthread_create (&jump->thread, NULL, pump, jump);
    errno = why;
    if (why != 0) {
        err_errno (err, ERR_IO, "cannot start a thread for the connection through the jump host");
        (void) close (pair[1]);
        return -1;
    }
    *fd = pair[1];
    return 0;
}

struct jump *jump_open (const struct ssh_login *login, const char *address, uint16_t port, int *fd, struct err *err)
{
    struct jump *jump = mem_alloc (sizeof *jump);
    *jump = (struct jump){ .fd = -1, .wake_fd = -1 };
    jump->session = ssh_login_open (login, -1, err);
    if (jump->session) {
        reporter_send_step (login->reporter, STEP_CONNECT, "the jump host to connect to the host");
        if (forward (jump, address, port, err) == 0 && start_pump (jump, fd, err) == 0)
            return jump;
    }
    jump_free (jump);
    return NULL;
}

void jump_close (struct jump *jump)
{
    struct timespec until;
    if (write (jump->wake_fd, &(uint64_t){ 1 }, sizeof (uint64_t)) < 0 || clock_gettime (CLOCK_MONOTONIC, &until) != 0)
        return; /* the process ends soon, and with it the thread */
    until.tv_sec += END_WAIT_S;
    if (pthread_clockjoin_np (jump->thread, NULL, CLOCK_MONOTONIC, &until) == 0)
        jump_free (jump);
}
