/* probe_rung.h - a probe as a rung: its order taken from the worker, its report said as evidence (canary protocol). */
#ifndef SLICEUP_WORKER_BUILTIN_PROBE_RUNG_H
#define SLICEUP_WORKER_BUILTIN_PROBE_RUNG_H

/* Exit status: 0 it works, 1 it does not, 3 it could not be tried. SLICEUP_FD is in the environment. */
int probe_rung (void);

#endif
