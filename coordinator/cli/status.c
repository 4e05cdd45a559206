/* status.c - `sliceup status`, `sliceup stacks` and `sliceup metrics`, which look at a run once: all that its journal has, and of a running
 * one where its hosts stand now, for which they listen for a second. */
#include "coordinator/view/status.h"
#include "common/io/clock.h"
#include "coordinator/cli/climb.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/run_receipt.h"
#include "coordinator/journal/run_begun.h"
#include "coordinator/monitor/follow.h"

struct learned {
    int64_t pid; /* of the coordinator that holds it; 0: nobody does, or it is on another machine */
    bool held;   /* a coordinator holds it now, or answers */
    struct run_dir dir;
    bool remote; /* of --key: there is no `dir` */
};

/* Workers beat once a second: after this every one that can has said where it stands. */
enum { RECEIVE_MS = 1500, RECEIVE_STEP_MS = 50, ANSWER_MS = 15000, STACKS_MS = 4000, STACKS_OLD_MS = 2000 };

struct query {
    const struct board *board;
    follow_fact_fn *fn;
    void *owner;
    bool received[HOSTS_MAX];
    uint32_t received_n;
    bool output;       /* what hosts printed last was told */
    bool stacks;       /* ask where the programs stand, and wait for it */
    uint64_t asked_ms; /* run clock */
};

static void learn_on_fact (void *owner, const struct fact *fact)
{
    struct query *query = owner;
    query->fn (query->owner, fact);
    query->output |= fact->kind == FACT_OUTPUT_AWAITED;
    if (fact->kind != FACT_HOST_REPORTED || fact->of.host_reported.host >= HOSTS_MAX ||
        query->received[fact->of.host_reported.host])
        return;
    query->received[fact->of.host_reported.host] = true;
    query->received_n++;
}

static bool stand_is_awaited (const struct query *query)
{
    const struct board *board = query->board;
    for (uint32_t i = 0; i < board->plan.hosts.n && board->running; i++) {
        const struct board_host *host = &board->hosts[i];
        if (host->in_pass && !host->ended && host->life == BOARD_JOINED &&
            (!query->received[i] ||
             (host->state == ATTEMPT_RUNNING && host->stand_ms + STACKS_OLD_MS < query->asked_ms)))
            return true;
    }
    return false;
}

static bool is_awaited (const struct query *query)
{
    if (query->stacks)
        return stand_is_awaited (query);
    return !query->board->ended &&
           (query->received_n < query->board->joined_n || (query->board->running && !query->output));
}

/* Without events the phases are not known, and everything else is: not worth failing for. */
static int learn_receive (const struct cli *cli, struct query *query, const struct run_dir *dir, struct follow *follow,
                          struct err *err)
{
    struct err quiet = { 0 };
    uint64_t until_ms = clock_boot_ms () + (query->stacks ? STACKS_MS : RECEIVE_MS);
    if (follow_connect_events (follow, &quiet) < 0) {
        log_detail (&cli->log, "the phases of the hosts are not known: %s", quiet.text);
        return 0;
    }
    query->asked_ms = board_now_ms (query->board, clock_wall_ms ());
    if (query->stacks && coordinator_ask_stands (dir, err) < 0)
        return -1;
    while (is_awaited (query) && clock_boot_ms () < until_ms) {
        if (follow_poll_events (follow, err) < 0)
            return -1;
        follow_wait (follow, RECEIVE_STEP_MS);
    }
    return follow_read_journal (follow, err);
}

static int learn_here (const struct cli *cli, struct query *query, struct learned *out, struct err *err)
{
    struct follow *follow = follow_open (&out->dir, learn_on_fact, query);
    int held = follow_look (follow, &out->pid, NULL, err), rc = held < 0 ? -1 : 0;
    out->held = held > 0;
    if (!held)
        out->pid = 0;
    if (rc == 0 && held && !query->board->ended)
        rc = learn_receive (cli, query, &out->dir, follow, err);
    if (rc == 0)
        rc = follow_check_begun (follow, err);
    follow_close (follow);
    return rc;
}

static int wait_for_facts (struct follow *follow, const struct monitor_key *key, struct err *err)
{
    uint64_t until_ms = clock_boot_ms () + ANSWER_MS;
    while (!follow_caught_up (follow)) {
        if (follow_read_journal (follow, err) < 0)
            return -1;
        if (clock_boot_ms () >= until_ms)
            return err_set (err, ERR_STATE,
                            "%s, port %u, did not answer within %d s: the run has ended, its coordinator is gone, or "
                            "the network blocks it",
                            key->address, (unsigned) key->port, ANSWER_MS / 1000);
        follow_wait (follow, RECEIVE_STEP_MS);
    }
    run_facts_warn (key->run);
    return 0;
}

