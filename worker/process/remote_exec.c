#include "worker/process/self.h"

#include "common/base/text.h"

#include "common/base/path.h"
#include "common/io/clock.h"
#include "common/io/fd.h"
#include "common/model/remote_command.h"
#include "worker/process/exec.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* Limits: wait for the command; SIGINT to SIGTERM, and to SIGKILL, which another user's program (sudo) may outlive;
 * unsent output; wait for the reader of the end. */
enum {
    COMMAND_WAIT_MS = 30 * 1000,
    STOP_MS = 2 * 1000,
    KILLED_MS = 5 * 1000,
    UNSENT_MAX_BYTES = 64 * 1024,
    LAST_MS = 10 * 1000
};
/* Of the standard input of a command that reads slowly. Above it the coordinator is not heard until there is room. */
enum { UNFED_MAX_BYTES = 256 * 1024 };
enum { VARIABLES_MAX = 4096, PIECES_A_LOOK = 16, LAST_PIECES_MAX = 256 };

struct remote {
    struct remote_command command;
    struct frame_reader reader;
    struct exec *exec; /* NULL: not begun, or over */
    struct remote_end end;
    bool input_ended, output_ended, over; /* no more input; no more output; its end was reported */
    bool stopping;
    int pipe_fd, signal_fd;
    uint64_t heard_ms, began_ms, give_up_ms;
    struct buf unsent;
    struct buf unfed; /* its standard input that it has not read */
    int feed_fd;      /* to it; -1: closed */
    bool fed_all;
    uint32_t last_pieces; /* read since the command was gone */
};

/* ---- to the coordinator ---- */

static void send_more (struct remote *remote)
{
    struct buf *unsent = &remote->unsent;
    size_t sent = 0;
    while (sent < unsent->len) {
        ssize_t n = write (STDOUT_FILENO, unsent->ptr + sent, unsent->len - sent);
        if (n < 0 && errno == EAGAIN)
            break;
        if (n <= 0 && errno != EINTR) {
            remote->input_ended = true; /* nobody reads any more */
            sent = unsent->len;
        }
        sent += n > 0 ? (size_t) n : 0;
    }
    memmove (unsent->ptr, unsent->ptr + sent, unsent->len - sent);
    unsent->len -= sent;
}

/* False: nothing is there now. */
static bool remote_exec_read_piece (struct remote *remote)
{
    char bytes[FRAME_MAX_BYTES];
    ssize_t n = remote->output_ended ? 0 : fd_read (remote->pipe_fd, bytes, sizeof bytes);
    if (n < 0 && errno == EAGAIN)
        return false;
    remote->output_ended = remote->output_ended || n <= 0;
    if (n > 0 && !remote->input_ended)
        frame_put (&remote->unsent, REMOTE_OUTPUT, (struct text){ bytes, (uint32_t) n });
    return n > 0;
}

static bool remote_exec_has_room (const struct remote *remote)
{
    return remote->input_ended || remote->unsent.len < UNSENT_MAX_BYTES;
}

static void remote_exec_read_output (struct remote *remote)
{
    for (int i = 0; i < PIECES_A_LOOK && remote_exec_has_room (remote) && remote_exec_read_piece (remote); i++)
        send_more (remote);
}

/* ---- the command ---- */

static void remote_exec_note_end (struct remote *remote, enum remote_how how, uint32_t number)
{
    /* A stopped command ended because of that, whatever its status. */
    remote->end.how = remote->end.how == REMOTE_NONE ? how : remote->end.how;
    remote->end.number = number;
    remote->end.took_ms = clock_boot_ms () - remote->began_ms;
    remote->over = true;
}

static char **remote_exec_environment_of (struct remote_command *command)
{
    uint32_t n = 0;
    while (environ[n] && n < VARIABLES_MAX)
        n++;
    char **all = arena_array (&command->arena, n + 3, sizeof *all), **at = all;
    for (uint32_t i = 0; i < n; i++)
        if (strncmp (environ[i], "SLICEUP_HOST=", 13) != 0 && strncmp (environ[i], "SLICEUP_RANK=", 13) != 0)
            *at++ = environ[i];
    *at++ = (char *) text_format (&command->arena, "SLICEUP_HOST=%s", command->host).ptr;
    *at = (char *) text_format (&command->arena, "SLICEUP_RANK=%u", (uint32_t) command->rank).ptr;
    return all;
}

