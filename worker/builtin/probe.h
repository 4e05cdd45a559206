/* probe.h - the builtin program `probe`: does a PJRT plugin work here? Without Python, and without being hurt by it.
 *
 * Speaks the canary protocol with the arguments plugin, options and client of the rung, and limit_ms and env_folder of
 * the worker; by hand:
 *
 *     sliceup-worker probe --plugin PATH [--option NAME=VALUE]... [--timeout DURATION] [--no-client] [--json]
 *
 * Exit status: 0 it works, 1 it does not, 2 usage, 3 it could not be tried. docs/spec/probe.md. */
#ifndef SLICEUP_WORKER_BUILTIN_PROBE_H
#define SLICEUP_WORKER_BUILTIN_PROBE_H

/* argv[0] is the program's own word. */
int probe_main (int argc, char **argv);

#endif
