#include "common/base/frame.h"
#include "common/io/clock.h"
#include "coordinator/courier/bootstrap_session.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* The host's bound for silence is six times ALIVE_MS (coordinator/launch/exec_hosts.h). A program whose input ends
 * stops its command politely first. It keeps as much of the host's standard error as a session. */
enum { ALIVE_MS = 5 * 1000, LEAVE_MS = 30 * 1000, PIECE_BYTES = 32 * 1024, LOG_MAX_BYTES = 64 * 1024, LOOK_MS = 1000 };
enum { LAST_MS = 10 * 1000, AFTER_END_MS = 2 * 1000, AFTER_END_LOOK_MS = 20 };

struct command_pipe {
    struct courier_input *input;
    struct transport *transport;
    char to_host[PIECE_BYTES], to_tell[PIECE_BYTES];
    size_t to_host_at, to_host_len, to_tell_at, to_tell_len;
    uint64_t alive_ms; /* when to send to the host again */
    size_t logged_bytes;
    bool output_ended, over;
};

/* ---- to the host ---- */

static void command_pipe_say (struct command_pipe *pipe)
{
    const struct transport_ops *ops = pipe->transport->ops;
    while (pipe->to_host_at < pipe->to_host_len) {
        ssize_t n = ops->say (pipe->transport, pipe->to_host + pipe->to_host_at, pipe->to_host_len - pipe->to_host_at);
        if (n < 0) /* its end is seen elsewhere */
            pipe->to_host_at = pipe->to_host_len;
        if (n <= 0)
            return;
        pipe->to_host_at += (size_t) n;
    }
}

static void command_pipe_read_input (struct command_pipe *pipe)
{
    ssize_t n = read (pipe->input->fd, pipe->to_host, sizeof pipe->to_host);
    pipe->over = n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN);
    pipe->to_host_at = 0;
    pipe->to_host_len = n > 0 ? (size_t) n : 0;
    pipe->alive_ms = clock_boot_ms () + ALIVE_MS;
}

/* The coordinator sends whole frames, so a pause is at a frame's end. */
static void keep_alive (struct command_pipe *pipe)
{
    if (clock_boot_ms () < pipe->alive_ms || pipe->to_host_at < pipe->to_host_len)
        return;
    LOCAL_BUF alive = { .max = FRAME_HEAD_MAX_BYTES };
    frame_put (&alive, 'a', TEXT_LIT ("")); /* common/model/remote_command.h, REMOTE_ALIVE */
    memcpy (pipe->to_host, alive.ptr, alive.len);
    pipe->to_host_at = 0;
    pipe->to_host_len = alive.len;
    pipe->alive_ms = clock_boot_ms () + ALIVE_MS;
}

/* ---- from the host ---- */

static bool tells (const struct command_pipe *pipe)
{
    return pipe->to_tell_at < pipe->to_tell_len;
}

static void command_pipe_tell (struct command_pipe *pipe)
{
    while (tells (pipe)) {
        ssize_t n = write (STDOUT_FILENO, pipe->to_tell + pipe->to_tell_at, pipe->to_tell_len - pipe->to_tell_at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        pipe->over = pipe->over || n <= 0; /* the coordinator is gone */
        pipe->to_tell_at += n > 0 ? (size_t) n : pipe->to_tell_len - pipe->to_tell_at;
    }
}

/* True: something came, and there may be more. */
static bool listen (struct command_pipe *pipe)
{
    if (tells (pipe))
        return false;
    ssize_t n = pipe->transport->ops->receive (pipe->transport, TRANSPORT_OUTPUT, pipe->to_tell, sizeof pipe->to_tell);
    pipe->output_ended = pipe->output_ended || n < 0;
    pipe->to_tell_at = 0;
    pipe->to_tell_len = n > 0 ? (size_t) n : 0;
    command_pipe_tell (pipe);
    return n > 0;
}

static void listen_to_errors (struct command_pipe *pipe)
{
    char bytes[4096];
    ssize_t n = pipe->transport->ops->receive (pipe->transport, TRANSPORT_ERROR, bytes, sizeof bytes);
    size_t room = LOG_MAX_BYTES - pipe->logged_bytes, logged = n > 0 ? (size_t) n : 0;
    logged = logged < room ? logged : room;
    if (logged > 0 && write (STDERR_FILENO, bytes, logged) < 0)
        logged = room;
    pipe->logged_bytes += logged;
}

/* sshd may report a program's end before its last output, so this waits for the output's end, unless a leftover process
 * holds it open. */
static bool command_pipe_waits_for_words (struct command_pipe *pipe, uint64_t ended_ms)
{
    bool more = listen (pipe) || tells (pipe);
    uint64_t now_ms = clock_boot_ms ();
    return more ? now_ms < ended_ms + LAST_MS : !pipe->output_ended && now_ms < ended_ms + AFTER_END_MS;
}

/* Passes earlier output on first. */
static void command_pipe_look_for_end (struct command_pipe *pipe)
{
    LOCAL_BUF how = { .max = 256 };
    bool ended = pipe->transport->ops->ended (pipe->transport, &how);
    uint64_t ended_ms = clock_boot_ms ();
    while (ended && !pipe->over && command_pipe_waits_for_words (pipe, ended_ms)) {
        struct pollfd entry = { .fd = tells (pipe) ? STDOUT_FILENO : -1, .events = POLLOUT };
        (void) poll (&entry, 1, tells (pipe) ? LOOK_MS : AFTER_END_LOOK_MS);
        command_pipe_tell (pipe);
    }
    pipe->over = pipe->over || ended;
}

/* ---- the loop ---- */

static void command_pipe_wait_for_any (struct command_pipe *pipe, bool at_once)
{
    bool says = pipe->to_host_at < pipe->to_host_len;
    struct pollfd entries[2 + TRANSPORT_FDS_MAX] = {
        { .fd = says ? -1 : pipe->input->fd, .events = POLLIN },
        { .fd = STDOUT_FILENO, .events = tells (pipe) ? POLLOUT : 0 }, /* its reader's end is told in any case */
    };
    size_t n = 2 + (tells (pipe) ? 0 : pipe->transport->ops->watch (pipe->transport, says, entries + 2));
    if (poll (entries, n, at_once ? 0 : LOOK_MS) <= 0)
        return;
    if (entries[1].revents & POLLERR)
        pipe->over = true;
    if (entries[0].revents)
        command_pipe_read_input (pipe);
}

uint64_t command_pipe_run (struct courier_input *input, struct transport *transport)
{
    struct command_pipe pipe = { .input = input, .transport = transport, .alive_ms = clock_boot_ms () + ALIVE_MS };
    int flags = fcntl (STDOUT_FILENO, F_GETFL);
    if (flags < 0 || fcntl (STDOUT_FILENO, F_SETFL, flags | O_NONBLOCK) < 0)
        return 0;
    while (!pipe.over) {
        keep_alive (&pipe);
        command_pipe_say (&pipe);
        command_pipe_tell (&pipe);
        listen_to_errors (&pipe);
        command_pipe_look_for_end (&pipe);
        /* Last, because reading an ssh connection buffers packets of all kinds, which poll does not report again. */
        bool more = !pipe.over && listen (&pipe);
        if (!pipe.over)
            command_pipe_wait_for_any (&pipe, more);
    }
    return LEAVE_MS;
}
