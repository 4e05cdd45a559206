#include "coordinator/cli/logs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "common/base/digest.h"
#include "common/io/atomic_file.h"
#include "common/io/fd.h"
#include "coordinator/cli/commands.h"
#include "coordinator/journal/run_begun.h"
#include "coordinator/monitor/follow.h"

/* Somebody who asked for nothing in particular gets the ends of outputs, and is told how to get the rest. */
enum { LOG_MAX_BYTES = 256 << 20, LINES_OF_FAILED = 200, LINES_OF_ANY = 20 };

enum { LOGS_RUNG = CLI_OWN, LOGS_PASS, LOGS_ATTEMPT, LOGS_FOLLOW, LOGS_RAW, LOGS_WORKER };

struct logs {
    struct cli *cli;
    const char *run;
    struct log_filter filter;
    bool follow, raw, worker;
    struct run_dir dir;
    struct board *board;
    bool everything;
    uint32_t shown, cut; /* outputs printed, and those of them that were cut */
    struct log_source first_cut;
    struct arena arena;
    struct log_told told;
    bool held, lost; /* a coordinator holds the run; some of an output is lost */
};

struct output {
    struct log_source source;
    struct digest digest;
    struct text said; /* of what is cut or lost */
    bool known, shown, lost;
};

static void logs_on_fact (void *owner, const struct fact *fact)
{
    struct logs *logs = owner;
    board_apply (logs->board, fact);
    log_told_take (&logs->told, fact);
}

/* ---- arguments ---- */

/* A worker has one log, whatever rungs it ran. */
static int check_worker (const struct logs *logs)
{
    const struct log_filter *filter = &logs->filter;
    struct err err = { 0 };
    if (!logs->worker || !(filter->rung || filter->pass || filter->attempt || logs->follow))
        return EXIT_HOLDS;
    err_set (&err, ERR_USAGE,
             "--worker shows the whole log of each host's worker: it cannot be combined with --rung, --pass, --attempt "
             "or --follow; use --hosts");
    return cli_fail (logs->cli, &err);
}

/* ---- showing ---- */

static void logs_path_of (const struct logs *logs, const struct log_source *source, char path[RUN_PATH_BYTES])
{
    char name[HOST_NAME_MAX_BYTES + 24];
    if (!logs->worker) {
        run_dir_log_path (&logs->dir, &logs->board->plan, source->host, &source->key, path);
        return;
    }
    snprintf (name, sizeof (name), "hosts/%.*s/worker.log", TEXT_ARG (board_host_name (logs->board, source->host)));
    run_dir_path (&logs->dir, name, path);
}

/* A host that printed nothing has no file. */
static int logs_read_output (const struct logs *logs, const struct log_source *source, struct buf *bytes, bool *there,
                             struct err *err)
{
    char path[RUN_PATH_BYTES];
    logs_path_of (logs, source, path);
    buf_clear (bytes);
    *there = access (path, F_OK) == 0 || errno != ENOENT;
    return *there ? file_read (path, bytes, err) : 0;
}

static void learn_output (struct logs *logs, struct text bytes, struct output *output)
{
    struct buf said = { .max = LOG_MAX_BYTES };
    output->digest = digest_of (bytes.ptr, bytes.len);
    if (!logs->worker)
        output->lost = log_told_put (&logs->told, &output->source, bytes.len, log_output_hole_bytes (bytes), logs->held,
                                     &said);
    output->said = buf_finish (&said, &logs->arena);
    logs->lost |= output->lost;
}

static int learn_outputs (struct logs *logs, const struct log_sources *sources, struct output *outputs, struct err *err)
{
    LOCAL_BUF bytes = { .max = LOG_MAX_BYTES };
    int rc = 0;
    for (uint32_t i = 0; i < sources->n && rc == 0; i++) {
        bool there = false;
        outputs[i].source = sources->items[i];
        rc = logs_read_output (logs, &sources->items[i], &bytes, &there, err);
        outputs[i].known = there && rc == 0;
        learn_output (logs, buf_as_text (&bytes), &outputs[i]);
    }
    return rc;
}

