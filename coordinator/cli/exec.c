#include "coordinator/cli/exec.h"

#include <signal.h>
#include <string.h>

#include "common/io/clock.h"
#include "coordinator/cli/climb.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/hosts.h"
#include "coordinator/cli/planning.h"
#include "coordinator/verdict/going_on.h"

enum { OWN_DESCRIPTORS = 32, HOST_DESCRIPTORS = 8, OWN_BYTES = 16 << 20 };
enum { AT_ONCE = 32, TIMEOUT_MS = 10 * 60 * 1000, SENTENCES_MAX_BYTES = 16 << 20 };

/* ---- the hosts that are meant, and how they are reached ---- */

struct exec_choice {
    struct host_filter filter;
    const char *slice, *launcher, *user, *directory; /* NULL: not given */
    struct arena arena;                              /* holds what follows */
    struct plan plan;
    struct host_choice of;
};

/* The configuration is asked as for a slice file of these hosts, so that its rules and messages hold here too. No host
 * connects to this machine: the address is there for hosts behind a jump host. */
enum { SLICE_MAX_BYTES = 1 << 20 };
#define SLICE_TEXT                                                                                                     \
    "slice: exec\nprofile: plain\nladder: plain\nsignatures: []\ncache: {mode: off}\ncoordinator: {address: "          \
    "127.0.0.1, listen: 127.0.0.1}\n"

/* ---- without a slice file ---- */

static int put_hosts (const struct exec_choice *choice, struct buf *out, struct err *err)
{
    const struct hostset_rules rules = { .max = HOSTS_MAX };
    struct name_list names = { 0 };
    LOCAL_ARENA arena = { 0 };
    int rc = hostset_read (text_of (choice->filter.hosts), &rules, &arena, &names, err);
    if (rc == 0 && names.n == 0)
        rc = err_set (err, ERR_USAGE, "the host set is empty, expected hosts such as 'v6e-[0-3]'");
    if (rc < 0)
        (void) err_prefix (err, "-w");
    err->code = rc < 0 ? ERR_USAGE : err->code; /* also a set that is too large */
    buf_puts (out, "hosts:\n");                 /* a line each: a folded set may be longer than a value of YAML */
    for (uint32_t i = 0; rc == 0 && i < names.n; i++)
        buf_printf (out, "  - '%.*s%s%.*s'\n", TEXT_ARG (names.users[i]), names.users[i].len ? "@" : "",
                    TEXT_ARG (names.items[i]));
    return rc;
}

static int put_slice (const struct exec_choice *choice, struct buf *out, struct err *err)
{
    const char *launcher = choice->launcher ? choice->launcher : "ssh";
    bool ssh = strcmp (launcher, "ssh") == 0, slurm = strcmp (launcher, "slurm") == 0;
    if (!ssh && !slurm && strcmp (launcher, "local") != 0)
        return err_set (err, ERR_USAGE, "--launcher %s: expected ssh, slurm or local%s", launcher,
                        strcmp (launcher, "join") == 0 ? "; hosts that join by themselves let nobody in" : "");
    if (choice->user && (!ssh || !host_name_valid (text_of (choice->user))))
        return err_set (err, ERR_USAGE, "--user '%s': expected the name of a user, and --launcher ssh", choice->user);
    buf_printf (out, SLICE_TEXT "launcher: %s\n", launcher);
    if (ssh)
        buf_printf (out, "ssh: {config: true%s%s}\n", choice->user ? ", user: " : "", choice->user ? choice->user : "");
    if (choice->directory && (choice->directory[0] != '/' || strpbrk (choice->directory, "'\n") || !(ssh || slurm)))
        return err_set (err, ERR_USAGE, "--directory %s: expected an absolute path on hosts that ssh or Slurm reaches",
                        choice->directory);
    if (ssh || slurm)
        buf_printf (out, "start: {deadline: 30s%s%s%s}\n", choice->directory ? ", directory: '" : "",
                    choice->directory ? choice->directory : "", choice->directory ? "'" : "");
    if (choice->filter.hosts)
        return put_hosts (choice, out, err);
    if (!slurm)
        return err_set (err, ERR_USAGE, "expected hosts: -w SET, or --slice FILE; see sliceup exec --help");
    buf_puts (out, "hosts: {from: slurm}\n");
    return 0;
}

