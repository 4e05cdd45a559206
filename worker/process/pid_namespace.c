#include "worker/process/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/io/clock.h"
#include "common/io/fd.h"
#include "common/io/proc.h"
#include "common/io/program_start.h"

/* ---- init process ---- */

/* Process 1 of a pid namespace, forked from a process with threads: only
 * async-signal-safe calls are made. It lasts as long as its worker. */
enum init_step { INIT_READY = 0, INIT_IDENTITY, INIT_MOUNTS, INIT_PROC, INIT_SIGNALS };
enum { INIT_MAP_BYTES = 32, PID_NAMESPACE_SWEEP = 's' };

/* Made before the fork: afterwards nothing may be formatted or allocated. */
struct init_settings {
    bool user_namespace;
    char uid_map[INIT_MAP_BYTES], gid_map[INIT_MAP_BYTES];
    char *words; /* the memory that ps shows as this process's arguments; NULL: unknown */
    size_t words_bytes;
};

/* READY comes with a descriptor: the init process's root directory, which only it can name for certain (the worker's
 * /proc may be that of another pid namespace). */
struct init_report {
    int step, code;
};
struct init_swept_report {
    uint32_t strays;
};

enum { SIGNALS_N = 64, SWEEP_AGAIN_MS = 20, CONTROL_FD = 0, CHILDREN_FD = 1 };
#define WORDS "sliceup-worker init"

/* ---- becoming it ---- */

/* One's own ids may be mapped without privileges, the group only after setgroups is given up (user_namespaces(7)). */
static int take_identity (const struct init_settings *request)
{
    if (!request->user_namespace)
        return 0;
    if (proc_file_write ("/proc/self/setgroups", "deny") < 0 ||
        proc_file_write ("/proc/self/uid_map", request->uid_map) < 0)
        return -1;
    return proc_file_write ("/proc/self/gid_map", request->gid_map);
}

/* Programs need their own /proc, because ps, psutil and sanitizers look for their pids there. Containers that hide
 * parts of /proc refuse a new one to user namespaces, since it would show them. */
/* All signals wait; those of children are read from a descriptor. */
static int open_children (void)
{
    sigset_t all, child;
    sigfillset (&all);
    sigemptyset (&child);
    sigaddset (&child, SIGCHLD);
    for (int signal_number = 1; signal_number <= SIGNALS_N; signal_number++)
        (void) signal (signal_number, SIG_DFL); /* fails for those that have their default anyway */
    if (sigprocmask (SIG_SETMASK, &all, NULL) < 0)
        return -1;
    return signalfd (-1, &child, SFD_NONBLOCK | SFD_CLOEXEC);
}

/* Closes the worker's sockets, pipes and folder, since this process outlives its attempts. */
static int let_go (int control_fd, int children_fd)
{
    int control = fcntl (control_fd, F_DUPFD_CLOEXEC, CHILDREN_FD + 1);
    int children = fcntl (children_fd, F_DUPFD_CLOEXEC, CHILDREN_FD + 1);
    if (control < 0 || children < 0 || dup2 (control, CONTROL_FD) < 0 || dup2 (children, CHILDREN_FD) < 0)
        return -1;
    if (chdir ("/") < 0)
        return -1;
    return close_range (CHILDREN_FD + 1, ~0U, 0);
}

/* So that it does not look like a second worker. The last byte stays 0, else ps would read on (proc(5), cmdline). */
static void rename_self (const struct init_settings *request)
{
    (void) prctl (PR_SET_NAME, "sliceup-init");
    if (!request->words || request->words_bytes < 2)
        return;
    size_t bytes = request->words_bytes - 1 < sizeof WORDS ? request->words_bytes - 1 : sizeof WORDS;
    memset (request->words, 0, request->words_bytes);
    memcpy (request->words, WORDS, bytes);
}