static bool logs_alike (const struct output *a, const struct output *b)
{
    return a->known == b->known && attempt_key_equal (&a->source.key, &b->source.key) &&
           digest_equal (&a->digest, &b->digest) && text_equal (a->said, b->said);
}

static uint32_t logs_gather (struct output *outputs, uint32_t from, uint32_t n, uint32_t *hosts)
{
    uint32_t found = 0;
    for (uint32_t i = from; i < n; i++)
        if (!outputs[i].shown && logs_alike (&outputs[i], &outputs[from])) {
            hosts[found++] = outputs[i].source.host;
            outputs[i].shown = i != from;
        }
    outputs[from].shown = true;
    return found;
}

static uint32_t lines_wanted (const struct logs *logs)
{
    return !log_filter_is_default (&logs->filter) ? UINT32_MAX : logs->everything ? LINES_OF_ANY : LINES_OF_FAILED;
}

static void logs_add_body (struct logs *logs, const struct output *output, const struct buf *bytes, struct buf *out)
{
    uint32_t left_out = 0;
    struct text tail = log_output_last_lines (buf_as_text (bytes), lines_wanted (logs), &left_out);
    if (left_out)
        buf_printf (out, "... %u earlier lines left out\n", left_out);
    if (left_out && logs->cut++ == 0)
        logs->first_cut = output->source;
    log_output_put_body (tail, logs->raw, log_told_lost (&logs->told, &output->source), out);
}

/* One output, with all the hosts that printed just that. */
static int show_output (struct logs *logs, const struct output *output, const uint32_t *hosts, uint32_t n,
                        struct err *err)
{
    bool there = false;
    LOCAL_BUF bytes = { .max = LOG_MAX_BYTES };
    LOCAL_BUF out = { .max = 8 * (size_t) LOG_MAX_BYTES };
    int rc = logs_read_output (logs, &output->source, &bytes, &there, err);
    if (rc == 0) {
        buf_puts (&out, logs->shown++ ? "\n" : "");
        log_output_put_header (logs->board, hosts, n, &output->source.key, &out);
        buf_add_text (&out, output->said);
        logs_add_body (logs, output, &bytes, &out);
        if (cli_write_stdout (logs->cli, &out) != EXIT_HOLDS)
            rc = err_set (err, ERR_IO, "the remaining output was not printed");
    }
    return rc;
}

static void hint (const struct logs *logs)
{
    struct text rung = logs->worker ? TEXT_LIT ("") : board_rung_id (logs->board, logs->first_cut.key.rung);
    if (logs->worker && logs->shown == 0)
        printf ("no worker of the chosen hosts has a log here: with launcher: join the log is on the host\n");
    else if (logs->shown == 0)
        printf ("the chosen attempts have no output; sliceup receipt %.8s shows which attempts were begun\n",
                logs->dir.id);
    else if (logs->cut)
        printf ("\n%u of %u %s were cut; to see the first whole: sliceup logs %.8s --%s%.*s --hosts %.*s\n", logs->cut,
                logs->shown, logs->worker ? "logs" : "outputs", logs->dir.id, logs->worker ? "worker" : "rung ",
                TEXT_ARG (rung), TEXT_ARG (board_host_name (logs->board, logs->first_cut.host)));
}

static int show_all (struct logs *logs, struct err *err)
{
    struct log_sources sources = { 0 };
    if (logs->worker)
        log_filter_list_workers (&logs->filter, logs->board, &sources);
    else
        log_filter_list_sources (&logs->filter, logs->board, &sources, &logs->everything);
    LOCAL_MEM struct output *outputs = mem_array (sources.n, sizeof (*outputs));
    LOCAL_MEM uint32_t *hosts = mem_array (sources.n, sizeof (*hosts));
    int rc = learn_outputs (logs, &sources, outputs, err);
    bool quiet_too = log_filter_is_default (&logs->filter) && !logs->everything && !logs->worker;
    for (uint32_t i = 0; i < sources.n && rc == 0 && !cli_reader_left (); i++) {
        if (outputs[i].shown || (!outputs[i].known && !quiet_too && !outputs[i].lost))
            continue;
        uint32_t n = logs_gather (outputs, i, sources.n, hosts);
        rc = show_output (logs, &outputs[i], hosts, n, err);
    }
    if (rc == 0)
        hint (logs);
    mem_free (sources.items);
    return rc;
}

