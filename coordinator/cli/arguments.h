/* arguments.h - the table of a command: its options, operands and subcommands; and a command line, read by it.
 *
 * The same rows make what is accepted, --help, man pages, suggestions and completion. Pure: knows no command. */
#ifndef SLICEUP_COORDINATOR_CLI_ARGUMENTS_H
#define SLICEUP_COORDINATOR_CLI_ARGUMENTS_H

#include <stdbool.h>

#include "common/base/err.h"
#include "common/base/text.h"

struct cli;

/* What a value or an operand is: what completion proposes. A number is checked: from 1 to `most`. */
enum cli_kind {
    KIND_TEXT,
    KIND_WORDS, /* those of the row */
    KIND_NUMBER,
    KIND_FILE,
    KIND_FOLDER,
    KIND_SLICE, /* a slice file; others of its command are about it */
    KIND_RUN,
    KIND_RUNG,
    KIND_HOSTS,
    KIND_PROFILE,
    KIND_LADDER,
    KIND_PINS,
    KIND_DRIFT,
    KIND_LAUNCHER,
    KIND_COMMAND, /* of sliceup */
    KIND_PROGRAM  /* of hosts: what follows it on the command line is its own */
};
/* What a second one does: it is refused by name, it makes one value with the first (A,B), or each counts. */
enum cli_repeat { REPEAT_REFUSED, REPEAT_JOINED, REPEAT_LISTED };

/* Options by which values are found. Those from CLI_OWN on are a command's own. */
enum cli_option_id {
    CLI_HOME,
    CLI_PLAIN,
    CLI_VERBOSE,
    CLI_HELP,
    CLI_VERSION,
    CLI_JSON,
    CLI_MARKDOWN,
    CLI_METRICS,
    CLI_HOSTS,
    CLI_EXCLUDE,
    CLI_KEY,
    CLI_PROFILE,
    CLI_LADDER,
    CLI_PINS,
    CLI_ARG,
    CLI_WHEELS,
    CLI_LEAVE_OUT,
    CLI_FROM,
    CLI_ONLY,
    CLI_MIN_HOSTS,
    CLI_KEEP_GOING,
    CLI_FAIL_FAST,
    CLI_ROOT,
    CLI_RUN,
    CLI_SLICE,
    CLI_TRUST,
    CLI_ASK_PASS,
    CLI_OWN,
    CLI_OPTIONS_MAX = CLI_OWN + 16
};

struct cli_option {
    int id;
    const char *name,
        *also;         /* "--hosts"; other spellings, between blanks, of which help shows the short ones; or NULL */
    const char *value; /* the name of its value, NULL: it is a switch */
    const char *help;  /* one sentence, without a full stop */
    enum cli_kind kind;
    const char *words; /* of KIND_WORDS, between blanks */
    enum cli_repeat repeat;
    uint32_t most;    /* of a number; how many, when each counts (0: no limit) */
    int not_with;     /* the id of an option that excludes it; 0: none */
    bool is_required; /* the command needs it */
};

struct cli_operand {
    const char *name;     /* "SLICE.yaml" */
    uint32_t least, most; /* how many; UINT32_MAX: any number */
    enum cli_kind kind;
    const char *words; /* of KIND_WORDS */
};

enum cli_task { TASK_FIRST, TASK_RUN, TASK_LOOK, TASK_COMPARE, TASK_CACHE, TASK_OTHER, TASKS_N };

struct cli_arguments;
struct cli_command {
    const char *name;
    const char *usage;   /* what follows the name, where the rows do not say it: "HOSTS | --slurm [OPTIONS]"; or NULL */
    enum cli_task task;  /* where the overview has it */
    const char *summary; /* one line for lists */
    /* Prose: a line is a paragraph, and is wrapped; one that begins with a blank stays as it is. */
    const char *help;
    const char *examples;             /* a line each */
    const char *exit_status;          /* prose, after "Exit status: " */
    const struct cli_option *options; /* a row without a name ends them; NULL: none */
    const struct cli_operand *operands;
    /* NULL ends them; NULL: none. One that has `run` as well does without, and its subcommands do not take its options. */
    const struct cli_command *const *subcommands;
    bool needs_no_home;
    int needs_no_home_with;                                              /* an option of its own; 0: none */
    int (*run) (struct cli *cli, const struct cli_arguments *arguments); /* returns the exit status */
};

