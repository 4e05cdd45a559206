/* confine_command.h - makes the command line of the process that sets up a program's sandbox (confine_args.h lists its
 * options). Pure, except that it asks how this program starts itself again. */
#ifndef SLICEUP_WORKER_ATTEMPT_CONFINE_COMMAND_H
#define SLICEUP_WORKER_ATTEMPT_CONFINE_COMMAND_H

#include "worker/attempt/command.h"
#include "worker/sandbox/confine_args.h"

/* The command line that runs `order` confined, and its environment: the loader's variables are meant for the program,
 * so they travel under other names. Everything lives in the arena. `frontend_root` of a RUN is the plan's bundle;
 * `more` is protected besides what the RUN names. */
int confine_args_write (const struct msg_run *run, const struct command_context *context,
                        const struct protected_paths *paths, const struct command *command, int report_fd,
                        struct arena *arena, struct command *out, struct err *err);
/* <root> of <root>/<frontend>/<bundle>. */
int confine_args_root_of_bundle (struct text bundle, struct arena *arena, struct text *root, struct err *err);

#endif
