#include "coordinator/cli/learn.h"

#include "common/io/clock.h"
#include "coordinator/journal/run_begun.h"
#include "coordinator/journal/run_facts.h"

/* Workers beat once a second: after this every one that can has said where it stands. */
enum { RECEIVE_MS = 1500, RECEIVE_STEP_MS = 50, ANSWER_MS = 15000 };

struct query {
    const struct board *board;
    follow_fact_fn *fn;
    void *owner;
    bool received[HOSTS_MAX];
    uint32_t received_n;
    bool output; /* what hosts printed last was told */
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

static bool is_awaited (const struct query *query)
{
    return !query->board->ended &&
           (query->received_n < query->board->joined_n || (query->board->running && !query->output));
}

/* Without events the phases are not known, and everything else is: not worth failing for. */
static int learn_receive (const struct cli *cli, struct query *query, struct follow *follow, struct err *err)
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

static int learn_here (const struct cli *cli, struct query *query, struct learned *out, struct err *err)
{
    struct follow *follow = follow_open (&out->dir, learn_on_fact, query);
    int held = follow_check_coordinator (follow, &out->pid, err);
    int rc = held < 0 ? -1 : follow_read_journal (follow, err);
    out->held = held > 0;
    if (!held)
        out->pid = 0;
    if (rc == 0 && held && !query->board->ended)
        rc = learn_receive (cli, query, follow, err);
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
        rc = learn_receive (cli, query, follow, err);
    out->held = rc == 0 && follow_check_coordinator (follow, &out->pid, err) > 0;
    if (!out->held)
        out->pid = 0;
    follow_close (follow);
    return rc;
}

int learn_run (const struct cli *cli, const struct cli_arguments *arguments, const struct board *board,
               follow_fact_fn *fn, void *owner, struct learned *out, struct err *err)
{
    const char *run = arguments->operands[0], *file = arguments->values[CLI_KEY];
    struct monitor_key key;
    *out = (struct learned){ .remote = file != NULL };
    if (file && run)
        return err_set (err, ERR_USAGE, "%s: give either RUN or --key FILE, which contains its run",
                        cli_arguments_command (arguments)->name);
    int rc = file ? monitor_key_load (&key, file, err)
                  : run_begun_find_checked (&out->dir, cli->home, run ? run : "last", err);
    if (rc < 0)
        return -1;
    struct query *query = mem_alloc (sizeof (*query));
    query->board = board;
    query->fn = fn;
    query->owner = owner;
    rc = file ? learn_remote (cli, &key, query, out, err) : learn_here (cli, query, out, err);
    mem_free (query);
    return rc;
}
