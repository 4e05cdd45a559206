/* probe.h - the builtin program `probe`: checks whether a PJRT plugin works here, without Python, in a process of its
 * own.
 *
 * Speaks the canary protocol with the arguments plugin, options and client of the rung, and limit_ms and env_folder of
 * the worker; by hand:
 *
 *     sliceup-worker probe --plugin PATH [--option NAME=VALUE]... [--timeout DURATION] [--no-client] [--json]
 *
 * Exit status: 0 it works, 1 it does not, 2 usage, 3 it could not be tried. docs/spec/probe.md. */
#ifndef SLICEUP_WORKER_BUILTIN_PROBE_H
#define SLICEUP_WORKER_BUILTIN_PROBE_H

#include "worker/probe/report.h"

/* argv[0] is the program's own word. */
int probe_main (int argc, char **argv);

/* probe_rung.c: as a rung, its order taken from the worker and its report said as evidence. SLICEUP_FD is in the
 * environment. Exit status as above. */
int probe_rung (void);

/* A report to standard output, one line a step and the verdict last, or as JSON (sliceup.probe/2). */
int probe_print_lines (const struct probe_report *report, const char *plugin, struct err *err);
int probe_print_json (const struct probe_report *report, const char *plugin, struct err *err);
/* What one step found, in words; empty: nothing to say. */
struct text probe_step_text (const struct probe_report *report, enum probe_stage stage, struct arena *arena);

#endif
