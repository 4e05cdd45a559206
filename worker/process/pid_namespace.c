/* pid_namespace.c - see pid_namespace.h: the worker's side. */
#include "worker/process/pid_namespace.h"

#include "common/base/mem.h"
#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "common/io/fd.h"
#include "common/io/process_title.h"
#include "worker/process/init_process.h"
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* cmsg(3). What comes is of our own making; -1 stays where no descriptor came with it. */
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
    /* Not fork: it takes no flags, and what the C library would do in the child is not needed there. Only the flags are
     * set, so the order of the other arguments, which differs between machines, does not matter. */
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

static int start (struct pid_namespace *pid_namespace, struct err *err)
{
    struct init_settings request;
    struct init_report report = { 0 };
    bool user_namespace = geteuid () != 0; /* root would lose rights over what others own */
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
    if (start (pid_namespace, err) == 0) {
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

/* Between programs nobody waits for children: what came to it then shows here. */
bool pid_namespace_lives (struct pid_namespace *pid_namespace)
{
    if (pid_namespace->pid > 0 && waitpid (pid_namespace->pid, NULL, WNOHANG) != 0)
        pid_namespace_note_reaped (pid_namespace);
    return pid_namespace->pid > 0;
}

/* A namespace is gone only when all that was in it is collected, and programs are children of this process. */
static void end (struct pid_namespace *pid_namespace)
{
    uint64_t until_ms = clock_boot_ms () + CLOSE_MAX_MS;
    pid_t got = 0;
    (void) kill (pid_namespace->pid, SIGKILL); /* not collected yet, so the number is still its own */
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
        end (pid_namespace);
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
    /* One small packet at a time always fits; a init process that cannot take it is dead, and its namespace with it. */
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
        return false; /* its death is heard of by SIGCHLD */
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
    return n ? n : 1; /* it would have said so if nothing were left */
}