static int load_hosts (struct cli *cli, struct exec_choice *choice)
{
    LOCAL_BUF text = { .max = SLICE_MAX_BYTES };
    struct err err = { 0 };
    int status = put_slice (choice, &text, &err) < 0
                     ? cli_fail (cli, &err)
                     : planning_load_text (cli, "command line", text_copy (&choice->arena, buf_as_text (&text)),
                                           &choice->arena, &choice->plan);
    return status;
}

/* ---- of a slice file ---- */

static int load_slice (struct cli *cli, struct exec_choice *choice)
{
    struct err err = { 0 };
    if (choice->launcher || choice->user || choice->directory)
        err_set (&err, ERR_USAGE, "--launcher, --user and --directory: with --slice the slice file says these");
    int status = err.code ? cli_fail (cli, &err)
                          : planning_load_slice_only (cli, choice->slice, &choice->arena, &choice->plan);
    return status;
}

/* EXIT_HOLDS, or what to leave with: it was said why. */
static int exec_choice_load (struct cli *cli, struct exec_choice *choice, const struct plan *given)
{
    struct err err = { 0 };
    int status = given ? EXIT_HOLDS : choice->slice ? load_slice (cli, choice) : load_hosts (cli, choice);
    choice->plan = given ? *given : choice->plan;
    if (status != EXIT_HOLDS)
        return status;
    if (choice->plan.launcher == LAUNCHER_JOIN) {
        err_set (&err, ERR_USAGE,
                 "%s%s%s has launcher: join, whose hosts let nobody in: name those that ssh reaches with -w SET",
                 given ? "the run" : "'", given ? "" : choice->slice, given ? "" : "'");
        return cli_fail (cli, &err);
    }
    return host_filter_choose (&choice->filter, false, &choice->plan, &choice->arena, &choice->of, &err) < 0
               ? cli_fail (cli, &err)
               : EXIT_HOLDS;
}

/* ---- the command ---- */

struct execution {
    struct cli *cli;
    const struct exec_job *job;
    struct exec_choice choice;
    struct remote_command command;
    struct exec_output output;
    struct exec_ends ends;
    uint32_t at_once;
    struct loop *loop;
    struct exec_hosts *hosts;
    uint32_t interrupts;
};

/* ---- arguments ---- */

static int take_timeout (struct execution *exec, const char *timeout)
{
    struct err err = { 0 };
    exec->command.timeout_ms = TIMEOUT_MS;
    if (!timeout || (duration_parse (text_of (timeout), &exec->command.timeout_ms) && exec->command.timeout_ms &&
                     exec->command.timeout_ms <= REMOTE_TIMEOUT_MAX_MS))
        return EXIT_HOLDS;
    err_set (&err, ERR_USAGE, "--timeout %s: expected a duration such as 30s or 2h, at most 30d", timeout);
    return cli_fail (exec->cli, &err);
}

static int exec_take_arguments (struct execution *exec, const struct cli_arguments *arguments)
{
    const char *const *values = arguments->values;
    struct err err = { 0 };
    exec->choice = (struct exec_choice){ .filter = host_filter_of (arguments),
                                         .slice = values[CLI_SLICE],
                                         .launcher = values[EXEC_LAUNCHER],
                                         .user = values[EXEC_USER],
                                         .directory = values[EXEC_DIRECTORY] };
    exec->output.lines = values[EXEC_LINES];
    exec->output.raw = values[EXEC_RAW];
    exec->output.json = values[CLI_JSON];
    exec->at_once = cli_number (arguments, EXEC_AT_ONCE, AT_ONCE);
    if (take_timeout (exec, values[EXEC_TIMEOUT]) != EXIT_HOLDS)
        return EXIT_USAGE;
    return remote_command_set_words (&exec->command, exec->job->words, exec->job->words_n, &err) < 0
               ? cli_fail (exec->cli, &err)
               : EXIT_HOLDS;
}

/* ---- while it runs ---- */

static void exec_on_output (void *owner, uint32_t host, struct text bytes)
{
    struct execution *exec = owner;
    if (exec->job->sink)
        exec->job->sink (exec->job->owner, exec->choice.of.names[host], bytes);
    else
        exec_output_add (&exec->output, host, bytes);
}

static void exec_on_ended (void *owner, uint32_t host)
{
    struct execution *exec = owner;
    const struct exec_host *at = exec_hosts_at (exec->hosts, host);
    if (exec->job->ended)
        exec->job->ended (exec->job->owner, exec->choice.of.names[host],
                          at->state == EXEC_ENDED && at->end.how == REMOTE_EXITED && at->end.number == 0);
    exec_output_end_host (&exec->output, host, clock_boot_ms ());
}

