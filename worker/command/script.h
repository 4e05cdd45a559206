/* script.h - the program that the kernel starts for a script, as its first line names it (execve(2)). It only reads. */
#ifndef SLICEUP_WORKER_COMMAND_SCRIPT_H
#define SLICEUP_WORKER_COMMAND_SCRIPT_H

#include <limits.h>
#include <stdbool.h>

enum { SCRIPT_DEPTH_MAX = 5 }; /* scripts that interpret scripts: the kernel goes no further */

/* `out` may be `path`. False: it is none, cannot be read, or names no absolute path. */
bool script_interpreter (const char *path, char out[PATH_MAX]);

#endif
