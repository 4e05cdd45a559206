/* exec.h - how what hosts print under `sliceup exec` is shown while they run. */
#ifndef SLICEUP_COORDINATOR_CLI_EXEC_H
#define SLICEUP_COORDINATOR_CLI_EXEC_H

#include "coordinator/cli/cli.h"
#include "coordinator/launch/exec_hosts.h"

/* ---- a command on hosts, for commands that move files (exec_files.c) ---- */

/* The options of `sliceup exec` that say which hosts, and how they are reached. */
enum { EXEC_LAUNCHER = CLI_OWN, EXEC_USER, EXEC_DIRECTORY, EXEC_AT_ONCE, EXEC_TIMEOUT, EXEC_LINES, EXEC_RAW, EXEC_OWN };
#define EXEC_HOST_OPTIONS                                                                                              \
    { CLI_HOSTS,                                                                                                       \
      "--hosts",                                                                                                       \
      .also = "-w --host",                                                                                             \
      .value = "SET",                                                                                                  \
      .help = "these hosts: 'v6e-[0-15]!v6e-7' (sliceup hosts --help); several add up",                                \
      .kind = KIND_HOSTS,                                                                                              \
      .repeat = REPEAT_JOINED },                                                                                       \
        { OPTION_EXCLUDE },                                                                                            \
        { CLI_SLICE, "--slice", .value = "FILE",                                                                       \
          .help = "the hosts of a slice file, reached as it says; -w may name its groups: @spare",                     \
          .kind = KIND_SLICE },                                                                                        \
        { EXEC_LAUNCHER,                                                                                               \
          "--launcher",                                                                                                \
          .value = "WORD",                                                                                             \
          .help = "without a slice file: ssh (the default: ~/.ssh/config, known host keys and the agent count), "      \
                  "slurm (without -w: the hosts of the allocation), or local (on this machine)",                       \
          .kind = KIND_WORDS,                                                                                          \
          .words = "ssh slurm local" },                                                                                \
        { EXEC_USER, "--user", .also = "-l", .value = "NAME", .help = "on the hosts; default: as ssh has it" },        \
    {                                                                                                                  \
        EXEC_DIRECTORY, "--directory", .value = "DIR",                                                                 \
                                       .help = "where hosts keep sliceup's worker (default: /var/tmp/sliceup)"         \
    }
#define EXEC_PACE_OPTIONS                                                                                              \
    { OPTION_ASK_PASS },                                                                                               \
        { EXEC_AT_ONCE,                                                                                                \
          "--at-once",                                                                                                 \
          .also = "-f",                                                                                                \
          .value = "N",                                                                                                \
          .help = "so many hosts at the same time (default: 32)",                                                      \
          .kind = KIND_NUMBER,                                                                                         \
          .most = HOSTS_MAX },                                                                                         \
    {                                                                                                                  \
        EXEC_TIMEOUT, "--timeout", .also = "-u", .value = "DURATION",                                                  \
                                   .help = "end a command that runs longer, such as 30s or 2h (default: 10m)"          \
    }

struct exec_job {
    const char *const *words; /* the command */
    int words_n;
    int input_fd;            /* its standard input on every host; 0: none */
    const struct plan *plan; /* the hosts are of this one; NULL: as the options say */
    /* Its output goes there; NULL: it is shown. `ended`: by itself, and with exit status 0 if `good`. */
    void (*sink) (void *owner, struct text host, struct text bytes);
    void (*ended) (void *owner, struct text host, bool good);
    void *owner;
};
/* Runs it on the hosts that the options choose, says who failed, and returns the exit status of `sliceup exec`. Once a
 * process. */
int exec_job_run (struct cli *cli, const struct cli_arguments *arguments, const struct exec_job *job);

/* ---- exec_output.c: outputs on standard output, and the line that says what is waited for ---- */

struct exec_output {
    struct cli *cli;
    bool raw, lines, json; /* as asked for */
    uint64_t timeout_ms, began_ms;
    struct exec_ends *ends;
    struct output_fold *fold; /* not with `lines` */
    bool live, status;        /* groups are shown as they come; a status line is */
    bool unread;              /* nobody reads standard output any more */
    struct buf *partial;      /* with `lines`: of each host */
    bool *shown;              /* of each host: its output was */
    bool *ended;
    uint64_t *joined_ms; /* of each group: when a host came to it last */
    struct text *labels; /* of each group: the hosts under which it was shown */
    struct arena arena;
    uint32_t blocks;
    uint64_t said_ms; /* when the status line was written last */
    bool said;        /* it stands there */
};
void exec_output_open (struct exec_output *output, uint64_t now_ms); /* the first members are filled in */
void exec_output_close (struct exec_output *output);
void exec_output_add (struct exec_output *output, uint32_t host, struct text bytes);
void exec_output_end_host (struct exec_output *output, uint32_t host, uint64_t now_ms);
/* Shows what is due, all of it when `over`. When it wants to be called again; UINT64_MAX: at an end. */
uint64_t exec_output_poll (struct exec_output *output, uint64_t now_ms, bool over);
void exec_output_clear_status (struct exec_output *output);

#endif
