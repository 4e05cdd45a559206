#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/io/atomic_file.h"
#include "common/io/fd.h"
#include "common/model/kit.h"
#include "coordinator/cli/climb.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/planning.h"
#include "coordinator/journal/run_begun.h"

enum { RUN_AGAIN = CLI_OWN, RUN_BESIDE, RUN_WEB };

static void write_signatures (const struct cli *cli, struct plan *plan, struct arena *arena)
{
    struct err err = { 0 };
    if (signature_table_write (plan, arena, &err) < 0)
        log_print (&cli->log,
                   "workers get no signatures, so known errors are recognised only at the end of an output: %s",
                   err.text);
}

/* They stay with the run: whatever the folders hold by then, a resumed run finds them. */
static int write_folders (const struct cli *cli, const struct run_dir *dir, struct plan *plan, struct arena *arena,
                          struct err *err)
{
    char name[DIGEST_HEX_BYTES + 8], path[RUN_PATH_BYTES];
    int rc = 0;
    for (uint32_t i = 0; i < plan->rungs.n && rc == 0; i++) {
        struct kit_file *kit = LIST_FIND (plan->rungs.items[i].files, struct kit_file, name, TEXT_LIT (KIT_FOLDER));
        const struct var *pack = kit ? LIST_FIND (cli->packs, struct var, name, kit->file.sha256) : NULL;
        if (!pack || snprintf (name, sizeof name, "%s.tar", pack->name.ptr) < 0)
            continue;
        kit->file.path = text_copy (arena, text_of (run_dir_path (dir, name, path)));
        rc = atomic_file_write (path, pack->value.ptr, pack->value.len, 0600, err);
    }
    return rc;
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
    if (write_folders (cli, &dir, plan, arena, &err) < 0) {
        fd_close (making_fd);
        return cli_fail (cli, &err);
    }
    write_signatures (cli, plan, arena);
    if (choices->made)
        *choices->made = dir;
    if (choices->quiet)
        return climb_quietly (cli, &dir, plan, making_fd);
    if (choices->web)
        start_page (cli, &dir, url, sizeof url);
    if (url[0] && choices->json)
        log_print (&cli->log, "in a browser: %s", url);
    snprintf (heading, sizeof heading,
              "run %.8s of slice %.*s: %u host%s, %u rung%s (from another terminal: sliceup%s watch %.8s)%s%s", dir.id,
              TEXT_ARG (plan->slice), plan->hosts.n, plural (plan->hosts.n), plan->rungs.n, plural (plan->rungs.n),
              cli->hint, dir.id, url[0] ? "\nin a browser: " : "", url);
    return climb (cli, &dir, plan, making_fd, choices->json ? NULL : heading, choices->json, choices->metrics);
}

int run_check_hosts (struct cli *cli, const struct plan *plan, struct err *err)
{
    LOCAL_LIVE_RUNS runs = { 0 };
    if ((cli->turn_fd = run_begun_take_turn (cli->home, err)) < 0 || live_runs_read (cli->home, true, &runs, err) != 0)
        return -1;
    return live_runs_check_hosts (&runs, cli->hint, plan, NULL, err);
}

