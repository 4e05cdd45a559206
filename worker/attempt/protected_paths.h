/* protected_paths.h - lists the paths of this host that no program may write: files that the worker and its processes
 * execute, import and trust here. Paths of a RUN are added to them.
 *
 * The worker's folder and that of all its runs, its own program, the environments of the run, the interpreter they are
 * built from with the files that it loads, folders of PATH and LD_LIBRARY_PATH that programs could write, and the files
 * of the attempt's own program. The paths are unchecked and need not exist. */
#ifndef SLICEUP_WORKER_ATTEMPT_PROTECTED_PATHS_H
#define SLICEUP_WORKER_ATTEMPT_PROTECTED_PATHS_H

#include "worker/attempt/command.h"
#include "worker/sandbox/confine.h"

/* Could a program of this RUN write there without protection? False also if nothing is there. */
bool protected_is_writable (const struct msg_run *run, const char *path);
/* `program`: the executed file; NULL: none yet. Everything lives in the arena, or is borrowed. */
void protected_find (const struct msg_run *run, const struct command_context *context, const char *program,
                     struct arena *arena, struct protected_paths *out);

#endif
