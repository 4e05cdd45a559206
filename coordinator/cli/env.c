#include "coordinator/cli/commands.h"
#include "coordinator/cli/options.h"

#include <string.h>

#include "coordinator/cli/climb.h"
#include "coordinator/cli/env_ls.h"
#include "coordinator/cli/planning.h"
#include "coordinator/home/run_begun.h"

/* The rung of a slice whose ladder has none. */
enum { RESTORE_TIMEOUT_MS = 60 * 60 * 1000 };

static const struct rung *find (const struct plan *plan, const char *builtin)
{
    for (uint32_t i = 0; i < plan->rungs.n; i++)
        if (plan->rungs.items[i].kind == PROGRAM_BUILTIN && text_is (plan->rungs.items[i].builtin, builtin))
            return &plan->rungs.items[i];
    return NULL;
}

static struct rung restoring (const struct plan *plan, bool build, struct arena *arena)
{
    static const struct rung usual = { .id = TEXT_LIT ("environment"),
                                       .kind = PROGRAM_BUILTIN,
                                       .builtin = TEXT_LIT ("restore"),
                                       .scope = SCOPE_HOST,
                                       .timeout_ms = RESTORE_TIMEOUT_MS };
    static const struct var only_look = { TEXT_LIT ("build"), TEXT_LIT ("false") };
    const struct rung *given = find (plan, "restore");
    struct rung rung = given ? *given : usual;
    rung.args.n = build ? 0 : 1;
    rung.args.items = build ? NULL : arena_copy (arena, &only_look, sizeof only_look);
    return rung;
}

/* What the slice would do, without what is not about its environment. */
static int reduce (struct plan *plan, bool build, struct arena *arena, struct err *err)
{
    const struct rung *facts = find (plan, "facts");
    struct rung *rungs = arena_array (arena, 2, sizeof *rungs);
    uint32_t n = 0;
    if (!plan->pins.file.path.len)
        return err_set (
            err, ERR_CONFIG,
            "slice %.*s has no pin set, so there is no environment to restore: add the key 'pins', or give --pins",
            TEXT_ARG (plan->slice));
    if (facts)
        rungs[n++] = *facts;
    rungs[n++] = restoring (plan, build, arena);
    plan->rungs.items = rungs;
    plan->rungs.n = n;
    plan->ladder = build ? TEXT_LIT ("env-restore") : TEXT_LIT ("env-check");
    plan->cache = (struct cache_plan){ .mode = CACHE_OFF };
    return 0;
}

static int climb_it (struct cli *cli, struct plan *plan, bool build, bool json, struct arena *arena)
{
    struct run_dir dir;
    struct err err = { 0 };
    char heading[256];
    int making_fd = reduce (plan, build, arena, &err) < 0 ? -1 : run_begun_create_run (&dir, cli->home, &err);
    if (making_fd < 0)
        return cli_fail (cli, &err);
    snprintf (heading, sizeof heading,
              "run %.8s: environment %.*s is to be %s on %u host%s (from another terminal: sliceup watch %.8s)", dir.id,
              TEXT_ARG (plan->pins.name), build ? "restored" : "checked", plan->hosts.n, plan->hosts.n == 1 ? "" : "s",
              dir.id);
    return climb (cli, &dir, plan, making_fd, json ? NULL : heading, json, NULL);
}

static int restore (struct cli *cli, const struct cli_arguments *arguments, bool build)
{
    struct arena arena = { 0 };
    struct plan plan = { 0 };
    int status = planning_load (cli, arguments, &arena, &plan);
    if (status == EXIT_HOLDS)
        status = climb_it (cli, &plan, build, arguments->values[CLI_JSON], &arena);
    arena_release (&arena);
    return status;
}

static int env_restore (struct cli *cli, const struct cli_arguments *arguments)
{
    return restore (cli, arguments, true);
}

static int env_check (struct cli *cli, const struct cli_arguments *arguments)
{
    return restore (cli, arguments, false);
}

static int list (struct cli *cli, const struct cli_arguments *arguments)
{
    return env_ls (cli, arguments->values[CLI_JSON]);
}

#define STATUS                                                                                                         \
    "0 every environment matches its pins, 1 one does not, 2 usage or configuration, 3 could not run, 130 cancelled."

static const struct cli_option options[] = {
    OPTIONS_OF_PLAN,
    { CLI_WHEELS, "--wheels", .value = "DIR",
      .help = "a folder of this machine with a wheel for every pin: sliceup copies the wheels to the hosts that need "
              "them, and no package index is used",
      .kind = KIND_FOLDER },
    { OPTION_LEAVE_OUT },
    { OPTION_JSON_EVENTS },
    { 0 },
};

static const struct cli_command restore_command = {
    .name = "restore",
    .summary = "on every host of the slice: build a missing environment, verify an existing one",
    .help =
        "This is a run with only the rungs facts and restore: watch, status, logs, receipt and resume work with it.",
    .examples = "sliceup env restore slice.yaml --wheels ~/wheels --plain\n",
    .exit_status = STATUS,
    .operands = (const struct cli_operand[]){ { OPERAND_SLICE }, { 0 } },
    .options = options,
    .run = env_restore,
};
static const struct cli_command check_command_of_env = {
    .name = "check",
    .summary = "the same without building: a host without the environment fails",
    .help = "This is a run as that of sliceup env restore, and builds nothing.",
    .examples = "sliceup env check slice.yaml --hosts 'v6e[0-3]'\n",
    .exit_status = STATUS,
    .operands = (const struct cli_operand[]){ { OPERAND_SLICE }, { 0 } },
    .options = options,
    .run = env_check,
};
static const struct cli_option ls_options[] = {
    { OPTION_JSON ("one object, sizes in bytes") },
    { 0 },
};

static const struct cli_command ls_command = {
    .name = "ls",
    .summary = "list the environments on this machine: path, pins, Python, completeness, size and last run",
    .help = "Lists those that runs under this home used, and those in envs/ of this home.",
    .examples = "sliceup env ls\n",
    .exit_status = "0 listed, 2 usage, 3 they cannot be read.",
    .options = ls_options,
    .run = list,
};

const struct cli_command env_command = {
    .name = "env",
    .task = TASK_CACHE,
    .summary = "build, verify and list the Python environments of the pins",
    .help = "sliceup builds an environment on each host from a pin set: exact versions with hashes. It verifies the "
            "installed versions, and every file of every package against the sha256 from its package. Guide: "
            "docs/guide/environment.md.",
    .examples = "sliceup env restore slice.yaml --wheels ~/wheels --plain\n"
                "sliceup env check slice.yaml --hosts 'v6e[0-3]'\n"
                "sliceup env ls\n",
    .exit_status = STATUS,
    .subcommands = (const struct cli_command *const[]){ &restore_command, &check_command_of_env, &ls_command, NULL },
};
