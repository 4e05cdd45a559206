#include "coordinator/cli/commands.h"

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
    return climb (cli, &dir, plan, making_fd, json ? NULL : heading, json);
}

static int restore (struct cli *cli, int argc, char **argv, bool build)
{
    struct arena arena = { 0 };
    struct plan plan = { 0 };
    bool json = cli_take_switch (&argc, argv, "--json");
    int status = planning_load (cli, &env_command, argc, argv, &arena, &plan);
    if (status == EXIT_HOLDS)
        status = climb_it (cli, &plan, build, json, &arena);
    arena_release (&arena);
    return status;
}

static int env_restore (struct cli *cli, int argc, char **argv)
{
    return restore (cli, argc, argv, true);
}

static int env_check (struct cli *cli, int argc, char **argv)
{
    return restore (cli, argc, argv, false);
}

static int list (struct cli *cli, int argc, char **argv)
{
    bool json = false;
    const struct cli_option_spec choices[] = { { "--json", .set = &json }, { 0 } };
    return cli_read_arguments (cli, &env_command, argc, argv, choices, NULL) != EXIT_HOLDS ? EXIT_USAGE
                                                                                           : env_ls (cli, json);
}

static const struct {
    const char *name;
    int (*run) (struct cli *cli, int argc, char **argv);
} subcommands[] = { { "restore", env_restore }, { "check", env_check }, { "ls", list } };
enum { VERBS_N = sizeof subcommands / sizeof subcommands[0] };

static int env_run (struct cli *cli, int argc, char **argv)
{
    const char *names[VERBS_N + 1] = { 0 };
    for (size_t i = 0; i < VERBS_N; i++)
        names[i] = subcommands[i].name;
    if (argc < 2) {
        fprintf (cli->log.to, "sliceup env: expected restore, check or ls; see sliceup env --help\n");
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < VERBS_N; i++)
        if (strcmp (subcommands[i].name, argv[1]) == 0)
            return subcommands[i].run (cli, argc - 1, argv + 1);
    return cli_refuse_argument (cli, &env_command, argv[1], names);
}

const struct cli_command env_command = {
    .name = "env",
    .usage = "env restore | check SLICE.yaml [--hosts EXPR] [--exclude EXPR] [--pins NAME|FILE] [--wheels DIR]\n"
             "               [--json]\n"
             "        env ls [--json]",
    .summary = "build, verify and list the Python environments of the pins",
    .help = "sliceup builds an environment on each host from a pin set: exact versions with hashes. It verifies the "
            "installed\n"
            "versions, and every file of every package against the sha256 from its package. Guide: "
            "docs/guide/environment.md.\n"
            "\n"
            "  restore SLICE.yaml         on every host of the slice: build a missing environment, verify an existing "
            "one. This\n"
            "                             is a run with only the rungs `facts` and `restore`: watch, status, logs, "
            "receipt\n"
            "                             and resume work with it\n"
            "  check SLICE.yaml           the same without building: a host without the environment fails\n"
            "  ls                         environments on this machine: path, pins, Python, completeness, size and "
            "last run. It\n"
            "                             lists those that runs under this home used, and those in envs/ of this home\n"
            "\n"
            "  --hosts EXPR, --exclude EXPR  only these of its hosts, all but these\n"
            "  --pins NAME|FILE, --profile NAME|FILE, --ladder NAME|FILE   use this one, not the one that the slice "
            "file names\n"
            "  --wheels DIR                  a folder of this machine with a wheel for every pin: sliceup copies the "
            "wheels to the\n"
            "                                hosts that need them, and no package index is used\n"
            "  --json                        ls: one object, sizes in bytes; else each event as a line of JSON\n"
            "\n"
            "Examples:\n"
            "  sliceup env restore slice.yaml --wheels ~/wheels --plain\n"
            "  sliceup env check slice.yaml --hosts 'v6e[0-3]'\n"
            "  sliceup env ls\n"
            "\n"
            "Exit status: 0 every environment matches its pins, 1 one does not, 2 usage or configuration, 3 could not "
            "run,\n"
            "130 cancelled.\n",
    .run = env_run,
};
