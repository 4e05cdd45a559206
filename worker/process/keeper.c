/* keeper.c - see keeper.h: the worker's side. */
#include "worker/process/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/base/mem.h"
#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "worker/process/keeper_process.h"

enum {
    READY_MAX_MS = 10 * 1000,
    CLOSE_MAX_MS = 1000,
    ARG_START_FIELD = 48,       /* proc(5), stat: arg_start, then arg_end */
    STAT_MAX_BYTES = 4096,
    LEFT_MAX = 4096,
};

static const char *const step_names[] = { "starting", "mapping our own user and group",
                                          "parting from the host's mounts",
                                          "mounting a /proc for it",
                                          "arranging itself" };

struct keeper {
    pid_t pid;                  /* 0: dead and collected */
    int pid_fd, control_fd, root_fd;
    int namespaces;
    bool asked;                 /* a sweep, not answered yet */
};

/* ---- starting it ---- */

/* Best effort: it only serves whoever looks at a list of processes. */
static void find_words (struct keeper_order *order)
{
    struct buf stat;
    buf_init (&stat, STAT_MAX_BYTES);
    char *at = file_read ("/proc/self/stat", &stat, NULL) == 0 ? strrchr (buf_c (&stat), ')') : NULL;
    for (int field = 2; at && field < ARG_START_FIELD; field++)
        at = strchr (at + 1, ' ');
    uintptr_t from = 0, to = 0;
    if (at && sscanf (at, "%" SCNuPTR " %" SCNuPTR, &from, &to) == 2 && from && to > from) {
        order->words = (char *) from;
        order->words_bytes = to - from;
    }
    buf_release (&stat);
}

static void make_order (struct keeper_order *order, bool user_namespace)
{
    *order = (struct keeper_order) { .user_namespace = user_namespace };
    snprintf (order->uid_map, sizeof order->uid_map, "%u %u 1", geteuid (), geteuid ());
    snprintf (order->gid_map, sizeof order->gid_map, "%u %u 1", getegid (), getegid ());
    find_words (order);
}

/* cmsg(3). What comes is of our own making; -1 stays where no descriptor came with it. */
static ssize_t receive_report (int fd, struct keeper_report *report, int *passed_fd)
{
    union { struct cmsghdr head; char bytes[CMSG_SPACE (sizeof *passed_fd)]; } control;
    struct iovec body = { .iov_base = report, .iov_len = sizeof *report };
    struct msghdr message = { .msg_iov = &body, .msg_iovlen = 1, .msg_control = &control,
                              .msg_controllen = sizeof control };
    ssize_t got = recvmsg (fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    const struct cmsghdr *head = got > 0 ? CMSG_FIRSTHDR (&message) : NULL;
    if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS)
        memcpy (passed_fd, CMSG_DATA (head), sizeof *passed_fd);
    return got;
}

static int hear_report (int fd, struct keeper_report *report, int *root_fd, struct err *err)
{
    uint64_t until_ms = clock_boot_ms () + READY_MAX_MS;
    for (;;) {
        uint64_t now_ms = clock_boot_ms ();
        struct pollfd entry = { .fd = fd, .events = POLLIN };
        int ready = now_ms < until_ms ? poll (&entry, 1, (int) (until_ms - now_ms)) : 0;
        if (ready == 0)
            return err_set (err, ERR_STATE, "its first process said nothing for %d s", READY_MAX_MS / 1000);
        ssize_t got = ready < 0 ? -1 : receive_report (fd, report, root_fd);
        if (got == sizeof *report)
            return 0;
        if (got >= 0 || (errno != EINTR && errno != EAGAIN))
            return err_set (err, ERR_STATE, "its first process ended at once");
    }
}

static int check_report (const struct keeper_report *report, struct err *err)
{
    if (report->step == KEEPER_READY)
        return 0;
    errno = report->code;
    bool known = report->step > 0 && report->step < (int) (sizeof step_names / sizeof step_names[0]);
    return err_errno (err, ERR_IO, "%s", step_names[known ? report->step : 0]);
}

