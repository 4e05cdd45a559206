/* containment.h - contains the processes of programs, in the best way that this host allows.
 *
 *   pid-namespace  all end after the program, and with the worker, even if that is killed with SIGKILL
 *   cgroup         all end after the program; the next worker of the directory ends what a killed one left
 *   subreaper      what a program leaves behind becomes our child, and we end it; a killed worker's leftovers stay
 *
 * In all three the program has its own session and dies with the worker (spawn.h). The level is found by trying. It
 * knows nothing of programs and attempts. Main thread only. */
#ifndef SLICEUP_WORKER_PROCESS_CONTAINMENT_H
#define SLICEUP_WORKER_PROCESS_CONTAINMENT_H

#include "common/io/log.h"
#include "worker/process/spawn.h"
#include <stdint.h>

enum containment_level { CONTAINMENT_NONE = 0, CONTAINMENT_SUBREAPER, CONTAINMENT_CGROUP, CONTAINMENT_PID_NAMESPACE };

struct containment;
/* Chooses the best level up to `most`; the subreaper always works. The log says why better ones do not. First it ends
 * what a killed worker left in its cgroup. `directory` is the worker's own. */
struct containment *containment_choose (enum containment_level most, const char *directory, const struct log *log);
void containment_close (struct containment *containment); /* ends all that is left; NULL is fine */
enum containment_level containment_level (const struct containment *containment); /* NULL gives subreaper */
const char *containment_name (enum containment_level level);

/* For exec.c. Gives the place for the next program; makes a dead namespace anew. */
int containment_spawn_target (struct containment *containment, struct spawn_target *target, struct err *err);
/* Do orphans of our programs go to another process? Then that process sweeps. */
bool containment_adopts_orphans (const struct containment *containment);
void containment_kill (struct containment *containment); /* all that runs in it; returns at once */
bool containment_wait_swept (struct containment *containment, int wait_ms, uint32_t *strays); /* if it adopts orphans */
uint32_t containment_left (const struct containment *containment);
void containment_abandon (struct containment *containment);                /* gives up processes that outlive SIGKILL */
void containment_note_reaped (struct containment *containment, pid_t pid); /* call it for every reaped child */

#endif
