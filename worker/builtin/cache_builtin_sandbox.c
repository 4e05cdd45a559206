#include "worker/builtin/cache_builtin_sandbox.h"

#include "common/io/clock.h"
#include "worker/image/self.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ANSWER_MAX_MS = 45 * 1000 };

struct probe {
    const char *root, *folder, *least;
    const struct cache_builtin_protected *protected;
    char here[PATH_MAX], report[16];
};

static _Noreturn void become_stage (const struct probe *probe, int report_fd)
{
    struct arena arena = { 0 };
    const char *argv[20 + 2 * SURVEY_PROTECTED_MAX] = { "sliceup-worker", "confine",    "--root",       probe->root,
                                                        "--bundle",       probe->root,  "--generation", probe->folder,
                                                        "--scratch",      probe->here,  "--role",       "reader",
                                                        "--least",        probe->least, "--report",     probe->report };
    uint32_t n = 16;
    for (uint32_t i = 0; i < probe->protected->n; i++) {
        argv[n++] = "--protected";
        argv[n++] = probe->protected->items[i];
    }
    struct self_exec start = self_make_exec ((char *const *) (uintptr_t) argv, &arena);
    self_keep_image_open ();
    if (fcntl (report_fd, F_SETFD, 0) == 0 && prctl (PR_SET_PDEATHSIG, SIGKILL) == 0)
        execve (start.program, start.argv, environ);
    _exit (127);
}

static int receive (int fd, struct arena *arena, struct confine_report *report, struct err *err)
{
    uint64_t until_ms = clock_boot_ms () + ANSWER_MAX_MS;
    bool over = false, said = false;
    for (;;) {
        uint64_t now_ms = clock_boot_ms ();
        struct pollfd entry = { .fd = fd, .events = POLLIN };
        if (now_ms >= until_ms)
            return err_set (
                err, ERR_STATE,
                "testing the write protection of the cache took longer than %d s: check whether the storage answers",
                ANSWER_MAX_MS / 1000);
        if (poll (&entry, 1, (int) (until_ms - now_ms)) > 0)
            said |= confine_report_receive (fd, arena, report, &over);
        if (over)
            return said ? 0 : err_set (err, ERR_STATE, "the process that sets up the sandbox ended without a report");
    }
}

static int run (const struct probe *probe, int fds[2], struct arena *arena, struct confine_report *out, struct err *err)
{
    pid_t pid = fork ();
    if (pid == 0)
        become_stage (probe, fds[1]);
    close (fds[1]);
    if (pid < 0)
        return err_errno (err, ERR_IO, "cannot start the process that sets up the sandbox");
    int rc = receive (fds[0], arena, out, err);
    if (rc < 0)
        (void) kill (pid, SIGKILL);
    while (waitpid (pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return rc;
}

int cache_builtin_try_sandbox (const char *root, const char *folder, const char *least,
                               const struct cache_builtin_protected *protected, struct arena *arena,
                               struct confine_report *report, struct err *err)
{
    struct probe probe = { .root = root, .folder = folder, .least = least, .protected = protected };
    int pair[2];
    if (!getcwd (probe.here, sizeof probe.here))
        return err_errno (err, ERR_IO, "cannot find the current folder");
    if (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return err_errno (err, ERR_IO, "cannot make a socket for the report of the sandbox");
    snprintf (probe.report, sizeof probe.report, "%d", pair[1]);
    int rc = run (&probe, pair, arena, report, err);
    close (pair[0]);
    return rc;
}