/* First Ctrl-C: politely; second: at once. */
static void exec_on_signal (void *owner, int signal, int64_t pid, int value)
{
    struct execution *exec = owner;
    (void) pid;
    (void) value;
    if (signal == SIGPIPE)
        return; /* seen where it is written to */
    exec->ends.cancelled = true;
    exec_output_clear_status (&exec->output);
    log_print (&exec->cli->log, "%s",
               exec->interrupts++ ? "killing the commands" : "stopping the commands (press Ctrl-C again to kill them)");
    exec_hosts_stop (exec->hosts, exec->interrupts > 1);
}

static void on_pass (void *owner)
{
    struct execution *exec = owner;
    uint64_t now_ms = clock_boot_ms ();
    exec_hosts_poll (exec->hosts, now_ms);
    bool over = exec_hosts_done (exec->hosts);
    uint64_t output_ms = exec_output_poll (&exec->output, now_ms, over),
             hosts_ms = exec_hosts_deadline_ms (exec->hosts);
    if (exec->output.unread && exec->output.lines && !exec->interrupts++)
        exec_hosts_stop (exec->hosts, false); /* nobody wants the rest */
    loop_set_deadline (exec->loop, output_ms < hosts_ms ? output_ms : hosts_ms);
    if (over)
        loop_stop (exec->loop);
}

/* ---- from the first to the last ---- */

static void say_ends (struct execution *exec, bool always)
{
    struct exec_choice *choice = &exec->choice;
    LOCAL_BUF said = { .max = SENTENCES_MAX_BYTES };
    exec_report_put_ends (&exec->ends, &said);
    uint32_t i = 0;
    while (i < choice->of.n && !text_starts (text_of (exec->ends.hosts[i]->why), "host-key:"))
        i++;
    if (i < choice->of.n)
        buf_printf (&said, "next: %.*s\n",
                    TEXT_ARG (host_key_advice (&choice->plan, choice->of.ranks[i], &choice->arena)));
    if (said.len || always)
        exec_report_put_sum (&exec->ends, &said);
    fputs (buf_c (&said), stderr);
}

static void open_ends (struct execution *exec)
{
    const struct exec_choice *choice = &exec->choice;
    const struct exec_host **hosts = mem_array (choice->of.n, sizeof *hosts);
    for (uint32_t i = 0; i < choice->of.n; i++)
        hosts[i] = exec_hosts_at (exec->hosts, i);
    exec->ends = (struct exec_ends){
        .names = choice->of.names, .hosts = hosts, .n = choice->of.n, .timeout_ms = exec->command.timeout_ms
    };
}

static int open_loop (struct execution *exec)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE, 0 };
    struct err err = { 0 };
    exec->loop = loop_open (&err);
    if (!exec->loop || loop_watch_signals (exec->loop, signals, exec_on_signal, exec, &err) < 0)
        return cli_fail (exec->cli, &err);
    loop_set_iteration_fn (exec->loop, on_pass, exec);
    loop_set_deadline (exec->loop, 0);
    return EXIT_HOLDS;
}

static int run_on_hosts (struct execution *exec)
{
    char worker[RUN_PATH_BYTES], courier[RUN_PATH_BYTES], bundle[RUN_PATH_BYTES];
    struct err err = { 0 };
    climb_path_beside (exec->cli, "sliceup-worker", worker);
    climb_path_beside (exec->cli, "sliceup-courier", courier);
    climb_path_beside (exec->cli, "sliceup-worker.bundle", bundle);
    const struct exec_options options = { .loop = exec->loop,
                                          .plan = &exec->choice.plan,
                                          .ranks = exec->choice.of.ranks,
                                          .n = exec->choice.of.n,
                                          .at_once = exec->at_once,
                                          .command = &exec->command,
                                          .input_fd = exec->job->input_fd,
                                          .worker_path = worker,
                                          .courier_path = courier,
                                          .bundle_path = bundle,
                                          .password = exec->cli->password,
                                          .output = exec_on_output,
                                          .ended = exec_on_ended,
                                          .owner = exec };
    (void) umask (exec->cli->umask); /* commands here have that of whoever asks; nothing is written by this program */
    uint32_t at_once = exec->at_once < exec->choice.of.n ? exec->at_once : exec->choice.of.n;
    const struct capacity_needs needs = { .descriptors = OWN_DESCRIPTORS + HOST_DESCRIPTORS * at_once +
                                                         (exec->job->sink ? exec->choice.of.n : 0),
                                          .bytes = OWN_BYTES };
    if (process_capacity_check ("sliceup exec (--at-once takes fewer hosts at a time)", &needs, &err) < 0)
        return cli_fail (exec->cli, &err);
    exec->hosts = exec_hosts_open (&options);
    open_ends (exec);
    exec->output.cli = exec->cli;
    exec->output.ends = &exec->ends;
    exec->output.timeout_ms = exec->command.timeout_ms;
    exec_output_open (&exec->output, clock_boot_ms ());
    int status = loop_run (exec->loop, &err) < 0 ? cli_fail (exec->cli, &err) : EXIT_HOLDS;
    bool unread = exec->output.unread && exec->output.lines && !exec->ends.cancelled;
    if (status == EXIT_HOLDS && !unread) { /* else whoever read it has seen enough, and the rest was stopped */
        say_ends (exec, !exec->cli->plain && !exec->job->ended);
        status = exec_report_exit_status (&exec->ends);
    }
    exec_hosts_close (exec->hosts);
    exec_output_close (&exec->output);
    mem_free ((void *) exec->ends.hosts);
    return status;
}