/* ---- a command line ---- */

enum { CLI_DEPTH_MAX = 3 }; /* sliceup, cache, ls */
struct cli_given {
    const struct cli_option *option; /* NULL: an operand */
    const char *value;               /* of a switch its name */
};
struct cli_arguments {
    const struct cli_command *path[CLI_DEPTH_MAX]; /* each but the first is a subcommand of the one before */
    uint32_t depth;
    const char *values[CLI_OPTIONS_MAX]; /* NULL: not given; of those that each count the last */
    const char **operands;               /* NULL ends them */
    uint32_t operands_n;
    struct cli_given *given; /* all, as they stand on the command line */
    uint32_t given_n;
    struct arena arena;
};

/* argv[0] is left out. -1: ERR_USAGE says what is wrong; `out` has what was read until then, and is released as well.
 * With --help, --version or no command nothing is missed. */
int cli_arguments_read (const struct cli_command *root, int argc, char **argv, struct cli_arguments *out,
                        struct err *err);
void cli_arguments_release (struct cli_arguments *arguments);
const struct cli_command *cli_arguments_command (const struct cli_arguments *arguments);
/* " cache gc": what stands behind "sliceup". */
struct text cli_arguments_title (const struct cli_arguments *arguments, struct arena *arena);
uint32_t cli_number (const struct cli_arguments *arguments, int id, uint32_t otherwise);
/* Every value of an option of which each counts: how many there are. `out` has room for the row's `most`. */
uint32_t cli_list (const struct cli_arguments *arguments, int id, const char **out);
const struct cli_command *cli_find_subcommand (const struct cli_command *command, struct text name);
/* The option that is spelled so, of the command or of one above it; NULL: none. */
const struct cli_option *cli_find_option (const struct cli_arguments *arguments, struct text spelling);

/* ---- options: rows of tables that several commands have ---- */

/* `what`: a word for the sentence, with its page. */
#define OPTION_JSON(what) CLI_JSON, "--json", .help = what, .not_with = CLI_MARKDOWN
#define OPTION_JSON_EVENTS OPTION_JSON ("print each event as a line of JSON: docs/spec/events.md")
#define OPTION_METRICS                                                                                                 \
    CLI_METRICS, "--metrics", .value = "FILE.prom",                                                                    \
                              .help = "keep a file for the textfile collector of node_exporter up to date",            \
                              .kind = KIND_FILE
#define OPTION_MARKDOWN(what) CLI_MARKDOWN, "--markdown", .help = what
#define OPTION_KEY                                                                                                     \
    CLI_KEY, "--key", .value = "FILE",                                                                                 \
                      .help = "a run on another machine, by a key that sliceup monitor-key printed there",             \
                      .kind = KIND_FILE
#define OPTION_HOSTS                                                                                                   \
    CLI_HOSTS, "--hosts",                                                                                              \
        .also = "--host -w", .value = "SET",                                                                           \
        .help = "only these hosts: v6e-[0-3,7], @GROUP of the slice file (sliceup hosts --help); several add up",      \
        .kind = KIND_HOSTS, .repeat = REPEAT_JOINED
#define OPTION_EXCLUDE                                                                                                 \
    CLI_EXCLUDE, "--exclude", .also = "-x", .value = "SET", .help = "without these hosts; several add up",             \
                              .kind = KIND_HOSTS, .repeat = REPEAT_JOINED
#define OPTION_ASK_PASS                                                                                                \
    CLI_ASK_PASS, "--ask-pass", .help = "ask once for the password of ssh, which hosts get that accept no key"