/* ---- log follow ---- */

enum { LOOK_MS = 250, PIECE_BYTES = 64 << 10, LAST_LOOKS = 12, PRINT_BYTES = 8 << 20 };

struct tail {
    struct log_source source;
    uint64_t offset, hole_bytes; /* what was printed of it, holes among them */
    uint32_t looks;              /* since its pass was over; 0: it is not */
};

struct tails {
    struct logs *logs;
    const struct board *board;
    struct tail *items;
    uint32_t n, capacity;
    struct attempt_key key; /* of the pass whose hosts were added last */
    uint32_t said;          /* 1 + the tail that was printed last; 0: none */
    char *piece;
    int status; /* EXIT_HOLDS, until printing failed */
};

static void logs_print (struct tails *tails, uint32_t at, struct text bytes, bool raw)
{
    struct buf out = { .max = PRINT_BYTES };
    if (tails->said != at + 1)
        log_output_put_header (tails->board, &tails->items[at].source.host, 1, &tails->items[at].source.key, &out);
    tails->said = at + 1;
    log_output_put_body (bytes, raw, log_told_lost (&tails->logs->told, &tails->items[at].source), &out);
    tails->status = cli_write_stdout (tails->logs->cli, &out);
}

/* What `sliceup logs` says of it above its lines; of a silent host, whose lines are none, only a loss. */
static void logs_say (struct tails *tails, uint32_t at, bool held)
{
    const struct tail *tail = &tails->items[at];
    LOCAL_BUF said = { .max = PRINT_BYTES };
    bool lost = log_told_put (&tails->logs->told, &tail->source, tail->offset, tail->hole_bytes, held, &said);
    if (said.len && (lost || tail->offset))
        logs_print (tails, at, buf_as_text (&said), true);
    tails->logs->lost |= lost;
}

/* Whole lines only, unless a line is longer than a piece or nothing more will come. */
static uint32_t whole_lines (const char *piece, uint32_t len, bool last)
{
    const char *end = memrchr (piece, '\n', len);
    return len < PIECE_BYTES && last ? len : end ? (uint32_t) (end + 1 - piece) : len == PIECE_BYTES ? len : 0;
}

