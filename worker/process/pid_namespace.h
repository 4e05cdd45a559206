/* pid_namespace.h - a pid namespace for everything that this worker starts, held by its first (the init) process.
 *
 * A program started in it (spawn.h, pid_namespace_spawn_target) stays a child of the worker, which waits for it and
 * signals it as usual. Processes that a program leaves behind become the init process's children, and cannot escape.
 * The init process dies with the worker, even by SIGKILL, and then the kernel kills all of the namespace
 * (pid_namespaces(7), prctl(2)).
 *
 * Root makes the namespace directly; other users make it inside a user namespace without other users. It has its own
 * /proc, so that programs find themselves there under their own pids.
 *
 * Main thread only: the parent-death signal is tied to the thread that made the init process. It knows no programs. */
#ifndef SLICEUP_WORKER_PROCESS_PID_NAMESPACE_H
#define SLICEUP_WORKER_PROCESS_PID_NAMESPACE_H

#include "worker/process/spawn.h"
#include <stdint.h>

struct pid_namespace;
/* NULL: impossible on this host, or for this user; the error says which step failed. */
struct pid_namespace *pid_namespace_open (struct err *err);
/* Kills all of the namespace, and reaps all children of this process; NULL is fine. */
void pid_namespace_close (struct pid_namespace *pid_namespace);
struct spawn_target pid_namespace_spawn_target (const struct pid_namespace *pid_namespace);
pid_t pid_namespace_pid (const struct pid_namespace *pid_namespace);
/* Call it if the init process was reaped by a wait for all children. */
void pid_namespace_note_reaped (struct pid_namespace *pid_namespace);
bool pid_namespace_lives (struct pid_namespace *pid_namespace);

/* Kills all processes in the namespace. `strays`: processes killed since the sweep began. */
void pid_namespace_sweep (struct pid_namespace *pid_namespace);
bool pid_namespace_wait_swept (struct pid_namespace *pid_namespace, int wait_ms,
                               uint32_t *strays); /* true also if the namespace is dead */
uint32_t pid_namespace_process_count (const struct pid_namespace *pid_namespace); /* how many remain */

#endif
