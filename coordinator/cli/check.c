#include "coordinator/cli/commands.h"
#include "coordinator/cli/planning.h"

static int check_run (struct cli *cli, int argc, char **argv)
{
    struct arena arena = { 0 };
    struct plan plan = { 0 };
    struct err err = { 0 };
    int status = planning_load (cli, &check_command, argc, argv, &arena, &plan);
    if (status == EXIT_HOLDS) {
        launch_measures_annotate_plan (cli, false, &arena, &plan);
        planning_print (&plan, stdout);
        if (planning_check_cache_owners (&plan, &err) < 0)
            status = cli_fail (cli, &err);
        else
            printf ("no mistakes found; versions and devices of the hosts are checked by sliceup run\n");
    }
    arena_release (&arena);
    return status;
}

const struct cli_command check_command = {
    .name = "check",
    .usage = "check SLICE.yaml [--profile NAME|FILE] [--ladder NAME|FILE] [--pins NAME|FILE] [--hosts EXPR]\n"
             "              [--exclude EXPR] [--wheels DIR] [--leave-out RUNG]...",
    .summary = "find every mistake that can be found without a host, and print the plan",
    .help =
        "Reads the slice file and every file it names. Prints all mistakes at once, each as\n"
        "file:line:column: the mistake, and what was expected. Without mistakes it prints the plan: hosts with their "
        "ranks\n"
        "and mesh coordinates, launch policy, pins, cache and rungs.\n"
        "\n"
        "  --profile, --ladder, --pins   use this one, not the one that the slice file names\n"
        "  --hosts EXPR, --exclude EXPR  only these hosts of it; all but these (v6e[0-3,7]; @name: a group of the "
        "file)\n"
        "  --wheels DIR                  a folder with a wheel for every pin: no package index is used\n"
        "  --leave-out RUNG              climb without this rung; the receipt names it\n"
        "\n"
        "Example:\n"
        "  sliceup check configs/slices/local-jax.yaml\n"
        "\n"
        "Exit status: 0 no mistakes, 2 mistakes, 3 other users could change the cache, as seen from this machine.\n",
    .run = check_run,
};
