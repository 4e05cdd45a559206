/* process_capacity.h - checks that this process can get the open files, threads and memory that it is about to need.
 *
 * Asked before anything is begun: libzmq ends the process by an assertion when one of them is refused to it, and a run
 * that was begun would have to be taken back. The answer holds for now; who is refused later says so. */
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
/* Takes the files and the memory at once, and gives them back; of threads the limits are read. The limit of open files
 * is raised as far as it may be. ERR_LIMIT: a sentence that begins with `what` ("a run of 4 hosts"): which limit, of
 * this process or of the system, is too low, and how it is raised. Any thread. */
int process_capacity_check (const char *what, const struct capacity_needs *needs, struct err *err);
/* What another program starts with is what this process began with: by the child (0) before it executes one, as it is
 * safe after vfork(2), or of a child that has just begun to. */
void files_limit_restore (pid_t pid);
bool process_capacity_has_memory (size_t bytes); /* now; as signal-safe as mmap */

#endif
