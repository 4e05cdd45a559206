#include "common/io/atomic_file.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/hosts.h"
#include "coordinator/cli/run_receipt.h"
#include "coordinator/journal/run_begun.h"
#include "coordinator/story/frontier.h"
#include "coordinator/view/receipt_text.h"

enum { RECEIPT_MAX_BYTES = 512 << 20 };

enum { RECEIPT_MERGE = CLI_OWN };

/* Files stand behind --merge, and no RUN before it. */
static int check_operands (const struct cli_arguments *arguments, struct err *err)
{
    uint32_t before = 0;
    for (uint32_t i = 0; i < arguments->given_n; i++) {
        const struct cli_option *option = arguments->given[i].option;
        if (option && option->id == RECEIPT_MERGE)
            break;
        before += !option;
    }
    if (arguments->values[RECEIPT_MERGE] ? arguments->operands_n > 0 && before == 0 : arguments->operands_n <= 1)
        return 0;
    return err_set (err, ERR_USAGE,
                    "expected one RUN, or --merge with receipt files behind it; see sliceup receipt --help");
}

static int read_receipt (const char *path, struct slice_receipt *out, struct arena *arena, struct err *err)
{
    LOCAL_BUF json = { .max = RECEIPT_MAX_BYTES };
    int rc = file_read (path, &json, err);
    if (rc == 0 && receipt_from_json (buf_as_text (&json), out, arena, err) < 0)
        rc = err_prefix (err, "%s", path);
    return rc;
}

/* What could not be read back is not handed on. */
static int check_size (const struct slice_receipt *receipt, struct err *err)
{
    LOCAL_BUF why = { .max = ERR_TEXT_BYTES };
    return record_check (&slice_receipt_record, receipt, &why)
               ? 0
               : err_set (err, ERR_LIMIT, "the merged receipt would be too large (%s): merge fewer files at a time",
                          buf_c (&why));
}

static int merge_files (const char *const *paths, struct arena *arena, struct slice_receipt *out, struct err *err)
{
    *out = (struct slice_receipt){ 0 };
    for (size_t i = 0; paths[i]; i++) {
        struct slice_receipt one;
        if (read_receipt (paths[i], &one, arena, err) < 0)
            return -1;
        merge_receipts (out, &one, arena, out);
    }
    return check_size (out, err);
}

static int keep_hosts (struct slice_receipt *receipt, const struct host_filter *filter, const struct plan *plan,
                       struct arena *arena, struct err *err)
{
    struct name_list all = { arena_array (arena, receipt->hosts.n, sizeof (*all.items)), receipt->hosts.n, NULL };
    bool *chosen = arena_array (arena, all.n, sizeof (*chosen));
    for (uint32_t i = 0; i < all.n; i++)
        all.items[i] = receipt->hosts.items[i].host;
    if (host_filter_resolve (filter, &all, plan, chosen, err) < 0)
        return -1;
    receipt->hosts.n = 0;
    for (uint32_t i = 0; i < all.n; i++)
        if (chosen[i])
            receipt->hosts.items[receipt->hosts.n++] = receipt->hosts.items[i];
    return 0;
}

/* That of the run; of several merged ones the first that is not 0; a run that has not ended proves nothing yet. */
static int receipt_status_of (const struct slice_receipt *receipt)
{
    for (uint32_t i = 0; i < receipt->headers.n; i++) {
        const struct run_header *header = &receipt->headers.items[i];
        if (header->ended_wall_ms == 0)
            return EXIT_COULD_NOT;
        if (header->exit_status)
            return (int) header->exit_status;
    }
    return receipt->headers.n ? EXIT_HOLDS : EXIT_COULD_NOT;
}

static int receipt_show (const struct cli *cli, const struct cli_arguments *arguments,
                         const struct slice_receipt *receipt, const struct plan *plan, struct arena *arena)
{
    struct drift_query query;
    receipt_make_drift_query (receipt, plan, arena, &query);
    struct buf out = { .max = RECEIPT_MAX_BYTES, .drain = cli_drain_stdout };
    if (arguments->values[CLI_JSON])
        receipt_json (receipt, &query, &out);
    else if (arguments->values[CLI_MARKDOWN])
        receipt_markdown (receipt, &query, &out);
    else
        receipt_text (receipt, &query, &out);
    int status = cli_write_stdout (cli, &out);
    return status != EXIT_HOLDS ? status : receipt_status_of (receipt);
}

static int build (struct cli *cli, const struct cli_arguments *arguments, struct board **board, struct arena *arena,
                  struct slice_receipt *receipt, struct err *err)
{
    struct run_dir dir;
    const char *run = arguments->operands[0];
    if (check_operands (arguments, err) < 0)
        return -1;
    if (arguments->values[RECEIPT_MERGE]) {
        *board = board_create (BOARD_EVIDENCE); /* empty: there is no one plan */
        return merge_files (arguments->operands, arena, receipt, err);
    }
    if (run_begun_find_checked (&dir, cli->home, run ? run : "last", err) < 0)
        return -1;
    return receipt_build (&dir, board, arena, receipt, err);
}

static int receipt_run (struct cli *cli, const struct cli_arguments *arguments)
{
    const struct host_filter hosts = host_filter_of (arguments);
    struct slice_receipt receipt = { 0 };
    LOCAL_ARENA arena = { 0 };
    struct err err = { 0 };
    LOCAL_BOARD *board = NULL;
    if (build (cli, arguments, &board, &arena, &receipt, &err) < 0 ||
        (!host_filter_is_default (&hosts) && keep_hosts (&receipt, &hosts, &board->plan, &arena, &err) < 0))
        return cli_fail (cli, &err);
    return receipt_show (cli, arguments, &receipt, &board->plan, &arena);
}

static const struct cli_option options[] = {
    { OPTION_JSON ("the whole receipt as JSON") },
    { OPTION_MARKDOWN ("a table of the rungs and the causes, to paste into an issue") },
    { OPTION_HOSTS },
    { OPTION_EXCLUDE },
    { RECEIPT_MERGE, "--merge",
      .help = "merge the receipt files behind it (of one run or several) into one, in any order; nothing is "
              "overwritten, and contradictions are listed as conflicts" },
    { 0 },
};

const struct cli_command receipt_command = {
    .name = "receipt",
    .task = TASK_LOOK,
    .usage = "[RUN] [OPTIONS] | [OPTIONS] --merge FILE...",
    .summary = "show the results of a run: as text or Markdown for a ticket, or as JSON",
    .help = "The receipt is built from the run's journal, so it works for finished, running and interrupted runs. The "
            "JSON follows docs/spec/receipt.schema.json; a finished run also writes it as receipt.json in its folder, "
            "and that of each host by itself as receipts/HOST.json, which merge to that of the run.\n\n" HELP_OF_RUN,
    .examples = "sliceup receipt\n"
                "sliceup receipt 3fa9 --json | jq .frontier\n"
                "sliceup receipt --json --merge a.json b.json\n",
    .exit_status =
        "that of the run; 3 if it has not ended; 2 usage or a file that is not a receipt; 5 the journal is damaged.",
    .operands = (const struct cli_operand[]){ { OPERAND_RUN }, { "FILE", 0, UINT32_MAX, .kind = KIND_FILE }, { 0 } },
    .options = options,
    .run = receipt_run,
};
