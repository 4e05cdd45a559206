#include "coordinator/cli/climb.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/options.h"
#include "coordinator/cli/planning.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/io/atomic_file.h"

enum { REHEARSE_WRONG = CLI_OWN, REHEARSE_ALL, REHEARSE_CHECK };

#define LIBRARY "libtpu-stand-in.so"
enum { HINT_BYTES = RUN_PATH_BYTES + sizeof " --home ''" };

static int find_library (const struct cli *cli, char path[RUN_PATH_BYTES], struct err *err)
{
    climb_path_beside (cli, LIBRARY, path);
    if (access (path, R_OK) == 0)
        return 0;
    return err_errno (err, ERR_STATE, "cannot read the stand-in for libtpu, %s (build it: cmake --build build)", path);
}

/* Everything of a rehearsal lies below a home of its own, so that no cache, calibration or comparison mixes it with runs. */
static int use_own_home (struct cli *cli, char home[RUN_PATH_BYTES], char hint[HINT_BYTES], struct err *err)
{
    if (snprintf (home, RUN_PATH_BYTES, "%s/rehearsal", cli->home) >= RUN_PATH_BYTES)
        return err_set (err, ERR_LIMIT, "the path of the home %s is too long for a rehearsal", cli->home);
    bool plain = strspn (home, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-") == strlen (home);
    snprintf (hint, HINT_BYTES, plain ? " --home %s" : " --home '%s'", home);
    cli->home = cli->home_named = home;
    cli->hint = hint;
    return folder_make (home, 0700, err);
}

static int rehearse (struct cli *cli, struct plan *plan, struct arena *arena, bool check, bool json)
{
    if (check) {
        planning_print (plan, stdout);
        printf ("no mistakes found; nothing was started\n");
        return EXIT_HOLDS;
    }
    /* Known bad launches count by the profile, and a rehearsal is there to try what failed. */
    int status = run_new (cli, plan, arena, &(struct run_choices){ .again = true, .json = json });
    if (!json)
        printf ("This was a rehearsal: programs ran on the CPU of this machine, and no TPU was used. What it cannot "
                "show is in "
                "docs/spec/rehearsal.md.\nTo see more: sliceup%s receipt (or status, logs, explain)\n",
                cli->hint);
    return status;
}

static int rehearse_run (struct cli *cli, const struct cli_arguments *arguments)
{
    struct arena arena = { 0 };
    struct plan plan = { 0 };
    struct err err = { 0 };
    struct cli own = *cli;
    char library[RUN_PATH_BYTES], home[RUN_PATH_BYTES], hint[HINT_BYTES];
    struct rehearsal_options options = { .stand_in = library, .all = arguments->values[REHEARSE_ALL] };
    if (find_library (cli, library, &err) < 0 || use_own_home (&own, home, hint, &err) < 0)
        return cli_fail (cli, &err);
    cli_list (arguments, REHEARSE_WRONG, options.wrong);
    int status = planning_load_rehearsal (&own, arguments, &options, &arena, &plan);
    if (status == EXIT_HOLDS)
        status = rehearse (&own, &plan, &arena, arguments->values[REHEARSE_CHECK], arguments->values[CLI_JSON]);
    arena_release (&arena);
    return status;
}

static const struct cli_option options[] = {
    { OPTION_PROFILE },
    { OPTION_LADDER },
    { CLI_PINS, "--pins", .value = "NAME|FILE",
      .help = "packages for the rehearsal (default: jax-rehearsal, which has the CPU plugin of the stand-in)",
      .kind = KIND_PINS },
    { OPTION_WHEELS },
    { OPTION_LEAVE_OUT },
    OPTIONS_OF_CLIMB,
    { REHEARSE_WRONG, "--wrong", .value = "HOST:NAME[=VALUE]",
      .help =
          "one host has this value of a variable; HOST:NAME: it has none. To see how a mistake looks; may be repeated",
      .repeat = REPEAT_LISTED, .most = WRONG_VARIABLES_MAX },
    { REHEARSE_ALL, "--all", .help = "run the rungs with rehearse: false as well: they will fail" },
    { REHEARSE_CHECK, "--check", .help = "print the plan of the rehearsal, and start nothing" },
    { OPTION_JSON_EVENTS },
    { 0 },
};

const struct cli_command rehearse_command = {
    .name = "rehearse",
    .task = TASK_FIRST,
    .summary = "run a TPU slice file on this machine before the slice exists, with a stand-in for TPUs",
    .help = "Checks the slice file, then starts all its workers on this machine, as an ordinary user. Programs get the "
            "variables that GKE gives such a slice, and instead of libtpu a stand-in: jax sees the TPU devices of the "
            "whole slice, with their coordinates, and every collective is computed on the CPU. The stand-in waits for "
            "the hosts that the variables name, and refuses what libtpu refuses. So wrong variables, a wrong mesh, a "
            "program that differs between hosts or a damaged cache show before the slice is paid for. It takes one "
            "process for each host, at most 64, each with the memory of the whole slice.\n"
            "\n"
            "The file needs machine and topology, a profile for jax with backend tpu, and all its hosts. Hosts keep "
            "their names; addresses, cache root and environment are of this machine. Runs, caches and environments of "
            "rehearsals lie in the folder rehearsal of the home, and the slice is called NAME-rehearsal in every view "
            "and receipt. Rungs with rehearse: false are left out, by name.",
    .examples = "sliceup rehearse configs/slices/tpu-v6e-16.yaml\n"
                "sliceup rehearse my-slice.yaml --check\n"
                "sliceup rehearse my-slice.yaml --wrong v6e-2:TPU_WORKER_ID=1\n",
    .exit_status = "that of sliceup run.",
    .operands = (const struct cli_operand[]){ { OPERAND_SLICE }, { 0 } },
    .options = options,
    .run = rehearse_run,
};
