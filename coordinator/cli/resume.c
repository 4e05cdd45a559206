#include "coordinator/cli/climb.h"
#include "coordinator/cli/commands.h"
#include "coordinator/home/run_begun.h"

static int resume_run (struct cli *cli, int argc, char **argv)
{
    const char *run = NULL;
    bool json = false;
    const struct cli_option_spec choices[] = { { "--json", .set = &json }, { 0 } };
    struct run_dir dir;
    struct err err = { 0 };
    if (cli_read_arguments (cli, &resume_command, argc, argv, choices, &run) != EXIT_HOLDS)
        return EXIT_USAGE;
    if (run_dir_find (&dir, cli->home, run ? run : "last", &err) < 0 || climb_check_capacity (1, &err) < 0)
        return cli_fail (cli, &err);
    return run_begun_check_or_remove (&dir, &err) < 0 ? cli_fail (cli, &err) : climb (cli, &dir, NULL, -1, NULL, json);
}

const struct cli_command resume_command = {
    .name = "resume",
    .usage = "resume [RUN] [--json]",
    .summary = "take over a run whose coordinator is gone; finished work is not repeated",
    .help =
        "Replays the run's journal, binds the same ports with the same keys and waits for the workers, which keep\n"
        "trying to connect. Finished attempts are not repeated. Running attempts continue. Workers have kept the\n"
        "results of attempts that ended meanwhile. It refuses while another coordinator holds the run.\n"
        "\n"
        "A run whose coordinator ended before its first fact was recorded was never begun, and nothing was started\n"
        "on any host. This command reports that and removes the folder of the run.\n"
        "\n"
        "A journal that lacks acknowledged facts is refused: its mark names the last acknowledged fact, and each "
        "worker\n"
        "that reconnects reports the last fact it received. Then keep the folder, and restore a complete copy of it if "
        "you\n"
        "have one; else start a new run with sliceup run, which takes over a cache lease that this run held.\n"
        "\n"
        "  --json   print each event as a line of JSON: docs/spec/events.md\n"
        "\n"
        "RUN is an id, the beginning of one, or 'last' (the default).\n"
        "\n"
        "Example:\n"
        "  sliceup resume 3fa9\n"
        "\n"
        "Exit status: that of sliceup run; also 2 no such run, or it was never begun; 3 another coordinator holds the\n"
        "run; 5 the journal is damaged.\n",
    .run = resume_run,
};
