/* pid_namespace.h - a pid namespace for everything that this worker starts, held by its first (the init) process.
 *
 * What is started in it (spawn.h, pid_namespace_spawn_target) stays a child of the worker, which waits for it and
 * signals it as ever; what a program leaves behind becomes the init process's child, whatever it did to escape. The
 * init process dies with the worker, SIGKILL or not, and then the kernel kills all of the namespace (pid_namespaces(7),
 * prctl(2)).
 *
 * For root the namespace is made as it is; for others inside a user namespace in which no other user exists. It has a
 * /proc of its own, so that programs find themselves there under the pids they know.
 *
 * Main thread only: the parent-death signal is tied to the thread that made the init process. It knows no programs. */
#ifndef SLICEUP_WORKER_PROCESS_PID_NAMESPACE_H
#define SLICEUP_WORKER_PROCESS_PID_NAMESPACE_H

#include "worker/process/spawn.h"
#include <stdint.h>

struct pid_namespace;
/* NULL: not possible on this host, or not for us; the error says which step failed. */
struct pid_namespace *pid_namespace_open (struct err *err);
/* Kills all of the namespace, and collects whatever children this process has; NULL is fine. */
void pid_namespace_close (struct pid_namespace *pid_namespace);
struct spawn_target pid_namespace_spawn_target (const struct pid_namespace *pid_namespace);
pid_t pid_namespace_pid (const struct pid_namespace *pid_namespace);
/* Its end was collected by somebody who waits for all children. */
void pid_namespace_note_reaped (struct pid_namespace *pid_namespace);
bool pid_namespace_lives (struct pid_namespace *pid_namespace);

/* Kills whatever is in the namespace. `strays`: processes that SIGKILL ended, since the sweep was asked for. */
void pid_namespace_sweep (struct pid_namespace *pid_namespace);
bool pid_namespace_wait_swept (struct pid_namespace *pid_namespace, int wait_ms,
                               uint32_t *strays); /* nothing is left; also when it is dead */
uint32_t pid_namespace_process_count (const struct pid_namespace *pid_namespace); /* how many still are */

#endif
