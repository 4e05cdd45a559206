#include "common/io/clock.h"
#include "coordinator/cli/arguments.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/learn.h"
#include "coordinator/cli/metrics_file.h"
#include "coordinator/cli/run_receipt.h"
#include "coordinator/picture/feed.h"

enum { METRICS_FILE = CLI_OWN, METRICS_OPEN };

static void metrics_on_fact (void *feed, const struct fact *fact)
{
    feed_apply (feed, fact, clock_boot_ms (), clock_wall_ms ());
}

/* Of a run elsewhere there is no journal to make a receipt of. */
static void metrics_add_drift (const struct learned *learned, struct metrics_beside *beside)
{
    struct arena arena = { 0 };
    struct board *board = NULL;
    struct slice_receipt receipt;
    struct err quiet = { 0 };
    beside->drift_known = !learned->remote && receipt_build (&learned->dir, &board, &arena, &receipt, &quiet) == 0 &&
                          receipt_count_drift (&receipt, &board->plan, &beside->drift);
    arena_release (&arena);
    board_destroy (board);
}

static int metrics_run (struct cli *cli, const struct cli_arguments *arguments)
{
    const char *path = arguments->values[METRICS_FILE];
    struct feed *feed = feed_create (BOARD_JUDGED_STATE);
    struct metrics_beside beside = { .form = arguments->values[METRICS_OPEN] ? METRICS_OPENMETRICS : METRICS_TEXTFILE };
    struct learned learned;
    struct err err = { 0 };
    struct buf out;
    int status = EXIT_HOLDS;
    buf_init (&out, METRICS_MAX_BYTES);
    int rc = path ? metrics_file_check (path, &err) : 0;
    if (rc == 0)
        rc = learn_run (cli, arguments, feed_board (feed), metrics_on_fact, feed, &learned, &err);
    if (rc == 0) {
        metrics_add_drift (&learned, &beside);
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
    buf_release (&out);
    return status;
}

static const struct cli_option options[] = {
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
    .options = options,
    .run = metrics_run,
};