static int learn_remote (const struct cli *cli, const struct monitor_key *key, struct query *query, struct learned *out,
                         struct err *err)
{
    struct follow *follow = follow_open_remote (key, learn_on_fact, query, err);
    int rc = follow ? wait_for_facts (follow, key, err) : -1;
    if (rc == 0 && !query->board->ended)
        rc = learn_receive (cli, query, NULL, follow, err);
    out->held = rc == 0 && follow_check_coordinator (follow, &out->pid, err) > 0;
    if (!out->held)
        out->pid = 0;
    follow_close (follow);
    return rc;
}

/* Of the operand RUN, or --key: each fact is given to `fn`, which makes `board` of it. */
static int learn_run (const struct cli *cli, const struct cli_arguments *arguments, const struct board *board,
                      follow_fact_fn *fn, void *owner, bool stacks, struct learned *out, struct err *err)
{
    const char *run = arguments->operands[0], *file = stacks ? NULL : arguments->values[CLI_KEY];
    struct monitor_key key;
    *out = (struct learned){ .remote = file != NULL };
    if (file && run)
        return err_set (err, ERR_USAGE, "%s: give either RUN or --key FILE, which contains its run",
                        cli_arguments_command (arguments)->name);
    int rc = file ? monitor_key_load (&key, file, err)
                  : run_begun_find_checked (&out->dir, cli->home, run ? run : "last", err);
    if (rc < 0)
        return -1;
    LOCAL_MEM struct query *query = mem_alloc (sizeof (*query));
    query->board = board;
    query->fn = fn;
    query->owner = owner;
    query->stacks = stacks;
    return file ? learn_remote (cli, &key, query, out, err) : learn_here (cli, query, out, err);
}

/* ---- status ---- */

enum { STATUS_MAX_BYTES = 64 << 20 };

static int status_show (const struct cli *cli, const struct board *board, const struct learned *learned, bool json)
{
    struct style style = cli_detect_style (cli);
    struct status status = { .board = board, .pid = learned->pid };
    status.now_ms = learned->pid ? board_now_ms (board, clock_wall_ms ()) : board->clock_ms;
    struct buf out = { .max = STATUS_MAX_BYTES };
    if (json)
        status_json (&status, &out);
    else
        status_text (&status, &style, &out);
    int written = cli_write_stdout (cli, &out);
    if (written != EXIT_HOLDS)
        return written;
    return board->ended ? (int) board->exit_status : learned->pid ? EXIT_HOLDS : EXIT_COULD_NOT;
}

static int status_run (struct cli *cli, const struct cli_arguments *arguments)
{
    LOCAL_BOARD *board = board_create (BOARD_JUDGED_STATE);
    struct learned learned;
    struct err err = { 0 };
    int rc = learn_run (cli, arguments, board, board_take_fact, board, false, &learned, &err);
    board->interrupted = !learned.pid && !board->ended;
    return rc < 0 ? cli_fail (cli, &err) : status_show (cli, board, &learned, arguments->values[CLI_JSON]);
}

static const struct cli_option status_options[] = {
    { OPTION_JSON ("for scripts: schema sliceup.status/2; members may be added, but do not change their meaning") },
    { OPTION_KEY },
    { 0 },
};

const struct cli_command status_command = {
    .name = "status",
    .task = TASK_LOOK,
    .summary = "show the state of every host and rung of a run, and what it waits for",
    .help = "Works for running, finished and interrupted runs. With a running one it also listens for a second, to "
            "learn the phase of every host.\n\n" HELP_OF_RUN,
    .examples = "sliceup status\n"
                "sliceup status 3fa9 --json | jq -r '.waiting[]'\n"
                "sliceup status --json | jq '.rungs[] | {rung, outcome}'\n",
    .exit_status = "that of the run if it has ended; 0 it is running; 3 no coordinator holds it (sliceup resume takes "
                   "it over); 2 no such run, or it was never begun; 5 its journal is damaged.",
    .operands = (const struct cli_operand[]){ { OPERAND_RUN }, { 0 } },
    .options = status_options,
    .run = status_run,
};

/* ---- stacks ---- */

static void stacks_print (const struct board *board, const struct learned *learned, const char *hint, bool json,
                          struct buf *out)
{
    if (json)
        stacks_json (board, board_now_ms (board, clock_wall_ms ()), UINT32_MAX, out);
    else if (stacks_text (board, out) == 0)
        buf_printf (out, "no program of run %.8s runs now, or all wait at a gate: sliceup%s status %.8s\n",
                    learned->dir.id, hint, learned->dir.id);
}

static int stacks_run (struct cli *cli, const struct cli_arguments *arguments)
{
    LOCAL_BOARD *board = board_create (BOARD_JUDGED_STATE);
    struct learned learned;
    struct err err = { 0 };
    LOCAL_BUF out = { .max = STATUS_MAX_BYTES };
    int rc = learn_run (cli, arguments, board, board_take_fact, board, true, &learned, &err);
    if (rc == 0 && (board->ended || !learned.held))
        rc = err_set (&err, ERR_STATE,
                      "run %.8s %s, so no program of it can be asked: sliceup%s explain %.8s shows where "
                      "programs stood that were stopped",
                      learned.dir.id, board->ended ? "has ended" : "is held by no coordinator", cli->hint,
                      learned.dir.id);
    else if (rc == 0)
        stacks_print (board, &learned, cli->hint, arguments->values[CLI_JSON], &out);
    return rc < 0 ? cli_fail (cli, &err) : cli_write_stdout (cli, &out);
}