static struct init_report become (const struct init_settings *request, int control_fd)
{
    struct init_report report = { .step = INIT_READY };
    int children_fd = -1;
    if (take_identity (request) < 0)
        report.step = INIT_IDENTITY;
    else if (mount (NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
        report.step = INIT_MOUNTS;
    else if (mount ("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
        report.step = INIT_PROC;
    else if ((children_fd = open_children ()) < 0 || setsid () < 0 || prctl (PR_SET_PDEATHSIG, SIGKILL) < 0 ||
             let_go (control_fd, children_fd) < 0)
        report.step = INIT_SIGNALS;
    report.code = report.step == INIT_READY ? 0 : errno;
    return report;
}

/* ---- being it ---- */

struct sweep {
    bool on;
    uint32_t strays;
};

/* False: there is no child left. */
static bool pid_namespace_collect (struct sweep *sweep)
{
    int status;
    for (;;) {
        pid_t pid = waitpid (-1, &status, WNOHANG);
        if (pid == 0)
            return true;
        if (pid < 0 && errno == EINTR)
            continue;
        if (pid < 0)
            return false;
        sweep->strays += sweep->on && WIFSIGNALED (status) && WTERMSIG (status) == SIGKILL;
    }
}

static void turn (struct sweep *sweep)
{
    if (sweep->on)
        (void) kill (-1, SIGKILL); /* all in the namespace except this process; an error: none */
    if (pid_namespace_collect (sweep) || !sweep->on)
        return;
    const struct init_swept_report report = { .strays = sweep->strays };
    if (send (CONTROL_FD, &report, sizeof report, MSG_NOSIGNAL) != sizeof report)
        _exit (0); /* the worker is gone */
    sweep->on = false;
}

static void pid_namespace_take_request (struct sweep *sweep)
{
    char word;
    ssize_t got = recv (CONTROL_FD, &word, 1, MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (got <= 0) /* the worker is gone; the parent-death signal says the same */
        _exit (0);
    if (word == PID_NAMESPACE_SWEEP)
        *sweep = (struct sweep){ .on = true };
}

static void receive_children (void)
{
    struct signalfd_siginfo infos[16];
    while (read (CHILDREN_FD, infos, sizeof infos) > 0)
        ; /* only their existence matters */
}

/* cmsg(3). A descriptor of -1: none. */
static bool send_report (int fd, const struct init_report *report, int passed_fd)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE (sizeof passed_fd)];
    } control = { .bytes = { 0 } };
    struct iovec body = { .iov_base = (void *) report, .iov_len = sizeof *report };
    struct msghdr message = { .msg_iov = &body, .msg_iovlen = 1 };
    if (passed_fd >= 0) {
        control.head = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
                                         .cmsg_type = SCM_RIGHTS,
                                         .cmsg_len = CMSG_LEN (sizeof passed_fd) };
        memcpy (CMSG_DATA (&control.head), &passed_fd, sizeof passed_fd);
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
    }
    return sendmsg (fd, &message, MSG_NOSIGNAL) == sizeof *report;
}

static bool pid_namespace_tell (const struct init_report *report, int control_fd)
{
    if (report->step != INIT_READY)
        return send_report (control_fd, report, -1);
    LOCAL_FD root_fd = open ("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return root_fd >= 0 && send_report (CONTROL_FD, report, root_fd);
}

/* `control_fd` is the init process's own; `other_fd` is the worker's end of it, inherited. */
static _Noreturn void init_process (const struct init_settings *request, int control_fd, int other_fd)
{
    close (other_fd);
    rename_self (request);
    struct init_report report = become (request, control_fd);
    if (!pid_namespace_tell (&report, control_fd) || report.step != INIT_READY)
        _exit (1);
    struct sweep sweep = { 0 };
    struct pollfd entries[] = { { .fd = CONTROL_FD, .events = POLLIN }, { .fd = CHILDREN_FD, .events = POLLIN } };
    for (;;) { /* until the worker ends, which closes the control socket */
        if (poll (entries, 2, sweep.on ? SWEEP_AGAIN_MS : -1) < 0 && errno != EINTR)
            _exit (1);
        receive_children ();
        if (entries[0].revents)
            pid_namespace_take_request (&sweep);
        turn (&sweep);
    }
}

/* ---- pid namespace ---- */

enum { READY_MAX_MS = 10 * 1000, CLOSE_MAX_MS = 1000, LEFT_MAX = 4096 };

static const char *const step_names[] = { "cannot start the init process", "cannot map this user and group",
                                          "cannot separate from the host's mounts",
                                          "cannot mount /proc in the pid namespace",
                                          "the init process failed before it was ready" };

struct pid_namespace {
    pid_t pid; /* 0: dead and collected */
    int pid_fd, control_fd, root_fd;
    int namespaces;
    bool asked; /* a sweep, not answered yet */
};

/* ---- starting it ---- */

static void make_request (struct init_settings *request, bool user_namespace)
{
    *request = (struct init_settings){ .user_namespace = user_namespace };
    snprintf (request->uid_map, sizeof request->uid_map, "%u %u 1", geteuid (), geteuid ());
    snprintf (request->gid_map, sizeof request->gid_map, "%u %u 1", getegid (), getegid ());
    struct process_words words;
    if (process_words_find (&words)) {
        request->words = words.at;
        request->words_bytes = words.bytes;
    }
}

/* cmsg(3). The sender is ours; -1: no descriptor came. */
static ssize_t receive_report (int fd, struct init_report *report, int *passed_fd)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE (sizeof *passed_fd)];
    } control;
    struct iovec body = { .iov_base = report, .iov_len = sizeof *report };
    struct msghdr message = {
        .msg_iov = &body, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control
    };
    ssize_t got = recvmsg (fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    const struct cmsghdr *head = got > 0 ? CMSG_FIRSTHDR (&message) : NULL;
    if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS)
        memcpy (passed_fd, CMSG_DATA (head), sizeof *passed_fd);
    return got;
}

