/* spawn.h - starts one process in its own session; it inherits only what it is given.
 *
 * It knows no attempts, protocols or containments. Main thread only: the parent-death signal is tied to the thread that
 * forked (prctl(2)). The caller keeps every descriptor it passes. */
#ifndef SLICEUP_WORKER_PROCESS_SPAWN_H
#define SLICEUP_WORKER_PROCESS_SPAWN_H

#include "common/base/err.h"
#include <stdbool.h>
#include <sys/types.h>

/* Descriptors of the program's channel, and for the report of `confine` before it (confine.h). */
enum { SPAWN_CHANNEL_FD = 3, SPAWN_REPORT_FD = 4 };

struct spawn_request {
    const char *program; /* a path; PATH is not searched */
    char *const *argv, *const *envp;
    const char *directory; /* its working directory; NULL: the caller's */
    int output_fd;         /* becomes standard output and standard error */
    int input_fd;          /* becomes standard input; 0: none */
    int channel_fd;        /* becomes SPAWN_CHANNEL_FD; -1: none */
    int report_fd;         /* becomes SPAWN_REPORT_FD; 0: none */
    bool is_self;          /* the program is this executable, started again (self.h) */
    bool as_login;         /* keeps this process's umask, limits, and right to gain rights (sudo) */
};

/* The namespaces and cgroup in which a program starts. */
struct spawn_target {
    int namespaces_fd; /* pidfd of a process whose namespaces it enters; -1: ours */
    int namespaces;    /* which of them: CLONE_NEW* */
    int root_fd;       /* its root directory there; -1: that of the namespaces */
    int group_fd;      /* cgroup.procs of the group it enters; -1: ours */
};
extern const struct spawn_target spawn_target_here;

/* 0: `*pid` runs the program as a child of this process, leads a session and process group of that number, and dies
 * with this process. -1: nothing runs; the error says which step failed and why. */
int spawn_start (const struct spawn_request *request, const struct spawn_target *target, pid_t *pid, struct err *err);
/* Does all of spawn_start except executing a program: can this process start anything there? */
int spawn_check_target (const struct spawn_target *target, struct err *err);

/* The two halves of a start, for a process that is a copy of another one and executes nothing (preload.h). -1: errno. */
int spawn_enter_namespaces (const struct spawn_target *target); /* those of children to come, and the root directory */
/* Session, signals, descriptors, limits, directory. NULL, or the step that failed, and errno. */
const char *spawn_enter (const struct spawn_request *request);

#endif
