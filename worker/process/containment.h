/* containment.h - contains the processes of programs, in the best way that this host allows.
 *
 *   pid-namespace  all of them end when a program is over, and with the worker, even when that is killed with SIGKILL
 *   cgroup         all of them end when a program is over; what a killed worker left, the next of its directory ends
 *   subreaper      what a program leaves behind becomes our child and is ended; a killed worker's leftovers stay
 *
 * In all of them the program itself has a session of its own and dies with the worker (spawn.h). Which one it is, is
 * found by trying. It knows nothing of programs and attempts. Main thread only. */
#ifndef SLICEUP_WORKER_PROCESS_CONTAINMENT_H
#define SLICEUP_WORKER_PROCESS_CONTAINMENT_H

#include "common/io/log.h"
#include "worker/process/spawn.h"
#include <stdint.h>

enum containment_level { CONTAINMENT_NONE = 0, CONTAINMENT_SUBREAPER, CONTAINMENT_CGROUP, CONTAINMENT_PID_NAMESPACE };

struct containment;
/* The best way that is not above `most`; the subreaper always works. The log gets why better ones do not. What a worker
 * that was killed left in its cgroup is ended first. `directory` is the worker's own. */
struct containment *containment_choose (enum containment_level most, const char *directory, const struct log *log);
void containment_close (struct containment *containment); /* ends all that is left; NULL is fine */
enum containment_level containment_level (const struct containment *containment); /* of NULL: subreaper */
const char *containment_name (enum containment_level level);

/* For exec.c. Where to start the next program; a namespace that died is made anew. */
int containment_spawn_target (struct containment *containment, struct spawn_target *target, struct err *err);
/* Do orphans of our programs go to another process than this one? Then sweeping is its business. */
bool containment_adopts_orphans (const struct containment *containment);
void containment_kill (struct containment *containment); /* all that runs in it; returns at once */
bool containment_wait_swept (struct containment *containment, int wait_ms, uint32_t *strays); /* where it collects */
uint32_t containment_left (const struct containment *containment);
void containment_abandon (struct containment *containment);                /* what is left in it outlives SIGKILL */
void containment_note_reaped (struct containment *containment, pid_t pid); /* any child of ours that was collected */

#endif