static int take_report (int fd, struct init_report *report, int *root_fd, struct err *err)
{
    uint64_t until_ms = clock_boot_ms () + READY_MAX_MS;
    for (;;) {
        uint64_t now_ms = clock_boot_ms ();
        struct pollfd entry = { .fd = fd, .events = POLLIN };
        int ready = now_ms < until_ms ? poll (&entry, 1, (int) (until_ms - now_ms)) : 0;
        if (ready == 0)
            return err_set (err, ERR_STATE, "the init process sent nothing for %d s", READY_MAX_MS / 1000);
        ssize_t got = ready < 0 ? -1 : receive_report (fd, report, root_fd);
        if (got == sizeof *report)
            return 0;
        if (got >= 0 || (errno != EINTR && errno != EAGAIN))
            return err_set (err, ERR_STATE, "the init process ended at once");
    }
}

static int check_report (const struct init_report *report, struct err *err)
{
    if (report->step == INIT_READY)
        return 0;
    errno = report->code;
    bool known = report->step > 0 && report->step < (int) (sizeof step_names / sizeof step_names[0]);
    return err_errno (err, ERR_IO, "%s", step_names[known ? report->step : 0]);
}

static int make_process (struct pid_namespace *pid_namespace, const struct init_settings *request, struct err *err)
{
    int pair[2];
    if (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return err_errno (err, ERR_IO, "cannot make a socket for a pid namespace");
    /* Not fork, which takes no flags and does needless work in the child. Only the flags are set, so the order of the
     * other arguments, which differs between machines, does not matter. */
    pid_t pid = (pid_t) syscall (SYS_clone, pid_namespace->namespaces | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0)
        init_process (request, pair[1], pair[0]);
    int code = errno;
    close (pair[1]);
    pid_namespace->control_fd = pair[0];
    pid_namespace->pid = pid > 0 ? pid : 0;
    errno = code;
    const char *where = request->user_namespace ? " in a user namespace of its own" : "";
    return pid < 0 ? err_errno (err, ERR_IO, "cannot make the init process%s", where) : 0;
}

static int pid_namespace_start (struct pid_namespace *pid_namespace, struct err *err)
{
    struct init_settings request;
    struct init_report report = { 0 };
    bool user_namespace = geteuid () != 0; /* root would lose rights over others' files */
    make_request (&request, user_namespace);
    pid_namespace->namespaces = CLONE_NEWPID | CLONE_NEWNS | (user_namespace ? CLONE_NEWUSER : 0);
    if (make_process (pid_namespace, &request, err) < 0)
        return -1;
    if (take_report (pid_namespace->control_fd, &report, &pid_namespace->root_fd, err) < 0 ||
        check_report (&report, err) < 0)
        return -1;
    if (pid_namespace->root_fd < 0)
        return err_set (err, ERR_LIMIT, "the init process's root directory could not be received: check ulimit -n");
    pid_namespace->pid_fd = (int) syscall (SYS_pidfd_open, pid_namespace->pid, 0);
    return pid_namespace->pid_fd < 0 ? err_errno (err, ERR_IO, "cannot open a pidfd of the init process") : 0;
}

struct pid_namespace *pid_namespace_open (struct err *err)
{
    struct pid_namespace *pid_namespace = mem_alloc (sizeof *pid_namespace);
    pid_namespace->pid_fd = pid_namespace->control_fd = pid_namespace->root_fd = -1;
    if (pid_namespace_start (pid_namespace, err) == 0) {
        struct spawn_target target = pid_namespace_spawn_target (pid_namespace);
        if (spawn_check_target (&target, err) == 0)
            return pid_namespace;
    }
    pid_namespace_close (pid_namespace);
    return NULL;
}

/* ---- its end ---- */

void pid_namespace_note_reaped (struct pid_namespace *pid_namespace)
{
    pid_namespace->pid = 0;
    pid_namespace->asked = false;
}

/* Between programs nobody reaps children, so a dead init process shows here. */
bool pid_namespace_lives (struct pid_namespace *pid_namespace)
{
    if (pid_namespace->pid > 0 && waitpid (pid_namespace->pid, NULL, WNOHANG) != 0)
        pid_namespace_note_reaped (pid_namespace);
    return pid_namespace->pid > 0;
}

/* A namespace is gone only after all its processes are reaped, and programs are children of this process. */
static void pid_namespace_end (struct pid_namespace *pid_namespace)
{
    uint64_t until_ms = clock_boot_ms () + CLOSE_MAX_MS;
    pid_t got = 0;
    (void) kill (pid_namespace->pid, SIGKILL); /* not reaped yet, so the pid is still its own */
    while (got >= 0 && got != pid_namespace->pid && clock_boot_ms () < until_ms) {
        got = waitpid (-1, NULL, WNOHANG);
        if (got == 0)
            (void) poll (NULL, 0, 1);
    }
}

void pid_namespace_close (struct pid_namespace *pid_namespace)
{
    if (!pid_namespace)
        return;
    if (pid_namespace->pid > 0)
        pid_namespace_end (pid_namespace);
    fd_close (pid_namespace->pid_fd);
    fd_close (pid_namespace->control_fd);
    fd_close (pid_namespace->root_fd);
    mem_free (pid_namespace);
}

/* ---- asking it ---- */

struct spawn_target pid_namespace_spawn_target (const struct pid_namespace *pid_namespace)
{
    return (struct spawn_target){ .namespaces_fd = pid_namespace->pid_fd,
                                  .namespaces = pid_namespace->namespaces,
                                  .root_fd = pid_namespace->root_fd,
                                  .group_fd = -1 };
}

pid_t pid_namespace_pid (const struct pid_namespace *pid_namespace)
{
    return pid_namespace->pid;
}

void pid_namespace_sweep (struct pid_namespace *pid_namespace)
{
    const char word = PID_NAMESPACE_SWEEP;
    if (pid_namespace->pid == 0 || pid_namespace->asked)
        return;
    pid_namespace->asked = true;
    /* One small packet always fits, so an init process that cannot take it is dead, with its namespace. */
    (void) send (pid_namespace->control_fd, &word, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool pid_namespace_wait_swept (struct pid_namespace *pid_namespace, int wait_ms, uint32_t *strays)
{
    struct init_swept_report report;
    struct pollfd entry = { .fd = pid_namespace->control_fd, .events = POLLIN };
    if (pid_namespace->pid == 0)
        return true;
    if (poll (&entry, 1, wait_ms) <= 0 ||
        recv (pid_namespace->control_fd, &report, sizeof report, MSG_DONTWAIT) != sizeof report)
        return false; /* SIGCHLD reports its death */
    pid_namespace->asked = false;
    *strays = report.strays;
    return true;
}

uint32_t pid_namespace_process_count (const struct pid_namespace *pid_namespace)
{
    char pid[16];
    if (pid_namespace->pid == 0)
        return 0;
    snprintf (pid, sizeof pid, "%d", (int) pid_namespace->pid);
    uint32_t n = proc_children (pid, pid, NULL, LEFT_MAX);
    return n ? n : 1; /* it would have answered if none were left */
}
