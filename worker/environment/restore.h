/* restore.h - the builtin program `restore`: builds the pinned Python environment of this host, unless it is complete,
 * and verifies it.
 *
 * Speaks the canary protocol with the arguments pins, pins_sha256, env_dir, python, wheels (a folder that packages come
 * from instead of an index; it is removed when the environment is complete) and build (false: only look); by hand:
 *
 *     sliceup-worker restore --pins FILE --env-dir DIR [--python PYTHON] [--wheels DIR] [--check]
 *
 * Verified: the versions against the pins, and every file of every package against its RECORD.
 * The environment is <env_dir>-py<major>.<minor>. One process builds, under a lock beside it; all others wait and only
 * verify. An environment that is marked complete and differs from the pins is never repaired: the check fails and names
 * every difference, because something other than sliceup changed it.
 * Exit status: 0 the environment is there and as pinned, 1 it is not, 2 usage. */
#ifndef SLICEUP_WORKER_ENVIRONMENT_RESTORE_H
#define SLICEUP_WORKER_ENVIRONMENT_RESTORE_H

/* argv[0] is the program's own word. */
int restore_main (int argc, char **argv);

#endif
