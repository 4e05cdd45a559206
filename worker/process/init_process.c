/* init_process.c - see init_process.h. Process 1 of a pid namespace, forked from a process with threads: only
 * async-signal-safe calls are made. It lasts as long as its worker. */
#include "worker/process/init_process.h"

#include "common/io/fd.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* Slave, not private: what is mounted on the host later is seen here, and nothing of ours is seen there. */
static int leave_mounts (void)
{
    return mount (NULL, "/", NULL, MS_REC | MS_SLAVE, NULL);
}

/* Without one of its own a program does not find itself in /proc: ps, psutil and sanitizers look for their own pids
 * there. In containers that hide parts of /proc a new one is refused to user namespaces, since it would show them. */
static int mount_proc (void)
{
    return mount ("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
}

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

/* Nothing of the worker may be held by a process that outlasts its attempts: sockets, pipes, its folder. */
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

/* So that nobody takes it for a second worker. The last byte stays 0, or ps would read on (proc(5), cmdline). */
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
    else if (leave_mounts () < 0)
        report.step = INIT_MOUNTS;
    else if (mount_proc () < 0)
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
static bool collect (struct sweep *sweep)
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
        (void) kill (-1, SIGKILL); /* all in the namespace but this process; an error: nobody is there */
    if (collect (sweep) || !sweep->on)
        return;
    const struct init_swept_report report = { .strays = sweep->strays };
    if (send (CONTROL_FD, &report, sizeof report, MSG_NOSIGNAL) != sizeof report)
        _exit (0); /* the worker is gone */
    sweep->on = false;
}

static void take_request (struct sweep *sweep)
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
        ; /* that there were some is all that matters */
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

static bool tell (const struct init_report *report, int control_fd)
{
    if (report->step != INIT_READY)
        return send_report (control_fd, report, -1);
    int root_fd = open ("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool told = root_fd >= 0 && send_report (CONTROL_FD, report, root_fd);
    fd_close (root_fd);
    return told;
}

_Noreturn void init_process (const struct init_settings *request, int control_fd, int other_fd)
{
    close (other_fd);
    rename_self (request);
    struct init_report report = become (request, control_fd);
    if (!tell (&report, control_fd) || report.step != INIT_READY)
        _exit (1);
    struct sweep sweep = { 0 };
    struct pollfd entries[] = { { .fd = CONTROL_FD, .events = POLLIN }, { .fd = CHILDREN_FD, .events = POLLIN } };
    for (;;) { /* until the worker ends, which closes the control socket */
        if (poll (entries, 2, sweep.on ? SWEEP_AGAIN_MS : -1) < 0 && errno != EINTR)
            _exit (1);
        receive_children ();
        if (entries[0].revents)
            take_request (&sweep);
        turn (&sweep);
    }
}
