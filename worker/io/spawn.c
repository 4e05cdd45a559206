/* spawn.c - see spawn.h. Between fork and exec only async-signal-safe calls are made. */
#include "worker/io/spawn.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Descriptors are first moved out of the way of their destinations. */
enum { REPORT_FD = SPAWN_CHANNEL_FD + 1, PARKED_FD_MIN = 16, SIGNALS_N = 64 };

enum step { STEP_NONE = 0, STEP_SESSION, STEP_DESCRIPTORS, STEP_LIMITS, STEP_DIRECTORY, STEP_EXEC };
static const char *const step_names[] = { "nothing", "making a session", "arranging descriptors", "setting limits",
                                          "entering its directory", "executing it" };

struct report { int step; int code; };

static int enter_session (pid_t parent)
{
    if (setsid () < 0 || prctl (PR_SET_PDEATHSIG, SIGKILL) < 0)
        return -1;
    if (getppid () != parent) /* it died before the signal was asked for */
        _exit (127);
    for (int signal_number = 1; signal_number <= SIGNALS_N; signal_number++) {
        /* Fails for SIGKILL, SIGSTOP and those glibc keeps; they have their default anyway. */
        (void) signal (signal_number, SIG_DFL);
    }
    sigset_t none;
    sigemptyset (&none);
    return sigprocmask (SIG_SETMASK, &none, NULL);
}

static int park (int fd)
{
    return fcntl (fd, F_DUPFD_CLOEXEC, PARKED_FD_MIN);
}

static int arrange_descriptors (const struct spawn_order *order, int *report_fd)
{
    int null_fd = park (open ("/dev/null", O_RDONLY | O_CLOEXEC));
    int output_fd = park (order->output_fd), channel_fd = order->channel_fd < 0 ? -1 : park (order->channel_fd);
    int parked_report_fd = park (*report_fd);
    if (null_fd < 0 || output_fd < 0 || parked_report_fd < 0 || (channel_fd < 0 && order->channel_fd >= 0))
        return -1;
    *report_fd = parked_report_fd;
    if (dup2 (null_fd, 0) < 0 || dup2 (output_fd, 1) < 0 || dup2 (output_fd, 2) < 0)
        return -1;
    if (dup3 (parked_report_fd, REPORT_FD, O_CLOEXEC) < 0)
        return -1;
    *report_fd = REPORT_FD;
    if (channel_fd >= 0 && dup2 (channel_fd, SPAWN_CHANNEL_FD) < 0)
        return -1;
    if (channel_fd < 0 && close (SPAWN_CHANNEL_FD) < 0 && errno != EBADF)
        return -1;
    return close_range (REPORT_FD + 1, ~0U, 0);
}

static int set_limits (void)
{
    const struct rlimit no_core = { 0, 0 };
    umask (022);
    if (setrlimit (RLIMIT_CORE, &no_core) < 0)
        return -1;
    return prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

static enum step become (const struct spawn_order *order, pid_t parent, int *report_fd)
{
    if (enter_session (parent) < 0)
        return STEP_SESSION;
    if (arrange_descriptors (order, report_fd) < 0)
        return STEP_DESCRIPTORS;
    if (set_limits () < 0)
        return STEP_LIMITS;
    if (chdir (order->directory) < 0)
        return STEP_DIRECTORY;
    execve (order->program, order->argv, order->envp);
    return STEP_EXEC;
}

static void run_child (const struct spawn_order *order, pid_t parent, int report_fd)
{
    struct report report = { .step = become (order, parent, &report_fd) };
    report.code = errno;
    /* Nobody to tell when this fails: the parent then sees the exit status. */
    ssize_t written = write (report_fd, &report, sizeof report);
    _exit (written == sizeof report ? 126 : 127);
}

/* The report pipe closes by itself when the program was executed. */
static bool read_report (int fd, struct report *report)
{
    ssize_t got;
    do
        got = read (fd, report, sizeof *report);
    while (got < 0 && errno == EINTR);
    return got == sizeof *report;
}

static void collect (pid_t pid)
{
    while (waitpid (pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

int spawn_start (const struct spawn_order *order, pid_t *pid, struct err *err)
{
    int report_pipe[2];
    if (pipe2 (report_pipe, O_CLOEXEC) < 0)
        return err_errno (err, ERR_IO, "making a pipe to start %s", order->program);
    pid_t parent = getpid (), child = fork ();
    if (child == 0)
        run_child (order, parent, report_pipe[1]);
    int fork_errno = errno;
    close (report_pipe[1]);
    struct report report;
    bool failed = child > 0 && read_report (report_pipe[0], &report);
    close (report_pipe[0]);
    errno = fork_errno;
    if (child < 0)
        return err_errno (err, ERR_IO, "starting a process for %s", order->program);
    if (!failed) {
        *pid = child;
        return 0;
    }
    collect (child);
    errno = report.code;
    assert (report.step > STEP_NONE && report.step <= STEP_EXEC);
    if (report.step == STEP_DIRECTORY)
        return err_errno (err, ERR_IO, "starting %s failed at entering %s", order->program, order->directory);
    return err_errno (err, ERR_IO, "starting %s failed at %s", order->program, step_names[report.step]);
}
