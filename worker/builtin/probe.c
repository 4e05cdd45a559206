#include "worker/builtin/probe.h"

#include "common/base/duration.h"
#include "worker/probe/option.h"
#include "worker/probe/probe_run.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_WORKS = 0, EXIT_FAILS = 1, EXIT_WRONG_USAGE = 2, EXIT_NOT_TRIED = 3 };
enum { LIMIT_MS = 60 * 1000 };

static const char usage[] =
    "usage: sliceup-worker probe --plugin PATH [--option NAME=VALUE]... [--timeout DURATION] [--no-client] [--json]\n";
static const char help[] =
    "\n"
    "Checks whether a PJRT plugin (libtpu.so, a CPU or GPU plugin) works on this host, without Python. The probe "
    "loads\n"
    "the plugin in a process of its own, checks its interface, makes a client, lists the devices, compiles a tiny "
    "program,\n"
    "runs it, checks its value, serialises it, loads it again and runs it again. It prints one line for each step and "
    "ends\n"
    "with the verdict. If the plugin hangs or crashes, only the process of the probe ends, and the verdict names the "
    "step.\n"
    "\n"
    "  --plugin PATH        the shared library, such as .../site-packages/libtpu/libtpu.so\n"
    "  --option NAME=VALUE  an option for making the client. NAME:TYPE=VALUE gives the type: int64, bool, float or "
    "string.\n"
    "                       Without a type, 4 is an int64, true a bool, 0.5 a float, and any other value a string\n"
    "  --timeout DURATION   the limit for all steps together; default 60s\n"
    "  --no-client          stop after the attributes and touch no device. Use it for one host of a TPU slice of "
    "several\n"
    "                       hosts: making a client there waits until all hosts of the slice make theirs\n"
    "  --json               print JSON\n"
    "\n"
    "The plugin reads its variables (TPU_..., LIBTPU_INIT_ARGS, XLA_FLAGS) from the environment of this shell.\n"
    "Exit status: 0 it works; 1 it does not; 2 usage; 3 it could not be tried.\n";

struct options {
    const char *plugin, *options[OPTIONS_MAX];
    uint32_t options_n;
    uint64_t limit_ms;
    bool client, json, help;
};

/* ---- the command line ---- */

static int read_option (struct options *options, const char *word, struct err *err)
{
    struct pjrt_named_value value;
    if (options->options_n == OPTIONS_MAX)
        return err_set (err, ERR_USAGE, "--option is given more than %d times", OPTIONS_MAX);
    options->options[options->options_n++] = word;
    return option_read (word, &value, err);
}

static int read_valued (struct options *options, const char *name, const char *value, struct err *err)
{
    if (strcmp (name, "--option") == 0)
        return read_option (options, value, err);
    if (strcmp (name, "--plugin") == 0)
        options->plugin = value;
    else if (!duration_parse (text_of (value), &options->limit_ms) || !options->limit_ms)
        return err_set (err, ERR_USAGE, "--timeout is \"%.40s\"; expected a duration such as 30s", value);
    return 0;
}

static bool takes_value (const char *word)
{
    return strcmp (word, "--option") == 0 || strcmp (word, "--plugin") == 0 || strcmp (word, "--timeout") == 0;
}

static int read_words (int argc, char **argv, struct options *options, struct err *err)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp (argv[i], "--help") == 0)
            options->help = true;
        else if (strcmp (argv[i], "--json") == 0)
            options->json = true;
        else if (strcmp (argv[i], "--no-client") == 0)
            options->client = false;
        else if (!takes_value (argv[i]))
            return err_set (err, ERR_USAGE, "unknown option %.100s", argv[i]);
        else if (i + 1 == argc)
            return err_set (err, ERR_USAGE, "%s needs a value", argv[i]);
        else if (read_valued (options, argv[i], argv[i + 1], err) < 0)
            return -1;
        else
            i++;
    }
    if (!options->help && (!options->plugin || !*options->plugin || strlen (options->plugin) > PATH_MAX_BYTES))
        return err_set (err, ERR_USAGE, "--plugin PATH is required; PATH may have at most %d bytes", PATH_MAX_BYTES);
    return 0;
}

/* A name without '/' would be searched along the library path. */
static const char *path_of (const char *plugin, struct arena *arena)
{
    return strchr (plugin, '/') ? plugin : text_format (arena, "./%s", plugin).ptr;
}

static int probe_by_hand (const struct options *options)
{
    struct probe_report report;
    struct arena arena = { 0 };
    struct err err = { 0 };
    struct probe_request request = { .plugin = path_of (options->plugin, &arena),
                                     .options = options->options,
                                     .options_n = options->options_n,
                                     .client = options->client,
                                     .limit_ms = options->limit_ms,
                                     .echo_fd = -1 };
    probe_report_init (&report);
    int status = EXIT_NOT_TRIED;
    if (probe_run (&request, &report, &err) < 0)
        fprintf (stderr, "sliceup-worker probe: %s\n", err.text);
    else if ((options->json ? probe_print_json : probe_print_lines) (&report, options->plugin, &err) < 0)
        fprintf (stderr, "sliceup-worker probe: %s\n", err.text);
    else
        status = report.end == PROBE_WORKS ? EXIT_WORKS : EXIT_FAILS;
    probe_report_release (&report);
    arena_release (&arena);
    return status;
}

int probe_main (int argc, char **argv)
{
    struct options options = { .client = true, .limit_ms = LIMIT_MS };
    struct err err = { 0 };
    if (argc >= 4 && strcmp (argv[1], PROBE_CHILD) == 0)
        probe_child (argv[2], strcmp (argv[3], PROBE_CHILD_CLIENT) == 0, argv + 4);
    if (argc == 1 && getenv ("SLICEUP_FD"))
        return probe_rung ();
    if (read_words (argc, argv, &options, &err) < 0) {
        fprintf (stderr, "sliceup-worker probe: %s\n%s", err.text, usage);
        return EXIT_WRONG_USAGE;
    }
    if (options.help)
        return fputs (usage, stdout) < 0 || fputs (help, stdout) < 0 ? EXIT_NOT_TRIED : EXIT_WORKS;
    return probe_by_hand (&options);
}