static void grow (struct tails *tails, uint32_t at, bool last)
{
    char path[RUN_PATH_BYTES];
    struct tail *tail = &tails->items[at];
    run_dir_log_path (&tails->logs->dir, &tails->board->plan, tail->source.host, &tail->source.key, path);
    LOCAL_FD fd = open (path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat st;
    off_t size_bytes = fd >= 0 && fstat (fd, &st) == 0 ? st.st_size : 0; /* what is added meanwhile: the next look */
    last |= log_told_whole (&tails->logs->told, &tail->source, (uint64_t) size_bytes);
    ssize_t len = 0;
    while ((off_t) tail->offset < size_bytes && tails->status == EXIT_HOLDS &&
           (len = pread (fd, tails->piece, PIECE_BYTES, (off_t) tail->offset)) > 0) {
        uint32_t whole = whole_lines (tails->piece, (uint32_t) len, last);
        if (whole == 0)
            break;
        logs_print (tails, at, (struct text){ tails->piece, whole }, tails->logs->raw);
        tail->hole_bytes += log_output_hole_bytes ((struct text){ tails->piece, whole });
        tail->offset += whole;
    }
    if (len < 0 || (fd < 0 && errno != ENOENT))
        log_detail (&tails->logs->cli->log, "%s cannot be read: %s", path, strerror (errno));
}

/* The coordinator writes logs behind the facts, so an output stays until it is whole, or for LAST_LOOKS. */
static bool is_over (struct tails *tails, uint32_t at)
{
    struct tail *tail = &tails->items[at];
    bool runs = tails->board->running && attempt_key_equal (&tail->source.key, &tails->board->key);
    bool whole = log_told_whole (&tails->logs->told, &tail->source, tail->offset);
    return !runs && tail->looks++ > 0 && (whole || tail->looks > LAST_LOOKS);
}

/* The hosts of a pass that has just begun, and of earlier ones those whose output is still coming. */
static void refresh (struct tails *tails)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < tails->n; i++) {
        if (!is_over (tails, i)) {
            tails->items[kept++] = tails->items[i];
            continue;
        }
        grow (tails, i, true); /* also what has no end of a line */
        logs_say (tails, i, true);
    }
    if (kept != tails->n)
        tails->said = 0;
    tails->n = kept;
    if (!tails->board->running || attempt_key_equal (&tails->board->key, &tails->key))
        return;
    tails->key = tails->board->key;
    for (uint32_t i = 0; i < tails->board->plan.hosts.n; i++) {
        struct log_source source = { i, tails->key };
        if (!tails->board->hosts[i].in_pass || !log_filter_takes (&tails->logs->filter, &source))
            continue;
        tails->items = mem_room (tails->items, tails->n, &tails->capacity, 16, sizeof (*tails->items));
        tails->items[tails->n++] = (struct tail){ .source = source };
    }
}

static void grow_all (struct tails *tails, bool last)
{
    for (uint32_t i = 0; i < tails->n; i++)
        grow (tails, i, last);
}

/* What the coordinator still had is there once it has let go of the run. */
static void grow_last (struct tails *tails, struct follow *follow)
{
    for (uint32_t i = 0; i < LAST_LOOKS && follow_check_coordinator (follow, NULL, NULL) != 0; i++)
        (void) poll (NULL, 0, LOOK_MS);
    grow_all (tails, true);
    for (uint32_t i = 0; i < tails->n && tails->status == EXIT_HOLDS; i++)
        logs_say (tails, i, follow_check_coordinator (follow, NULL, NULL) > 0);
}

static int follow_to_end (struct tails *tails, struct follow *follow, struct err *err)
{
    while (tails->status == EXIT_HOLDS && !cli_reader_left ()) {
        int held = follow_look (follow, NULL, NULL, err);
        if (held < 0)
            return -1;
        refresh (tails);
        if (tails->board->ended || !held)
            return 0;
        grow_all (tails, false);
        (void) poll (NULL, 0, LOOK_MS);
    }
    return 0;
}

/* Prints what the chosen hosts print in the running pass, and in those that follow, as `follow` tells. Returns when the
 * run has ended or no coordinator takes logs any more: the exit status to leave with. */
static int log_follow (struct logs *logs, struct follow *follow)
{
    struct tails tails = { .logs = logs, .board = logs->board, .piece = mem_alloc (PIECE_BYTES) };
    struct err err = { 0 };
    if (follow_to_end (&tails, follow, &err) < 0)
        tails.status = cli_fail (logs->cli, &err);
    else if (!cli_reader_left ())
        grow_last (&tails, follow);
    if (tails.status == EXIT_HOLDS && !logs->board->ended && !cli_reader_left ()) {
        err_set (&err, ERR_STATE,
                 "no coordinator holds run %.8s, so no output arrives; take it over with sliceup resume", logs->dir.id);
        tails.status = cli_fail (logs->cli, &err);
    }
    mem_free (tails.items);
    mem_free (tails.piece);
    return tails.status;
}

/* ---- the command ---- */

