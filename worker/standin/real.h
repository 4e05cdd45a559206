/* real.h - the CPU plugin behind the stand-in: found, loaded, called.
 *
 * It is the file that SLICEUP_STANDIN_PLUGIN names, or else that of the package lammps_jax_pjrt_cpu in the folder of packages
 * from which the caller of the stand-in comes: jaxlib's. */
#ifndef SLICEUP_WORKER_STANDIN_REAL_H
#define SLICEUP_WORKER_STANDIN_REAL_H

#include "worker/probe/pjrt.h"
#include <stdbool.h>

/* `caller`: an address in the library that asked. NULL: `why` says why not. Its table has the slots that the stand-in calls. */
const struct pjrt_api *real_load (const void *caller, const char **why);
/* Calls the plugin's function at `slot`. A PJRT_Error or NULL, the caller's. */
void *real_call (size_t slot, void *args);
bool real_has (size_t slot);

#endif
