
#include "coordinator/view/status.h"
#include "common/io/clock.h"
#include "coordinator/cli/arguments.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/learn.h"

enum { STATUS_MAX_BYTES = 64 << 20 };

static int status_show (const struct cli *cli, const struct board *board, const struct learned *learned, bool json)
{
    struct style style = cli_detect_style (cli);
    struct status status = { .board = board, .pid = learned->pid };
    struct buf out;
    status.now_ms = learned->pid ? board_now_ms (board, clock_wall_ms ()) : board->clock_ms;
    buf_init (&out, STATUS_MAX_BYTES);
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
    struct board *board = board_create (BOARD_JUDGED_STATE);
    struct learned learned;
    struct err err = { 0 };
    int rc = learn_run (cli, arguments, board, board_take_fact, board, &learned, &err);
    board->interrupted = !learned.pid && !board->ended;
    int status = rc < 0 ? cli_fail (cli, &err) : status_show (cli, board, &learned, arguments->values[CLI_JSON]);
    board_destroy (board);
    return status;
}

static const struct cli_option options[] = {
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
    .options = options,
    .run = status_run,
};
