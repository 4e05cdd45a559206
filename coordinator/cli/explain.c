#include "coordinator/cli/commands.h"
#include "coordinator/cli/run_receipt.h"
#include "coordinator/journal/run_begun.h"
#include "coordinator/view/receipt_text.h"

enum { EXPLAIN_MAX_BYTES = 64 << 20 };

/* The run's own word: what did not hold there does not hold here. */
static int explain_status_of (const struct explanation *explanation)
{
    return !explanation->header || explanation->header->ended_wall_ms == 0 ? EXIT_COULD_NOT
                                                                           : (int) explanation->header->exit_status;
}

static int explain_show (const struct cli *cli, const struct slice_receipt *receipt, const struct board *board,
                         const struct cli_arguments *arguments, struct arena *arena)
{
    struct explanation explanation;
    struct drift_query query;
    receipt_make_drift_query (receipt, &board->plan, arena, &query);
    explain_make (receipt, board, &query, arena, &explanation);
    struct buf out = { .max = EXPLAIN_MAX_BYTES };
    if (arguments->values[CLI_JSON])
        explain_json (&explanation, &out);
    else
        explain_print (&explanation, arguments->values[CLI_MARKDOWN], &out);
    int status = cli_write_stdout (cli, &out);
    return status != EXIT_HOLDS ? status : explain_status_of (&explanation);
}

static int explain_run (struct cli *cli, const struct cli_arguments *arguments)
{
    const char *run = arguments->operands[0];
    struct run_dir dir;
    LOCAL_ARENA arena = { 0 };
    struct slice_receipt receipt;
    struct err err = { 0 };
    LOCAL_BOARD *board = NULL;
    if (run_begun_find_checked (&dir, cli->home, run ? run : "last", &err) < 0 ||
        receipt_build (&dir, &board, &arena, &receipt, &err) < 0)
        return cli_fail (cli, &err);
    return explain_show (cli, &receipt, board, arguments, &arena);
}

static const struct cli_option options[] = {
    { OPTION_JSON ("print JSON, as docs/spec/explain.md describes") },
    { OPTION_MARKDOWN ("the same to paste into an issue") },
    { 0 },
};

const struct cli_command explain_command = {
    .name = "explain",
    .task = TASK_LOOK,
    .summary = "show the cause of a failure, and five diagnostic answers from the evidence of the run",
    .help = "Names the hosts that failed first, the owner of the failure, the output line that shows the cause, and "
            "the next step. Hosts that were aborted because of them are listed as cascade. Then it answers five "
            "questions, in the order in which one debugs: which frontend was used; is the device held by another "
            "process; which launch policy was set before the imports; which backend ran; where did the program end. "
            "Hosts with the same answer are folded. An answer without evidence is 'not known', never 'clear'. Last, it "
            "shows how the hosts differ.\n\n" HELP_OF_RUN " For differences between the hosts: sliceup drift RUN.",
    .examples = "sliceup explain\n"
                "sliceup explain 3fa9 --json | jq '.causes[0]'\n",
    .exit_status = "that of the run; 3 if it has not ended; 2 usage; 5 the journal is damaged.",
    .operands = (const struct cli_operand[]){ { OPERAND_RUN }, { 0 } },
    .options = options,
    .run = explain_run,
};
