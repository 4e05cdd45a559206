/* serve.c - sliceup-web, which lies beside this program: as `sliceup serve`, and beside a run that starts it for itself. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "common/io/clock.h"
#include "common/io/fd.h"
#include "common/io/program_start.h"
#include "coordinator/cli/climb.h"
#include "coordinator/cli/commands.h"

enum { WORDS_MAX = 48, START_MS = 5000 };
extern char **environ;

static void make_words (const struct cli *cli, const char *program, const char *const *words, char *argv[WORDS_MAX])
{
    size_t n = 0;
    argv[n++] = (char *) program;
    argv[n++] = (char *) "--home";
    argv[n++] = (char *) cli->home;
    for (size_t i = 0; words[i] && n < WORDS_MAX - 1; i++)
        argv[n++] = (char *) words[i];
    argv[n] = NULL;
}

/* Returns only when that failed. `words`: behind --home HOME; ended by NULL. */
static int web_program_become (const struct cli *cli, const char *const *words, struct err *err)
{
    char program[RUN_PATH_BYTES], *argv[WORDS_MAX];
    climb_path_beside (cli, "sliceup-web", program);
    make_words (cli, program, words, argv);
    (void) fflush (
        stdout); /* what could not be written is told at the end of a command, and this one has said nothing */
    execv (program, argv);
    return err_errno (err, ERR_IO, "cannot start %s", program);
}

/* ---- beside a run ---- */

/* Its standard input ends when this process does: nobody else has the other end. */
static int spawn (const char *const *argv, int in_fd, int out_fd, struct err *err)
{
    const struct program program = { .argv = argv,
                                     .envp = environ,
                                     .in = in_fd,
                                     .out = out_fd,
                                     .error = -1, /* the run's own terminal is there */
                                     .apart = POSIX_SPAWN_SETSID };
    pid_t pid;
    errno = program_start (&pid, &program);
    return errno == 0 ? 0 : err_errno (err, ERR_IO, "cannot start %s", argv[0]);
}

/* The first line that it prints. */
static int web_program_read_line (int fd, char *line, size_t bytes, struct err *err)
{
    uint64_t until_ms = clock_boot_ms () + START_MS, now_ms;
    size_t n = 0;
    while (n + 1 < bytes && (now_ms = clock_boot_ms ()) < until_ms) {
        struct pollfd there = { .fd = fd, .events = POLLIN };
        if (poll (&there, 1, (int) (until_ms - now_ms)) <= 0)
            continue;
        ssize_t got = fd_read (fd, line + n, 1);
        if (got <= 0 || line[n] == '\n')
            break;
        n++;
    }
    line[n] = '\0';
    return text_starts (text_of (line), "http://") ? 0
                                                   : err_set (err, ERR_STATE, "sliceup-web did not begin to answer");
}

int web_program_start (const struct cli *cli, const struct run_dir *dir, char *url, size_t url_bytes, struct err *err)
{
    const char *const words[] = { "--run", dir->id, "--listen", "127.0.0.1:0", "--until-eof", NULL };
    char program[RUN_PATH_BYTES], *argv[WORDS_MAX];
    int in[2] = { -1, -1 }, out[2] = { -1, -1 };
    int rc = -1;
    climb_path_beside (cli, "sliceup-web", program);
    make_words (cli, program, words, argv);
    if (pipe2 (in, O_CLOEXEC) < 0 || pipe2 (out, O_CLOEXEC) < 0)
        err_errno (err, ERR_IO, "cannot make a pipe");
    else if (spawn ((const char *const *) argv, in[0], out[1], err) == 0) {
        fd_close (out[1]);
        out[1] = -1;
        rc = web_program_read_line (out[0], url, url_bytes, err);
    }
    fd_close (in[0]);
    fd_close (out[0]);
    fd_close (out[1]);
    if (rc < 0)
        fd_close (in[1]); /* else it stays open as long as this process */
    return rc;
}

/* ---- serve ---- */

enum { SERVE_LISTEN = CLI_OWN, SERVE_NAME, SERVE_ALL };
enum { NAMES_MAX = 12, SERVE_WORDS_MAX = 2 * NAMES_MAX + 6 };

static int serve_run (struct cli *cli, const struct cli_arguments *arguments)
{
    const char *run = arguments->operands[0], *listen = arguments->values[SERVE_LISTEN];
    const char *names[NAMES_MAX], *words[SERVE_WORDS_MAX] = { NULL };
    struct run_dir dir;
    struct err err = { 0 };
    uint32_t names_n = cli_list (arguments, SERVE_NAME, names), n = 0;
    if (run && arguments->values[SERVE_ALL])
        err_set (&err, ERR_USAGE, "serve: give either RUN or --all, which has every run");
    if (err.code || (!arguments->values[SERVE_ALL] && run_dir_find (&dir, cli->home, run ? run : "last", &err) < 0))
        return cli_fail (cli, &err);
    if (!arguments->values[SERVE_ALL]) {
        words[n++] = "--run";
        words[n++] = dir.id;
    }
    if (listen) {
        words[n++] = "--listen";
        words[n++] = listen;
    }
    for (uint32_t i = 0; i < names_n; i++) {
        words[n++] = "--name";
        words[n++] = names[i];
    }
    web_program_become (cli, words, &err);
    return cli_fail (cli, &err);
}

static const struct cli_option options[] = {
    { SERVE_ALL, "--all", .help = "every run of this home, also those that are begun later" },
    { SERVE_LISTEN, "--listen", .value = "ADDRESS:PORT",
      .help =
          "where to listen (default: 127.0.0.1:8420; port 0: any); elsewhere than on this machine a token is needed" },
    { SERVE_NAME, "--name", .value = "HOST",
      .help = "a name by which browsers reach this machine; the first stands in the printed address; may be repeated",
      .repeat = REPEAT_LISTED, .most = NAMES_MAX },
    { 0 },
};

const struct cli_command serve_command = {
    .name = "serve",
    .task = TASK_LOOK,
    .summary = "show a run in a browser, as it happens",
    .help = "Starts a web server of its own process, sliceup-web, prints its address, and runs until Ctrl-C. It only "
            "reads: the run does not notice it. Open the address in a browser; scripts may ask the same server "
            "(docs/spec/web.md), and Prometheus scrapes /metrics.\n"
            "\n"
            "By default only this machine reaches it, with every user who is logged in there. From your own machine, "
            "use a tunnel (ssh -L 8420:localhost:8420 HOST). With --listen 0.0.0.0:8420 others reach it: they need the "
            "token in the printed address, and nothing is encrypted.\n\n" HELP_OF_RUN,
    .examples = "sliceup serve\n"
                "sliceup serve --all --listen 127.0.0.1:0\n"
                "sliceup serve 3fa9 --listen 0.0.0.0:8420 --name bastion.example.org\n",
    .exit_status =
        "0 ended with Ctrl-C or SIGTERM; 2 usage, no such run; 3 it could not listen there, or print its address.",
    .operands = (const struct cli_operand[]){ { OPERAND_RUN }, { 0 } },
    .options = options,
    .run = serve_run,
};
