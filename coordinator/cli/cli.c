#include "coordinator/cli/cli.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/conf/nearest_word.h"

int cli_fail (const struct cli *cli, const struct err *err)
{
    fflush (stdout);
    log_print (&cli->log, "%s", err->text);
    switch (err->code) {
    case ERR_USAGE:
    case ERR_CONFIG:
    case ERR_PARSE: return EXIT_USAGE;
    case ERR_DAMAGE: return EXIT_DAMAGED;
    default: return EXIT_COULD_NOT;
    }
}

bool cli_read_option (int argc, char **argv, int *i, const char *name, const char **value)
{
    size_t len = strlen (name);
    if (strncmp (argv[*i], name, len) != 0)
        return false;
    if (argv[*i][len] == '=') {
        *value = argv[*i] + len + 1;
        return true;
    }
    if (argv[*i][len] != '\0')
        return false;
    if (*i + 1 == argc) {
        fprintf (stderr, "sliceup: %s needs a value; see --help\n", name);
        exit (EXIT_USAGE);
    }
    *value = argv[++*i];
    return true;
}

int cli_refuse_argument (const struct cli *cli, const struct cli_command *command, const char *argument,
                         const char *const known[])
{
    uint32_t n = 0;
    while (known[n])
        n++;
    const char *guess = nearest_word (text_of (argument), known, n);
    fprintf (cli->log.to, "sliceup %s: unknown argument '%s'%s%s%s; see sliceup %s --help\n", command->name, argument,
             guess ? "; did you mean " : "", guess ? guess : "", guess ? "?" : "", command->name);
    return EXIT_USAGE;
}

bool cli_take_switch (int *argc, char **argv, const char *name)
{
    int kept = 0;
    for (int i = 0; i < *argc; i++)
        if (strcmp (argv[i], name) != 0)
            argv[kept++] = argv[i];
    bool taken = kept < *argc;
    *argc = kept;
    return taken;
}

static bool take_choice (const struct cli_option_spec *choice, int argc, char **argv, int *i)
{
    if (choice->value)
        return cli_read_option (argc, argv, i, choice->name, choice->value) ||
               (choice->also && cli_read_option (argc, argv, i, choice->also, choice->value));
    if (strcmp (argv[*i], choice->name) != 0)
        return false;
    return *choice->set = true;
}

int cli_read_arguments (const struct cli *cli, const struct cli_command *command, int argc, char **argv,
                        const struct cli_option_spec *choices, const char **operand)
{
    const char *known[CLI_CHOICES_MAX + 1] = { 0 };
    for (int i = 0; choices[i].name; i++) {
        assert (i < CLI_CHOICES_MAX); /* a table of ours */
        known[i] = choices[i].name;
    }
    for (int i = 1; i < argc; i++) {
        const struct cli_option_spec *choice = choices;
        while (choice->name && !take_choice (choice, argc, argv, &i))
            choice++;
        if (choice->name)
            continue;
        if (argv[i][0] == '-' || !operand || *operand)
            return cli_refuse_argument (cli, command, argv[i], known);
        *operand = argv[i];
    }
    return EXIT_HOLDS;
}

/* ---- what standard output can show ---- */

struct style cli_detect_style (const struct cli *cli)
{
    struct winsize size = { 0 };
    struct style style = { .color = cli->color };
    style.unicode = style_locale_is_utf8 (getenv ("LC_ALL"), getenv ("LC_CTYPE"), getenv ("LANG"));
    if (isatty (STDOUT_FILENO) && ioctl (STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        style.columns = size.ws_col;
    return style;
}

int cli_write_stdout (const struct cli *cli, struct buf *bytes)
{
    struct err err = { 0 };
    int status = EXIT_HOLDS;
    if (bytes->overflow) {
        err_set (&err, ERR_LIMIT, "the answer is larger than %zu bytes", bytes->max);
        status = cli_fail (cli, &err);
    } else if (fwrite (bytes->ptr, 1, bytes->len, stdout) != bytes->len || fflush (stdout) != 0)
        status = EXIT_COULD_NOT;
    int why = errno;
    buf_release (bytes);
    errno = why;
    return status;
}

int cli_check_forms (const struct cli *cli, const struct cli_command *command, bool json, bool markdown)
{
    if (!json || !markdown)
        return EXIT_HOLDS;
    fprintf (cli->log.to, "sliceup %s: --json and --markdown exclude each other; see sliceup %s --help\n",
             command->name, command->name);
    return EXIT_USAGE;
}
