#include "coordinator/cli/climb.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/planning.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/io/atomic_file.h"

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
    int status = run_new (cli, plan, arena, true, json);
    if (!json)
        printf ("This was a rehearsal: programs ran on the CPU of this machine, and no TPU was used. What it cannot "
                "show is in "
                "docs/spec/rehearsal.md.\nTo see more: sliceup%s receipt (or status, logs, explain)\n",
                cli->hint);
    return status;
}

/* Every --wrong out of the arguments; the rest stays. EXIT_HOLDS, or what to leave with. */
static int take_wrong (struct cli *cli, int *argc, char **argv, struct rehearsal_options *options)
{
    int kept = 1, n = 0;
    for (int i = 1; i < *argc; i++) {
        const char *value = NULL;
        if (!cli_read_option (*argc, argv, &i, "--wrong", &value)) {
            argv[kept++] = argv[i];
        } else if (n == WRONG_VARIABLES_MAX) {
            log_print (&cli->log, "--wrong is given more than %d times, the limit", WRONG_VARIABLES_MAX);
            return EXIT_USAGE;
        } else {
            options->wrong[n++] = value;
        }
    }
    argv[kept] = NULL;
    *argc = kept;
    return EXIT_HOLDS;
}

static int rehearse_run (struct cli *cli, int argc, char **argv)
{
    struct arena arena = { 0 };
    struct plan plan = { 0 };
    struct err err = { 0 };
    struct cli own = *cli;
    char library[RUN_PATH_BYTES], home[RUN_PATH_BYTES], hint[HINT_BYTES];
    bool all = cli_take_switch (&argc, argv, "--all"), check = cli_take_switch (&argc, argv, "--check"),
         json = cli_take_switch (&argc, argv, "--json");
    struct rehearsal_options options = { .stand_in = library, .all = all };
    if (find_library (cli, library, &err) < 0 || use_own_home (&own, home, hint, &err) < 0)
        return cli_fail (cli, &err);
    int status = take_wrong (cli, &argc, argv, &options);
    if (status == EXIT_HOLDS)
        status = planning_load_rehearsal (&own, &rehearse_command, argc, argv, &options, &arena, &plan);
    if (status == EXIT_HOLDS)
        status = rehearse (&own, &plan, &arena, check, json);
    arena_release (&arena);
    return status;
}

const struct cli_command rehearse_command = {
    .name = "rehearse",
    .usage = "rehearse SLICE.yaml [--profile NAME|FILE] [--ladder NAME|FILE] [--pins NAME|FILE] [--wheels DIR] "
             "[--leave-out RUNG]...\n"
             "                 [--wrong HOST:NAME[=VALUE]]... [--all] [--check] [--json]",
    .summary = "run a TPU slice file on this machine, with a stand-in for its TPUs, before the slice exists",
    .help = "Checks the slice file, then starts all its workers on this machine, as an ordinary user. Programs get the "
            "variables\n"
            "that GKE gives such a slice, and instead of libtpu a stand-in: jax sees the TPU devices of the whole "
            "slice, with their\n"
            "coordinates, and every collective is computed on the CPU. The stand-in waits for the hosts that the "
            "variables name, and\n"
            "refuses what libtpu refuses. So wrong variables, a wrong mesh, a program that differs between hosts or a "
            "damaged cache show\n"
            "before the slice is paid for. It takes one process for each host, at most 64, each with the memory of the "
            "whole slice.\n"
            "\n"
            "The file needs machine and topology, a profile for jax with backend tpu, and all its hosts. Hosts keep "
            "their names;\n"
            "addresses, cache root and environment are of this machine. Runs, caches and environments of rehearsals "
            "lie in the folder\n"
            "rehearsal of the home, and the slice is called NAME-rehearsal in every view and receipt. Rungs with "
            "rehearse: false\n"
            "are left out, by name.\n"
            "\n"
            "  --profile, --ladder   use this one, not the one that the slice file names\n"
            "  --pins NAME|FILE      packages for the rehearsal (default: jax-rehearsal, which has the CPU plugin of "
            "the stand-in)\n"
            "  --wheels DIR          a folder with a wheel for every pin: no package index is used\n"
            "  --leave-out RUNG      climb without this rung; the receipt names it\n"
            "  --wrong HOST:NAME=VALUE  one host has this value of a variable; HOST:NAME: it has none. To see how a "
            "mistake looks\n"
            "  --all                 run the rungs with rehearse: false as well: they will fail\n"
            "  --check               print the plan of the rehearsal, and start nothing\n"
            "  --json                print each event as a line of JSON: docs/spec/events.md\n"
            "\n"
            "Examples:\n"
            "  sliceup rehearse configs/slices/tpu-v6e-16.yaml\n"
            "  sliceup rehearse my-slice.yaml --check\n"
            "  sliceup rehearse my-slice.yaml --wrong v6e-2:TPU_WORKER_ID=1\n"
            "\n"
            "Exit status: that of sliceup run.\n",
    .run = rehearse_run,
};
