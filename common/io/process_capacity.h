/* process_capacity.h - checks that this process can get the open files, threads and memory that it is about to need.
 *
 * Checked before a run begins: libzmq aborts the process if one of them is refused, and a begun run would have to be
 * undone. The answer holds for now; later failures report themselves. */
#ifndef SLICEUP_COMMON_IO_PROCESS_CAPACITY_H
#define SLICEUP_COMMON_IO_PROCESS_CAPACITY_H

#include "common/base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct capacity_needs {
    uint32_t descriptors, threads;
    uint64_t bytes;
};
/* Takes the files and the memory at once, and gives them back; for threads it reads the limits. Raises the limit of
 * open files as far as allowed. ERR_LIMIT: a sentence that begins with `what` ("a run of 4 hosts"): which limit, of
 * this process or the system, is too low, and how to raise it. Any thread. */
int process_capacity_check (const char *what, const struct capacity_needs *needs, struct err *err);
/* Gives a child the limit of open files with which this process began: called in the child (pid 0) before exec, safe
 * after vfork(2), or for a child that was just started. */
void files_limit_restore (pid_t pid);
bool process_capacity_has_memory (size_t bytes); /* now; as signal-safe as mmap */

#endif
