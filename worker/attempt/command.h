/* command.h - turns a RUN into a command line for execve and the first line of the canary protocol.
 *
 * It starts nothing and changes nothing, it only reads files. Results live in the arena. docs/spec/canary.md has the
 * line. */
#ifndef SLICEUP_WORKER_ATTEMPT_COMMAND_H
#define SLICEUP_WORKER_ATTEMPT_COMMAND_H

#include "common/base/duration.h"
#include "common/base/err.h"
#include "common/model/msg.h"

/* Paths whose writers control the worker: its folder of all runs, and the ticket of a worker that joins by itself. */
enum { TRUSTED_DIRECTORY = 0, TRUSTED_TICKET, TRUSTED_MAX };

/* Values that this worker knows and the RUN does not have. */
struct command_context {
    struct text host, run_hex;
    struct text directory;            /* of the worker */
    struct text scratch;              /* of this attempt: working directory and HOME */
    struct text python;               /* of the restored environment; empty: not needed */
    text_list loaded;                 /* paths loaded by this host's interpreters (interpreter.h) */
    struct text kit;                  /* folder of the program's files; empty: at the plan's paths */
    struct text helpers;              /* struct kit */
    const char *trusted[TRUSTED_MAX]; /* NULL: none */
    struct clock_offset clock_offset; /* of this host's clock against the coordinator's */
};

struct command {
    const char *program;
    char **argv, **envp;
    bool is_self;          /* it is this executable, started again (self.h) */
    const char *modules;   /* a copy of an interpreter with these modules may run argv[CANARY_FILE] instead; or NULL */
    struct text line;      /* first line on its channel */
    struct text directory; /* where it begins */
    text_list warnings;    /* sentences about likely mistakes in its variables (frontend.h) */
};

/* A canary's argv: the interpreter, two options, its file. */
enum { CANARY_FILE = 3 };

/* Where the program of a command leaves files, below its scratch folder: SLICEUP_OUTPUT_DIR. */
#define COMMAND_OUTPUT "output"
/* Below it: the copy of the rung's folder. */
#define COMMAND_FOLDER "folder"
/* Below it: the file to which a program writes its stacks when it is asked. */
#define COMMAND_STACKS "stacks"
/* -1: it cannot be started as the RUN says; the error is for people. */
int command_make (const struct msg_run *run, const struct command_context *context, struct arena *arena,
                  struct command *out, struct err *err);

#endif
