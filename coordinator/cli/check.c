#include "coordinator/cli/commands.h"
#include "coordinator/cli/options.h"
#include "coordinator/cli/planning.h"

enum { CHECK_AGAIN = CLI_OWN, CHECK_BESIDE };

static int check_run (struct cli *cli, const struct cli_arguments *arguments)
{
    struct arena arena = { 0 };
    struct plan plan = { 0 };
    struct err err = { 0 };
    int status = planning_load (cli, arguments, &arena, &plan);
    if (status == EXIT_HOLDS) {
        launch_measures_annotate_plan (cli, arguments->values[CHECK_AGAIN], &arena, &plan);
        planning_print (&plan, stdout);
        if (planning_check_cache_owners (&plan, &err) < 0)
            status = cli_fail (cli, &err);
        else
            printf ("no mistakes found; versions and devices of the hosts are checked by sliceup run\n");
    }
    arena_release (&arena);
    return status;
}

static const struct cli_option options[] = {
    OPTIONS_OF_PLAN,
    { OPTION_WHEELS },
    { OPTION_LEAVE_OUT },
    OPTIONS_OF_CLIMB,
    { CHECK_AGAIN, "--again", .help = "as of sliceup run: do not look for launches that are known bad" },
    { CHECK_BESIDE, "--beside", .help = "as of sliceup run: of no meaning here" },
    { 0 },
};

const struct cli_command check_command = {
    .name = "check",
    .task = TASK_FIRST,
    .summary = "find every mistake that can be found without a host, and print the plan",
    .help = "Reads the slice file and every file it names. Prints all mistakes at once, each as file:line:column: the "
            "mistake, and what was expected. Without mistakes it prints the plan: hosts with their ranks and mesh "
            "coordinates, launch policy, pins, cache and rungs.",
    .examples = "sliceup check configs/slices/local-jax.yaml\n",
    .exit_status = "0 no mistakes, 2 mistakes, 3 other users could change the cache, as seen from this machine.",
    .operands = (const struct cli_operand[]){ { OPERAND_SLICE }, { 0 } },
    .options = options,
    .run = check_run,
};
