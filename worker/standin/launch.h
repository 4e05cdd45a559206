/* launch.h - executes a program once on devices of several processes. Callers run one at a time. */
#ifndef SLICEUP_WORKER_STANDIN_LAUNCH_H
#define SLICEUP_WORKER_STANDIN_LAUNCH_H

#include "worker/probe/pjrt.h"

/* `devices`: all devices of the program, in the order of its assignment; `args` has those of this process. It returns
 * after the program has ended on all devices, since remote buffers and events live that long. A PJRT_Error or NULL. */
void *launch_run (struct pjrt_execute *args, void *const *devices, size_t devices_n);

#endif
