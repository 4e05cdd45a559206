/* command.h - a RUN turned into what execve and the canary protocol want.
 *
 * It starts nothing and changes nothing, it only looks at files. What it makes lives in the arena. The line is that of
 * docs/spec/canary.md. */
#ifndef SLICEUP_WORKER_ATTEMPT_COMMAND_H
#define SLICEUP_WORKER_ATTEMPT_COMMAND_H

#include "common/base/err.h"
#include "common/model/msg.h"

/* Whoever may write there decides what the worker does: its own folder of all runs, and its ticket, of one that joins by
 * itself. */
enum { TRUSTED_DIRECTORY = 0, TRUSTED_TICKET, TRUSTED_MAX };

/* What this worker knows and the message does not. */
struct command_context {
    struct text host, run_hex;
    struct text directory;            /* of the worker */
    struct text scratch;              /* of this attempt: working directory and HOME */
    struct text python;               /* of the restored environment; empty: none is needed */
    text_list loaded;                 /* by interpreters of this host (interpreter.h) */
    struct text kit;                  /* folder of the program's files; empty: they lie where the plan has them */
    struct text helpers;              /* struct kit */
    const char *trusted[TRUSTED_MAX]; /* NULL: none */
};

struct command {
    const char *program;
    char **argv, **envp;
    bool is_self;       /* it is this program, started again (self.h) */
    struct text line;   /* the first thing on its channel */
    text_list warnings; /* what it is started with is most likely not meant (launch_lint.h); sentences */
};

/* Where the program of a command leaves files, below its scratch folder: SLICEUP_OUTPUT_DIR. */
#define COMMAND_OUTPUT "output"
/* -1: it cannot be started as ordered; the sentence is for people. */
int command_make (const struct msg_run *run, const struct command_context *context, struct arena *arena,
                  struct command *out, struct err *err);

#endif
