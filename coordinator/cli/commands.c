#include "coordinator/cli/commands.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/conf/nearest_word.h"
#include "common/io/atomic_file.h"
#include "common/io/program_start.h"
#include "common/io/safe_path.h"

enum { PATH_BYTES = 1024 };

static const struct cli_command *const commands[] = {
    &init_command,   &check_command,       &rehearse_command, &run_command,  &resume_command,      &status_command,
    &watch_command,  &receipt_command,     &logs_command,     &runs_command, &drift_command,       &hosts_command,
    &ticket_command, &monitor_key_command, &cache_command,    &env_command,  &calibration_command, &explain_command,
};
enum { COMMANDS_N = sizeof (commands) / sizeof (commands[0]) };

static void print_overview (FILE *to)
{
    fputs ("sliceup brings an accelerator slice up from one node: it runs a ladder of rungs on every host at once\n"
           "and writes one receipt that another engineer can act on.\n"
           "\n"
           "  sliceup COMMAND [ARGUMENTS]\n"
           "\n",
           to);
    for (size_t i = 0; i < COMMANDS_N; i++)
        fprintf (to, "  %-12s %s\n", commands[i]->name, commands[i]->summary);
    fputs ("\n"
           "Options for every command, before or after its name:\n"
           "  --home DIR   folder of runs, environments and caches (SLICEUP_HOME; default: the XDG state directory)\n"
           "  --plain      print plain lines: no live view, no colours\n"
           "  --verbose    print more on standard error\n"
           "  --help       describe the command, with examples\n"
           "  --version\n"
           "\n"
           "First steps:\n"
           "  sliceup init --help                            write the slice file of your own hosts\n"
           "  sliceup check configs/slices/local-jax.yaml    find every mistake without using a host\n"
           "  sliceup run configs/slices/local-jax.yaml      climb the ladder\n"
           "  sliceup receipt                                show the results\n"
           "\n"
           "Exit status: 0 every check passed, 1 a check failed, 2 usage or configuration, 3 could not run,\n"
           "4 the cache broke the rules of its single writer, 5 journal or catalogue damaged, 130 cancelled.\n",
           to);
}

static int unknown_command (const char *word)
{
    const char *known[COMMANDS_N];
    for (size_t i = 0; i < COMMANDS_N; i++)
        known[i] = commands[i]->name;
    const char *guess = nearest_word (text_of (word), known, COMMANDS_N);
    fprintf (stderr, "sliceup: there is no command '%s'%s%s%s; sliceup --help lists them\n", word,
             guess ? "; did you mean " : "", guess ? guess : "", guess ? "?" : "");
    return EXIT_USAGE;
}

/* Keys, journals and plans are read there and acted on. Looked at before, so that nothing is made in a place of
 * somebody else's, and after, when it may have been made. */
static int make_home (const char *wanted, struct err *err)
{
    const struct safe_path_rule rule = { .what = "home",
                                         .instead = "give another one with --home or SLICEUP_HOME",
                                         .own = true };
    if (safe_path_check (wanted, &rule, err) < 0 || folder_make (wanted, 0700, err) < 0)
        return -1;
    return safe_path_check (wanted, &rule, err);
}

/* --home, SLICEUP_HOME, XDG_STATE_HOME/sliceup, ~/.local/state/sliceup: the first that is set. */
static int name_home (const char *option, char wanted[PATH_BYTES], struct err *err)
{
    const char *set = option ? option : getenv ("SLICEUP_HOME");
    const char *state = getenv ("XDG_STATE_HOME"), *home = getenv ("HOME");
    if (option && option[0] == '\0')
        return err_set (err, ERR_USAGE, "--home: expected a directory; usage: --home DIR");
    if (set && set[0])
        snprintf (wanted, PATH_BYTES, "%s", set);
    else if (state && state[0] == '/')
        snprintf (wanted, PATH_BYTES, "%s/sliceup", state);
    else if (home && home[0] == '/')
        snprintf (wanted, PATH_BYTES, "%s/.local/state/sliceup", home);
    else
        return err_set (err, ERR_USAGE, "no folder for runs: give --home DIR, or set SLICEUP_HOME or HOME");
    return 0;
}

