/* instance_lock.h - one worker for one host's directory.
 *
 * A coordinator that died may have left a worker that it had started and that nobody recorded as joined; the next one
 * starts another for the same host. The worker that started last keeps the directory: it ends the earlier one, first
 * with SIGTERM, then with SIGKILL. The lock is the kernel's and ends with the process. One thread; blocks for at most
 * INSTANCE_LOCK_WAIT_MS. */
#ifndef SLICEUP_WORKER_RUN_INSTANCE_LOCK_H
#define SLICEUP_WORKER_RUN_INSTANCE_LOCK_H

#include "common/base/err.h"

enum { INSTANCE_LOCK_POLITE_MS = 2000, INSTANCE_LOCK_WAIT_MS = 6000 };

/* Keeps "<directory>/worker.lock" locked for the rest of this process's life. */
int instance_lock_take_over (const char *directory, struct err *err);

#endif
