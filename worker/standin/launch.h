/* launch.h - one execution of a program on devices of several processes. The caller lets one run at a time. */
#ifndef SLICEUP_WORKER_STANDIN_LAUNCH_H
#define SLICEUP_WORKER_STANDIN_LAUNCH_H

#include "worker/probe/pjrt.h"

/* `devices`: all of the program, in the order of its assignment; `args` has those of this process. It returns when the program has
 * ended on all devices: remote buffers and events live that long. A PJRT_Error or NULL. */
void *launch_run (struct pjrt_execute *args, void *const *devices, size_t devices_n);

#endif
