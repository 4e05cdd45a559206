#include "coordinator/courier/pump.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

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
