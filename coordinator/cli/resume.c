#include "coordinator/cli/climb.h"
#include "coordinator/cli/commands.h"
#include "coordinator/home/run_begun.h"

static int resume_run (struct cli *cli, int argc, char **argv)
{
    static const char *const known[] = { NULL };
    struct run_dir dir;
    struct err err = { 0 };
    if (argc > 2 || (argc == 2 && argv[1][0] == '-'))
        return cli_unknown (cli, &resume_command, argv[argc - 1], known);
    if (run_dir_find (&dir, cli->home, argc == 2 ? argv[1] : "last", &err) < 0 || climb_capacity (1, &err) < 0)
        return cli_fail (cli, &err);
    if (run_begun_or_remove (&dir, &err) < 0)
        return cli_fail (cli, &err);
    return climb (cli, &dir, NULL, -1, NULL);
}

const struct cli_command resume_command = {
    .name = "resume",
    .usage = "resume [RUN]",
    .summary = "take over a run whose coordinator is gone; nothing that was done is done again",
    .help =
        "Replays the run's journal, binds the same ports with the same keys and waits for the workers, which go on\n"
        "trying to connect. What was recorded as done stays done; what was running is taken over as it runs; results\n"
        "that came meanwhile were kept by the workers. While another coordinator lives, it refuses.\n\n"
        "A run whose coordinator ended before its first fact was recorded was never begun: no host was asked for\n"
        "anything. This says so and removes its folder.\n\n"
        "A journal that lacks what was acknowledged is refused: its mark says up to where that was, and each worker\n"
        "that comes back says what it was told of. Then keep the folder, put a whole copy of it back if there is\n"
        "one, else begin anew with sliceup run, which takes over a cache lease that this run held.\n\n"
        "RUN is an id, the beginning of one, or 'last' (the default).\n\n"
        "Example:\n  sliceup resume 3fa9\n\n"
        "Exit status: as for run; 2 also when there is no such run, or it was never begun; 3 also when another\n"
        "coordinator holds the run; 5 the journal is damaged.\n",
    .run = resume_run,
};