static void remote_exec_feed (struct remote *remote)
{
    size_t fed = 0;
    ssize_t n = 1;
    while (remote->feed_fd >= 0 && n > 0 && fed < remote->unfed.len) {
        n = write (remote->feed_fd, remote->unfed.ptr + fed, remote->unfed.len - fed);
        fed += n > 0 ? (size_t) n : 0;
    }
    if (fed == 0 && remote->unfed.len == 0 && !remote->fed_all)
        return;
    bool unread = n < 0 && errno != EAGAIN && errno != EINTR; /* it has ended, or wants no more */
    fed = unread || remote->feed_fd < 0 ? remote->unfed.len : fed;
    if (fed)
        memmove (remote->unfed.ptr, remote->unfed.ptr + fed, remote->unfed.len - fed);
    remote->unfed.len -= fed;
    if (remote->feed_fd >= 0 && (unread || (remote->fed_all && remote->unfed.len == 0))) {
        fd_close (remote->feed_fd);
        remote->feed_fd = -1;
    }
}

static struct exec *remote_exec_start (struct remote_command *command, int input_fd, int output_fd, struct err *err)
{
    char directory[PATH_MAX];
    const char *program = path_find_program (command->words[0], false, &command->arena, err);
    if (!program || exec_adopt_orphans (err) < 0)
        return NULL;
    struct spawn_request request = { .program = program,
                                     .argv = (char *const *) (uintptr_t) command->words,
                                     .envp = remote_exec_environment_of (command),
                                     .directory = getcwd (directory, sizeof directory) ? directory : "/",
                                     .input_fd = input_fd,
                                     .output_fd = output_fd,
                                     .channel_fd = -1,
                                     .as_login = true };
    return exec_start (&request, err);
}

static void remote_exec_begin (struct remote *remote)
{
    int fds[2] = { -1, -1 }, feed[2] = { -1, -1 };
    bool fed = remote->command.fed;
    struct err err = { 0 };
    remote->began_ms = clock_boot_ms ();
    if (pipe2 (fds, O_CLOEXEC) < 0 || fcntl (fds[0], F_SETFL, O_NONBLOCK) < 0 ||
        (fed && (pipe2 (feed, O_CLOEXEC) < 0 || fcntl (feed[1], F_SETFL, O_NONBLOCK) < 0)))
        err_errno (&err, ERR_IO, "cannot make pipes for the command");
    else
        remote->exec = remote_exec_start (&remote->command, fed ? feed[0] : 0, fds[1], &err);
    fd_close (fds[1]);
    fd_close (feed[0]);
    remote->pipe_fd = fds[0];
    remote->feed_fd = feed[1];
    if (!remote->exec) {
        remote->end.why = text_copy (&remote->command.arena, text_of (err.text));
        remote_exec_note_end (remote, REMOTE_NOT_STARTED, 0);
    }
}

static void remote_exec_stop (struct remote *remote, enum remote_how why, bool hard)
{
    uint64_t now_ms = clock_boot_ms ();
    if (!remote->exec)
        return;
    if (!remote->stopping || hard)
        remote->give_up_ms = now_ms + (hard ? 0 : 2 * STOP_MS) + KILLED_MS;
    if (!remote->stopping)
        remote->end.how = why;
    remote->stopping = true;
    exec_stop (remote->exec, hard, STOP_MS, now_ms);
}

