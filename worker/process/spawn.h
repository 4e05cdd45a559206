/* spawn.h - starts one process in a session of its own; it inherits nothing of the worker but what it is given.
 *
 * It knows no attempts or protocols, nor who made the place for a process. Main thread only: the parent-death signal is
 * tied to the thread that forked (prctl(2)). The caller stays the owner of every descriptor it passes. */
#ifndef SLICEUP_WORKER_PROCESS_SPAWN_H
#define SLICEUP_WORKER_PROCESS_SPAWN_H

#include "common/base/err.h"
#include <stdbool.h>
#include <sys/types.h>

/* Where the program finds its channel, and the stage before it what it reports on (confine.h). */
enum { SPAWN_CHANNEL_FD = 3, SPAWN_REPORT_FD = 4 };

struct spawn_request {
    const char *program; /* a path; nothing is searched */
    char *const *argv, *const *envp;
    const char *directory; /* its working directory; NULL: the caller's */
    int output_fd;         /* becomes standard output and standard error */
    int channel_fd;        /* becomes SPAWN_CHANNEL_FD; -1: none */
    int report_fd;         /* becomes SPAWN_REPORT_FD; 0: none */
    bool is_self;          /* the program is this one, started again (self.h) */
    bool as_login;         /* umask, limits, and the right to gain rights (sudo) stay those of this process */
};

/* Where a program is started, beyond its session. */
struct spawn_target {
    int namespaces_fd; /* pidfd of a process whose namespaces it enters; -1: it stays in ours */
    int namespaces;    /* CLONE_NEW*: which of them */
    int root_fd;       /* the root directory of its programs in there; -1: that of the namespaces */
    int group_fd;      /* cgroup.procs of the group it enters; -1: it stays in ours */
};
extern const struct spawn_target spawn_target_here;

/* 0: `*pid` runs the program as a child of this process, leads a session and a process group of the same number, and
 * dies when this process dies. -1: nothing runs; the error says which step failed and why. */
int spawn_start (const struct spawn_request *request, const struct spawn_target *target, pid_t *pid, struct err *err);
/* Goes through all that spawn_start does up to the program itself: can this process start anything in that place? */
int spawn_check_target (const struct spawn_target *target, struct err *err);

#endif
