#include "coordinator/cli/arguments.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/web_program.h"

enum { SERVE_LISTEN = CLI_OWN, SERVE_NAME, SERVE_ALL };
enum { NAMES_MAX = 12, WORDS_MAX = 2 * NAMES_MAX + 6 };

static int check_words (const struct cli_arguments *arguments, struct err *err)
{
    return arguments->operands_n && arguments->values[SERVE_ALL]
               ? err_set (err, ERR_USAGE, "serve: give either RUN or --all, which has every run")
               : 0;
}

static int serve_run (struct cli *cli, const struct cli_arguments *arguments)
{
    const char *run = arguments->operands[0], *listen = arguments->values[SERVE_LISTEN];
    const char *names[NAMES_MAX], *words[WORDS_MAX] = { NULL };
    struct run_dir dir;
    struct err err = { 0 };
    uint32_t names_n = cli_list (arguments, SERVE_NAME, names), n = 0;
    if (check_words (arguments, &err) < 0 ||
        (!arguments->values[SERVE_ALL] && run_dir_find (&dir, cli->home, run ? run : "last", &err) < 0))
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
