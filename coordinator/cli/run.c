#include "coordinator/cli/climb.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/live_runs.h"
#include "coordinator/cli/metrics_file.h"
#include "coordinator/cli/options.h"
#include "coordinator/cli/planning.h"
#include "coordinator/cli/web_program.h"
#include "coordinator/home/run_begun.h"

enum { RUN_AGAIN = CLI_OWN, RUN_BESIDE, RUN_WEB };

static void write_signatures (const struct cli *cli, struct plan *plan, struct arena *arena)
{
    struct err err = { 0 };
    if (signature_table_write (plan, arena, &err) < 0)
        log_print (&cli->log,
                   "workers get no signatures, so known errors are recognised only at the end of an output: %s",
                   err.text);
}

/* Without the page the run is as good. */
static void start_page (const struct cli *cli, const struct run_dir *dir, char *url, size_t url_bytes)
{
    struct err err = { 0 };
    url[0] = '\0';
    if (web_program_start (cli, dir, url, url_bytes, &err) == 0)
        return;
    log_print (&cli->log, "no page (--web): %s; try sliceup%s serve %.8s", err.text, cli->hint, dir->id);
    url[0] = '\0';
}

int run_new (struct cli *cli, struct plan *plan, struct arena *arena, const struct run_choices *choices)
{
    struct run_dir dir;
    struct err err = { 0 };
    char heading[512 + RUN_PATH_BYTES], url[128] = "";
    int making_fd = -1;
    if (planning_check_cache_owners (plan, &err) < 0 ||
        (choices->metrics && metrics_file_check (choices->metrics, &err) < 0))
        return cli_fail (cli, &err);
    launch_measures_annotate_plan (cli, choices->again, arena, plan);
    if (climb_check_capacity (plan->hosts.n, &err) < 0 ||
        (making_fd = run_begun_create_run (&dir, cli->home, &err)) < 0)
        return cli_fail (cli, &err);
    write_signatures (cli, plan, arena);
    if (choices->web)
        start_page (cli, &dir, url, sizeof url);
    if (url[0] && choices->json)
        log_print (&cli->log, "in a browser: %s", url);
    snprintf (heading, sizeof heading,
              "run %.8s of slice %.*s: %u host%s, %u rung%s (from another terminal: sliceup%s watch %.8s)%s%s", dir.id,
              TEXT_ARG (plan->slice), plan->hosts.n, plan->hosts.n == 1 ? "" : "s", plan->rungs.n,
              plan->rungs.n == 1 ? "" : "s", cli->hint, dir.id, url[0] ? "\nin a browser: " : "", url);
    return climb (cli, &dir, plan, making_fd, choices->json ? NULL : heading, choices->json, choices->metrics);
}

/* One process of a home at a time: two that begin at once would not see each other. */
static int check_hosts (struct cli *cli, const struct plan *plan, struct err *err)
{
    struct live_runs runs;
    if ((cli->turn_fd = run_begun_take_turn (cli->home, err)) < 0)
        return -1;
    int rc = live_runs_read (cli->home, true, &runs, err);
    if (rc == 0)
        rc = live_runs_check_hosts (&runs, cli->hint, plan, NULL, err);
    live_runs_release (&runs);
    return rc;
}

static int run_run (struct cli *cli, const struct cli_arguments *arguments)
{
    struct arena arena = { 0 };
    struct plan plan = { 0 };
    struct err err = { 0 };
    int status = planning_load (cli, arguments, &arena, &plan);
    if (status == EXIT_HOLDS && !arguments->values[RUN_BESIDE] && check_hosts (cli, &plan, &err) < 0)
        status = cli_fail (cli, &err);
    if (status == EXIT_HOLDS)
        status = run_new (cli, &plan, &arena,
                          &(struct run_choices){ .again = arguments->values[RUN_AGAIN],
                                                 .json = arguments->values[CLI_JSON],
                                                 .web = arguments->values[RUN_WEB],
                                                 .metrics = arguments->values[CLI_METRICS] });
    arena_release (&arena);
    return status;
}

static const struct cli_option options[] = {
    OPTIONS_OF_PLAN,
    { OPTION_WHEELS },
    { OPTION_LEAVE_OUT },
    OPTIONS_OF_CLIMB,
    { RUN_AGAIN, "--again", .help = "also run launches that are known bad (sliceup calibration)" },
    { RUN_BESIDE, "--beside",
      .help = "also when another run of this home has one of the hosts now, or was interrupted there" },
    { OPTION_METRICS },
    { RUN_WEB, "--web", .help = "show it in a browser as well, as sliceup serve does, until the run has ended" },
    { OPTION_JSON_EVENTS },
    { 0 },
};

const struct cli_command run_command = {
    .name = "run",
    .task = TASK_RUN,
    .summary = "run the ladder on every host of the slice, and write a receipt",
    .help = "Checks the configuration, starts a worker on each host, and runs the rungs in order on all hosts in "
            "lockstep. The first rung that a host does not pass ends the run, unless --min-hosts or --keep-going says "
            "otherwise. A terminal shows every host and rung, with the keys of sliceup watch (? lists them; q goes on "
            "with lines); elsewhere, or with --plain, each event is one line. Every fact is journaled: if this process "
            "dies, "
            "the workers continue, and sliceup resume takes them over.\n"
            "\n"
            "The first Ctrl-C asks the running rung to end, the second kills it, the third leaves without waiting. A "
            "closed terminal, or output that is not read, does not end the run. After the end of the run, Ctrl-C stops "
            "waiting for unread output.",
    .examples = "sliceup run configs/slices/local-jax.yaml\n"
                "sliceup run slice.yaml --profile cpu-jax-debug --plain\n",
    .exit_status = "0 every rung passed, 1 a rung did not pass, 2 configuration, 3 could not run (a host did not join, "
                   "a precondition is missing, other users could change the cache, the journal could not be written), "
                   "4 the cache broke the rules of its single writer, 130 cancelled.",
    .operands = (const struct cli_operand[]){ { OPERAND_SLICE }, { 0 } },
    .options = options,
    .run = run_run,
};
