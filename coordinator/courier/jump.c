#include "coordinator/courier/ssh_login.h"

#include "common/io/fd.h"
#include <errno.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { END_WAIT_S = 2 };

struct jump {
    ssh_session session;
    struct pump pump; /* its socket is our end of the pair */
    int wake_fd;      /* told to end */
    pthread_t thread;
};

/* ---- the pump ---- */

static void wait_for_more (const struct jump *jump)
{
    short pending = ssh_get_poll_flags (jump->session) & SSH_WRITE_PENDING ? POLLOUT : 0;
    short session_events = (short) (pump_session_events (&jump->pump) | pending);
    short fd_events = pump_fd_events (&jump->pump);
    struct pollfd entries[] = { { .fd = session_events ? ssh_get_fd (jump->session) : -1, .events = session_events },
                                { .fd = fd_events ? jump->pump.fd : -1, .events = fd_events },
                                { .fd = jump->wake_fd, .events = POLLIN } };
    (void) poll (entries, 3, -1); /* ended by jump_close at the latest */
}

static bool is_told_to_end (const struct jump *jump)
{
    struct pollfd entry = { .fd = jump->wake_fd, .events = POLLIN };
    return poll (&entry, 1, 0) != 0;
}

static void *run_pump (void *owner)
{
    struct jump *jump = owner;
    while (!pump_is_over (&jump->pump) && !is_told_to_end (jump))
        if (!pump_move (&jump->pump) && !pump_is_over (&jump->pump))
            wait_for_more (jump);
    (void) shutdown (jump->pump.fd, SHUT_RDWR); /* the session inside sees its peer gone */
    return NULL;
}

/* ---- opening and closing ---- */

static void jump_free (struct jump *jump)
{
    if (jump->pump.channel)
        ssh_channel_free (jump->pump.channel);
    if (jump->session)
        ssh_login_close (jump->session);
    fd_close (jump->pump.fd);
    fd_close (jump->wake_fd);
    mem_free (jump);
}

static int forward (struct jump *jump, const char *address, uint16_t port, struct err *err)
{
    jump->pump.channel = ssh_channel_new (jump->session);
    if (!jump->pump.channel)
        return err_set (err, ERR_LIMIT, "not enough memory for an ssh channel");
    if (ssh_channel_open_forward (jump->pump.channel, address, port, "127.0.0.1", 0) != SSH_OK)
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
    jump->pump.fd = pair[0];
    jump->wake_fd = eventfd (0, EFD_CLOEXEC);
    int why = jump->wake_fd < 0 ? errno : pthread_create (&jump->thread, NULL, run_pump, jump);
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
    *jump = (struct jump){ .pump.fd = -1, .wake_fd = -1 };
    jump->session = ssh_login_open (login, -1, err);
    if (jump->session) {
        reporter_send_step (login->reporter, STEP_CONNECT, "the jump host to connect to the host");
        if (forward (jump, address, port, err) == 0 && start_pump (jump, fd, err) == 0)
            return jump;
    }
    jump_free (jump);
    return NULL;
}

int jump_fd (const struct jump *jump)
{
    return ssh_get_fd (jump->session);
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

/* ---- pump ---- */

static bool take_from_socket (struct pump *pump)
{
    struct pump_chunk *out = &pump->out;
    if (out->len > 0 || pump->fd_ended)
        return false;
    ssize_t n = read (pump->fd, out->bytes, sizeof out->bytes);
    pump->fd_ended = n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
    out->at = 0;
    out->len = n > 0 ? (size_t) n : 0;
    return n > 0;
}

static bool give_to_channel (struct pump *pump)
{
    struct pump_chunk *out = &pump->out;
    if (out->len == 0 || pump->channel_ended)
        return false;
    int n = ssh_channel_write (pump->channel, out->bytes + out->at, (uint32_t) out->len);
    if (n < 0) {
        pump->channel_ended = true;
        return false;
    }
    out->at += (size_t) n;
    out->len -= (size_t) n;
    pump->given_bytes += (uint64_t) n;
    return n > 0;
}

static bool take_from_channel (struct pump *pump)
{
    struct pump_chunk *in = &pump->in;
    if (in->len > 0 || pump->channel_ended)
        return false;
    int n = ssh_channel_read_nonblocking (pump->channel, in->bytes, sizeof in->bytes, 0);
    pump->channel_ended = n < 0 || (n == 0 && ssh_channel_is_eof (pump->channel));
    in->at = 0;
    in->len = n > 0 ? (size_t) n : 0;
    return n > 0;
}

static bool give_to_socket (struct pump *pump)
{
    struct pump_chunk *in = &pump->in;
    if (in->len == 0 || pump->fd_ended)
        return false;
    ssize_t n = send (pump->fd, in->bytes + in->at, in->len, MSG_NOSIGNAL);
    pump->fd_ended = n < 0 && errno != EAGAIN && errno != EINTR;
    if (n <= 0)
        return false;
    in->at += (size_t) n;
    in->len -= (size_t) n;
    return true;
}

bool pump_move (struct pump *pump)
{
    bool moved = take_from_socket (pump);
    moved |= give_to_channel (pump);
    moved |= give_to_socket (pump);
    return take_from_channel (pump) || moved; /* last, because writing also buffers packets */
}

bool pump_is_over (const struct pump *pump)
{
    return (pump->fd_ended && (pump->out.len == 0 || pump->channel_ended)) ||
           (pump->channel_ended && (pump->in.len == 0 || pump->fd_ended));
}

short pump_fd_events (const struct pump *pump)
{
    return (pump->out.len == 0 && !pump->fd_ended ? POLLIN : 0) | (pump->in.len > 0 ? POLLOUT : 0);
}

/* Does not read the channel while the socket is full. poll does not report a window that opened while reading. */
short pump_session_events (const struct pump *pump)
{
    bool may_send = pump->out.len > 0 && ssh_channel_window_size (pump->channel) > 0;
    if (pump->channel_ended)
        return 0;
    return (pump->in.len == 0 || pump->out.len > 0 ? POLLIN : 0) | (may_send ? POLLOUT : 0);
}