static int run_run (struct cli *cli, const struct cli_arguments *arguments)
{
    LOCAL_ARENA arena = { 0 };
    struct plan plan = { 0 };
    struct err err = { 0 };
    int status = planning_load (cli, arguments, &arena, &plan);
    if (status == EXIT_HOLDS && (status = cli_ask_password (cli, arguments, &plan)) == EXIT_HOLDS &&
        !arguments->values[RUN_BESIDE] && run_check_hosts (cli, &plan, &err) < 0)
        status = cli_fail (cli, &err);
    if (status == EXIT_HOLDS)
        status = run_new (cli, &plan, &arena,
                          &(struct run_choices){ .again = arguments->values[RUN_AGAIN],
                                                 .json = arguments->values[CLI_JSON],
                                                 .web = arguments->values[RUN_WEB],
                                                 .metrics = arguments->values[CLI_METRICS] });
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
    { OPTION_ASK_PASS },
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
            "dies, the workers continue, and sliceup resume takes them over.\n"
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

/* ---- rehearse ---- */

enum { REHEARSE_WRONG = CLI_OWN, REHEARSE_ALL, REHEARSE_CHECK };

#define LIBRARY "libtpu-stand-in.so"

static int find_library (const struct cli *cli, char path[RUN_PATH_BYTES], struct err *err)
{
    climb_path_beside (cli, LIBRARY, path);
    if (access (path, R_OK) == 0)
        return 0;
    return err_errno (err, ERR_STATE, "cannot read the stand-in for libtpu, %s (build it: cmake --build build)", path);
}

int run_own_home (struct cli *cli, const char *folder, const char *name, struct own_home *own, struct err *err)
{
    char *home = own->path;
    if (snprintf (home, sizeof own->path, "%s/%s", folder, name) >= (int) sizeof own->path)
        return err_set (err, ERR_LIMIT, "the path of %s is too long for a home below it, %s", folder, name);
    cli_hint_of_home (home, own->hint);
    cli->home = cli->home_named = home;
    cli->hint = own->hint;
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
                "show is in docs/spec/rehearsal.md.\nTo see more: sliceup%s receipt (or status, logs, explain)\n",
                cli->hint);
    return status;
}

static int rehearse_run (struct cli *cli, const struct cli_arguments *arguments)
{
    LOCAL_ARENA arena = { 0 };
    struct plan plan = { 0 };
    struct err err = { 0 };
    struct cli own = *cli;
    struct own_home home;
    char library[RUN_PATH_BYTES];
    struct rehearsal_options rehearse_options = { .stand_in = library, .all = arguments->values[REHEARSE_ALL] };
    if (find_library (cli, library, &err) < 0 || run_own_home (&own, cli->home, "rehearsal", &home, &err) < 0)
        return cli_fail (cli, &err);
    cli_list (arguments, REHEARSE_WRONG, rehearse_options.wrong);
    int status = planning_load_rehearsal (&own, arguments, &rehearse_options, &arena, &plan);
    if (status == EXIT_HOLDS)
        status = rehearse (&own, &plan, &arena, arguments->values[REHEARSE_CHECK], arguments->values[CLI_JSON]);
    return status;
}

static const struct cli_option rehearse_options[] = {
    { OPTION_PROFILE },
    { OPTION_LADDER },
    { CLI_PINS, "--pins", .value = "NAME|FILE",
      .help = "packages for the rehearsal (default: jax-rehearsal or torch-xla-rehearsal, which have the CPU plugin of "
              "the stand-in)",
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
            "variables that GKE gives such a slice, and instead of libtpu a stand-in: jax or torch_xla sees the TPU "
            "devices of the "
            "whole slice, with their coordinates, and every collective is computed on the CPU. The stand-in waits for "
            "the hosts that the variables name, and refuses what libtpu refuses. So wrong variables, a wrong mesh, a "
            "program that differs between hosts or a damaged cache show before the slice is paid for. It takes one "
            "process for each host, at most 64, each with the memory of the whole slice.\n"
            "\n"
            "The file needs machine and topology, a profile for jax or torch_xla with backend tpu, and all its hosts. "
            "Hosts keep "
            "their names; addresses, cache root and environment are of this machine. Runs, caches and environments of "
            "rehearsals lie in the folder rehearsal of the home, and the slice is called NAME-rehearsal in every view "
            "and receipt. Rungs with rehearse: false are left out, by name.",
    .examples = "sliceup rehearse configs/slices/tpu-v6e-16.yaml\n"
                "sliceup rehearse my-slice.yaml --check\n"
                "sliceup rehearse my-slice.yaml --wrong v6e-2:TPU_WORKER_ID=1\n",
    .exit_status = "that of sliceup run.",
    .operands = (const struct cli_operand[]){ { OPERAND_SLICE }, { 0 } },
    .options = rehearse_options,
    .run = rehearse_run,
};
