/* command.h - turns a RUN into a command line for execve and the first line of the canary protocol.
 *
 * It starts nothing and changes nothing, it only reads files. Results live in the arena. docs/spec/canary.md has the
 * line. */
#ifndef SLICEUP_WORKER_ATTEMPT_COMMAND_H
#define SLICEUP_WORKER_ATTEMPT_COMMAND_H

#include "common/base/duration.h"
#include "common/model/msg.h"
#include <limits.h>

/* Paths whose writers control the worker: its folder of all runs, and the ticket of a worker that joins by itself. */
enum { TRUSTED_DIRECTORY = 0, TRUSTED_TICKET, TRUSTED_MAX };

/* Values that this worker knows and the RUN does not have. */
struct command_context {
    struct text host, run_hex;
    struct text directory;            /* of the worker */
    struct text scratch;              /* of this attempt: working directory and HOME */
    struct text python;               /* of the restored environment; empty: not needed */
    text_list loaded;                 /* paths loaded by this host's interpreters (interpreter.c) */
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

/* ---- environ.c ---- */

/* Makes the environment variables of a program: a fixed allow-list, and the variables that the RUN sets.
 * Later settings of a name override earlier ones. Everything lives in the arena given. */

/* Enough for a profile with what it lets inherit, a frontend, and our own few. */
enum { ENVIRON_MAX = 4 * VARS_MAX };

struct environ_list {
    var_list vars;
    struct arena *arena;
};

/* PATH (with a default), LANG, TZ and TMPDIR of this process. */
void environ_begin (struct environ_list *list, struct arena *arena);
/* Adds variables of this process that the profile lets programs inherit, if set. */
void environ_inherit (struct environ_list *list, const text_list *names);
/* Adds variables of this process for pip and its TLS: PIP_*, proxies, certificates, HOME. */
void environ_add_pip_vars (struct environ_list *list);
/* Only for the builtin `facts`: adds the variables that control a runtime. */
void environ_add_runtime_vars (struct environ_list *list);
void environ_set (struct environ_list *list, struct text name, struct text value);
/* -1: an invalid name; then nothing is set. */
int environ_set_all (struct environ_list *list, const var_list *vars, struct err *err);
struct text environ_get (const struct environ_list *list, const char *name); /* empty: not set */
char **environ_block (const struct environ_list *list);                      /* for execve */
/* `name` as a path: itself if it holds a '/', else the first executable file of that name in the list's PATH. */
int environ_find_program (const struct environ_list *list, struct text name, struct text *path, struct err *err);

/* ---- interpreter.c ---- */

/* Asks the interpreters of a run which files they execute and import on this host.
 *
 * The path of an interpreter does not tell this: it may be a copy, or a script that starts another one. So each is
 * asked (-I -S: runs no code of packages, the user or the folder), within ENVIRONMENT_ASK_MS, before any confined
 * program. Call it in a task, since it waits for other processes. */

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

/* ---- counters.c ---- */

/* Reads the counters of a command that does not know sliceup, from its report file or its output.
 *
 * A rung names the layout (`parse` of docs/spec/configuration.md). Input is bounded and untrusted; it judges nothing.
 * Blocks while it reads some megabytes. Main thread only. */

/* Sets the variable for the report's path, if this rung reads one. Overrides the profile. */
void counters_set_report_path (const struct msg_run *run, struct text scratch, struct environ_list *list);
/* After all processes of the program are gone: fills counters and notes of `result`, in `arena`. Finding nothing is a
 * note, not an error. Does nothing for a rung without `parse`. `log_from`: where the last uncut part of the log
 * begins. */
void counters_read (const struct msg_run *run, struct text scratch, struct text log, uint64_t log_from,
                    struct arena *arena, struct result *result);

#endif
