/* spawn.c - see spawn.h. Between fork and exec only async-signal-safe calls are made. */
#include "worker/io/spawn.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Descriptors are first moved out of the way of their destinations. */
enum { REPORT_FD = SPAWN_CHANNEL_FD + 1, PARKED_FD_MIN = 16, SIGNALS_N = 64 };

enum step { STEP_NONE = 0, STEP_STARTED, STEP_NAMESPACES, STEP_ROOT, STEP_PROCESS, STEP_GROUP, STEP_SESSION, STEP_DESCRIPTORS,
            STEP_LIMITS, STEP_DIRECTORY, STEP_EXEC };
static const char *const step_names[] = { "nothing", "nothing", "entering its namespaces",
                                          "entering its root directory", "making its process",
                                          "entering its control group", "making a session", "arranging descriptors",
                                          "setting limits", "entering its directory", "executing it" };

struct report { int step; int code; };  /* STARTED: code is the process; else the step that failed and its errno */
struct start { const struct spawn_order *order; const struct spawn_place *place; pid_t parent; int report_fd; };
struct outcome { pid_t pid; struct report failure; };

const struct spawn_place spawn_place_here = { .namespaces_fd = -1, .root_fd = -1, .group_fd = -1 };

/* ---- the new process ---- */

static int enter_group (const struct spawn_place *place)
{
    return place->group_fd < 0 || write (place->group_fd, "0", 1) == 1 ? 0 : -1; /* "0": whoever writes (cgroups(7)) */
}

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

static enum step become (struct start *start)
{
    const struct spawn_order *order = start->order;
    if (enter_group (start->place) < 0)
        return STEP_GROUP;
    if (enter_session (start->parent) < 0)
        return STEP_SESSION;
    if (!order)
        _exit (0); /* spawn_try */
    if (arrange_descriptors (order, &start->report_fd) < 0)
        return STEP_DESCRIPTORS;
    if (set_limits () < 0)
        return STEP_LIMITS;
    if (chdir (order->directory) < 0)
        return STEP_DIRECTORY;
    execve (order->program, order->argv, order->envp);
    return STEP_EXEC;
}

static _Noreturn void report (int fd, enum step step, int code)
{
    const struct report said = { .step = step, .code = code };
    /* Nobody to tell when this fails: the parent then misses the report, or sees the exit status. */
    ssize_t written = write (fd, &said, sizeof said);
    _exit (written != sizeof said ? 127 : step == STEP_STARTED ? 0 : 126);
}

static _Noreturn void run_child (struct start *start)
{
    enum step step = become (start);
    report (start->report_fd, step, errno);
}

static bool is_root (int fd)
{
    struct statx it, root;
    if (statx (fd, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &it) < 0
        || statx (AT_FDCWD, "/", 0, STATX_INO | STATX_MNT_ID, &root) < 0 || !(it.stx_mask & root.stx_mask & STATX_MNT_ID))
        return false;
    return it.stx_mnt_id == root.stx_mnt_id && it.stx_ino == root.stx_ino;
}

/* Entering a mount namespace leaves a chroot (setns(2)). Who is in none does not need the right to make one. */
static int enter_root (int root_fd)
{
    if (root_fd < 0 || is_root (root_fd))
        return 0;
    return fchdir (root_fd) < 0 || chroot (".") < 0 ? -1 : 0;
}

/* A process cannot change its own pid namespace, only that of its children; so this one enters and makes the program's,
 * which CLONE_PARENT gives to our parent as if it had forked it itself (pid_namespaces(7), clone(2)). */
static _Noreturn void run_between (struct start *start)
{
    if (setns (start->place->namespaces_fd, start->place->namespaces) < 0)
        report (start->report_fd, STEP_NAMESPACES, errno);
    if (enter_root (start->place->root_fd) < 0)
        report (start->report_fd, STEP_ROOT, errno);
    /* Only the flags are set, so the order of the other arguments, which differs between machines, does not matter. */
    pid_t pid = (pid_t) syscall (SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
    if (pid < 0)
        report (start->report_fd, STEP_PROCESS, errno);
    if (pid > 0)
        report (start->report_fd, STEP_STARTED, pid);
    start->parent = 0; /* as a parent outside the namespace is seen from within */
    run_child (start);
}

/* ---- this process ---- */

static bool read_report (int fd, struct report *report)
{
    ssize_t got;
    do
        got = read (fd, report, sizeof *report);
    while (got < 0 && errno == EINTR);
    return got == sizeof *report;
}

/* The report pipe closes by itself when the program was executed. */
static void read_outcome (int fd, struct outcome *outcome)
{
    struct report report;
    while (read_report (fd, &report)) {
        if (report.step == STEP_STARTED)
            outcome->pid = report.code;
        else
            outcome->failure = report;
    }
}

static void collect (pid_t pid)
{
    while (waitpid (pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

static int refuse (const struct spawn_order *order, const struct report *failure, struct err *err)
{
    const char *program = order ? order->program : "a process";
    assert (failure->step >= STEP_NONE && failure->step <= STEP_EXEC);
    if (failure->step == STEP_NONE)
        return err_set (err, ERR_IO, "starting %s failed: its process was killed before it could begin", program);
    errno = failure->code;
    if (failure->step == STEP_DIRECTORY)
        return err_errno (err, ERR_IO, "starting %s failed at entering %s", program, order->directory);
    return err_errno (err, ERR_IO, "starting %s failed at %s", program, step_names[failure->step]);
}

static int launch (struct start *start, struct outcome *outcome, struct err *err)
{
    int report_pipe[2];
    bool between = start->place->namespaces_fd >= 0;
    if (pipe2 (report_pipe, O_CLOEXEC) < 0)
        return err_errno (err, ERR_IO, "making a pipe to start a program");
    start->report_fd = report_pipe[1];
    start->parent = getpid ();
    pid_t child = fork ();
    if (child == 0 && between)
        run_between (start);
    if (child == 0)
        run_child (start);
    int fork_errno = errno;
    close (report_pipe[1]);
    *outcome = (struct outcome) { .pid = between ? 0 : child };
    if (child > 0)
        read_outcome (report_pipe[0], outcome);
    close (report_pipe[0]);
    if (child > 0 && between)
        collect (child);
    errno = fork_errno;
    return child < 0 ? err_errno (err, ERR_IO, "starting a process") : 0;
}

static int start_in (const struct spawn_order *order, const struct spawn_place *place, pid_t *pid, struct err *err)
{
    struct start start = { .order = order, .place = place };
    struct outcome outcome;
    if (launch (&start, &outcome, err) < 0)
        return -1;
    if (outcome.pid > 0 && outcome.failure.step == STEP_NONE) {
        *pid = outcome.pid;
        return 0;
    }
    if (outcome.pid > 0)
        collect (outcome.pid);
    return refuse (order, &outcome.failure, err);
}

int spawn_start (const struct spawn_order *order, const struct spawn_place *place, pid_t *pid, struct err *err)
{
    assert (order);
    return start_in (order, place, pid, err);
}

int spawn_try (const struct spawn_place *place, struct err *err)
{
    pid_t pid;
    int status = 0;
    if (start_in (NULL, place, &pid, err) < 0)
        return -1;
    while (waitpid (pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status == 0 ? 0 : err_set (err, ERR_IO, "a process that was started to try it was killed");
}
