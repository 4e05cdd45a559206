/* self.h - this program, to be started again: errands and builtin programs are the worker itself once more.
 *
 * Usually that is /proc/self/exe, which stays the same program when its file is replaced. A worker out of a bundle was
 * started through the bundle's loader (deploy/bundle), so there /proc/self/exe is the loader; the start script then
 * says in argv[0] where it stands. Set once, before there are threads; borrows `argv0`. */
#ifndef SLICEUP_WORKER_SELF_H
#define SLICEUP_WORKER_SELF_H

#include <stdbool.h>

/* `argv0` counts only when a loader was started for us and it is an absolute path of a program. */
void self_set (const char *argv0, bool by_loader);
/* Was this process started as "LOADER PROGRAM"? */
bool self_by_loader (void);
/* For execve; never NULL. */
const char *self_program (void);

#endif
