/* exec.h - runs a program and all that it starts, until none of its processes is left.
 *
 * Its own session, a parent-death signal, and this process's containment keep it together; without a containment this
 * process is the subreaper that inherits what the program leaves behind. An exec reaps every child of this process, so
 * there is at most one at a time and nobody else may wait for children.
 *
 * Stopping: SIGINT, after `stop_ms` SIGTERM and SIGCONT, after another `stop_ms` SIGKILL; `hard` begins with SIGKILL.
 * After the program's end, in any way, the remaining processes are killed and counted.
 *
 * It knows nothing of channels, output or results. Main thread only. */
#ifndef SLICEUP_WORKER_PROCESS_EXEC_H
#define SLICEUP_WORKER_PROCESS_EXEC_H

#include "worker/process/containment.h"
#include "worker/process/spawn.h"
#include <stdbool.h>
#include <stdint.h>

struct exec_end {
    int status;          /* of waitpid */
    uint64_t peak_bytes; /* resident, of the program and the children it waited for; at least this process's own, since
                          * it began in its memory (spawn.c) */
    uint32_t strays;     /* processes that outlived the program and were killed */
    uint32_t unkillable; /* processes that outlived SIGKILL */
};

/* Call it once, before the first exec: orphans of our programs become our children. */
int exec_adopt_orphans (struct err *err);
/* Uses it for programs started from now on; it must outlive them. NULL: only this process. */
void exec_set_containment (struct containment *containment);
enum containment_level exec_containment (void);

struct exec;
struct exec *exec_start (const struct spawn_request *request, struct err *err); /* NULL on error */
/* Starts in the host's own namespaces, for our programs that inspect the host and start nothing: other processes are
 * not visible in a pid namespace. */
struct exec *exec_start_on_host (const struct spawn_request *request, struct err *err);
/* Makes the program's process in `target`, as spawn_start; it is this process's child. */
typedef int exec_copy_fn (void *owner, const struct spawn_request *request, const struct spawn_target *target,
                          pid_t *pid, struct err *err);
/* As exec_start, of a process that `copy` makes. Only in a pid namespace. */
struct exec *exec_start_copy (const struct spawn_request *request, exec_copy_fn *copy, void *owner, struct err *err);
void exec_destroy (struct exec *exec); /* kills what is left, without waiting; NULL is fine */
void exec_stop (struct exec *exec, bool hard, uint64_t stop_ms, uint64_t now_ms);
/* Call it at SIGCHLD and at the deadline. */
void exec_poll (struct exec *exec, uint64_t now_ms);
uint64_t exec_deadline_ms (const struct exec *exec);                /* UINT64_MAX: none */
bool exec_all_gone (const struct exec *exec, struct exec_end *end); /* are all processes gone? */
pid_t exec_pid (const struct exec *exec);

#endif
