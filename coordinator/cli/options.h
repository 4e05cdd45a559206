/* options.h - rows of tables that several commands have. */
#ifndef SLICEUP_COORDINATOR_CLI_OPTIONS_H
#define SLICEUP_COORDINATOR_CLI_OPTIONS_H

#include "coordinator/cli/arguments.h"

/* ---- options ---- */

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
    { OPTION_PROFILE }, { OPTION_LADDER }, { OPTION_PINS }, { OPTION_HOSTS },                                          \
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
