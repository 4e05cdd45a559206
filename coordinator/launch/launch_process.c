#include "coordinator/launch/launch_process.h"

#include "common/io/fd.h"
#include "common/io/proc.h"
#include "common/io/program_start.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Variables for a worker: libraries, home, scratch, and, to build environments, package index and proxies. Its programs
 * get the profile's. The sanitizers' options are for builds that have them. A trailing '_' stands for all names that
 * begin so. */
static const char kept[] =
    "PATH HOME LANG TZ TMPDIR LD_LIBRARY_PATH ASAN_OPTIONS UBSAN_OPTIONS LSAN_OPTIONS http_proxy "
    "https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY SSL_CERT_FILE REQUESTS_CA_BUNDLE PIP_",
                  kept_by_couriers[] = "USER LOGNAME SSH_AUTH_SOCK SLURM_ SLURMD_ MUNGE_";
enum { VARIABLES_MAX = 1024 };

static bool is_among (const char *variable, const char *names)
{
    for (struct text rest = text_of (names); rest.len;) {
        struct text name = text_take_until (&rest, ' ');
        if (strncmp (variable, name.ptr, name.len) == 0 && (variable[name.len] == '=' || name.ptr[name.len - 1] == '_'))
            return true;
    }
    return false;
}

static bool is_wanted (const struct launch_program *program, const char *variable)
{
    struct text rest = text_of (variable), name = text_take_until (&rest, '=');
    return program->as_user || is_among (variable, kept) ||
           (program->courier && is_among (variable, kept_by_couriers)) ||
           (program->inherit && text_is_among (name, program->inherit->items, program->inherit->n));
}

static bool is_set (const struct launch_program *program, const char *variable)
{
    struct text rest = text_of (variable), name = text_take_until (&rest, '='), value;
    return program->set && var_find (program->set, name, &value);
}

static void launch_process_environment_of (const struct launch_program *program, struct arena *arena,
                                           char *out[VARIABLES_MAX + 1])
{
    size_t n = 0;
    for (uint32_t i = 0; program->set && i < program->set->n && n < VARIABLES_MAX; i++)
        out[n++] = (char *) text_format (arena, "%.*s=%.*s", TEXT_ARG (program->set->items[i].name),
                                         TEXT_ARG (program->set->items[i].value))
                       .ptr;
    for (char **variable = environ; variable && *variable && n < VARIABLES_MAX; variable++)
        if (is_wanted (program, *variable) && !is_set (program, *variable))
            out[n++] = *variable;
    out[n] = NULL;
}

static int spawn (const struct launch_program *program, int in, int out, int error, pid_t *pid, struct err *err)
{
    LOCAL_ARENA arena = { 0 };
    char *environment[VARIABLES_MAX + 1];
    const char *const argv[] = { program->path, program->word, NULL };
    const struct program own = {
        .argv = argv, .envp = environment, .in = in, .out = out, .error = error, .apart = POSIX_SPAWN_SETSID
    };
    launch_process_environment_of (program, &arena, environment);
    int rc = program_start (pid, &own);
    errno = rc;
    return rc == 0 ? 0 : err_errno (err, ERR_IO, "cannot start the program %s", program->path);
}

/* Ours is [0] of both. */
static int channels_open (int input[2], int output[2], struct err *err)
{
    if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, input) != 0) {
        input[0] = input[1] = -1;
        return err_errno (
            err, ERR_IO, "cannot create a socket for the input of a worker or courier (raise the limit of open files)");
    }
    if (pipe2 (output, O_CLOEXEC) != 0) {
        output[0] = output[1] = -1;
        return err_errno (err, ERR_IO,
                          "cannot create a pipe for the output of a worker or courier (raise the limit of open files)");
    }
    if (fcntl (output[0], F_SETFL, O_NONBLOCK) != 0)
        return err_errno (err, ERR_IO, "cannot set the output of a worker or courier to non-blocking");
    return 0;
}

