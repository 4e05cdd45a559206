/* help.c - the commands help and version. */
#include "coordinator/cli/commands.h"
#include "coordinator/cli/help_text.h"

enum { HELP_MAN = CLI_OWN };

static int print (const struct cli *cli, const struct cli_arguments *of, bool man)
{
    struct buf out;
    buf_init (&out, PAGE_MAX_BYTES);
    struct cli_arguments page = *of;
    page.depth = of->depth > 2 ? 2 : of->depth; /* a man page of a command has its subcommands */
    if (man)
        help_print_man (&page, SLICEUP_VERSION, &out);
    else
        help_print (of, &out);
    return cli_write_stdout (cli, &out);
}

/* As if --help had been asked of the command: so mistakes in its name are told in the same way. */
static int help_run (struct cli *cli, const struct cli_arguments *arguments)
{
    const char *words[] = { "sliceup", "--help", arguments->operands[0],
                            arguments->operands_n > 1 ? arguments->operands[1] : NULL };
    struct cli_arguments of;
    struct err err = { 0 };
    int rc = cli_arguments_read (arguments->path[0], 2 + (int) arguments->operands_n, (char **) words, &of, &err);
    int status = rc < 0 ? cli_fail (cli, &err) : print (cli, &of, arguments->values[HELP_MAN]);
    cli_arguments_release (&of);
    return status;
}

static const struct cli_option help_options[] = {
    { HELP_MAN, "--man", .help = "print a page for man(1)" },
    { 0 },
};

const struct cli_command help_command = {
    .name = "help",
    .task = TASK_OTHER,
    .summary = "describe the commands, or one of them",
    .help = "The same as --help behind the command.",
    .examples = "sliceup help run\n"
                "sliceup help cache gc\n"
                "sliceup help --man run | man -l -\n",
    .exit_status = "0 printed, 2 there is no such command.",
    .operands = (const struct cli_operand[]){ { "COMMAND", 0, 2, .kind = KIND_COMMAND }, { 0 } },
    .options = help_options,
    .needs_no_home = true,
    .run = help_run,
};

static int version_run (struct cli *cli, const struct cli_arguments *arguments)
{
    (void) cli, (void) arguments;
    printf ("sliceup %s\n", SLICEUP_VERSION);
    return EXIT_HOLDS;
}

const struct cli_command version_command = {
    .name = "version",
    .task = TASK_OTHER,
    .summary = "print the version",
    .help = "The same as --version.",
    .examples = "sliceup version\n",
    .exit_status = "0.",
    .needs_no_home = true,
    .run = version_run,
};
