/* probe.h - the builtin program `probe`: checks whether a PJRT plugin works here, without Python, in a process of its
 * own.
 *
 * Speaks the canary protocol with the arguments plugin, options and client of the rung, and limit_ms and env_folder of
 * the worker; by hand:
 *
 *     sliceup-worker probe --plugin PATH [--option NAME=VALUE]... [--timeout DURATION] [--no-client] [--json]
 *
 * Exit status: 0 it works, 1 it does not, 2 usage, 3 it could not try. docs/spec/probe.md. */
#ifndef SLICEUP_WORKER_BUILTIN_PROBE_H
#define SLICEUP_WORKER_BUILTIN_PROBE_H

#include "worker/probe/report.h"

/* argv[0] is the builtin's name. */
int probe_main (int argc, char **argv);

/* probe_rung.c: as a rung: takes its arguments from the worker and reports as evidence. SLICEUP_FD is in the
 * environment. Exit status as above. */
int probe_rung (void);

/* What one step found, in words; empty: nothing. */
struct text probe_step_text (const struct probe_report *report, enum probe_stage stage, struct arena *arena);

#endif
