/* build_lock.h - lets one process at a time build in a folder: an flock on a file beside it that names the holder.
 *
 * The lock is the kernel's and ends with the last descriptor of it, so a crash leaves none behind; the file stays. Only
 * sliceup's own programs respect it. One thread a lock. */
#ifndef SLICEUP_WORKER_ENVIRONMENT_BUILD_LOCK_H
#define SLICEUP_WORKER_ENVIRONMENT_BUILD_LOCK_H

#include "common/base/err.h"
#include <stdint.h>

/* Called when somebody else has it, and again when the holder changes; `holder` is safe to show. */
typedef void lock_waiting_fn (void *owner, const char *holder);

/* The locked descriptor, close-on-exec; it is for the caller to close. -1: not within `limit_ms` (ERR_LIMIT, names the
 * holder), or not possible. `path` is made when it is not there. */
int lock_take (const char *path, uint64_t limit_ms, lock_waiting_fn *waiting, void *owner, struct err *err);

#endif
