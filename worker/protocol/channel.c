#include "common/io/fd.h"
#include "worker/protocol/evidence.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* One call of channel_read takes at most this much, so that a program that writes without end cannot block the loop. */
enum { READ_BYTES = 256 * 1024 };

struct channel {
    int fd, peer_fd;
    struct evidence *evidence;
    channel_statement_fn *fn;
    void *owner;
    bool too_long; /* the rest of a line that was refused is skipped up to its newline */
    bool cut_short;
    struct buf line, queue;
    size_t written;
    bool broken;
};

struct channel *channel_open (struct evidence *evidence, channel_statement_fn *fn, void *owner, struct err *err)
{
    int pair[2] = { -1, -1 };
    /* Only our end does not block: the program expects one that does. */
    if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 || fcntl (pair[0], F_SETFL, O_NONBLOCK) < 0) {
        err_errno (err, ERR_IO, "cannot make a channel to the program");
        fd_close (pair[0]);
        fd_close (pair[1]);
        return NULL;
    }
    struct channel *channel = mem_alloc (sizeof *channel);
    channel->fd = pair[0];
    channel->peer_fd = pair[1];
    channel->evidence = evidence;
    channel->fn = fn;
    channel->owner = owner;
    buf_init (&channel->line, LINE_MAX_BYTES);
    buf_init (&channel->queue, CHANNEL_QUEUE_BYTES);
    return channel;
}

void channel_close (struct channel *channel)
{
    if (!channel)
        return;
    close (channel->fd);
    fd_close (channel->peer_fd);
    buf_release (&channel->line);
    buf_release (&channel->queue);
    mem_free (channel);
}

int channel_fd (const struct channel *channel)
{
    return channel->fd;
}

int channel_take_program_fd (struct channel *channel)
{
    int fd = channel->peer_fd;
    assert (fd >= 0);
    channel->peer_fd = -1;
    return fd;
}

/* ---- towards the program ---- */

bool channel_wants_write (const struct channel *channel)
{
    return !channel->broken && channel->written < channel->queue.len;
}

void channel_write (struct channel *channel)
{
    while (channel_wants_write (channel)) {
        ssize_t sent = send (channel->fd, channel->queue.ptr + channel->written, channel->queue.len - channel->written,
                             MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0) {
            channel->broken = errno != EAGAIN;
            return;
        }
        channel->written += (size_t) sent;
    }
    buf_clear (&channel->queue);
    channel->written = 0;
}

bool channel_send (struct channel *channel, struct text line)
{
    if (channel->broken || line.len + 1 > channel->queue.max - channel->queue.len)
        return false;
    buf_add_text (&channel->queue, line);
    buf_byte (&channel->queue, '\n');
    channel_write (channel);
    return !channel->broken;
}

static bool send_json (struct channel *channel, json_t *line)
{
    LOCAL_MEM char *text = json_dumps (line, JSON_COMPACT);
    assert (text); /* what came over the wire is valid UTF-8 */
    bool sent = channel_send (channel, text_of (text));
    json_decref (line);
    return sent;
}

bool channel_send_go (struct channel *channel, struct text gate, struct text value)
{
    return send_json (channel, json_pack ("{s:s, s:s%, s:s%}", "type", "go", "gate", gate.len ? gate.ptr : "",
                                          (size_t) gate.len, "value", value.len ? value.ptr : "", (size_t) value.len));
}

bool channel_send_stop (struct channel *channel, struct text reason)
{
    return send_json (channel, json_pack ("{s:s, s:s%}", "type", "stop", "reason", reason.len ? reason.ptr : "",
                                          (size_t) reason.len));
}

/* ---- from the program ---- */

static void channel_take_line (struct channel *channel)
{
    struct statement statement = { 0 };
    if (!channel->too_long)
        evidence_take (channel->evidence, buf_as_text (&channel->line), &statement);
    buf_clear (&channel->line);
    channel->too_long = false;
    if (statement.kind != STATEMENT_NOTHING)
        channel->fn (channel->owner, &statement);
}

static void add_to_line (struct channel *channel, const char *bytes, size_t len)
{
    if (channel->too_long)
        return;
    buf_add (&channel->line, bytes, len);
    channel->too_long = channel->line.overflow;
    if (channel->too_long)
        evidence_refuse (channel->evidence, "the line is longer than 64 KiB");
}

static void channel_take_bytes (struct channel *channel, const char *bytes, size_t len)
{
    while (len) {
        const char *newline = memchr (bytes, '\n', len);
        size_t part = newline ? (size_t) (newline - bytes) : len;
        add_to_line (channel, bytes, part);
        if (!newline)
            return;
        channel_take_line (channel);
        bytes += part + 1;
        len -= part + 1;
    }
}

void channel_allow_partial_line (struct channel *channel)
{
    channel->cut_short = true;
}

static bool end_of_channel (struct channel *channel)
{
    if (channel->line.len && !channel->cut_short)
        evidence_refuse (channel->evidence, "the program ended in the middle of a line");
    buf_clear (&channel->line);
    return false;
}

bool channel_read (struct channel *channel)
{
    char bytes[16 * 1024];
    for (size_t taken = 0; taken < READ_BYTES;) {
        ssize_t got = fd_read (channel->fd, bytes, sizeof bytes);
        if (got < 0 && errno == EAGAIN)
            return true;
        if (got <= 0)
            return end_of_channel (channel);
        taken += (size_t) got;
        channel_take_bytes (channel, bytes, (size_t) got);
    }
    return true;
}
