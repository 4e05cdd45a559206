#include "coordinator/cli/commands.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/io/atomic_file.h"
#include "common/io/program_start.h"
#include "common/io/safe_path.h"

enum { PATH_BYTES = 1024 };

static const struct cli_command *const commands[] = {
    &init_command,        &check_command,       &rehearse_command,
    &hosts_command,       &run_command,         &resume_command,
    &cancel_command,      &exec_command,        &copy_command,
    &outputs_command,     &ticket_command,      &status_command,
    &stacks_command,      &watch_command,       &serve_command,
    &receipt_command,     &report_command,      &logs_command,
    &runs_command,        &explain_command,     &metrics_command,
    &monitor_key_command, &drift_command,       &cache_command,
    &env_command,         &calibration_command, &selftest_command,
    &gate_command,        &help_command,        &version_command,
    &completion_command,  &complete_command,    NULL,
};

static const struct cli_option options[] = {
    { CLI_HOME, "--home", .value = "DIR",
      .help = "folder of runs, environments and caches (SLICEUP_HOME; default: the XDG state directory)",
      .kind = KIND_FOLDER },
    { CLI_PLAIN, "--plain", .help = "print plain lines: no screen with keys, no colours" },
    { CLI_VERBOSE, "--verbose", .also = "-v", .help = "print more on standard error" },
    { CLI_HELP, "--help", .also = "-h", .help = "describe the command, with examples" },
    { CLI_VERSION, "--version", .also = "-V", .help = "print the version" },
    { 0 },
};

const struct cli_command sliceup_command = {
    .name = "sliceup",
    .usage = "COMMAND [ARGUMENTS]",
    .summary = "bring an accelerator slice up from one node",
    .help = "sliceup brings an accelerator slice up from one node: it runs a ladder of rungs on every host at once and "
            "writes one receipt that another engineer can act on.",
    .examples = "sliceup run configs/slices/local-plain.yaml  try it on this machine\n"
                "sliceup init 'node-[0-3]' > slice.yaml       write a slice file of your hosts\n"
                "sliceup check slice.yaml                     find mistakes, using no host\n"
                "sliceup run slice.yaml                       climb the ladder on every host\n"
                "sliceup watch                                follow it from another terminal\n"
                "sliceup cancel                               end it\n"
                "sliceup receipt                              show the results\n"
                "sliceup explain                              show why it failed, what to do\n",
    .exit_status = "0 every check passed, 1 a check failed, 2 usage or configuration, 3 could not run, 4 the cache "
                   "broke the rules of its single writer, 5 journal or catalogue damaged, 130 cancelled.",
    .options = options,
    .subcommands = commands,
};

/* Keys, journals and plans are read there and acted on. Looked at before, so that nothing is made in a place of
 * somebody else's, and after, when it may have been made. */
static int make_home (const char *wanted, struct err *err)
{
    const struct safe_path_rule rule = { .what = "home",
                                         .instead = "give another one with --home or SLICEUP_HOME",
                                         .own = true };
    if (safe_path_check (wanted, &rule, err) < 0)
        return -1;
    if (folder_make (wanted, 0700, err) < 0)
        return err_prefix (err, "the home (--home, SLICEUP_HOME)");
    return safe_path_check (wanted, &rule, err);
}