static int logs_prepare (struct logs *logs, struct follow *follow, struct err *err)
{
    int held = follow_look (follow, NULL, NULL, err);
    if (held < 0 || follow_check_begun (follow, err) < 0)
        return -1;
    logs->held = held;
    if (!run_dir_names_path_safe (&logs->board->plan))
        return err_set (err, ERR_DAMAGE, "run %.8s: a host or rung of its plan has an invalid name", logs->dir.id);
    return log_filter_resolve (&logs->filter, logs->board, err);
}

static int logs_run (struct cli *cli, const struct cli_arguments *arguments)
{
    const char *const *values = arguments->values;
    struct logs logs = { .cli = cli,
                         .run = arguments->operands[0],
                         .filter = { .hosts = host_filter_of (arguments),
                                     .rung = values[LOGS_RUNG],
                                     .pass = values[LOGS_PASS],
                                     .attempt = cli_number (arguments, LOGS_ATTEMPT, 0) },
                         .follow = values[LOGS_FOLLOW],
                         .raw = values[LOGS_RAW],
                         .worker = values[LOGS_WORKER] };
    struct err err = { 0 };
    int status = check_worker (&logs);
    if (status != EXIT_HOLDS)
        return status;
    if (run_begun_find_checked (&logs.dir, cli->home, logs.run ? logs.run : "last", &err) < 0)
        return cli_fail (cli, &err);
    logs.board = board_create (BOARD_JUDGED_STATE);
    struct follow *follow = follow_open (&logs.dir, logs_on_fact, &logs);
    if (logs_prepare (&logs, follow, &err) < 0)
        status = cli_fail (cli, &err);
    else if (logs.follow && !logs.board->ended)
        status = log_follow (&logs, follow);
    else if (show_all (&logs, &err) < 0)
        status = cli_fail (cli, &err);
    if (status == EXIT_HOLDS && logs.lost)
        status = EXIT_BROKEN;
    follow_close (follow);
    board_destroy (logs.board);
    arena_release (&logs.told.arena);
    arena_release (&logs.arena);
    mem_free (logs.filter.host_chosen);
    return status;
}

static const struct cli_option options[] = {
    { OPTION_HOSTS },
    { OPTION_EXCLUDE },
    { LOGS_RUNG, "--rung", .value = "ID", .help = "only this rung", .kind = KIND_RUNG },
    { LOGS_PASS, "--pass", .value = "P", .help = "only this pass: once, cold or restored", .kind = KIND_WORDS,
      .words = "once cold restored" },
    { LOGS_ATTEMPT, "--attempt", .value = "N", .help = "only this attempt, from 1", .kind = KIND_NUMBER,
      .most = UINT32_MAX - 1 },
    { LOGS_FOLLOW, "--follow", .help = "continue with new output until the run ends" },
    { LOGS_WORKER, "--worker",
      .help = "instead: the logs of the workers, with the output of the shell, srun or loader that started them "
              "(hosts/HOST/worker.log in the run's folder)" },
    { LOGS_RAW, "--raw", .help = "the unchanged bytes" },
    { 0 },
};

const struct cli_command logs_command = {
    .name = "logs",
    .task = TASK_LOOK,
    .summary = "show what the programs printed; equal outputs of several hosts are shown once",
    .help = "By default: the hosts and the rung that failed; during the run, the running rung; else the ends of all "
            "outputs. A line above each output names its source, e.g. \"local[0-2], rung tiny, restored, attempt 1:\". "
            "Control characters are shown as \\x1b and the like.\n\n" HELP_OF_RUN,
    .examples = "sliceup logs\n"
                "sliceup logs 3fa9 --rung tiny --pass cold\n"
                "sliceup logs --follow --hosts v6e-[0-3]\n"
                "sliceup logs --worker --hosts v6e-3\n",
    .exit_status = "0 shown; 1 some of it is lost, as it says; 2 usage, no such run, host or rung, or a run that was "
                   "never begun; 3 --follow without a coordinator that holds the run; 5 the journal is damaged.",
    .operands = (const struct cli_operand[]){ { OPERAND_RUN }, { 0 } },
    .options = options,
    .run = logs_run,
};