/* Reads its output before reporting its end. No process of it is left to write, or none that can be ended. */
static void remote_exec_look_for_end (struct remote *remote)
{
    struct exec_end end;
    uint64_t now_ms = clock_boot_ms ();
    if (!remote->exec)
        return;
    exec_poll (remote->exec, now_ms);
    bool gone = exec_all_gone (remote->exec, &end), given_up = remote->stopping && now_ms >= remote->give_up_ms;
    if (!gone && !given_up)
        return;
    while (remote_exec_has_room (remote) && remote->last_pieces < LAST_PIECES_MAX && remote_exec_read_piece (remote)) {
        remote->last_pieces++; /* unkillable processes may still write */
        send_more (remote);
    }
    if (!remote_exec_has_room (remote))
        return;
    remote->end.strays = gone ? end.strays : 0;
    remote->end.unkillable = gone ? end.unkillable : 1;
    if (gone)
        exec_destroy (remote->exec);
    remote->exec = NULL;
    if (gone && WIFSIGNALED (end.status))
        remote_exec_note_end (remote, REMOTE_SIGNALLED, (uint32_t) WTERMSIG (end.status));
    else
        remote_exec_note_end (remote, REMOTE_EXITED, gone ? (uint32_t) WEXITSTATUS (end.status) : 0);
}

/* ---- from the coordinator ---- */

static void remote_exec_take (struct remote *remote, const struct frame *frame)
{
    struct err err;
    if (!remote->command.begun) {
        remote->input_ended = remote_command_take (&remote->command, frame, &err) < 0;
        if (remote->command.begun)
            remote_exec_begin (remote);
    } else if (frame->letter == REMOTE_INPUT) {
        buf_add_text (&remote->unfed, frame->bytes);
        remote->fed_all = remote->fed_all || frame->bytes.len == 0;
    } else if (frame->letter == REMOTE_STOP || frame->letter == REMOTE_KILL) {
        remote_exec_stop (remote, REMOTE_STOPPED, frame->letter == REMOTE_KILL);
    }
}

static void remote_exec_read_input (struct remote *remote)
{
    char bytes[4096];
    struct frame frame;
    ssize_t n = fd_read (STDIN_FILENO, bytes, sizeof bytes);
    struct text input = { bytes, n > 0 ? (uint32_t) n : 0 };
    int rc = n > 0 || (n < 0 && errno == EAGAIN) ? 1 : -1;
    remote->heard_ms = clock_boot_ms ();
    while (rc > 0 && input.len > 0 && (rc = frame_read (&remote->reader, &input, &frame, NULL)) > 0)
        remote_exec_take (remote, &frame);
    remote->input_ended = remote->input_ended || rc < 0;
}

/* ---- the loop ---- */

static void read_signals (struct remote *remote)
{
    struct signalfd_siginfo info;
    while (read (remote->signal_fd, &info, sizeof info) == sizeof info)
        if (info.ssi_signo != SIGCHLD) /* the starter of this program ends it */
            remote_exec_stop (remote, REMOTE_STOPPED, false);
}

/* Else its command reads nothing, which its timeout bounds. */
static bool remote_exec_hears (const struct remote *remote)
{
    return remote->unfed.len < UNFED_MAX_BYTES;
}

static uint64_t silent_at_ms (const struct remote *remote)
{
    uint64_t most_ms = remote->command.begun ? remote->command.silence_ms : COMMAND_WAIT_MS;
    return most_ms && !remote->input_ended && remote_exec_hears (remote) ? remote->heard_ms + most_ms : UINT64_MAX;
}

static uint64_t timeout_at_ms (const struct remote *remote)
{
    return remote->exec && !remote->stopping ? remote->began_ms + remote->command.timeout_ms : UINT64_MAX;
}

static void look_at_clock (struct remote *remote)
{
    uint64_t now_ms = clock_boot_ms ();
    if (now_ms >= silent_at_ms (remote))
        remote->input_ended = true;
    if (now_ms >= timeout_at_ms (remote))
        remote_exec_stop (remote, REMOTE_TIMED_OUT, false);
    if (remote->input_ended && !remote->stopping)
        remote_exec_stop (remote, REMOTE_STOPPED, false);
}

