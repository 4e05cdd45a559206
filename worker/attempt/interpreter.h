/* interpreter.h - asks the interpreters of a run which files they execute and import on this host.
 *
 * The path of an interpreter does not tell this: it may be a copy, or a script that starts another one. So each is
 * asked (-I -S: runs no code of packages, the user or the folder), within ENVIRONMENT_ASK_MS, before any confined
 * program. Call it in a task, since it waits for other processes. */
#ifndef SLICEUP_WORKER_ATTEMPT_INTERPRETER_H
#define SLICEUP_WORKER_ATTEMPT_INTERPRETER_H
#include <limits.h>

#include "common/model/msg.h"

enum { INTERPRETER_PATHS_MAX = 64, INTERPRETER_BYTES_MAX = 16 * 1024 }; /* of all paths */

/* Must they be asked before this RUN's program? */
bool interpreter_must_be_asked (const struct msg_run *run);
/* The interpreter that environments are built from; NULL: there is none of its name. In the arena. */
const char *interpreter_find (const struct msg_run *run, struct arena *arena);
/* That of the environment of this run's pins; NULL: there is none, or an incomplete one, which is rebuilt before use. */
const char *interpreter_of_environment (const struct msg_run *run, struct arena *arena);
/* Asks both: programs, prefixes, folders of modules, libraries, as far as programs could write them. -1: one that
 * sliceup itself starts in this run does not answer, or names too many paths to protect. Everything lives in the
 * arena. */
int interpreter_ask_paths (const struct msg_run *run, struct arena *arena, text_list *out, struct err *err);

/* ---- the program that the kernel starts for a script, from its first line: execve(2) ---- */

enum { SCRIPT_DEPTH_MAX = 5 }; /* scripts that interpret scripts: the kernel's limit */

/* `out` may be `path`. False: not a script, unreadable, or no absolute path. */
bool script_interpreter (const char *path, char out[PATH_MAX]);

#endif
