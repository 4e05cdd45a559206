#include <inttypes.h>
#include <signal.h>

#include "common/io/clock.h"
#include "common/io/fd.h"
#include "coordinator/cli/climb.h"
#include "coordinator/cli/commands.h"
#include "coordinator/journal/journal.h"
#include "coordinator/journal/run_begun.h"
#include "coordinator/monitor/follow.h"

/* What a coordinator may take beside the stop limits of its programs and the silence of a host that is gone. */
enum { ENDING_MS = 15 * 1000, LOOK_MS = 100, PROGRESS_MS = 5000, LINE_MAX_BYTES = 64 << 10 };
enum { POLITELY = 1, AT_ONCE = 2 };

struct cancel {
    struct cli *cli;
    const struct cli_arguments *arguments;
    struct run_dir dir;
    struct board *board;
    struct follow *follow;
    int64_t pid;
    int pidfd;
    int level;
    bool no_wait;
    bool interrupted; /* nobody holds it */
};

/* ---- which run ---- */

static int name_one (const struct live_runs *runs, const char *hint, struct err *err)
{
    LOCAL_BUF list = { .max = LINE_MAX_BYTES };
    for (uint32_t i = 0; i < runs->n; i++) {
        buf_puts (&list, i ? "; " : "");
        live_run_print (&runs->items[i], &list);
    }
    err_set (err, ERR_USAGE, "%u runs have hosts; name one with sliceup%s cancel RUN: %s", runs->n, hint,
             buf_c (&list));
    return -1;
}

static int find_only (struct cancel *cancel, struct err *err)
{
    LOCAL_LIVE_RUNS runs = { 0 };
    int rc = live_runs_read (cancel->cli->home, false, &runs, err);
    if (rc == 0 && runs.n == 0) { /* else one that was interrupted */
        live_runs_release (&runs);
        rc = live_runs_read (cancel->cli->home, true, &runs, err);
    }
    if (rc == 0 && runs.n > 1)
        rc = name_one (&runs, cancel->cli->hint, err);
    else if (rc == 0 && runs.n == 0)
        rc = err_set (err, ERR_USAGE, "no run of %s has hosts now (sliceup%s runs lists them)", cancel->cli->home,
                      cancel->cli->hint);
    else if (rc == 0)
        cancel->dir = runs.items[0].dir;
    return rc;
}

/* ---- asking ---- */

/* The number says which Ctrl-C this stands for, so that asking twice is no second one. Two signals: one that waits to be
 * taken is not replaced by another of its kind. */
static int cancel_ask (const struct cancel *cancel, struct err *err)
{
    if (coordinator_signal (cancel->pidfd, cancel->level == POLITELY ? SIGTERM : SIGINT, cancel->level, err) == 0)
        return 0;
    return err_prefix (err, "run %.8s, pid %" PRId64, cancel->dir.id, cancel->pid);
}

static int find_holder (struct cancel *cancel, struct err *err)
{
    int held = follow_look (cancel->follow, NULL, NULL, err);
    if (held < 0)
        return -1;
    if (cancel->board->ended)
        return 0;
    cancel->interrupted = !held;
    if (!held)
        return err_set (err, ERR_STATE, "no coordinator holds run %.8s: sliceup%s cancel %.8s ends its workers",
                        cancel->dir.id, cancel->cli->hint, cancel->dir.id);
    cancel->pidfd = journal_open_holder (RUN_PATH (&cancel->dir, "journal.db"), &cancel->pid, err);
    return cancel->pidfd < 0 ? err_prefix (err, "run %.8s", cancel->dir.id) : 0;
}

/* ---- waiting ---- */

static uint64_t longest_ms (const struct cancel *cancel)
{
    const struct limits *limits = &cancel->board->plan.limits;
    return ENDING_MS + limits->lost_ms + (cancel->level == POLITELY ? 2 * limits->stop_ms : 0);
}

static int not_ended (const struct cancel *cancel, const char *why, struct err *err)
{
    return err_set (
        err, ERR_STATE, "run %.8s %s (its coordinator is pid %" PRId64 "; is it stopped?); %s sliceup%s %s %.8s%s",
        cancel->dir.id, why, cancel->pid,
        cancel->level == POLITELY ? "to kill its programs:" : "to see what it waits for:", cancel->cli->hint,
        cancel->level == POLITELY ? "cancel" : "status", cancel->dir.id, cancel->level == POLITELY ? " --now" : "");
}

