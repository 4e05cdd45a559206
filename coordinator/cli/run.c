#include <string.h>

#include "coordinator/cli/climb.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/known_launches.h"
#include "coordinator/cli/planning.h"
#include "coordinator/cli/signature_file.h"
#include "coordinator/home/run_begun.h"

/* --again is this command's own: the others belong to the plan. */
static bool take_again (int *argc, char **argv)
{
    int kept = 0;
    for (int i = 0; i < *argc; i++)
        if (strcmp (argv[i], "--again") != 0)
            argv[kept++] = argv[i];
    bool taken = kept < *argc;
    *argc = kept;
    return taken;
}

static int run_run (struct cli *cli, int argc, char **argv)
{
    struct arena arena = { 0 };
    struct plan plan = { 0 };
    struct run_dir dir;
    struct err err = { 0 };
    char heading[256];
    int making_fd = -1;
    bool again = take_again (&argc, argv);
    int status = planning_load (cli, &run_command, argc, argv, &arena, &plan);
    if (status == EXIT_HOLDS && planning_check_cache (&plan, &err) < 0)
        status = cli_fail (cli, &err);
    if (status == EXIT_HOLDS)
        known_launches_note (cli, again, &arena, &plan);
    if (status == EXIT_HOLDS &&
        (climb_capacity (plan.hosts.n, &err) < 0 || (making_fd = run_begun_make (&dir, cli->home, &err)) < 0))
        status = cli_fail (cli, &err);
    else if (status == EXIT_HOLDS) {
        if (signature_file_write (&plan, &arena, &err) < 0)
            log_say (&cli->log, "failures are recognised by the ends of their output alone: %s", err.text);
        snprintf (heading, sizeof heading,
                  "run %.8s of slice %.*s: %u host%s, %u rung%s (from another terminal: sliceup watch %.8s)", dir.id,
                  TEXT_ARG (plan.slice), plan.hosts.n, plan.hosts.n == 1 ? "" : "s", plan.rungs.n,
                  plan.rungs.n == 1 ? "" : "s", dir.id);
        status = climb (cli, &dir, &plan, making_fd, heading);
    }
    arena_release (&arena);
    return status;
}

const struct cli_command run_command = {
    .name = "run",
    .usage = "run SLICE.yaml [--profile NAME|FILE] [--ladder NAME|FILE] [--pins NAME|FILE] [--hosts EXPR]\n"
             "            [--exclude EXPR] [--wheels DIR] [--again]",
    .summary = "climb the ladder on every host of the slice, and leave a receipt",
    .help =
        "Checks the configuration, starts a worker per host, climbs rung by rung on all hosts in lockstep, and stops\n"
        "at the first rung that some host does not pass. In a terminal a live grid shows where every host stands;\n"
        "elsewhere, or with --plain, one line an event. Every fact is journaled: if this process dies, the workers go\n"
        "on, and sliceup resume takes them over.\n\n"
        "Ctrl-C once asks the running rung to end, twice kills it, three times leaves without waiting. A terminal that "
        "is\n"
        "closed, or output that nobody reads, does not end the climb; when it is over and only words are left to be\n"
        "read, any Ctrl-C ends the waiting for it.\n\n"
        "  --profile, --ladder, --pins   take another one than the slice file names\n"
        "  --hosts EXPR, --exclude EXPR  only these of its hosts, all but these (v6e[0-3,7]; @name: a group of the "
        "file)\n"
        "  --wheels DIR                  a wheel for every pin is in this folder: no index is asked\n"
        "  --again                       try launches all the same that are known bad (sliceup calibration)\n\n"
        "Examples:\n  sliceup run configs/slices/local-jax.yaml\n  sliceup run slice.yaml --profile cpu-jax-debug "
        "--plain\n\n"
        "Exit status: 0 the top was reached, 1 a rung did not pass, 2 configuration, 3 could not run (a host did not\n"
        "join, a precondition is missing, others could change the cache, the journal could not be written),\n"
        "130 cancelled.\n",
    .run = run_run,
};
