/* real.h - finds, loads and calls the CPU plugin behind the stand-in.
 *
 * It is the file that SLICEUP_STANDIN_PLUGIN names, else that of the package lammps_jax_pjrt_cpu in the caller's
 * package folder, which is jaxlib's. */
#ifndef SLICEUP_WORKER_STANDIN_REAL_H
#define SLICEUP_WORKER_STANDIN_REAL_H

#include "worker/probe/pjrt.h"
#include <stdbool.h>

/* `caller`: an address in the calling library. NULL: `why` has the reason. The table has all slots that we call. */
const struct pjrt_api *real_load (const void *caller, const char **why);
/* Calls the plugin's function at `slot`. Returns a PJRT_Error, which the caller owns, or NULL. */
void *real_call (size_t slot, void *args);
bool real_has (size_t slot);

#endif
