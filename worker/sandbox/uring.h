/* uring.h - a file opened through io_uring(7) and not by a system call of its own: is it asked for the same rights? */
#ifndef SLICEUP_WORKER_SANDBOX_URING_H
#define SLICEUP_WORKER_SANDBOX_URING_H

#include <stdbool.h>

/* False as well where there is no io_uring, or it may not be used. `flags` as of open(2). */
bool uring_opens (const char *path, int flags);

#endif
