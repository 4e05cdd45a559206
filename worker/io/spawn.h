/* spawn.h - one process of its own session, with nothing of ours in it but what it was given.
 *
 * It knows nothing of attempts or protocols. Call it from the main thread only: the parent-death signal is tied to the
 * thread that forked (prctl(2)). The caller stays the owner of every descriptor it passes. */
#ifndef SLICEUP_WORKER_SPAWN_H
#define SLICEUP_WORKER_SPAWN_H

#include <sys/types.h>
#include "common/base/err.h"

enum { SPAWN_CHANNEL_FD = 3 };  /* where the program finds its channel */

struct spawn_order {
    const char *program;        /* a path; nothing is searched */
    char *const *argv, *const *envp;
    const char *directory;      /* its working directory */
    int output_fd;              /* becomes standard output and standard error */
    int channel_fd;             /* becomes SPAWN_CHANNEL_FD; -1: none */
};

/* 0: `*pid` runs the program, leads a session and a process group of the same number, and dies when this process dies.
 * -1: nothing runs; the error says which step failed and why. */
int spawn_start (const struct spawn_order *order, pid_t *pid, struct err *err);

#endif
