/* sliceup_files_probe.h - tries from inside a program's sandbox to change what sliceup itself executes, imports, reads
 * as configuration or trusts: such a change would run the program's code outside of the sandbox.
 *
 * Nothing stays changed: what worked is taken back. A name that is taken away comes back at once. */
#ifndef SLICEUP_WORKER_SANDBOX_SLICEUP_FILES_PROBE_H
#define SLICEUP_WORKER_SANDBOX_SLICEUP_FILES_PROBE_H

#include "worker/sandbox/confine_paths.h"

/* Bits of PROBE_OWN_* (write_probe.h) that are open; `*where`: one path of them, or NULL. `shown`: the folder of the
 * constant path; NULL: none. `moves`: names are taken away as well; if that works, others miss them for a moment. */
uint32_t sliceup_files_probe (const struct confine_paths *paths, const char *shown, bool moves, const char **where);

#endif
