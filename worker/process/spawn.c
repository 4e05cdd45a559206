/* spawn.c - see spawn.h. A new process shares the memory of this one, which waits, until it executes its program, as by
 * vfork(2), because copying the memory, twice for a namespace, took longer than all else. So it makes only
 * async-signal-safe calls, with all signals blocked, and this process reads what it writes. */
#include "worker/process/spawn.h"

#include "common/io/process_capacity.h"

#include "worker/process/self.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Descriptors are first moved out of the way of their destinations. */
enum { PARKED_FD_MIN = 16, SIGNALS_N = 64, STACK_BYTES = 64 * 1024 };
enum { SHARED = CLONE_VM | CLONE_VFORK | CLONE_PARENT_SETTID | SIGCHLD };
/* A process that executes a program never returns from its functions, so the sanitizer's marks on frames would stay. */
#define NEW_PROCESS __attribute__ ((no_sanitize_address))

/* Steps that fail, as people read them; these two have errors of their own. */
static const char entering_directory[] = "entering its directory", executing[] = "executing it";

struct start {
    const struct spawn_request *request;
    const struct spawn_target *target;
    pid_t parent;
    pid_t pid, between; /* the program's process, and the one that makes it in a namespace; 0: never made */
    const char *failed; /* the step; NULL: none */
    int code;           /* errno of that step */
    _Alignas(16) char stack[STACK_BYTES], stack_between[STACK_BYTES];
};

const struct spawn_target spawn_target_here = { .namespaces_fd = -1, .root_fd = -1, .group_fd = -1 };

/* ---- the new process ---- */

static NEW_PROCESS int enter_group (const struct spawn_target *target)
{
    return target->group_fd < 0 || write (target->group_fd, "0", 1) == 1 ? 0 : -1; /* "0": the writer (cgroups(7)) */
}

