#include "coordinator/view/explain.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/run_receipt.h"
#include "coordinator/home/run_begun.h"
#include "coordinator/home/run_facts.h"

enum { EXPLAIN_MAX_BYTES = 64 << 20 };

/* The run's own word: what did not hold there does not hold here. */
static int status_of (const struct explanation *explanation)
{
    return !explanation->header || explanation->header->ended_wall_ms == 0 ? EXIT_COULD_NOT
                                                                           : (int) explanation->header->exit_status;
}

static int show (const struct cli *cli, const struct slice_receipt *receipt, const struct board *board, bool json,
                 bool markdown, struct arena *arena)
{
    struct explanation explanation;
    struct buf out;
    explain_make (receipt, board, arena, &explanation);
    buf_init (&out, EXPLAIN_MAX_BYTES);
    if (json)
        explain_json (&explanation, &out);
    else if (markdown)
        explain_markdown (&explanation, &out);
    else
        explain_text (&explanation, &out);
    int status = cli_write_stdout (cli, &out);
    return status != EXIT_HOLDS ? status : status_of (&explanation);
}

static void on_fact (void *owner, const struct fact *fact)
{
    board_apply (owner, fact);
}

static int explain_run (struct cli *cli, int argc, char **argv)
{
    const char *run = NULL;
    bool json = false, markdown = false;
    struct run_dir dir;
    struct arena arena = { 0 };
    struct slice_receipt receipt;
    struct err err = { 0 };
    const struct cli_option_spec choices[] = { { "--json", .set = &json }, { "--markdown", .set = &markdown }, { 0 } };
    int status = cli_read_arguments (cli, &explain_command, argc, argv, choices, &run);
    if (status == EXIT_HOLDS)
        status = cli_check_forms (cli, &explain_command, json, markdown);
    if (status != EXIT_HOLDS)
        return status;
    struct receipt_fold *fold = receipt_fold_create ();
    struct board *board = board_create ();
    if (run_begun_find_checked (&dir, cli->home, run ? run : "last", &err) < 0 ||
        receipt_build (&dir, fold, &arena, &receipt, &err) < 0 || run_facts_each (&dir, on_fact, board, &err) < 0)
        status = cli_fail (cli, &err);
    else
        status = show (cli, &receipt, board, json, markdown, &arena);
    board_destroy (board);
    receipt_fold_destroy (fold);
    arena_release (&arena);
    return status;
}

const struct cli_command explain_command = {
    .name = "explain",
    .usage = "explain [RUN] [--json | --markdown]",
    .summary = "show the cause of a failure, and five diagnostic answers from the evidence of the run",
    .help = "Names the hosts that failed first, the owner of the failure, the output line that shows the cause, and "
            "the next\n"
            "step. Hosts that were aborted because of them are listed as cascade. Then it answers five questions, in "
            "the order in\n"
            "which one debugs: which frontend was used; is the device held by another process; which launch policy was "
            "set before\n"
            "the imports; which backend ran; where did the program end. Hosts with the same answer are folded. An "
            "answer without\n"
            "evidence is 'not known', never 'clear'. Last, it shows how the hosts differ.\n"
            "\n"
            "  --json       print JSON, as docs/spec/explain.md describes\n"
            "  --markdown   the same to paste into an issue\n"
            "\n"
            "RUN is an id, the beginning of one, or 'last' (the default). For differences between the hosts: sliceup "
            "drift RUN.\n"
            "\n"
            "Examples:\n"
            "  sliceup explain\n"
            "  sliceup explain 3fa9 --json | jq '.causes[0]'\n"
            "\n"
            "Exit status: that of the run; 3 if it has not ended; 2 usage; 5 the journal is damaged.\n",
    .run = explain_run,
};