static int wait_for_end (struct cancel *cancel, struct err *err)
{
    char why[64 + DURATION_TEXT_BYTES];
    uint64_t began_ms = clock_boot_ms (), told_ms = 0, most_ms = longest_ms (cancel);
    int held = 1;
    while (held > 0 && !cancel->board->ended) {
        uint64_t now_ms = clock_boot_ms ();
        if (now_ms - began_ms >= most_ms) {
            snprintf (why, sizeof why, "has not ended within %s", DURATION_TEXT (most_ms));
            return not_ended (cancel, why, err);
        }
        if (now_ms - told_ms >= PROGRESS_MS) {
            log_print (&cancel->cli->log, "run %.8s is ending: its coordinator stops its workers", cancel->dir.id);
            told_ms = now_ms;
        }
        follow_wait (cancel->follow, LOOK_MS);
        held = follow_look (cancel->follow, NULL, NULL, err);
    }
    if (held < 0 || cancel->board->ended)
        return held < 0 ? -1 : 0;
    if (!cancel->board->opened)
        return err_set (err, ERR_STATE, "run %.8s ended before it was begun, and nothing was started on a host",
                        cancel->dir.id);
    return err_set (err, ERR_STATE,
                    "the coordinator of run %.8s ended without recording the end of the run; take it over with "
                    "sliceup%s resume %.8s",
                    cancel->dir.id, cancel->cli->hint, cancel->dir.id);
}

static int cancel_say (const struct cancel *cancel, const char *words, struct text sentence, const char *behind)
{
    struct buf out = { .max = LINE_MAX_BYTES };
    buf_printf (&out, "run %.8s %s", cancel->dir.id, words);
    buf_escaped (&out, sentence, 0);
    buf_printf (&out, "%s\n", behind);
    return cli_write_stdout (cancel->cli, &out);
}

/* `asked`: the workers were told now, and one on a host that was lost may not have heard of it. */
static int cancel_say_end (const struct cancel *cancel, const char *words, bool asked)
{
    const struct board *board = cancel->board;
    uint32_t *lost = mem_array (board->plan.hosts.n, sizeof *lost), n = 0;
    for (uint32_t i = 0; asked && i < board->plan.hosts.n; i++)
        if (board->hosts[i].life == BOARD_LOST && board->hosts[i].joins)
            lost[n++] = i;
    LOCAL_BUF behind = { .max = LINE_MAX_BYTES };
    buf_printf (&behind, " (exit status %u)%s", board->exit_status, n ? "; without an answer of " : "");
    board_print_hosts (board, lost, n, &behind);
    int status = cancel_say (cancel, words, board->sentence, buf_c (&behind));
    mem_free (lost);
    return status;
}

int cancel_ask_politely (struct cli *cli, const struct run_dir *dir, struct err *err)
{
    struct cancel cancel = { .cli = cli, .dir = *dir, .pidfd = -1, .level = POLITELY };
    cancel.board = board_create (BOARD_JUDGED_STATE);
    cancel.follow = follow_open (dir, board_take_fact, cancel.board);
    int rc = find_holder (&cancel, err);
    if (rc == 0 && cancel.board->ended)
        rc = err_set (err, ERR_STATE, "run %.8s had ended already", dir->id);
    else if (rc == 0)
        rc = cancel_ask (&cancel, err);
    follow_close (cancel.follow);
    board_destroy (cancel.board);
    fd_close (cancel.pidfd);
    return rc;
}

/* ---- a run that nobody holds ---- */

