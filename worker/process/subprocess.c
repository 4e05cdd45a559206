#include "worker/process/subprocess.h"

#include "common/base/duration.h"
#include "common/io/clock.h"
#include "common/io/fd.h"
#include "common/io/program_start.h"
#include "common/wire/wire.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { CHUNK_BYTES = 16 * 1024 };

static int subprocess_start (const struct subprocess *command, int output, pid_t *pid, struct err *err)
{
    const struct program program = { .argv = command->argv,
                                     .envp = environ,
                                     .in = -1,
                                     .out = output,
                                     .error = output,
                                     .held = command->held_fd < 0 ? 0 : command->held_fd };
    errno = program_start (pid, &program);
    return errno == 0 ? 0 : err_errno (err, ERR_IO, "cannot start %.200s", command->argv[0]);
}

/* Drops the beginning of a too long output, because its end explains a failure. */
static void subprocess_keep (struct buf *out, const char *bytes, size_t len)
{
    if (len > out->max) {
        bytes += len - out->max;
        len = out->max;
    }
    if (out->len + len > out->max) {
        size_t rest = out->max / 2 < out->max - len ? out->max / 2 : out->max - len;
        if (rest < out->len) {
            memmove (out->ptr, out->ptr + out->len - rest, rest);
            out->len = rest;
        }
    }
    buf_add (out, bytes, len);
}

/* False at the end of the output. */
static bool drain (const struct subprocess *subprocess, int from, struct buf *out)
{
    char chunk[CHUNK_BYTES];
    for (;;) {
        ssize_t got = fd_read (from, chunk, sizeof chunk);
        if (got <= 0)
            return got < 0 && errno == EAGAIN;
        subprocess_keep (out, chunk, (size_t) got);
        if (subprocess->echo_fd >= 0) /* a log that cannot be written is no reason to stop the command */
            (void) fd_write (subprocess->echo_fd, chunk, (size_t) got);
    }
}

/* Reads until the process ends, because a leftover child may hold the pipe for ever. */
static bool subprocess_follow (const struct subprocess *subprocess, int from, int process, struct buf *out)
{
    uint64_t deadline_ms = clock_boot_ms () + subprocess->limit_ms;
    bool open = true;
    for (;;) {
        struct pollfd fds[] = { { .fd = process, .events = POLLIN }, { .fd = open ? from : -1, .events = POLLIN } };
        uint64_t now_ms = clock_boot_ms ();
        if (now_ms >= deadline_ms)
            return false;
        uint64_t left_ms = deadline_ms - now_ms;
        if (poll (fds, 2, left_ms < 60000 ? (int) left_ms : 60000) < 0)
            continue;
        bool ended = fds[0].revents != 0;
        if (fds[1].revents || ended)
            open = drain (subprocess, from, out);
        if (ended)
            return true;
    }
}

static int subprocess_reap (pid_t pid, int *status, struct err *err)
{
    int raw;
    while (waitpid (pid, &raw, 0) < 0)
        if (errno != EINTR)
            return err_errno (err, ERR_STATE, "the exit status of process %d is lost: something else waited for it",
                              (int) pid);
    *status = WIFSIGNALED (raw) ? 128 + WTERMSIG (raw) : WEXITSTATUS (raw);
    return 0;
}

static int subprocess_finish (const struct subprocess *command, pid_t pid, int from, struct buf *out, int *status,
                              struct err *err)
{
    LOCAL_FD process = (int) syscall (SYS_pidfd_open, pid, 0);
    bool in_time = process >= 0 && subprocess_follow (command, from, process, out);
    int why = process < 0 ? errno : 0;
    if (!in_time)
        kill (pid, SIGKILL); /* it is our own unreaped child: the number is still its own */
    if (subprocess_reap (pid, status, err))
        return -1;
    if (why) {
        errno = why;
        return err_errno (err, ERR_IO, "cannot watch the process of %.200s", command->argv[0]);
    }
    if (!in_time)
        return err_set (err, ERR_LIMIT, "%.200s took longer than %s and was killed", command->argv[0],
                        DURATION_TEXT (command->limit_ms));
    return 0;
}

int subprocess_run (const struct subprocess *subprocess, struct buf *out, int *status, struct err *err)
{
    int pipe_fds[2];
    pid_t pid;
    assert (subprocess->argv && subprocess->argv[0] && out->max > 0);
    if (pipe2 (pipe_fds, O_CLOEXEC))
        return err_errno (err, ERR_IO, "cannot make a pipe for %.200s", subprocess->argv[0]);
    int rc = subprocess_start (subprocess, pipe_fds[1], &pid, err);
    close (pipe_fds[1]);
    /* Only our end: a program may not expect its standard output to say EAGAIN. */
    if (rc == 0 && fcntl (pipe_fds[0], F_SETFL, O_NONBLOCK)) {
        rc = err_errno (err, ERR_IO, "cannot set up the pipe from %.200s", subprocess->argv[0]);
        kill (pid, SIGKILL);
        if (subprocess_reap (pid, status, NULL))
            err_prefix (err, "(and its exit status was lost)");
    } else if (rc == 0) {
        rc = subprocess_finish (subprocess, pid, pipe_fds[0], out, status, err);
    }
    close (pipe_fds[0]);
    return rc;
}

/* ---- packets ---- */

int packet_send (int fd, const struct record *record, const void *value, struct err *err)
{
    int rc = 0;
    ssize_t sent;
    LOCAL_BUF bytes = { .max = PACKET_BYTES_MAX };
    wire_put_record (&bytes, record, value);
    do
        sent = bytes.overflow ? 0 : send (fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (bytes.overflow)
        rc = err_set (err, ERR_LIMIT, "the %s is longer than %d bytes", record->name, PACKET_BYTES_MAX);
    else if (sent != (ssize_t) bytes.len)
        rc = err_errno (err, ERR_IO, "cannot send the %s to the worker", record->name);
    return rc;
}

/* An empty packet looks like the end, but only the end repeats: this many in a row are the end. */
enum { EMPTY_MAX = 64 };

static ssize_t packet_take (int fd, char bytes[PACKET_BYTES_MAX])
{
    ssize_t got = 0;
    for (uint32_t empty = 0; got == 0 && empty < EMPTY_MAX; empty++)
        do
            got = recv (fd, bytes, PACKET_BYTES_MAX, MSG_DONTWAIT);
        while (got < 0 && errno == EINTR);
    return got;
}

enum packet packet_receive (int fd, const struct record *record, void *out, struct text *raw, struct arena *arena)
{
    char bytes[PACKET_BYTES_MAX];
    ssize_t got = packet_take (fd, bytes);
    if (got <= 0)
        return got < 0 && errno == EAGAIN ? PACKET_NONE : PACKET_OVER;
    *raw = text_copy (arena, (struct text){ bytes, (uint32_t) got });
    return wire_get_record (*raw, record, out, arena, NULL) < 0 ? PACKET_REFUSED : PACKET_RECORD;
}
