/* executable.h - a program on devices of several processes: of which this process owns some, and executes them all.
 *
 * A program whose devices are all this process's is the plugin's alone. Of any other the processes exchange the values of its
 * arguments; then each executes the whole of it, hands jax the outputs of its own devices, and destroys the rest. So
 * values are exact, and a process that is missing makes the others wait. */
#ifndef SLICEUP_WORKER_STANDIN_EXECUTABLE_H
#define SLICEUP_WORKER_STANDIN_EXECUTABLE_H

#include "worker/pjrt/pjrt.h"

void *executable_addressable_devices (struct pjrt_list_args *args);
void *executable_logical_ids (struct pjrt_logical_ids_args *args);
void *executable_execute (struct pjrt_execute *args);

#endif
