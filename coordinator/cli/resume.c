#include "coordinator/cli/climb.h"
#include "coordinator/cli/commands.h"
#include "coordinator/journal/journal.h"
#include "coordinator/journal/run_begun.h"

/* The newest run that began, did not end, and that no coordinator holds. */
enum { RUNS_SEARCHED_MAX = 50 };
struct search {
    const struct cli *cli;
    struct run_dir found;
    bool has_found;
    uint32_t seen;
};

/* What cannot be read may have been interrupted: whoever wants it names it. Others never began, or are being made. */
static bool was_interrupted (const struct cli *cli, const struct run_dir *dir)
{
    struct err err = { 0 };
    bool ended = false;
    int held = 0;
    if (run_dir_check (dir, &err) == 0 && run_begun_check (dir, &err) == 0 &&
        (held = journal_is_locked (RUN_PATH (dir, "journal.db"), NULL, &err)) == 0 &&
        run_facts_read_end (dir, &ended, &err) == 0)
        return !ended;
    if (held <= 0 && err.code != ERR_USAGE && err.code != ERR_STATE)
        fprintf (cli->log.to, "sliceup resume: run %.8s is passed over, since it cannot be read: %s\n", dir->id,
                 err.text);
    return false;
}

static int resume_look_at (void *owner, const struct run_dir *dir, uint64_t created_ms)
{
    struct search *search = owner;
    (void) created_ms;
    if (search->seen++ == RUNS_SEARCHED_MAX)
        return -1;
    if (!was_interrupted (search->cli, dir))
        return 0;
    search->found = *dir;
    search->has_found = true;
    return -1;
}

static bool has_ended (const struct run_dir *dir)
{
    struct err ignored = { 0 };
    bool ended = false;
    return run_begun_check (dir, &ignored) == 0 && run_facts_read_end (dir, &ended, &ignored) == 0 && ended;
}

/* The last run, but where that one has ended and an earlier one was interrupted. */
static int find_run (struct cli *cli, const char *wanted, struct run_dir *dir, struct err *err)
{
    struct search search = { .cli = cli };
    if (run_dir_find (dir, cli->home, wanted ? wanted : "last", err) < 0)
        return -1;
    if (wanted || !has_ended (dir))
        return 0;
    struct err stopped = { 0 };
    (void) run_dir_each (cli->home, resume_look_at, &search, &stopped);
    if (!search.has_found && search.seen > RUNS_SEARCHED_MAX)
        fprintf (
            cli->log.to,
            "sliceup resume: run %.8s has ended, and none of the last %d runs was interrupted; name an older one\n",
            dir->id, RUNS_SEARCHED_MAX);
    if (!search.has_found && search.seen <= RUNS_SEARCHED_MAX)
        fprintf (cli->log.to,
                 "sliceup resume: run %.8s has ended, and no run was interrupted: its results are those of sliceup "
                 "receipt %.8s\n",
                 dir->id, dir->id);
    if (search.has_found) {
        fprintf (cli->log.to, "sliceup resume: run %.8s has ended; resuming %.8s, the last one that was interrupted\n",
                 dir->id, search.found.id);
        *dir = search.found;
    }
    return 0;
}

enum { RESUME_BESIDE = CLI_OWN };

/* Another run may have been begun on its hosts since. What is wrong with this one is said where it is opened. */
static int check_hosts (const struct cli *cli, const struct run_dir *dir, struct err *err)
{
    LOCAL_ARENA arena = { 0 };
    struct plan plan;
    struct err unread = { 0 };
    LOCAL_LIVE_RUNS runs = { 0 };
    int rc = live_runs_read (cli->home, true, &runs, err);
    if (rc == 0 && runs.n > 0 && !has_ended (dir) && run_facts_read_plan (dir, &arena, &plan, &unread) == 0)
        rc = live_runs_check_hosts (&runs, cli->hint, &plan, dir->id, err);
    return rc;
}

static int resume_run (struct cli *cli, const struct cli_arguments *arguments)
{
    struct run_dir dir;
    struct err err = { 0 };
    if (find_run (cli, arguments->operands[0], &dir, &err) < 0 ||
        (arguments->values[CLI_METRICS] && metrics_file_check (arguments->values[CLI_METRICS], &err) < 0) ||
        climb_check_capacity (1, &err) < 0 || (!arguments->values[RESUME_BESIDE] && check_hosts (cli, &dir, &err) < 0))
        return cli_fail (cli, &err);
    int status = run_begun_check_or_remove (&dir, &err) < 0 ? cli_fail (cli, &err)
                                                            : cli_ask_password (cli, arguments, NULL);
    return status ? status
                  : climb (cli, &dir, NULL, -1, NULL, arguments->values[CLI_JSON], arguments->values[CLI_METRICS]);
}

static const struct cli_option options[] = {
    { RESUME_BESIDE, "--beside",
      .help = "also when another run of this home has one of the hosts now, or was interrupted there" },
    { OPTION_ASK_PASS },
    { OPTION_METRICS },
    { OPTION_JSON_EVENTS },
    { 0 },
};

const struct cli_command resume_command = {
    .name = "resume",
    .task = TASK_RUN,
    .summary = "take over a run whose coordinator is gone; finished work is not repeated",
    .help = "Replays the run's journal, binds the same ports with the same keys and waits for the workers, which keep "
            "trying to connect. Finished attempts are not repeated. Running attempts continue. Workers have kept the "
            "results of attempts that ended meanwhile. It refuses while another coordinator holds the run.\n"
            "\n"
            "A run whose coordinator ended before its first fact was recorded was never begun, and nothing was started "
            "on any host. This command reports that and removes the folder of the run.\n"
            "\n"
            "A journal that lacks acknowledged facts is refused: its mark names the last acknowledged fact, and each "
            "worker that reconnects reports the last fact it received. Then keep the folder, and restore a complete "
            "copy of it if you have one; else start a new run with sliceup run, which takes over a cache lease that "
            "this run held.\n"
            "\n"
            "RUN is an id, the beginning of one, or 'last'. Default: the last run; if that one has ended, the last one "
            "that was interrupted.",
    .examples = "sliceup resume 3fa9\n",
    .exit_status = "that of sliceup run; also 2 no such run, or it was never begun; 3 another coordinator holds the "
                   "run; 5 the journal is damaged.",
    .operands = (const struct cli_operand[]){ { OPERAND_RUN }, { 0 } },
    .options = options,
    .run = resume_run,
};