/* --home, SLICEUP_HOME, XDG_STATE_HOME/sliceup, ~/.local/state/sliceup: the first that is set. */
static int name_home (const char *option, char wanted[PATH_BYTES], struct err *err)
{
    const char *set = option ? option : getenv ("SLICEUP_HOME");
    const char *state = getenv ("XDG_STATE_HOME"), *home = getenv ("HOME");
    if (option && option[0] == '\0')
        return err_set (err, ERR_USAGE, "--home: expected a directory; usage: --home DIR");
    if (set && set[0] == '~')
        return err_set (err, ERR_USAGE,
                        "the home is '%s' (--home, SLICEUP_HOME), expected a path in which the shell "
                        "replaced ~: write it without quotes, or with $HOME",
                        set);
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

static int find_home (const char *wanted, bool make, char out[PATH_BYTES], struct err *err)
{
    if (make && make_home (wanted, err) < 0)
        return -1;
    LOCAL_MEM char *real = realpath (wanted, NULL);
    bool fits = real && strlen (real) < PATH_BYTES - 200;
    snprintf (out, PATH_BYTES, "%s", fits ? real : "");
    return fits || !make ? 0
                         : err_set (err, ERR_USAGE, "home '%s': cannot be resolved, or its path is too long", wanted);
}

static void find_self (char out[PATH_BYTES])
{
    ssize_t len = readlink ("/proc/self/exe", out, PATH_BYTES - 1);
    out[len > 0 ? len : 0] = '\0';
}

/* Of an installed program beside it, wherever that was installed; else where this was built for. */
static const char *find_share (const char *program, char out[PATH_BYTES])
{
    char beside[PATH_BYTES + 64];
    const char *named = getenv ("SLICEUP_SHARE"), *slash = strrchr (program, '/');
    int len = slash ? (int) (slash - program) : 0;
    snprintf (beside, sizeof beside, "%.*s/../../share/sliceup/configs/..", len, program);
    LOCAL_MEM char *real = named ? NULL : realpath (beside, NULL);
    if (real)
        snprintf (out, PATH_BYTES, "%s", real);
    bool found = real != NULL;
    return named ? named : found ? out : SLICEUP_SHARE_DIR;
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

static int run_it (const struct cli_arguments *arguments)
{
    const struct cli_command *command = cli_arguments_command (arguments);
    char wanted[PATH_BYTES] = "", home[PATH_BYTES] = "", program[PATH_BYTES], share[PATH_BYTES];
    char hint[HINT_MAX_BYTES + 1] = "";
    struct cli cli = { .home = home,
                       .home_named = wanted,
                       .hint = hint,
                       .program = program,
                       .turn_fd = -1,
                       .umask = umask (077),
                       .log = { stderr, "sliceup", arguments->values[CLI_VERBOSE] != NULL } };
    struct err err = { 0 };
    int without = command->needs_no_home_with;
    bool needs_home = !command->needs_no_home && !(without && arguments->values[without]);
    if ((name_home (arguments->values[CLI_HOME], wanted, &err) < 0 || find_home (wanted, needs_home, home, &err) < 0) &&
        needs_home)
        return cli_fail (&cli, &err);
    if (arguments->values[CLI_HOME] && home[0])
        cli_hint_of_home (home, hint);
    find_self (program);
    cli.share_dir = find_share (program, share);
    cli.plain = wants_plain (arguments->values[CLI_PLAIN]);
    cli.color = wants_color (cli.plain);
    int status = command->run (&cli, arguments);
    if (cli.password.len)
        explicit_bzero ((void *) (uintptr_t) cli.password.ptr, cli.password.len);
    return status;
}

static int commands_refuse (const struct cli_arguments *arguments, const struct err *err)
{
    LOCAL_ARENA arena = { 0 };
    struct text title = cli_arguments_title (arguments, &arena);
    fprintf (stderr, "sliceup%.*s: %s\n", TEXT_ARG (title), err->text);
    return EXIT_USAGE;
}

/* With no command: what to begin with. */
static int print_help (const struct cli_arguments *arguments)
{
    LOCAL_BUF out = { .max = PAGE_MAX_BYTES };
    if (arguments->values[CLI_HELP])
        help_print (arguments, cli_columns (), &out);
    else
        help_print_first_steps (&sliceup_command, &out);
    fwrite (out.ptr, 1, out.len, stdout); /* whether it was written is asked at the end of every command */
    return EXIT_HOLDS;
}

static int run_arguments (const struct cli_arguments *arguments)
{
    const char *const *values = arguments->values;
    if (!values[CLI_VERSION] && (values[CLI_HELP] || (arguments->depth == 1 && !values[CLI_VERBOSE])))
        return print_help (arguments);
    if (!values[CLI_VERSION] && arguments->depth > 1)
        return run_it (arguments);
    printf ("sliceup %s\n%s", SLICEUP_VERSION,
            values[CLI_VERSION] ? "" : "sliceup --help lists the commands; with one of them, -v prints more\n");
    return EXIT_HOLDS;
}

/* Half a receipt must not look like a whole one. Who stops reading has what he wanted. */
static int printed (int status)
{
    if ((fflush (stdout) == 0 && !ferror (stdout)) || cli_reader_left ())
        return status;
    fprintf (stderr, "sliceup: cannot write to standard output: %s\n", strerror (errno));
    return status == EXIT_HOLDS ? EXIT_COULD_NOT : status;
}

int cli_main (int argc, char **argv)
{
    struct cli_arguments arguments;
    struct err err = { 0 };
    standard_fds_keep ();
    exhaustion_install_handlers ("sliceup");
    signal (SIGPIPE, SIG_IGN); /* a reader that leaves is seen where it is written to */
    json_set_alloc_funcs (mem_alloc, mem_free);
    int status = cli_arguments_read (&sliceup_command, argc, argv, &arguments, &err) < 0
                     ? commands_refuse (&arguments, &err)
                     : run_arguments (&arguments);
    cli_arguments_release (&arguments);
    return printed (status);
}
