#include "coordinator/cli/commands.h"
#include "coordinator/cli/known_launches.h"
#include "coordinator/cli/planning.h"

static int check_run (struct cli *cli, int argc, char **argv)
{
    struct arena arena = { 0 };
    struct plan plan = { 0 };
    struct err err = { 0 };
    int status = planning_load (cli, &check_command, argc, argv, &arena, &plan);
    if (status == EXIT_HOLDS) {
        known_launches_note (cli, false, &arena, &plan);
        planning_print (&plan, stdout);
        if (planning_check_cache (&plan, &err) < 0)
            status = cli_fail (cli, &err);
        else
            printf ("no mistakes found; what only a host can tell (versions, devices) is found by running\n");
    }
    arena_release (&arena);
    return status;
}

const struct cli_command check_command = {
    .name = "check",
    .usage = "check SLICE.yaml [--profile NAME|FILE] [--ladder NAME|FILE] [--pins NAME|FILE] [--hosts EXPR]\n"
             "              [--exclude EXPR] [--wheels DIR]",
    .summary = "find every mistake that can be found without a host, and print the plan",
    .help =
        "Reads the slice file and everything it names. All mistakes are printed in one go, each as\n"
        "file:line:column: what, and what was expected. Without mistakes it prints the plan: hosts with their ranks\n"
        "and mesh coordinates, launch policy, pins, cache and rungs.\n\n"
        "  --profile, --ladder, --pins   take another one than the slice file names\n"
        "  --hosts EXPR, --exclude EXPR  only these of its hosts, all but these (v6e[0-3,7]; @name: a group of the "
        "file)\n"
        "  --wheels DIR                  a wheel for every pin is in this folder: no index is asked\n\n"
        "Example:\n  sliceup check configs/slices/local-jax.yaml\n\n"
        "Exit status: 0 no mistakes, 2 mistakes, 3 others could change the cache, as this machine sees it.\n",
    .run = check_run,
};
