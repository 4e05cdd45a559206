#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/conf/conf.h"
#include "common/io/atomic_file.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/hosts.h"
#include "coordinator/cli/run_receipt.h"
#include "coordinator/journal/run_begun.h"
#include "coordinator/view/drift_view.h"

/* ---- drift side ---- */

/* One side of a comparison: a run's receipt, built from its journal, or a file. */
struct drift_side {
    struct slice_receipt receipt;
    const struct plan *plan; /* NULL: of a file nobody knows it */
    struct board *board;     /* keeps the texts */
    struct text name, slice; /* "run 3f2a91c0", or the path */
};

static bool drift_is_path (const char *word)
{
    size_t len = strlen (word);
    return strchr (word, '/') || (len > 5 && strcmp (word + len - 5, ".json") == 0);
}

static int drift_open_file (struct drift_side *side, const char *path, struct arena *arena, struct err *err)
{
    LOCAL_BUF bytes = { .max = DRIFT_FILE_MAX_BYTES };
    int rc = file_read (path, &bytes, err);
    if (rc < 0 && access (path, F_OK) < 0)
        err_set (err, ERR_USAGE,
                 "%s is neither a run nor a file here; expected one of both, as sliceup drift --save FILE writes it",
                 path);
    /* The receipt borrows from the arena only: its reader copies. */
    if (rc == 0 && drift_baseline_read (buf_as_text (&bytes), &side->receipt, arena, err) < 0)
        rc = err_prefix (err, "%s", path);
    side->name = text_copy (arena, text_of (path));
    return rc;
}

static int open_run (struct drift_side *side, const struct cli *cli, const char *word, struct arena *arena,
                     struct err *err)
{
    struct run_dir dir;
    if (run_begun_find_checked (&dir, cli->home, word, err) < 0)
        return -1;
    if (receipt_build (&dir, &side->board, arena, &side->receipt, err) < 0)
        return -1;
    side->plan = &side->board->plan;
    side->name = text_format (arena, "run %.8s", dir.id);
    return 0;
}

/* `word`: a path (it has a '/' or ends in .json), or a run as everywhere. Destroy its board, also when this failed. */
static int drift_side_open (struct drift_side *side, const struct cli *cli, const char *word, struct arena *arena,
                            struct err *err)
{
    *side = (struct drift_side){ 0 };
    if ((drift_is_path (word) ? drift_open_file (side, word, arena, err) : open_run (side, cli, word, arena, err)) < 0)
        return -1;
    if (side->receipt.headers.n)
        side->slice = side->receipt.headers.items[0].slice;
    if (side->receipt.headers.n > 1)
        return err_set (err, ERR_REFUSED,
                        "%.*s holds %u runs, but hosts are compared within one run: give the receipt of one",
                        TEXT_ARG (side->name), side->receipt.headers.n);
    if (side->receipt.hosts.n == 0)
        return err_set (err, ERR_STATE, "%.*s has no hosts: there is nothing to compare", TEXT_ARG (side->name));
    return 0;
}

/* ---- which hosts ---- */

static struct name_list all_names (const struct slice_receipt *receipt, struct arena *arena)
{
    struct name_list names = { 0 };
    if (receipt->headers.n && receipt->headers.items[0].hosts.n >= receipt->hosts.n)
        return (struct name_list){ receipt->headers.items[0].hosts.items, receipt->headers.items[0].hosts.n, NULL };
    names.items = arena_array (arena, receipt->hosts.n, sizeof (*names.items));
    for (; names.n < receipt->hosts.n; names.n++)
        names.items[names.n] = receipt->hosts.items[names.n].host;
    return names;
}

static void drift_keep (struct slice_receipt *receipt, const struct name_list *kept, struct arena *arena)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < receipt->hosts.n; i++)
        if (name_list_has (kept, receipt->hosts.items[i].host))
            receipt->hosts.items[n++] = receipt->hosts.items[i];
    receipt->hosts.n = n;
    if (receipt->headers.n == 0)
        return;
    struct run_header *header = &receipt->headers.items[0];
    struct text *names = arena_array (arena, header->hosts.n, sizeof (*names));
    n = 0;
    for (uint32_t i = 0; i < header->hosts.n; i++)
        if (name_list_has (kept, header->hosts.items[i]))
            names[n++] = header->hosts.items[i];
    header->hosts.items = names;
    header->hosts.n = n;
}

static int drift_side_keep_chosen_hosts (struct drift_side *side, const struct host_filter *filter, struct arena *arena,
                                         struct err *err)
{
    struct name_list all = all_names (&side->receipt, arena), kept = { 0 };
    bool *chosen = arena_array (arena, all.n, sizeof (*chosen));
    if (host_filter_resolve (filter, &all, side->plan, chosen, err) < 0)
        return -1;
    kept.items = arena_array (arena, all.n, sizeof (*kept.items));
    for (uint32_t i = 0; i < all.n; i++)
        if (chosen[i])
            kept.items[kept.n++] = all.items[i];
    drift_keep (&side->receipt, &kept, arena);
    return 0;
}

