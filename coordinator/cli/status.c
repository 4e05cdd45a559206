
#include "coordinator/view/status.h"
#include "common/io/clock.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/options.h"
#include "coordinator/follow/follow.h"
#include "coordinator/home/run_begun.h"

/* Workers beat once a second: after this every one that can has said where it stands. */
enum { RECEIVE_MS = 1500, RECEIVE_STEP_MS = 50, ANSWER_MS = 15000, STATUS_MAX_BYTES = 64 << 20 };

struct query {
    struct board *board;
    bool received[HOSTS_MAX];
    uint32_t received_n;
    bool output; /* what hosts printed last was told */
    bool former; /* an older sliceup made the run */
};

static void on_fact (void *owner, const struct fact *fact)
{
    struct query *query = owner;
    board_apply (query->board, fact);
    query->output |= fact->kind == FACT_OUTPUT_AWAITED;
    if (fact->kind != FACT_HOST_REPORTED || fact->of.host_reported.host >= HOSTS_MAX ||
        query->received[fact->of.host_reported.host])
        return;
    query->received[fact->of.host_reported.host] = true;
    query->received_n++;
}

static bool is_awaited (const struct query *query)
{
    return !query->board->ended &&
           (query->received_n < query->board->joined_n || (query->board->running && !query->output));
}

/* Without events the phases are not known, and everything else is: not worth failing for. */
static int receive (const struct cli *cli, struct query *query, struct follow *follow, struct err *err)
{
    struct err quiet = { 0 };
    uint64_t until_ms = clock_boot_ms () + RECEIVE_MS;
    if (follow_connect_events (follow, &quiet) < 0) {
        log_detail (&cli->log, "the phases of the hosts are not known: %s", quiet.text);
        return 0;
    }
    while (is_awaited (query) && clock_boot_ms () < until_ms) {
        if (follow_poll_events (follow, err) < 0)
            return -1;
        follow_wait (follow, RECEIVE_STEP_MS);
    }
    return follow_read_journal (follow, err);
}

static int learn (const struct cli *cli, const struct run_dir *dir, struct query *query, int64_t *pid, struct err *err)
{
    struct follow *follow = follow_open (dir, on_fact, query);
    int held = follow_check_coordinator (follow, pid, err), rc = held < 0 ? -1 : follow_read_journal (follow, err);
    if (!held)
        *pid = 0;
    if (rc == 0 && held && !query->board->ended)
        rc = receive (cli, query, follow, err);
    if (rc == 0)
        rc = follow_check_begun (follow, err);
    query->former = follow_is_former (follow);
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
    return 0;
}

static int learn_remote (const struct cli *cli, const struct monitor_key *key, struct query *query, int64_t *pid,
                         struct err *err)
{
    struct follow *follow = follow_open_remote (key, on_fact, query, err);
    int rc = follow ? wait_for_facts (follow, key, err) : -1;
    if (rc == 0 && !query->board->ended)
        rc = receive (cli, query, follow, err);
    if (rc == 0 && follow_check_coordinator (follow, pid, err) == 0)
        *pid = 0;
    follow_close (follow);
    return rc;
}

static int show (const struct cli *cli, const struct query *query, int64_t pid, bool json)
{
    struct style style = cli_detect_style (cli);
    struct status status = { .board = query->board, .pid = pid, .former = query->former };
    struct buf out;
    status.now_ms = pid ? board_now_ms (query->board, clock_wall_ms ()) : query->board->clock_ms;
    buf_init (&out, STATUS_MAX_BYTES);
    if (json)
        status_json (&status, &out);
    else
        status_text (&status, &style, &out);
    int written = cli_write_stdout (cli, &out);
    if (written != EXIT_HOLDS)
        return written;
    return query->board->ended ? (int) query->board->exit_status : pid ? EXIT_HOLDS : EXIT_COULD_NOT;
}

static int status_run (struct cli *cli, const struct cli_arguments *arguments)
{
    const char *run = arguments->operands[0], *file = arguments->values[CLI_KEY];
    struct run_dir dir;
    struct monitor_key key;
    struct err err = { 0 };
    if (file && run)
        err_set (&err, ERR_USAGE, "status: give either RUN or --key FILE, which contains its run");
    else if (file)
        monitor_key_load (&key, file, &err);
    else
        run_begun_find_checked (&dir, cli->home, run ? run : "last", &err);
    if (err.code)
        return cli_fail (cli, &err);
    struct query *query = mem_alloc (sizeof (*query));
    int64_t pid = 0;
    query->board = board_create ();
    int rc = file ? learn_remote (cli, &key, query, &pid, &err) : learn (cli, &dir, query, &pid, &err);
    int status = rc < 0 ? cli_fail (cli, &err) : show (cli, query, pid, arguments->values[CLI_JSON]);
    board_destroy (query->board);
    mem_free (query);
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
