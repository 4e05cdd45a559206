/* exec.h - a program and everything it starts, from its first instruction until nothing of it is left.
 *
 * It is kept together by a session of its own, a parent-death signal, and the containment that was chosen for this
 * process; without one, this process is the subreaper that inherits what the program leaves behind. While an exec lives
 * it collects every child of this process, so there is at most one at a time and nobody else may wait for children.
 *
 * Stopping: SIGINT, after `stop_ms` SIGTERM and SIGCONT, after another `stop_ms` SIGKILL; `hard` begins with SIGKILL.
 * After the program itself has ended, however it did, whatever is left is killed and counted.
 *
 * It knows nothing of channels, output or results. Main thread only. */
#ifndef SLICEUP_WORKER_PROCESS_EXEC_H
#define SLICEUP_WORKER_PROCESS_EXEC_H

#include "worker/process/containment.h"
#include "worker/process/spawn.h"
#include <stdbool.h>
#include <stdint.h>

struct exec_end {
    int status;          /* as of waitpid */
    uint64_t peak_bytes; /* resident, of the program and those it waited for; at least as much as this process has,
                          * in whose memory it began (spawn.c) */
    uint32_t strays;     /* processes that outlived the program and were killed */
    uint32_t unkillable; /* processes that outlived SIGKILL */
};

/* Once a process, before the first exec: orphans of our programs become our children. */
int exec_adopt_orphans (struct err *err);
/* Programs that are started from now on are kept together by it, as long as it lives. NULL: by this process alone. */
void exec_set_containment (struct containment *containment);
enum containment_level exec_containment (void);

struct exec;
struct exec *exec_start (const struct spawn_request *request, struct err *err); /* NULL on error */
/* In this host's own namespaces, for a program of ours that looks at the host and starts nothing: others' processes are
 * not seen from inside a pid namespace. */
struct exec *exec_start_on_host (const struct spawn_request *request, struct err *err);
void exec_destroy (struct exec *exec); /* kills what is left, without waiting; NULL is fine */
void exec_stop (struct exec *exec, bool hard, uint64_t stop_ms, uint64_t now_ms);
/* At SIGCHLD and at the deadline. */
void exec_poll (struct exec *exec, uint64_t now_ms);
uint64_t exec_deadline_ms (const struct exec *exec);                /* UINT64_MAX: none */
bool exec_all_gone (const struct exec *exec, struct exec_end *end); /* all of it */
pid_t exec_pid (const struct exec *exec);

#endif
