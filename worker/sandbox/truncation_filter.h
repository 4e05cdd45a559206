/* truncation_filter.h - forbids truncating files by name, for this process and what it starts, with seccomp(2).
 *
 * Landlock before ABI 3 (Linux 6.2) does not see truncate(2), nor an open(2) that is for reading and truncates. So both
 * are refused everywhere, and with them what a filter cannot look into: openat2 and io_uring (ENOSYS, as on a kernel
 * without them), and system calls of another machine than this program's. Files that are open for writing can be cut as
 * ever. It needs no_new_privs. */
#ifndef SLICEUP_WORKER_SANDBOX_TRUNCATION_FILTER_H
#define SLICEUP_WORKER_SANDBOX_TRUNCATION_FILTER_H

#include "common/base/err.h"

int truncation_refuse (struct err *err);

#endif
