/* uring_probe.h - tries whether a file opened through io_uring(7) needs the same rights as by a system call. */
#ifndef SLICEUP_WORKER_SANDBOX_URING_PROBE_H
#define SLICEUP_WORKER_SANDBOX_URING_PROBE_H

#include <stdbool.h>

/* False as well where there is no io_uring, or it may not be used. `flags` as of open(2). */
bool uring_opens (const char *path, int flags);

#endif
