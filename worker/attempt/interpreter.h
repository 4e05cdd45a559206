/* interpreter.h - asks the interpreters of a run which files they execute and import on this host.
 *
 * The path of an interpreter does not tell this: it may be a copy, or a script that starts another one. So each is
 * asked (-I -S: no code of packages, of the user or of the folder runs for it), within ENVIRONMENT_ASK_MS, before
 * anything that is confined. It is a task's work: it waits for other processes. */
#ifndef SLICEUP_WORKER_ATTEMPT_INTERPRETER_H
#define SLICEUP_WORKER_ATTEMPT_INTERPRETER_H
#include <limits.h>

#include "common/model/msg.h"

enum { INTERPRETER_PATHS_MAX = 64, INTERPRETER_BYTES_MAX = 16 * 1024 }; /* of all paths */

/* Must they be asked before the program of this RUN? */
bool interpreter_must_be_asked (const struct msg_run *run);
/* Of the one that environments are built from, and of the environment where there is a complete one: programs,
 * prefixes, folders of modules, libraries; only what programs could write. -1: one that sliceup itself starts in this
 * run does not answer, or says more than can be kept from programs. Everything lives in the arena. */
int interpreter_ask_paths (const struct msg_run *run, struct arena *arena, text_list *out, struct err *err);

/* ---- the program that the kernel starts for a script, as its first line names it: execve(2) ---- */

enum { SCRIPT_DEPTH_MAX = 5 }; /* scripts that interpret scripts: the kernel goes no further */

/* `out` may be `path`. False: it is none, cannot be read, or names no absolute path. */
bool script_interpreter (const char *path, char out[PATH_MAX]);

#endif