/* Its workers are told as resume would reach them, each within the silence after which it is lost. */
static int take_over (struct cancel *cancel)
{
    struct err err = { 0 };
    uint64_t lost_ms = cancel->board->plan.limits.lost_ms;
    char span[DURATION_TEXT_BYTES];
    int status = cli_ask_password (cancel->cli, cancel->arguments, &cancel->board->plan);
    if (status != EXIT_HOLDS)
        return status;
    log_print (&cancel->cli->log,
               "run %.8s was interrupted: its workers are told to end as they come back; one that has not within %s "
               "is left to itself",
               cancel->dir.id, duration_print (lost_ms > COORD_COME_BACK_MS ? lost_ms : COORD_COME_BACK_MS, span));
    status = climb_cancel (cancel->cli, &cancel->dir, (uint32_t) cancel->level);
    if (follow_read_journal (cancel->follow, &err) < 0 || !cancel->board->ended)
        return err.code ? cli_fail (cancel->cli, &err) : status;
    return cancel_say_end (cancel, "has ended: ", true);
}

static int cancel_carry_out (struct cancel *cancel)
{
    struct err err = { 0 };
    if (find_holder (cancel, &err) < 0)
        return cancel->interrupted ? take_over (cancel) : cli_fail (cancel->cli, &err);
    if (cancel->board->ended)
        return cancel_say_end (cancel, "had ended already: ", false);
    if (cancel_ask (cancel, &err) < 0)
        return cli_fail (cancel->cli, &err);
    if (cancel->no_wait)
        return cancel_say (cancel,
                           cancel->level == POLITELY ? "was asked to end" : "was told to kill its programs and end",
                           (struct text){ 0 }, "");
    if (wait_for_end (cancel, &err) < 0)
        return cli_fail (cancel->cli, &err);
    return cancel_say_end (cancel, "has ended: ", false);
}

enum { CANCEL_NOW = CLI_OWN, CANCEL_NO_WAIT };

static int cancel_run (struct cli *cli, const struct cli_arguments *arguments)
{
    const char *run = arguments->operands[0];
    struct cancel cancel = { .cli = cli,
                             .arguments = arguments,
                             .pidfd = -1,
                             .level = arguments->values[CANCEL_NOW] ? AT_ONCE : POLITELY,
                             .no_wait = arguments->values[CANCEL_NO_WAIT] };
    struct err err = { 0 };
    if ((run ? run_begun_find_checked (&cancel.dir, cli->home, run, &err) : find_only (&cancel, &err)) < 0)
        return cli_fail (cli, &err);
    cancel.board = board_create (BOARD_JUDGED_STATE);
    cancel.follow = follow_open (&cancel.dir, board_take_fact, cancel.board);
    int status = cancel_carry_out (&cancel);
    follow_close (cancel.follow);
    board_destroy (cancel.board);
    fd_close (cancel.pidfd);
    return status;
}

static const struct cli_option options[] = {
    { CANCEL_NOW, "--now", .help = "kill the programs of the running rung, as a second Ctrl-C does" },
    { CANCEL_NO_WAIT, "--no-wait", .help = "do not wait for the end of the run, unless it was interrupted" },
    { OPTION_ASK_PASS },
    { 0 },
};

const struct cli_command cancel_command = {
    .name = "cancel",
    .task = TASK_RUN,
    .summary = "end a run from another terminal, as Ctrl-C in its own would, or an interrupted one",
    .help =
        "Asks the coordinator that holds the run to end the running rung, and waits until the run has ended: at most "
        "twice the limit stop of the slice file, the time after which a silent host is lost, and 15 s. The run then "
        "has the outcome cancelled, a receipt, and exit status 130. A coordinator is only asked on its own machine, "
        "by its own user. A key of sliceup monitor-key does not allow it.\n"
        "\n"
        "Of a run that was interrupted, because its coordinator was killed, it ends the workers: it takes the run over "
        "as sliceup resume does, tells each worker that comes back to end, and records the end. A worker that does not "
        "come back is named, and ends by itself within the limit exit of the slice file. Links that ssh carried are "
        "carried again for that: where hosts ask for a password, give --ask-pass.\n"
        "\n"
        "RUN is an id, the beginning of one, or 'last'. Default: the only run that is running.",
    .examples = "sliceup cancel\n"
                "sliceup cancel 3fa9 --now\n",
    .exit_status = "0 the run has ended (or was asked to, with --no-wait), 2 no such run, it was never begun, or "
                   "several are running and none was named, 3 it did not end in time, or cannot be taken over, 5 its "
                   "journal is damaged.",
    .operands = (const struct cli_operand[]){ { OPERAND_RUN }, { 0 } },
    .options = options,
    .run = cancel_run,
};