static int find_home (const char *wanted, char out[PATH_BYTES], struct err *err)
{
    if (make_home (wanted, err) < 0)
        return -1;
    char *real = realpath (wanted, NULL);
    if (real == NULL || strlen (real) >= PATH_BYTES - 200) {
        free (real);
        return err_set (err, ERR_USAGE, "home '%s': cannot be resolved, or its path is too long", wanted);
    }
    snprintf (out, PATH_BYTES, "%s", real);
    free (real);
    return 0;
}

struct globals {
    const char *home;
    bool plain, verbose, help, version;
};

/* Takes the options every command has out of argv, wherever they stand. */
static int take_globals (int argc, char **argv, struct globals *globals)
{
    int kept = 1;
    for (int i = 1; i < argc; i++) {
        const char *value = NULL;
        if (strcmp (argv[i], "--plain") == 0)
            globals->plain = true;
        else if (strcmp (argv[i], "--verbose") == 0)
            globals->verbose = true;
        else if (strcmp (argv[i], "--help") == 0 || strcmp (argv[i], "-h") == 0)
            globals->help = true;
        else if (strcmp (argv[i], "--version") == 0)
            globals->version = true;
        else if (cli_read_option (argc, argv, &i, "--home", &value))
            globals->home = value && value[0] ? value : ""; /* empty: refused by find_home */
        else
            argv[kept++] = argv[i];
    }
    argv[kept] = NULL;
    return kept;
}

static void find_self (char out[PATH_BYTES])
{
    ssize_t len = readlink ("/proc/self/exe", out, PATH_BYTES - 1);
    out[len > 0 ? len : 0] = '\0';
}

static bool wants_color (bool plain)
{
    const char *no_color = getenv ("NO_COLOR"), *term = getenv ("TERM");
    return !plain && isatty (STDOUT_FILENO) && !(no_color && no_color[0]) && term && strcmp (term, "dumb") != 0;
}

static bool wants_plain (bool asked)
{
    const char *term = getenv ("TERM");
    return asked || !isatty (STDOUT_FILENO) || !term || strcmp (term, "dumb") == 0;
}

static const struct cli_command *find_command (const char *name)
{
    for (size_t i = 0; i < COMMANDS_N; i++)
        if (strcmp (commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static int run_it (const struct cli_command *command, const struct globals *globals, int argc, char **argv)
{
    char wanted[PATH_BYTES], home[PATH_BYTES], program[PATH_BYTES];
    const char *share = getenv ("SLICEUP_SHARE");
    struct cli cli = { .home = home,
                       .home_named = wanted,
                       .hint = "",
                       .share_dir = share ? share : SLICEUP_SHARE_DIR,
                       .program = program,
                       .log = { stderr, "sliceup", globals->verbose } };
    struct err err = { 0 };
    if (name_home (globals->home, wanted, &err) < 0 || find_home (wanted, home, &err) < 0)
        return cli_fail (&cli, &err);
    find_self (program);
    cli.plain = wants_plain (globals->plain);
    cli.color = wants_color (cli.plain);
    return command->run (&cli, argc, argv);
}

static int run_command_named (const char *name, const struct globals *globals, int argc, char **argv)
{
    const struct cli_command *command = find_command (name);
    if (command == NULL)
        return unknown_command (name);
    if (!globals->help)
        return run_it (command, globals, argc, argv);
    printf ("sliceup %s\n\n%s\n\n%s", command->usage, command->summary, command->help);
    return EXIT_HOLDS;
}

/* Half a receipt must not look like a whole one. */
static int printed (int status)
{
    if (fflush (stdout) == 0 && !ferror (stdout))
        return status;
    fprintf (stderr, "sliceup: cannot write to standard output: %s\n", strerror (errno));
    return status == EXIT_HOLDS ? EXIT_COULD_NOT : status;
}

int cli_main (int argc, char **argv)
{
    struct globals globals = { 0 };
    umask (077);
    standard_fds_keep ();
    exhaustion_install_handlers ("sliceup");
    json_set_alloc_funcs (mem_alloc, mem_free);
    argc = take_globals (argc, argv, &globals);
    if (globals.version) {
        printf ("sliceup %s\n", SLICEUP_VERSION);
        return printed (EXIT_HOLDS);
    }
    if (argc < 2) {
        print_overview (globals.help ? stdout : stderr);
        return printed (globals.help ? EXIT_HOLDS : EXIT_USAGE);
    }
    return printed (run_command_named (argv[1], &globals, argc - 1, argv + 1));
}