/* ---- drift ---- */

enum { DRIFT_AGAINST = CLI_OWN, DRIFT_SAVE, DRIFT_POLICY, DRIFT_RUNG, DRIFT_ALL };

struct request {
    const char *run, *against, *policy, *save, *rung;
    struct host_filter hosts;
    bool json, markdown, all;
};
struct answer {
    struct arena arena;
    struct drift_side now, before;
    struct drift_rules rules;
    struct drift_query query;
    struct drift drift;
    struct drift_subject subject;
};

/* The command's, the run's, or the shipped ones: a file says nothing of how its hosts are to be compared. */
static int choose_rules (const struct cli *cli, const struct request *request, struct answer *answer, struct err *err)
{
    struct conf_report report;
    const struct plan *plan = answer->now.plan;
    if (!request->policy && plan && plan->drift.n) {
        answer->rules = (struct drift_rules){ plan->drift.items, plan->drift.n };
        answer->subject.policy = "of the run";
        return 0;
    }
    answer->subject.policy = request->policy ? request->policy : "default";
    return conf_load_drift (cli->share_dir, answer->subject.policy, &answer->arena, &answer->rules, &report, err);
}

static bool has_rung (const struct slice_receipt *receipt, struct text rung)
{
    for (uint32_t i = 0; i < receipt->hosts.n; i++)
        for (uint32_t k = 0; k < receipt->hosts.items[i].rungs.n; k++)
            if (text_equal (receipt->hosts.items[i].rungs.items[k]->rung, rung))
                return true;
    return false;
}

/* -1: `status` is what to leave with. */
static int open_sides (const struct cli *cli, const struct request *request, struct answer *answer, int *status,
                       struct err *err)
{
    const char *run = request->run ? request->run : "last", *opened = run;
    *status = EXIT_COULD_NOT;
    if (drift_side_open (&answer->now, cli, run, &answer->arena, err) < 0 ||
        ((opened = request->against) && drift_side_open (&answer->before, cli, opened, &answer->arena, err) < 0)) {
        bool no_run = err->code == ERR_USAGE || err->code == ERR_DAMAGE;
        *status = drift_is_path (opened) || !no_run ? EXIT_COULD_NOT
                  : err->code == ERR_USAGE          ? EXIT_USAGE
                                                    : EXIT_DAMAGED;
        return -1;
    }
    if (request->rung && !has_rung (&answer->now.receipt, text_of (request->rung)))
        return err_set (err, ERR_STATE, "--rung %s: no host of %.*s reached a rung of that name", request->rung,
                        TEXT_ARG (answer->now.name));
    *status = EXIT_USAGE;
    if (!host_filter_is_default (&request->hosts)) {
        if (drift_side_keep_chosen_hosts (&answer->now, &request->hosts, &answer->arena, err) < 0)
            return -1;
        if (!request->against && answer->now.receipt.hosts.n == 1)
            return err_set (err, ERR_USAGE,
                            "%.*s alone has nobody to be compared with; without --hosts and --exclude it is compared "
                            "with the other hosts of the run",
                            TEXT_ARG (answer->now.receipt.hosts.items[0].host));
        struct name_list common = all_names (&answer->now.receipt, &answer->arena);
        if (request->against)
            drift_keep (&answer->before.receipt, &common, &answer->arena);
    }
    return 0;
}

static void drift_compare (const struct request *request, struct answer *answer)
{
    receipt_make_drift_query (&answer->now.receipt, answer->now.plan, &answer->arena, &answer->query);
    answer->subject.pins_missing = !request->rung && !request->against && answer->query.pins_missing;
    answer->query.rules = answer->rules.items;
    answer->query.rules_n = answer->rules.n;
    answer->query.rung = text_of (request->rung);
    answer->query.all = request->all || request->json;
    if (request->against)
        drift_compare_receipts (&answer->now.receipt, &answer->before.receipt, &answer->query, &answer->arena,
                                &answer->drift);
    else
        drift_compare_hosts (&answer->now.receipt, &answer->query, &answer->arena, &answer->drift);
}

static int save (const struct request *request, const struct answer *answer, struct err *err)
{
    struct stat st;
    int rc;
    if (stat (request->save, &st) == 0 && !S_ISREG (st.st_mode))
        return err_set (err, ERR_USAGE, "--save %s: it exists and is no regular file; name another one", request->save);
    LOCAL_BUF bytes = { .max = DRIFT_FILE_MAX_BYTES };
    drift_baseline_print (&answer->now.receipt, &bytes);
    if (bytes.overflow)
        rc = err_set (err, ERR_LIMIT, "--save %s: the baseline would be larger than %d MiB", request->save,
                      DRIFT_FILE_MAX_BYTES >> 20);
    else
        rc = atomic_file_write (request->save, bytes.ptr, bytes.len, 0644, err);
    return rc;
}

