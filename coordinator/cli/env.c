#include "coordinator/cli/env.h"

#include <string.h>

static const struct {
    const char *name;
    int (*run) (struct cli *cli, int argc, char **argv);
} verbs[] = {
    { "restore", env_restore },
    { "check", env_check },
    { "ls", env_ls },
};
enum { VERBS_N = sizeof verbs / sizeof verbs[0] };

static int env_run (struct cli *cli, int argc, char **argv)
{
    const char *names[VERBS_N + 1] = { 0 };
    for (size_t i = 0; i < VERBS_N; i++)
        names[i] = verbs[i].name;
    if (argc < 2) {
        fprintf (cli->log.to, "sliceup env: restore, check or ls? sliceup env --help says what they do\n");
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < VERBS_N; i++)
        if (strcmp (verbs[i].name, argv[1]) == 0)
            return verbs[i].run (cli, argc - 1, argv + 1);
    return cli_unknown (cli, &env_command, argv[1], names);
}

const struct cli_command env_command = {
    .name = "env",
    .usage = "env restore | check SLICE.yaml [--hosts EXPR] [--exclude EXPR] [--pins NAME|FILE] [--wheels DIR]\n"
             "        env ls [--json]",
    .summary = "the Python environment of the pins: build it on the hosts, verify it, list what is here",
    .help = "Environments are built on each host from a pin set: exact versions with hashes, by the tool itself. "
            "Verified are\n"
            "the versions of what is installed, and every file of every package against the sha256 that it came with.\n"
            "docs/guide/environment.md explains all.\n\n"
            "  restore SLICE.yaml         on every host of the slice: build what is not there, verify what is. A run "
            "like any\n"
            "                             other, with the rungs `facts` and `restore` only: watch, status, logs and "
            "receipt\n"
            "                             show it, resume takes it over\n"
            "  check SLICE.yaml           the same, and nothing is built: a host without the environment fails\n"
            "  ls                         environments on this machine: where, of which pins and Python, complete or "
            "not, how\n"
            "                             large, and which run used them last. Looked for are those of the runs under "
            "this\n"
            "                             home, and envs/ in it\n\n"
            "  --hosts EXPR, --exclude EXPR  only these of its hosts, all but these\n"
            "  --pins NAME|FILE, --profile NAME|FILE, --ladder NAME|FILE   take another one than the slice file names\n"
            "  --wheels DIR                  a wheel for every pin is in this folder of this machine: they travel to "
            "the hosts\n"
            "                                that do not have them, and no index is asked\n"
            "  --json                        ls: a list of objects; sizes in bytes\n\n"
            "Examples:\n"
            "  sliceup env restore slice.yaml --wheels ~/wheels --plain\n"
            "  sliceup env check slice.yaml --hosts 'v6e[0-3]'\n"
            "  sliceup env ls\n\n"
            "Exit status: 0 all are there and as pinned, 1 some is not, 2 usage or configuration, 3 could not run,\n"
            "130 cancelled.\n",
    .run = env_run,
};