/* What planning_load reads. */
#define OPTION_PROFILE                                                                                                 \
    CLI_PROFILE, "--profile", .value = "NAME|FILE", .help = "use this profile, not the one that the slice file names", \
                              .kind = KIND_PROFILE
#define OPTION_LADDER                                                                                                  \
    CLI_LADDER, "--ladder", .value = "NAME|FILE", .help = "use this ladder, not the one that the slice file names",    \
                            .kind = KIND_LADDER
#define OPTION_PINS                                                                                                    \
    CLI_PINS, "--pins", .value = "NAME|FILE", .help = "use this pin set, not the one that the slice file names",       \
                        .kind = KIND_PINS
#define OPTION_ARG                                                                                                     \
    CLI_ARG, "--arg", .value = "RUNG.NAME=VALUE",                                                                      \
                      .help = "an argument of a rung in place of its own; may be repeated", .repeat = REPEAT_LISTED,   \
                      .most = RUNG_ARGS_GIVEN_MAX
#define OPTION_WHEELS                                                                                                  \
    CLI_WHEELS, "--wheels", .value = "DIR", .help = "a folder with a wheel for every pin: no package index is used",   \
                            .kind = KIND_FOLDER
#define OPTION_LEAVE_OUT                                                                                               \
    CLI_LEAVE_OUT, "--leave-out",                                                                                      \
        .value = "RUNG", .help = "climb without this rung; the receipt names it; may be repeated", .kind = KIND_RUNG,  \
        .repeat = REPEAT_LISTED, .most = LEFT_OUT_RUNGS_MAX
#define OPTION_FROM                                                                                                    \
    CLI_FROM, "--from", .value = "RUNG", .help = "climb from this rung on, and what it needs", .kind = KIND_RUNG
#define OPTION_ONLY                                                                                                    \
    CLI_ONLY, "--only", .value = "RUNG", .help = "climb this rung and what it needs; may be repeated",                 \
                        .kind = KIND_RUNG, .repeat = REPEAT_LISTED, .most = LEFT_OUT_RUNGS_MAX, .not_with = CLI_FROM
#define OPTION_MIN_HOSTS                                                                                               \
    CLI_MIN_HOSTS, "--min-hosts",                                                                                      \
        .value = "N", .help = "go on while at least N hosts are up; rungs of scope slice are blocked then",            \
        .kind = KIND_NUMBER, .most = HOSTS_MAX
#define OPTION_KEEP_GOING                                                                                              \
    CLI_KEEP_GOING, "--keep-going",                                                                                    \
        .help = "go on after a rung that did not pass, without the hosts that did not pass it"
#define OPTION_FAIL_FAST                                                                                               \
    CLI_FAIL_FAST, "--fail-fast", .help = "when one host has failed a rung, stop the others", .not_with = CLI_KEEP_GOING
/* What replaces parts of a slice file. */
#define OPTIONS_OF_PLAN                                                                                                \
    { OPTION_PROFILE }, { OPTION_LADDER }, { OPTION_PINS }, { OPTION_ARG }, { OPTION_HOSTS },                          \
    {                                                                                                                  \
        OPTION_EXCLUDE                                                                                                 \
    }
/* Which rungs are climbed, and what becomes of the climb when one does not hold. */
#define OPTIONS_OF_CLIMB                                                                                               \
    { OPTION_FROM }, { OPTION_ONLY }, { OPTION_MIN_HOSTS }, { OPTION_KEEP_GOING },                                     \
    {                                                                                                                  \
        OPTION_FAIL_FAST                                                                                               \
    }

/* ---- operands ---- */

#define OPERAND_SLICE "SLICE.yaml", 1, 1, .kind = KIND_SLICE
/* RUN is an id, the beginning of one, or 'last', which it is when it is not given. */
#define OPERAND_RUN "RUN", 0, 1, .kind = KIND_RUN
#define HELP_OF_RUN "RUN is an id, the beginning of one, or 'last' (the default), which was begun or resumed last."

#endif