static int wait_ms (const struct remote *remote)
{
    uint64_t now_ms = clock_boot_ms (), at_ms = least_u64 (silent_at_ms (remote), timeout_at_ms (remote));
    if (remote->exec)
        at_ms = least_u64 (at_ms, exec_deadline_ms (remote->exec));
    if (remote->exec && remote->stopping && remote_exec_has_room (remote)) /* else earlier output must be sent first */
        at_ms = least_u64 (at_ms, remote->give_up_ms);
    return at_ms <= now_ms ? 0 : at_ms - now_ms > INT_MAX ? INT_MAX : (int) (at_ms - now_ms);
}

static void remote_exec_wait_for_any (struct remote *remote)
{
    bool reads = remote->exec && !remote->output_ended && remote_exec_has_room (remote);
    bool hears = !remote->input_ended && remote_exec_hears (remote);
    struct pollfd entries[] = {
        { .fd = hears ? STDIN_FILENO : -1, .events = POLLIN },
        { .fd = remote->signal_fd, .events = POLLIN },
        { .fd = reads ? remote->pipe_fd : -1, .events = POLLIN },
        { .fd = remote->unsent.len ? STDOUT_FILENO : -1, .events = POLLOUT },
        { .fd = remote->unfed.len ? remote->feed_fd : -1, .events = POLLOUT },
    };
    if (poll (entries, 5, wait_ms (remote)) <= 0)
        return;
    if (entries[0].revents)
        remote_exec_read_input (remote);
    if (entries[1].revents)
        read_signals (remote);
    if (entries[2].revents)
        remote_exec_read_output (remote);
}

/* Sends the end, after earlier output, to a maybe slow reader. */
static void tell_end (struct remote *remote)
{
    uint64_t until_ms = clock_boot_ms () + LAST_MS;
    remote_end_put (&remote->end, &remote->unsent);
    for (send_more (remote); remote->unsent.len > 0 && clock_boot_ms () < until_ms; send_more (remote)) {
        struct pollfd entry = { .fd = STDOUT_FILENO, .events = POLLOUT };
        (void) poll (&entry, 1, 1000);
    }
}

static int remote_exec_prepare (struct remote *remote)
{
    sigset_t received;
    const int wanted[] = { SIGCHLD, SIGTERM, SIGINT, SIGHUP };
    sigemptyset (&received);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        sigaddset (&received, wanted[i]);
    signal (SIGPIPE, SIG_IGN); /* writes report closed pipes */
    remote->signal_fd = sigprocmask (SIG_BLOCK, &received, NULL) == 0
                            ? signalfd (-1, &received, SFD_CLOEXEC | SFD_NONBLOCK)
                            : -1;
    for (int fd = STDIN_FILENO; fd <= STDOUT_FILENO; fd++)
        if (fcntl (fd, F_SETFL, fcntl (fd, F_GETFL) | O_NONBLOCK) < 0)
            return -1;
    return remote->signal_fd < 0 ? -1 : 0;
}

int remote_exec_main (int argc, char **argv)
{
    static struct remote remote;
    (void) argv;
    if (argc != 1 || remote_exec_prepare (&remote) < 0) {
        fputs ("sliceup-worker exec is started by sliceup exec\n", stderr);
        return 2;
    }
    buf_init (&remote.unsent, UNSENT_MAX_BYTES + 4 * FRAME_MAX_BYTES);
    buf_puts (&remote.unsent, REMOTE_EXEC_ANSWER);
    buf_init (&remote.unfed, UNFED_MAX_BYTES + 4 * FRAME_MAX_BYTES);
    remote.pipe_fd = remote.feed_fd = -1;
    remote.heard_ms = clock_boot_ms ();
    while (!remote.over && (remote.exec || !remote.input_ended)) {
        send_more (&remote);
        remote_exec_feed (&remote);
        look_at_clock (&remote);
        remote_exec_look_for_end (&remote);
        if (!remote.over)
            remote_exec_wait_for_any (&remote);
    }
    bool told = remote.over && !remote.input_ended;
    if (told)
        tell_end (&remote);
    fd_close (remote.pipe_fd);
    fd_close (remote.signal_fd);
    fd_close (remote.feed_fd);
    buf_release (&remote.unsent);
    buf_release (&remote.unfed);
    arena_release (&remote.command.arena);
    return told ? 0 : 1;
}
