/* cli.h - what every command is given, how it answers, and how it says that it failed.
 *
 * Exit status (docs/spec/receipt.md, Outcomes): 0 everything asked for holds; 1 it ran and something did not hold; 2
 * usage or configuration; 3 could not run; 4 cache violation; 5 journal damaged; 130 cancelled. */
#ifndef SLICEUP_COORDINATOR_CLI_CLI_H
#define SLICEUP_COORDINATOR_CLI_CLI_H

#include <stdbool.h>
#include <sys/stat.h>

#include "common/io/log.h"
#include "common/model/plan.h"
#include "coordinator/cli/arguments.h"
#include "coordinator/view/line.h"
#include "coordinator/view/record_json.h"

enum {
    EXIT_HOLDS = 0,
    EXIT_BROKEN = 1,
    EXIT_USAGE = 2,
    EXIT_COULD_NOT = 3,
    EXIT_CACHE = 4,
    EXIT_DAMAGED = 5,
    EXIT_CANCELLED = 130
};

enum { CLI_ANSWER_MAX_BYTES = 256 << 20 };

struct cli {
    const char *home;       /* SLICEUP_HOME, absolute; exists */
    const char *home_named; /* the same as it was given */
    const char *hint;       /* what a proposed command needs behind "sliceup": "", or " --home DIR" */
    const char *share_dir;  /* where the shipped configs/ and worker/canaries are */
    const char *program;    /* path of this executable, for finding sliceup-worker beside it */
    int turn_fd;            /* held until a new run has begun (run_begun_take_turn); -1: none */
    mode_t umask;           /* of whoever started this program; its own is 077 */
    bool plain;             /* no screen with keys, no cursor movement: --plain, no terminal, TERM=dumb */
    bool color;             /* our own SGR may be used: a terminal, and neither NO_COLOR nor --plain */
    struct text password;   /* a line; empty: none was asked for. Only cli_main wipes it */
    struct log log;
    var_list packs; /* folders that travel, of the plan that was loaded last (conf_options) */
};

/* " --home DIR", quoted for a shell where it has to be. */
void cli_hint_of_home (const char *home, char hint[HINT_MAX_BYTES + 1]);

/* Says "sliceup: <err>" and a hint, and returns the exit status that fits the error's code. */
int cli_fail (const struct cli *cli, const struct err *err);
int cli_status (const struct err *err); /* the same exit status, with nothing printed */
/* Colours as `cli` allows them, UTF-8 by the locale; the width of the terminal, 0 when there is none. */
struct style cli_detect_style (const struct cli *cli);
/* How wide words are wrapped that always are: the terminal's width, else COLUMNS, else 80. */
uint32_t cli_columns (void);
/* Writes `bytes` to standard output, and releases them: EXIT_HOLDS, or what to leave with. That it could
 * not be written is told once, by cli_main; a reader that left is no failure. */
int cli_write_stdout (const struct cli *cli, struct buf *bytes);
/* The `drain` of such bytes, where they are many: written while they are made. */
bool cli_drain_stdout (const void *bytes, size_t len, void *to);
/* The same of an object, which gets the member `schema` and is released. */
int cli_print_json (const struct cli *cli, const char *schema, json_t *json);
/* Nobody reads standard output any more (| head): nothing more is to be said there, and nothing went wrong. */
bool cli_reader_left (void);

/* ask_password.c: with --ask-pass, asks whoever started this program for the password of all hosts, which come by ssh.
 * EXIT_HOLDS, or what to leave with. `plan` NULL: it is not known yet. */
int cli_ask_password (struct cli *cli, const struct cli_arguments *arguments, const struct plan *plan);

/* ---- exit timeout ---- */

/* Lets a process end although its output is not read (a full pipe, Ctrl-S, a pager).
 *
 * Writing to it blocks for as long as it likes, so what ends the waiting is a signal. Main thread. */

/* For a program that a loop's signals kept until here, and that has only words left to say: SIGINT, SIGTERM and SIGHUP
 * do what they do by default, behind the last words. One that came just before is exit_timeout_start with this status. */
void exit_timeout_default_signals (int status);
/* Ends the process with this status in a second, unless it has ended by then. */
void exit_timeout_start (int status);
/* For a program without a loop's signals: SIGINT, SIGTERM and SIGHUP are noted, and exit_timeout_start is called. */
void exit_timeout_catch_signals (int status);
/* What such an end calls before all else: async-signal-safe; for a terminal that is not as it was. */
void exit_timeout_set_last (void (*last) (void));
bool exit_timeout_signal_seen (void);

#endif
