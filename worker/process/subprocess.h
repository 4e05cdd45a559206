/* subprocess.h - runs a short command to its end, keeps its output, and limits its time.
 *
 * For commands of our own making (an interpreter, an installer), not for the programs of rungs: it contains nothing.
 * The caller is blocked meanwhile. The command has the caller's environment, no standard input, the default signals,
 * and of the caller's descriptors only what is named. Waits for this one child only. Any thread. */
#ifndef SLICEUP_WORKER_PROCESS_SUBPROCESS_H
#define SLICEUP_WORKER_PROCESS_SUBPROCESS_H

#include "common/base/buf.h"
#include "common/base/err.h"
#include <stdint.h>

struct subprocess {
    const char *const *argv; /* ends in NULL; argv[0] is searched in PATH when it holds no '/' */
    uint64_t limit_ms;
    int echo_fd; /* what it says goes there too, as it comes; -1: nowhere */
    int held_fd; /* stays open in it under another number; -1: none */
};

/* 0: it ended; `*status` is its exit status, or 128 + the signal that ended it. `out` has its standard output and
 * error, the end of it when there was more than `out` may hold.
 * -1: it could not be started, or was killed when the limit was reached (ERR_LIMIT). */
int subprocess_run (const struct subprocess *subprocess, struct buf *out, int *status, struct err *err);

#endif