/* A child that was just started and is not needed: SIGKILL ends it at once, so waiting for it does not block. */
static void undo (pid_t pid)
{
    (void) kill (pid, SIGKILL); /* our child, not reaped: the pid is still its own */
    while (waitpid (pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

int launch_process_start (const struct launch_program *program, int error_fd, struct launch_process *out,
                          struct err *err)
{
    int input[2] = { -1, -1 }, output[2] = { -1, -1 };
    pid_t pid = 0;
    if (channels_open (input, output, err) != 0)
        goto out;
    if (spawn (program, input[1], output[1], error_fd, &pid, err) != 0)
        goto out;
    int pidfd = pidfd_open (pid, 0);
    if (pidfd < 0) {
        err_errno (err, ERR_IO, "cannot open a pidfd to watch a worker or courier");
        undo (pid);
        goto out;
    }
    *out = (struct launch_process){ .pid = pid, .pidfd = pidfd, .input_fd = input[0], .output_fd = output[0] };
    (void) close (input[1]); /* the worker's ends; it has its own copies */
    (void) close (output[1]);
    return 0;
out:
    for (int i = 0; i < 2; i++) {
        fd_close (output[i]);
        fd_close (input[i]);
    }
    return -1;
}

bool launch_process_start_time (int64_t pid, uint64_t *ticks)
{
    char path[48];
    snprintf (path, sizeof path, "/proc/%" PRId64 "/stat", pid);
    return proc_start_time (path, ticks);
}

int launch_process_open_pidfd (int64_t pid, uint64_t pid_start, struct err *err)
{
    uint64_t ticks = 0;
    if (pid < 1 || pid > INT32_MAX)
        return err_set (err, ERR_STATE, "%" PRId64 " is not a pid", pid);
    int pidfd = pidfd_open ((pid_t) pid, 0);
    if (pidfd < 0) {
        bool gone = errno == ESRCH || errno == ENOENT || errno == EINVAL; /* the last two: a thread has its number */
        return err_errno (err, gone ? ERR_STATE : ERR_IO, "cannot look after the worker with pid %" PRId64, pid);
    }
    /* Checked after pidfd_open: if the time is right now, the descriptor is of that process. */
    errno = 0; /* else: why its start time could not be read */
    if (launch_process_start_time (pid, &ticks) && ticks == pid_start)
        return pidfd;
    int unread = errno;
    (void) close (pidfd); /* nothing to lose */
    errno = unread;
    if (unread && unread != ENOENT && unread != ESRCH && unread != EPERM && unread != EACCES) /* not ours: a stranger */
        return err_errno (err, ERR_IO, "cannot look after the worker with pid %" PRId64, pid);
    return err_set (err, ERR_STATE, "the worker with pid %" PRId64 " no longer exists: another process now has its pid",
                    pid);
}

void launch_process_kill (int pidfd)
{
    (void) pidfd_send_signal (pidfd, SIGKILL, NULL, 0); /* ESRCH: it ended by itself */
}

void launch_process_kill_group (const struct launch_process *process)
{
    (void) kill (-process->pid, SIGKILL); /* ESRCH: all ended by themselves */
}

void launch_process_put_signal (int signal, struct buf *out)
{
    const char *name = sigabbrev_np (signal);
    buf_printf (out, "killed by signal %d%s%s%s", signal, name ? " (SIG" : "", name ? name : "", name ? ")" : "");
}

bool launch_process_reap (int pidfd, struct buf *how, bool *clean)
{
    struct pollfd ready = { .fd = pidfd, .events = POLLIN };
    siginfo_t info = { .si_pid = 0 };
    *clean = false;
    if (poll (&ready, 1, 0) != 1)
        return false;
    if (waitid (P_PIDFD, (id_t) pidfd, &info, WEXITED | WNOHANG) != 0 || info.si_pid == 0) {
        buf_puts (how,
                  "ended with unknown status, because an earlier coordinator started it"); /* ECHILD: not our child */
    } else if (info.si_code == CLD_EXITED) {
        buf_printf (how, "ended with exit status %d", info.si_status);
        *clean = info.si_status == 0;
    } else {
        buf_puts (how, "was ");
        launch_process_put_signal (info.si_status, how);
    }
    return true;
}

/* ---- its log ---- */

enum { LAST_BYTES = 2048, LAST_COLUMNS = 200 };

int worker_log_open (struct worker_log *log, const char *directory, struct err *err)
{
    char path[PATH_MAX];
    struct stat st;
    int len = snprintf (path, sizeof path, "%s/worker.log", directory);
    if (len < 0 || (size_t) len >= sizeof path)
        return err_set (err, ERR_LIMIT, "the path of a worker's directory is longer than %d bytes", PATH_MAX);
    /* O_NONBLOCK: it could be a fifo. */
    int fd = open (path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_errno (err, ERR_IO, "cannot open %s", path);
    if (fstat (fd, &st) != 0 || !S_ISREG (st.st_mode)) {
        (void) close (fd); /* nothing was written */
        return err_set (err, ERR_STATE, "%s is not a regular file: remove it", path);
    }
    *log = (struct worker_log){ .path = mem_text (path), .begin = st.st_size };
    return fd;
}

void worker_log_release (struct worker_log *log)
{
    mem_free (log->path);
    log->path = NULL;
}

/* The end of what was written since `begin`, without its last newlines; how much of it. */
static size_t launch_process_read_end (int fd, int64_t begin, char bytes[LAST_BYTES])
{
    int64_t end = lseek (fd, 0, SEEK_END), from = end - begin > LAST_BYTES ? end - LAST_BYTES : begin;
    ssize_t n = end > from ? pread (fd, bytes, LAST_BYTES, from) : 0;
    while (n > 0 && bytes[n - 1] == '\n')
        n--;
    return n > 0 ? (size_t) n : 0;
}

void launch_process_append_last_line (int fd, int64_t begin, struct buf *out)
{
    char bytes[LAST_BYTES];
    size_t n = fd < 0 ? 0 : launch_process_read_end (fd, begin, bytes);
    if (n == 0)
        return;
    const char *newline = memrchr (bytes, '\n', n);
    size_t from = newline ? (size_t) (newline + 1 - bytes) : 0;
    buf_puts (out, "; its last output: ");
    buf_escaped (out, (struct text){ .ptr = bytes + from, .len = (uint32_t) (n - from) }, LAST_COLUMNS);
}

void worker_log_append_last_line (const struct worker_log *log, struct buf *out)
{
    LOCAL_FD fd = log->path ? open (log->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
    launch_process_append_last_line (fd, log->begin, out);
}
