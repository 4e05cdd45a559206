/* ssh_answers.c - `ssh -G` for many hosts: some at a time, each bounded in time and in what it says. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/io/fd.h"
#include "common/io/program_start.h"
#include "coordinator/cli/planning.h"

extern char **environ;

enum { AT_ONCE = 16, LIMIT_S = 10, ANSWER_MAX_BYTES = 256 << 10, WORDS_MAX = 16 };

struct asked {
    pid_t pid;
    int answer; /* a file in memory: it is there when ssh ends, whoever else writes to it for longer */
};

static int ssh_spawn (const char *const words[], struct asked *asked)
{
    posix_spawn_file_actions_t actions;
    int rc = posix_spawn_file_actions_init (&actions);
    if (rc != 0)
        return rc;
    rc = posix_spawn_file_actions_addopen (&actions, 0, "/dev/null", O_RDONLY, 0);
    for (int fd = 1; fd <= 2 && rc == 0; fd++)
        rc = posix_spawn_file_actions_adddup2 (&actions, asked->answer, fd);
    if (rc == 0)
        rc = program_start (&asked->pid, words[0], POSIX_SPAWN_SETPGROUP, &actions, (char *const *) (uintptr_t) words,
                            environ);
    posix_spawn_file_actions_destroy (&actions);
    return rc;
}

static int ssh_start (const char *file, const struct ssh_route *route, struct asked *asked, struct err *err)
{
    char name[NAME_MAX_BYTES + 1], user[NAME_MAX_BYTES + 1], port[16];
    const char *words[WORDS_MAX] = { "ssh", "-T", "-G", "-F", file };
    uint32_t n = 5;
    if (text_starts (route->address, "-") || !text_to_c (route->address, name, sizeof name))
        return err_set (err, ERR_CONFIG, "ssh takes no host name that begins with '-': %.*s",
                        TEXT_ARG (route->address));
    if (route->user.len > 0 && snprintf (user, sizeof user, "-l%.*s", TEXT_ARG (route->user)) > 0)
        words[n++] = user;
    if (route->port > 0 && snprintf (port, sizeof port, "-p%u", route->port) > 0)
        words[n++] = port;
    words[n++] = "--";
    words[n++] = name;
    asked->answer = memfd_create ("ssh", MFD_CLOEXEC);
    errno = asked->answer < 0 ? errno : ssh_spawn (words, asked);
    if (errno == 0)
        return 0;
    (void) err_errno (err, ERR_IO, "the program ssh, which reads the ssh configuration, cannot be started");
    fd_close (asked->answer);
    return -1;
}

/* Its status. -1: it was ended with all that it started, as the user's own `Match exec` may have. */
static int ssh_end (struct asked *asked, int limit_ms)
{
    struct pollfd process = { .fd = (int) syscall (SYS_pidfd_open, asked->pid, 0), .events = POLLIN };
    int status = 1, rc; /* 1: somebody else waited for it */
    while ((rc = poll (&process, 1, limit_ms)) < 0 && errno == EINTR)
        ;
    if (rc <= 0)
        kill (-asked->pid, SIGKILL);
    while (waitpid (asked->pid, &status, 0) < 0 && errno == EINTR)
        ;
    fd_close (process.fd);
    return rc > 0 ? status : -1;
}

/* The last line. */
static struct text reason_of (struct text lines)
{
    struct text reason = { 0 };
    while (lines.len > 0)
        reason = text_take_until (&lines, '\n');
    return text_take_until (&reason, '\r'); /* as a terminal wants it */
}

static int ssh_finish (struct text name, struct asked *asked, char *bytes, struct text *lines, struct err *err)
{
    int status = ssh_end (asked, LIMIT_S * 1000);
    ssize_t len = pread (asked->answer, bytes, ANSWER_MAX_BYTES, 0);
    fd_close (asked->answer);
    *lines = (struct text){ bytes, len > 0 ? (uint32_t) len : 0 };
    struct text reason = reason_of (*lines);
    if (status == -1)
        return err_set (err, ERR_LIMIT, "ssh -G %.*s took longer than %d s", TEXT_ARG (name), LIMIT_S);
    if (status != 0)
        return err_set (err, ERR_CONFIG, "ssh -G %.*s: %.*s", TEXT_ARG (name), TEXT_ARG (reason));
    return len < ANSWER_MAX_BYTES ? 0 : err_set (err, ERR_LIMIT, "ssh -G %.*s says too much", TEXT_ARG (name));
}

int planning_ask_ssh (const char *file, const struct ssh_route *routes, uint32_t n, ssh_answer_fn *take, void *owner,
                      struct err *err)
{
    struct asked asked[AT_ONCE];
    struct text lines;
    char *bytes = mem_alloc (ANSWER_MAX_BYTES);
    uint32_t started = 0, done = 0;
    int rc = 0;
    while (rc == 0 && done < n) {
        for (; rc == 0 && started < n && started - done < AT_ONCE; started += rc == 0)
            rc = ssh_start (file, &routes[started], &asked[started % AT_ONCE], err);
        if (rc != 0)
            break;
        rc = ssh_finish (routes[done].address, &asked[done % AT_ONCE], bytes, &lines, err);
        if (rc == 0)
            take (owner, done, lines);
        done++;
    }
    for (; done < started; done++) {
        (void) ssh_end (&asked[done % AT_ONCE], 0);
        fd_close (asked[done % AT_ONCE].answer);
    }
    mem_free (bytes);
    return rc;
}
