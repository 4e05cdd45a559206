#include "coordinator/cli/climb.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/planning.h"
#include "coordinator/home/run_begun.h"

static void write_signatures (const struct cli *cli, struct plan *plan, struct arena *arena)
{
    struct err err = { 0 };
    if (signature_table_write (plan, arena, &err) < 0)
        log_print (&cli->log,
                   "workers get no signatures, so known errors are recognised only at the end of an output: %s",
                   err.text);
}

int run_new (struct cli *cli, struct plan *plan, struct arena *arena, bool again, bool json)
{
    struct run_dir dir;
    struct err err = { 0 };
    char heading[256 + RUN_PATH_BYTES];
    int making_fd = -1;
    if (planning_check_cache_owners (plan, &err) < 0)
        return cli_fail (cli, &err);
    launch_measures_annotate_plan (cli, again, arena, plan);
    if (climb_check_capacity (plan->hosts.n, &err) < 0 ||
        (making_fd = run_begun_create_run (&dir, cli->home, &err)) < 0)
        return cli_fail (cli, &err);
    write_signatures (cli, plan, arena);
    snprintf (heading, sizeof heading,
              "run %.8s of slice %.*s: %u host%s, %u rung%s (from another terminal: sliceup%s watch %.8s)", dir.id,
              TEXT_ARG (plan->slice), plan->hosts.n, plan->hosts.n == 1 ? "" : "s", plan->rungs.n,
              plan->rungs.n == 1 ? "" : "s", cli->hint, dir.id);
    return climb (cli, &dir, plan, making_fd, json ? NULL : heading, json);
}

static int run_run (struct cli *cli, int argc, char **argv)
{
    struct arena arena = { 0 };
    struct plan plan = { 0 };
    bool again = cli_take_switch (&argc, argv, "--again"), json = cli_take_switch (&argc, argv, "--json");
    int status = planning_load (cli, &run_command, argc, argv, &arena, &plan);
    if (status == EXIT_HOLDS)
        status = run_new (cli, &plan, &arena, again, json);
    arena_release (&arena);
    return status;
}

const struct cli_command run_command = {
    .name = "run",
    .usage = "run SLICE.yaml [--profile NAME|FILE] [--ladder NAME|FILE] [--pins NAME|FILE] [--hosts EXPR]\n"
             "            [--exclude EXPR] [--wheels DIR] [--leave-out RUNG]... [--again] [--json]",
    .summary = "run the ladder on every host of the slice, and write a receipt",
    .help =
        "Checks the configuration, starts a worker on each host, runs the rungs in order on all hosts in lockstep, "
        "and\n"
        "stops at the first rung that a host does not pass. In a terminal a live grid shows the state of every host;\n"
        "elsewhere, or with --plain, each event is one line. Every fact is journaled: if this process dies, the "
        "workers\n"
        "continue, and sliceup resume takes them over.\n"
        "\n"
        "The first Ctrl-C asks the running rung to end, the second kills it, the third leaves without waiting. A "
        "closed\n"
        "terminal, or output that is not read, does not end the run. After the end of the run, Ctrl-C stops waiting "
        "for\n"
        "unread output.\n"
        "\n"
        "  --profile, --ladder, --pins   use this one, not the one that the slice file names\n"
        "  --hosts EXPR, --exclude EXPR  only these hosts of it; all but these (v6e[0-3,7]; @name: a group of the "
        "file)\n"
        "  --wheels DIR                  a folder with a wheel for every pin: no package index is used\n"
        "  --leave-out RUNG              climb without this rung; the receipt names it\n"
        "  --again                       also run launches that are known bad (sliceup calibration)\n"
        "  --json                        print each event as a line of JSON: docs/spec/events.md\n"
        "\n"
        "Examples:\n"
        "  sliceup run configs/slices/local-jax.yaml\n"
        "  sliceup run slice.yaml --profile cpu-jax-debug --plain\n"
        "\n"
        "Exit status: 0 every rung passed, 1 a rung did not pass, 2 configuration, 3 could not run (a host did not\n"
        "join, a precondition is missing, other users could change the cache, the journal could not be written),\n"
        "4 the cache broke the rules of its single writer, 130 cancelled.\n",
    .run = run_run,
};