static int make_process (struct keeper *keeper, const struct keeper_order *order, struct err *err)
{
    int pair[2];
    if (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return err_errno (err, ERR_IO, "making a socket for a pid namespace");
    /* Not fork: it takes no flags, and what the C library would do in the child is not needed there. Only the flags are
     * set, so the order of the other arguments, which differs between machines, does not matter. */
    pid_t pid = (pid_t) syscall (SYS_clone, keeper->namespaces | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0)
        keeper_process (order, pair[1], pair[0]);
    int code = errno;
    close (pair[1]);
    keeper->control_fd = pair[0];
    keeper->pid = pid > 0 ? pid : 0;
    errno = code;
    const char *where = order->user_namespace ? " in a user namespace of our own" : "";
    return pid < 0 ? err_errno (err, ERR_IO, "making it%s", where) : 0;
}

static int start (struct keeper *keeper, struct err *err)
{
    struct keeper_order order;
    struct keeper_report report = { 0 };
    bool user_namespace = geteuid () != 0; /* root would lose rights over what others own */
    make_order (&order, user_namespace);
    keeper->namespaces = CLONE_NEWPID | CLONE_NEWNS | (user_namespace ? CLONE_NEWUSER : 0);
    if (make_process (keeper, &order, err) < 0)
        return -1;
    if (hear_report (keeper->control_fd, &report, &keeper->root_fd, err) < 0 || check_report (&report, err) < 0)
        return -1;
    if (keeper->root_fd < 0)
        return err_set (err, ERR_LIMIT, "its root directory could not be handed over: are there descriptors left?");
    keeper->pid_fd = (int) syscall (SYS_pidfd_open, keeper->pid, 0);
    return keeper->pid_fd < 0 ? err_errno (err, ERR_IO, "holding its first process") : 0;
}

struct keeper *keeper_open (struct err *err)
{
    struct keeper *keeper = mem_alloc (sizeof *keeper);
    keeper->pid_fd = keeper->control_fd = keeper->root_fd = -1;
    if (start (keeper, err) == 0) {
        struct spawn_place place = keeper_place (keeper);
        if (spawn_try (&place, err) == 0)
            return keeper;
    }
    keeper_close (keeper);
    return NULL;
}

/* ---- its end ---- */

void keeper_mourn (struct keeper *keeper)
{
    keeper->pid = 0;
    keeper->asked = false;
}

/* Between programs nobody waits for children: what came to it then shows here. */
bool keeper_lives (struct keeper *keeper)
{
    if (keeper->pid > 0 && waitpid (keeper->pid, NULL, WNOHANG) != 0)
        keeper_mourn (keeper);
    return keeper->pid > 0;
}

/* A namespace is gone only when all that was in it is collected, and programs are children of this process. */
static void end (struct keeper *keeper)
{
    uint64_t until_ms = clock_boot_ms () + CLOSE_MAX_MS;
    pid_t got = 0;
    (void) kill (keeper->pid, SIGKILL); /* not collected yet, so the number is still its own */
    while (got >= 0 && got != keeper->pid && clock_boot_ms () < until_ms) {
        got = waitpid (-1, NULL, WNOHANG);
        if (got == 0)
            (void) poll (NULL, 0, 1);
    }
}

void keeper_close (struct keeper *keeper)
{
    if (!keeper)
        return;
    if (keeper->pid > 0)
        end (keeper);
    if (keeper->pid_fd >= 0)
        close (keeper->pid_fd);
    if (keeper->control_fd >= 0)
        close (keeper->control_fd);
    if (keeper->root_fd >= 0)
        close (keeper->root_fd);
    mem_free (keeper);
}

/* ---- asking it ---- */

struct spawn_place keeper_place (const struct keeper *keeper)
{
    return (struct spawn_place) { .namespaces_fd = keeper->pid_fd, .namespaces = keeper->namespaces,
                                  .root_fd = keeper->root_fd, .group_fd = -1 };
}

pid_t keeper_pid (const struct keeper *keeper)
{
    return keeper->pid;
}

void keeper_sweep (struct keeper *keeper)
{
    const char word = KEEPER_SWEEP;
    if (keeper->pid == 0 || keeper->asked)
        return;
    keeper->asked = true;
    /* One small packet at a time always fits; a keeper that cannot take it is dead, and its namespace with it. */
    (void) send (keeper->control_fd, &word, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool keeper_swept (struct keeper *keeper, int wait_ms, uint32_t *strays)
{
    struct keeper_swept_report report;
    struct pollfd entry = { .fd = keeper->control_fd, .events = POLLIN };
    if (keeper->pid == 0)
        return true;
    if (poll (&entry, 1, wait_ms) <= 0
        || recv (keeper->control_fd, &report, sizeof report, MSG_DONTWAIT) != sizeof report)
        return false; /* its death is heard of by SIGCHLD */
    keeper->asked = false;
    *strays = report.strays;
    return true;
}

uint32_t keeper_left (const struct keeper *keeper)
{
    char path[64];
    uint32_t n = 0;
    int pid;
    if (keeper->pid == 0)
        return 0;
    snprintf (path, sizeof path, "/proc/%d/task/%d/children", (int) keeper->pid, (int) keeper->pid);
    FILE *file = fopen (path, "re");
    while (file && n < LEFT_MAX && fscanf (file, "%d", &pid) == 1)
        n++;
    if (file)
        fclose (file);
    return n ? n : 1; /* it would have said so if nothing were left */
}
