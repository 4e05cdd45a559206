/* environment.h - where the Python environment of a pin set is, and what its parts are called.
 *
 * Hosts of one slice may have different Pythons and share one disk, so the interpreter's version is part of the path:
 * <env_dir>-py<major>.<minor>. It knows nothing of how an environment is built. Any thread; blocks for as long as an
 * interpreter takes to start, at most ENVIRONMENT_ASK_MS. */
#ifndef SLICEUP_WORKER_ENVIRONMENT_ENVIRONMENT_H
#define SLICEUP_WORKER_ENVIRONMENT_ENVIRONMENT_H

#include "common/base/err.h"
#include "common/model/plan.h"
#include "common/model/requirements.h"
#include <stddef.h>

enum { ENVIRONMENT_ASK_MS = 10000, PYTHON_VERSION_BYTES = 32 };

/* The path of this host's environment. Nothing need be there. */
int environment_path (const struct pins *pins, char *out, size_t out_bytes, struct err *err);
/* "3.11.7", by asking: `python` is searched in PATH when it holds no '/'. Only Python 3. */
int environment_ask_version (const char *python, char version[PYTHON_VERSION_BYTES], struct err *err);
/* environment_path for one whose version is known already. */
int environment_path_of_version (struct text env_dir, const char *version, char *out, size_t bytes, struct err *err);
/* <path>/lib/python<major>.<minor>/site-packages */
int environment_site (const char *path, const char *version, char *out, size_t out_bytes, struct err *err);

/* ---- restore.c ----
 *
 * The builtin program `restore`: builds the pinned Python environment of this host, unless it is complete,
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

/* argv[0] is the program's own word. */
int restore_main (int argc, char **argv);

#endif