static NEW_PROCESS int enter_session (pid_t parent)
{
    if ((setsid () < 0 && getsid (0) != getpid ()) || prctl (PR_SET_PDEATHSIG, SIGKILL) < 0)
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

static NEW_PROCESS int park (int fd)
{
    return fcntl (fd, F_DUPFD_CLOEXEC, PARKED_FD_MIN);
}

static NEW_PROCESS int close_others (unsigned from, bool again)
{
    int first, n;
    if (!again || !self_image_fds (&first, &n))
        return close_range (from, ~0U, 0);
    self_keep_image_open ();
    return close_range (from, (unsigned) first - 1, 0) < 0 ? -1 : close_range ((unsigned) (first + n), ~0U, 0);
}

static NEW_PROCESS int arrange_descriptors (const struct spawn_request *request)
{
    int null_fd = park (request->input_fd > 0 ? request->input_fd : open ("/dev/null", O_RDONLY | O_CLOEXEC));
    int output_fd = park (request->output_fd), channel_fd = request->channel_fd < 0 ? -1 : park (request->channel_fd);
    int report_fd = request->report_fd > 0 ? park (request->report_fd) : 0;
    if (null_fd < 0 || output_fd < 0 || (channel_fd < 0 && request->channel_fd >= 0) || report_fd < 0)
        return -1;
    if (dup2 (null_fd, 0) < 0 || dup2 (output_fd, 1) < 0 || dup2 (output_fd, 2) < 0)
        return -1;
    if (channel_fd >= 0 && dup2 (channel_fd, SPAWN_CHANNEL_FD) < 0)
        return -1;
    if (channel_fd < 0 && close (SPAWN_CHANNEL_FD) < 0 && errno != EBADF)
        return -1;
    if (report_fd > 0 && dup2 (report_fd, SPAWN_REPORT_FD) < 0)
        return -1;
    return close_others (report_fd > 0 ? SPAWN_REPORT_FD + 1 : SPAWN_CHANNEL_FD + 1, request->is_self);
}

static NEW_PROCESS int set_limits (void)
{
    const struct rlimit no_core = { 0, 0 };
    umask (022);
    if (setrlimit (RLIMIT_CORE, &no_core) < 0)
        return -1;
    return prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

static NEW_PROCESS const char *arrange (const struct spawn_request *request)
{
    if (arrange_descriptors (request) < 0)
        return "arranging descriptors";
    files_limit_restore (0);
    if (!request->as_login && set_limits () < 0)
        return "setting limits";
    return request->directory && chdir (request->directory) < 0 ? entering_directory : NULL;
}

static NEW_PROCESS const char *become (const struct start *start)
{
    const struct spawn_request *request = start->request;
    if (enter_group (start->target) < 0)
        return "entering its control group";
    if (enter_session (start->parent) < 0)
        return "making a session";
    if (!request)
        _exit (0); /* spawn_check_target */
    const char *failed = arrange (request);
    if (failed)
        return failed;
    execve (request->program, request->argv, request->envp);
    return executing;
}

static NEW_PROCESS _Noreturn void fail (struct start *start, const char *step)
{
    start->code = errno;
    start->failed = step;
    _exit (126);
}

static NEW_PROCESS int run_program (void *argument)
{
    fail (argument, become (argument));
}

/* Entering a mount namespace leaves a chroot (setns(2)), so it enters the root again, which needs no further right. */
static NEW_PROCESS int enter_root (int root_fd)
{
    return root_fd < 0 || (fchdir (root_fd) == 0 && chroot (".") == 0) ? 0 : -1;
}

/* A process cannot change its own pid namespace, only that of its children; so this one enters and makes the program's,
 * which CLONE_PARENT gives to our parent as if it had forked it itself (pid_namespaces(7), clone(2)). */
static NEW_PROCESS int run_between (void *argument)
{
    struct start *start = argument;
    if (setns (start->target->namespaces_fd, start->target->namespaces) < 0)
        fail (start, "entering its namespaces");
    if (enter_root (start->target->root_fd) < 0)
        fail (start, "entering its root directory");
    start->parent = 0; /* a parent outside the namespace appears as 0 */
    if (clone (run_program, start->stack + STACK_BYTES, SHARED | CLONE_PARENT, start, &start->pid) < 0)
        fail (start, "making its process");
    _exit (0);
}

/* ---- this process ---- */

static int spawn_collect (pid_t pid)
{
    int status = 0;
    while (waitpid (pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

/* If it was killed, it did not wait until the program's process left our memory. */
static void collect_between (struct start *start)
{
    if (!WIFSIGNALED (spawn_collect (start->between)) || start->pid == 0)
        return;
    (void) kill (start->pid, SIGKILL);
    (void) spawn_collect (start->pid);
    start->pid = 0;
}

/* An error about a script's interpreter names the script. */
static const char *about_script (const char *program, int code)
{
    if (code == ENOENT && access (program, F_OK) == 0)
        return " (the file is there: its first line names an interpreter that is not on this host, or ends in CR LF)";
    if (code == EACCES)
        return " (expected an executable file: chmod +x it, or begin the command with its interpreter)";
    return code == ENOEXEC ? " (a script begins with a line such as #!/bin/sh)" : "";
}

static int spawn_refuse (const struct start *start, struct err *err)
{
    const char *program = start->request ? start->request->program : "a process";
    if (!start->failed)
        return err_set (err, ERR_IO, "starting %s failed: its process was killed before it executed the program",
                        program);
    errno = start->code;
    if (start->failed == entering_directory)
        return err_errno (err, ERR_IO, "cannot start %s: entering the directory %s", program,
                          start->request->directory);
    if (start->failed == executing)
        return err_set (err,
                        start->code == ENOENT || start->code == EACCES || start->code == ENOEXEC ? ERR_CONFIG : ERR_IO,
                        "cannot start %s: executing it: %s%s", program, strerror (start->code),
                        about_script (program, start->code));
    return err_errno (err, ERR_IO, "cannot start %s: %s", program, start->failed);
}

/* Both return once the program is executed, or cannot be. */
static pid_t make_process (struct start *start)
{
    if (start->target->namespaces_fd < 0)
        return clone (run_program, start->stack + STACK_BYTES, SHARED, start, &start->pid);
    return clone (run_between, start->stack_between + STACK_BYTES, SHARED, start, &start->between);
}

static int launch (struct start *start, struct err *err)
{
    sigset_t all, before;
    sigfillset (&all);
    if (sigprocmask (SIG_SETMASK, &all, &before) < 0)
        return err_errno (err, ERR_IO, "cannot block signals to start a program");
    int rc = make_process (start) < 0 ? err_errno (err, ERR_IO, "cannot start a process") : 0;
    if (rc == 0 && start->between)
        collect_between (start);
    int restored = sigprocmask (SIG_SETMASK, &before, NULL);
    assert (restored == 0);
    return rc;
}

static int start_in (const struct spawn_request *request, const struct spawn_target *into, pid_t *pid, struct err *err)
{
    struct start start; /* the stacks need no first value */
    start.request = request;
    start.target = into;
    start.parent = getpid ();
    start.pid = start.between = 0;
    start.failed = NULL;
    if (launch (&start, err) < 0)
        return -1;
    if (start.pid > 0 && !start.failed) {
        *pid = start.pid;
        return 0;
    }
    if (start.pid > 0)
        (void) spawn_collect (start.pid);
    return spawn_refuse (&start, err);
}

int spawn_start (const struct spawn_request *request, const struct spawn_target *target, pid_t *pid, struct err *err)
{
    assert (request);
    return start_in (request, target, pid, err);
}

int spawn_check_target (const struct spawn_target *target, struct err *err)
{
    pid_t pid;
    if (start_in (NULL, target, &pid, err) < 0)
        return -1;
    return spawn_collect (pid) == 0 ? 0 : err_set (err, ERR_IO, "a process started as a test was killed");
}

/* ---- a copy ---- */

int spawn_enter_namespaces (const struct spawn_target *target)
{
    return setns (target->namespaces_fd, target->namespaces) < 0 || enter_root (target->root_fd) < 0 ? -1 : 0;
}

const char *spawn_enter (const struct spawn_request *request)
{
    return enter_session (getppid ()) < 0 ? "making a session" : arrange (request);
}
