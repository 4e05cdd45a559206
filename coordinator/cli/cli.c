#include "coordinator/cli/cli.h"

#include <stdlib.h>
#include <string.h>

#include "common/conf/nearest.h"

int cli_fail (const struct cli *cli, const struct err *err)
{
    fflush (stdout);
    log_say (&cli->log, "%s", err->text);
    switch (err->code) {
    case ERR_USAGE:
    case ERR_CONFIG:
    case ERR_PARSE: return EXIT_USAGE;
    case ERR_DAMAGE: return EXIT_DAMAGED;
    default: return EXIT_COULD_NOT;
    }
}

bool cli_option (int argc, char **argv, int *i, const char *name, const char **value)
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

int cli_unknown (const struct cli *cli, const struct cli_command *command, const char *argument,
                 const char *const known[])
{
    uint32_t n = 0;
    while (known[n])
        n++;
    const char *guess = nearest_of (text_of (argument), known, n);
    fprintf (cli->log.to, "sliceup %s: unknown argument '%s'%s%s%s; see sliceup %s --help\n", command->name, argument,
             guess ? "; did you mean " : "", guess ? guess : "", guess ? "?" : "", command->name);
    return EXIT_USAGE;
}