static const struct cli_option stacks_options[] = {
    { OPTION_JSON ("for scripts: schema sliceup.stacks/1, with the program's own frames first") },
    { 0 },
};

const struct cli_command stacks_command = {
    .name = "stacks",
    .task = TASK_LOOK,
    .summary = "show where the programs of a running rung stand now, equal ones once, and who holds up the others",
    .help = "Asks every worker to look at its program, which goes on: what its threads wait in, and the stacks of its "
            "Python threads, if it uses sliceup_canary or sliceup_program. The coordinator asks by itself as well, "
            "once a slice-wide rung has been silent for 8 s; whoever lags then stands in every view.\n\n" HELP_OF_RUN,
    .examples = "sliceup stacks\n"
                "sliceup stacks 3fa9\n"
                "sliceup stacks --json | jq -r '.groups[] | [.hosts, .where, .frames[0]] | @tsv'\n",
    .exit_status = "0 what is known was printed; 2 no such run, or it was never begun; 3 the run has ended, or no "
                   "coordinator holds it; 5 its journal is damaged.",
    .operands = (const struct cli_operand[]){ { OPERAND_RUN }, { 0 } },
    .options = stacks_options,
    .run = stacks_run,
};

/* ---- metrics ---- */

enum { METRICS_FILE = CLI_OWN, METRICS_OPEN };

static void metrics_on_fact (void *feed, const struct fact *fact)
{
    feed_apply (feed, fact, clock_boot_ms (), clock_wall_ms ());
}

/* What is known of a run elsewhere came from its coordinator, and the pins of its head node are not here. */
static void metrics_add_drift (const struct board *board, struct metrics_beside *beside)
{
    LOCAL_ARENA arena = { 0 };
    struct slice_receipt receipt;
    board_make_receipt (board, &arena, &receipt);
    beside->drift_known = receipt_count_drift (&receipt, &board->plan, &beside->drift);
}

static int metrics_run (struct cli *cli, const struct cli_arguments *arguments)
{
    const char *path = arguments->values[METRICS_FILE];
    struct feed *feed = feed_create (BOARD_JUDGED_EVIDENCE);
    struct metrics_beside beside = { .form = arguments->values[METRICS_OPEN] ? METRICS_OPENMETRICS : METRICS_TEXTFILE };
    struct learned learned;
    struct err err = { 0 };
    int status = EXIT_HOLDS;
    LOCAL_BUF out = { .max = METRICS_MAX_BYTES };
    int rc = path ? metrics_file_check (path, &err) : 0;
    if (rc == 0)
        rc = learn_run (cli, arguments, feed_board (feed), metrics_on_fact, feed, false, &learned, &err);
    if (rc == 0) {
        if (!learned.remote)
            metrics_add_drift (feed_board (feed), &beside);
        beside.interrupted = !learned.held;
        beside.boot_ms = clock_boot_ms ();
        beside.wall_ms = clock_wall_ms ();
        metrics_print_run (feed, &beside, &out);
        rc = path ? metrics_file_write (path, &out, &err) : 0;
    }
    feed_destroy (feed);
    if (rc < 0)
        status = cli_fail (cli, &err);
    else if (!path)
        return cli_write_stdout (cli, &out);
    return status;
}

static const struct cli_option metrics_options[] = {
    { METRICS_FILE, "--output", .also = "-o", .value = "FILE.prom",
      .help = "write a file for the textfile collector of node_exporter, by rename", .kind = KIND_FILE },
    { METRICS_OPEN, "--openmetrics", .help = "print OpenMetrics, as sliceup serve answers at /metrics",
      .not_with = METRICS_FILE },
    { OPTION_KEY },
    { 0 },
};

const struct cli_command metrics_command = {
    .name = "metrics",
    .task = TASK_LOOK,
    .summary = "show a run as series for Prometheus, or write them for node_exporter",
    .help = "Prints how many hosts stand where, which fail, how long phases took, what became of the cache: at most "
            "400 series, of a run of any size. Works for running, finished and interrupted runs; with a running one "
            "it also listens for a second. docs/spec/metrics.md lists the series.\n"
            "\n"
            "While a run runs, sliceup run --metrics FILE keeps such a file up to date by itself, and sliceup serve "
            "answers at /metrics.\n\n" HELP_OF_RUN,
    .examples = "sliceup metrics | promtool check metrics\n"
                "sliceup metrics -o /var/lib/prometheus/node-exporter/sliceup.prom\n",
    .exit_status = "0 the series were printed or written, however the run stands; 2 no such run, or it was never "
                   "begun; 3 no answer, or the file could not be written; 5 the journal is damaged.",
    .operands = (const struct cli_operand[]){ { OPERAND_RUN }, { 0 } },
    .options = metrics_options,
    .run = metrics_run,
};
