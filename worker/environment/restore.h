/* restore.h - the builtin program `restore`: the pinned Python environment of this host, built once or found complete,
 * and verified either way.
 *
 * Speaks the canary protocol with the arguments pins, pins_sha256, env_dir, python, wheels (a folder that packages come
 * from instead of an index; it is removed when the environment is complete) and build (false: only look); by hand:
 *
 *     sliceup-worker restore --pins FILE --env-dir DIR [--python PYTHON] [--wheels DIR] [--check]
 *
 * Verified: the versions against the pins, and every file of every package against its RECORD.
 * The environment is <env_dir>-py<major>.<minor>. One process builds, under a lock beside it; all others wait and only
 * verify. What claims to be complete and is not what was pinned is never repaired: it fails, and every difference is
 * named, because something outside of this tool changed it.
 * Exit status: 0 the environment is there and as pinned, 1 it is not, 2 usage. */
#ifndef SLICEUP_WORKER_ENVIRONMENT_RESTORE_H
#define SLICEUP_WORKER_ENVIRONMENT_RESTORE_H

/* argv[0] is the program's own word. */
int restore_main (int argc, char **argv);

#endif
