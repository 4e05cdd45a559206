/* cli.h - what every command is given, how it reads its arguments, and how it says that it failed.
 *
 * Exit status (docs/spec/receipt.md, Outcomes): 0 everything asked for holds; 1 it ran and something did not hold; 2
 * usage or configuration; 3 could not run; 4 cache violation; 5 journal damaged; 130 cancelled. */
#ifndef SLICEUP_COORDINATOR_CLI_CLI_H
#define SLICEUP_COORDINATOR_CLI_CLI_H

#include "common/base/err.h"
#include "common/io/log.h"
#include "coordinator/view/line.h"
#include <stdbool.h>
#include <stdio.h>

enum {
    EXIT_HOLDS = 0,
    EXIT_BROKEN = 1,
    EXIT_USAGE = 2,
    EXIT_COULD_NOT = 3,
    EXIT_CACHE = 4,
    EXIT_DAMAGED = 5,
    EXIT_CANCELLED = 130
};

struct cli {
    const char *home;       /* SLICEUP_HOME, absolute; exists */
    const char *home_named; /* the same as it was given */
    const char *hint;       /* what a proposed command needs behind "sliceup": "", or " --home DIR" */
    const char *share_dir;  /* where the shipped configs/ and worker/canaries are */
    const char *program;    /* path of this executable, for finding sliceup-worker beside it */
    bool plain;             /* no live view, no cursor movement: --plain, no terminal, TERM=dumb */
    bool color;             /* our own SGR may be used: a terminal, and neither NO_COLOR nor --plain */
    struct log log;
};

struct cli_command {
    const char *name;
    const char *usage;                                   /* after "sliceup ": "run SLICE.yaml [--profile NAME] ..." */
    const char *summary;                                 /* one line for the list of commands */
    const char *help;                                    /* what it does, options, examples, exit status */
    int (*run) (struct cli *cli, int argc, char **argv); /* argv[0] is the command's name; returns the exit status */
};

/* Says "sliceup: <err>" and a hint, and returns the exit status that fits the error's code. */
int cli_fail (const struct cli *cli, const struct err *err);
/* "--name VALUE" or "--name=VALUE" at argv[*i]: true, sets *value and moves *i. A missing value ends the program. */
bool cli_read_option (int argc, char **argv, int *i, const char *name, const char **value);
/* One option of a command: a switch, or one with a value. A list of them ends with an empty one. */
struct cli_option_spec {
    const char *name;
    bool *set;          /* switch */
    const char **value; /* with a value, else NULL */
    const char *also;   /* another spelling, which is not proposed; or NULL */
};
enum { CLI_CHOICES_MAX = 16 };
/* Reads a command's options, and its operand where it takes one (NULL: none). EXIT_HOLDS, or what to leave with. */
int cli_read_arguments (const struct cli *cli, const struct cli_command *command, int argc, char **argv,
                        const struct cli_option_spec *choices, const char **operand);
/* Takes a switch out of the arguments wherever it stands: was it there? */
bool cli_take_switch (int *argc, char **argv, const char *name);
/* An argument no command knows: says so, suggests the nearest of `known` (NULL-terminated), returns EXIT_USAGE. */
int cli_refuse_argument (const struct cli *cli, const struct cli_command *command, const char *argument,
                         const char *const known[]);

/* Colours as `cli` allows them, UTF-8 by the locale; the width of the terminal, 0 when there is none. */
struct style cli_detect_style (const struct cli *cli);
/* Writes `bytes` to standard output, and releases them: EXIT_HOLDS, or what to leave with. That nobody could write there
 * is told once, by cli_main. */
int cli_write_stdout (const struct cli *cli, struct buf *bytes);
/* EXIT_HOLDS, unless both were asked for. */
int cli_check_forms (const struct cli *cli, const struct cli_command *command, bool json, bool markdown);

#endif