static int drift_show (const struct cli *cli, const struct request *request, const struct answer *answer)
{
    struct style style = cli_detect_style (cli);
    struct buf out = { .max = DRIFT_FILE_MAX_BYTES };
    if (request->json)
        drift_json (&answer->drift, &answer->subject, &out);
    else
        drift_print (&answer->drift, &answer->subject, request->all, request->markdown ? NULL : &style, &out);
    if (!request->json && !request->markdown && request->save) {
        buf_escaped_after (&out, "baseline written: ", text_of (request->save), 0);
        buf_escaped_after (&out, " (later: sliceup drift --against ", text_of (request->save), 0);
        buf_puts (&out, ")\n");
    }
    int status = cli_write_stdout (cli, &out);
    if (status != EXIT_HOLDS)
        return status;
    return answer->drift.findings || answer->drift.left_out ? EXIT_BROKEN
           : drift_is_incomplete (&answer->drift)           ? EXIT_COULD_NOT
                                                            : EXIT_HOLDS;
}

static int drift_run (struct cli *cli, const struct cli_arguments *arguments)
{
    const char *const *values = arguments->values;
    const struct request request = { arguments->operands[0], values[DRIFT_AGAINST], values[DRIFT_POLICY],
                                     values[DRIFT_SAVE],     values[DRIFT_RUNG],    host_filter_of (arguments),
                                     values[CLI_JSON],       values[CLI_MARKDOWN],  values[DRIFT_ALL] };
    struct answer answer = { 0 };
    struct err err = { 0 };
    int status;
    if (open_sides (cli, &request, &answer, &status, &err) < 0)
        cli_fail (cli, &err);
    else if (choose_rules (cli, &request, &answer, &err) < 0 || (request.save && save (&request, &answer, &err) < 0))
        status = cli_fail (cli, &err);
    else {
        answer.subject.name = answer.now.name;
        answer.subject.slice = answer.now.slice;
        answer.subject.against = request.against;
        drift_compare (&request, &answer);
        status = drift_show (cli, &request, &answer);
    }
    board_destroy (answer.now.board);
    board_destroy (answer.before.board);
    arena_release (&answer.arena);
    return status;
}

static const struct cli_option options[] = {
    { DRIFT_AGAINST, "--against", .value = "RUN|FILE",
      .help = "show what changed since that run, baseline or receipt, host by host", .kind = KIND_RUN },
    { DRIFT_SAVE, "--save", .value = "FILE", .help = "write a baseline of this run for later --against",
      .kind = KIND_FILE },
    { DRIFT_POLICY, "--policy", .value = "NAME|FILE",
      .help = "how facts are compared: a file of configs/drift, by name or path (default: the run's)",
      .kind = KIND_DRIFT },
    { DRIFT_RUNG, "--rung", .value = "RUNG", .help = "only durations, memory and programs of that rung",
      .kind = KIND_RUNG },
    { OPTION_HOSTS },
    { OPTION_EXCLUDE },
    { DRIFT_ALL, "--all", .help = "show everything with reasons, and also expected differences" },
    { OPTION_JSON ("print JSON, as docs/spec/drift.md describes") },
    { OPTION_MARKDOWN ("a table to paste into a ticket") },
    { 0 },
};

const struct cli_command drift_command = {
    .name = "drift",
    .task = TASK_COMPARE,
    .summary = "show how hosts differ: from one another, from an earlier run, or from a baseline",
    .help = "Compares facts, versions, observed flags, backend, programs, durations and memory of a run's hosts. The "
            "largest group of hosts that agree is the reference. Hosts that differ are listed, the worst first: "
            "differences that break the mesh come before those that slow it. Numbers are compared by median and MAD, "
            "from 4 hosts on. Hosts without a report are never counted as equal.\n\n" HELP_OF_RUN
            " FILE has a '/' or ends in .json.",
    .examples = "sliceup drift\n"
                "sliceup drift --save good.json\n"
                "sliceup drift last --against good.json\n"
                "sliceup drift 3fa9 --rung dense --json | jq -r .sentence\n",
    .exit_status =
        "0 no drift; 1 drift; 2 usage, no such run, or a policy with mistakes; 3 no result: a file that is not a "
        "receipt or is damaged, no such rung, or no difference but some hosts could not be compared; 5 the journal is "
        "damaged.",
    .operands = (const struct cli_operand[]){ { "RUN|FILE", 0, 1, .kind = KIND_RUN }, { 0 } },
    .options = options,
    .run = drift_run,
};
