/* keeper.h - a pid namespace for everything that this worker starts, held by its first process, the keeper.
 *
 * What is started in it (spawn.h, keeper_place) stays a child of the worker, which waits for it and signals it as ever;
 * what a program leaves behind becomes the keeper's child, whatever it did to escape. When the keeper dies the kernel
 * kills all of the namespace, and the keeper dies with the worker, SIGKILL or not (pid_namespaces(7), prctl(2)).
 *
 * For root the namespace is made as it is; for others inside a user namespace in which nobody but they exists. It has a
 * /proc of its own, so that programs find themselves there under the pids they know.
 *
 * It knows nothing of programs. Main thread only: the parent-death signal is tied to the thread that made the keeper.
 */
#ifndef SLICEUP_WORKER_PROCESS_KEEPER_H
#define SLICEUP_WORKER_PROCESS_KEEPER_H

#include <stdint.h>
#include "worker/process/spawn.h"

struct keeper;
/* NULL: not possible on this host, or not for us; the error says which step failed. */
struct keeper *keeper_open (struct err *err);
/* Kills all of the namespace, and collects whatever children this process has; NULL is fine. */
void keeper_close (struct keeper *keeper);
struct spawn_place keeper_place (const struct keeper *keeper);
pid_t keeper_pid (const struct keeper *keeper);
/* Its end was collected by somebody who waits for all children. */
void keeper_mourn (struct keeper *keeper);
bool keeper_lives (struct keeper *keeper);

/* Kills whatever is in the namespace. `strays`: processes that SIGKILL ended, since the sweep was asked for. */
void keeper_sweep (struct keeper *keeper);
bool keeper_swept (struct keeper *keeper, int wait_ms, uint32_t *strays);   /* nothing is left; also when it is dead */
uint32_t keeper_left (const struct keeper *keeper);  /* how many still are */

#endif