int exec_job_run (struct cli *cli, const struct cli_arguments *arguments, const struct exec_job *job)
{
    static struct execution exec;
    exec.cli = cli;
    exec.job = job;
    int status = exec_take_arguments (&exec, arguments);
    if (status == EXIT_HOLDS)
        status = exec_choice_load (cli, &exec.choice, job->plan);
    if (status == EXIT_HOLDS && (status = cli_ask_password (cli, arguments, &exec.choice.plan)) == EXIT_HOLDS)
        status = open_loop (&exec);
    if (status == EXIT_HOLDS)
        status = run_on_hosts (&exec);
    if (exec.loop)
        loop_close (exec.loop);
    arena_release (&exec.choice.arena);
    return status;
}

static int exec_run (struct cli *cli, const struct cli_arguments *arguments)
{
    const struct exec_job job = { .words = arguments->operands, .words_n = (int) arguments->operands_n };
    return exec_job_run (cli, arguments, &job);
}

static const struct cli_option options[] = {
    EXEC_HOST_OPTIONS,
    EXEC_PACE_OPTIONS,
    { EXEC_LINES, "--lines", .help = "print each line as it comes, as \"host: line\"", .not_with = CLI_JSON },
    { EXEC_RAW, "--raw", .help = "print the unchanged bytes; else control characters are shown as \\x1b and the like" },
    { OPTION_JSON ("print one document: docs/spec/exec.schema.json") },
    { 0 },
};

const struct cli_command exec_command = {
    .name = "exec",
    .usage = "(-w HOSTS | --slice FILE) [OPTIONS] -- COMMAND [ARG...]",
    .task = TASK_RUN,
    .summary = "run one command on many hosts; equal outputs are shown once",
    .help =
        "Needs no slice file and makes no run. Hosts need no installation: over ssh, sliceup copies its worker to a "
        "host once. The command and all that it starts end with it, with its timeout, with Ctrl-C, and when the "
        "connection is lost; start a service through its manager (systemd-run). Its output is standard output and "
        "error together.\n"
        "\n"
        "COMMAND is executed as it is, without a shell. One word alone that has blanks or characters of a shell "
        "goes to /bin/sh -c on the host. Options of exec come before it. Standard input is empty; SLICEUP_HOST "
        "and SLICEUP_RANK name the host. On a terminal an output is shown once no other host has joined it for a "
        "second; else all at the end. Standard error says, by sets of hosts, what did not end with exit status 0.",
    .examples = "sliceup exec -w 'v6e-[0-3]' -- uname -r\n"
                "sliceup exec -w 'v6e-[0-3]' 'df -h /dev/shm | tail -1'\n"
                "sliceup exec --slice slice.yaml -w @spare --timeout 5s -- ls /dev/accel0\n",
    .exit_status =
        "0 all commands ended with 0; 1 some did not; 2 usage or configuration; 3 a host was not reached, or "
        "the end of its command not heard; 130 cancelled.",
    .operands = (const struct cli_operand[]){ { "COMMAND", 1, 1, .kind = KIND_PROGRAM },
                                              { "ARG", 0, UINT32_MAX, .kind = KIND_TEXT },
                                              { 0 } },
    .options = options,
    .run = exec_run,
};
