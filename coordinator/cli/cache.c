#include "coordinator/cli/cache.h"
#include "coordinator/cli/commands.h"

#include <string.h>

/* ---- the command line ---- */

enum { KEEP = 2 };

struct subcommand {
    const char *name;
    const char *options;  /* of this verb, between blanks */
    uint32_t least, most; /* operands */
    bool slice;           /* an operand that is no number is a slice file */
    const char *operands; /* as the usage names them */
    int (*run) (struct cli *cli, const struct cache_request *request);
};
#define WHERE " --root --run --slice --trust "
static const struct subcommand subcommands[] = {
    { "ls", WHERE "--json ", 0, 0, true, "[SLICE.yaml]", cache_ls },
    { "verify", WHERE "--json --full --quick ", 0, CACHE_OPERANDS_MAX, true, "[SLICE.yaml] [GENERATION...]",
      cache_verify },
    { "explain", " --json ", 2, 3, false, "HOST[@RUN] HOST[@RUN] [RUN]", cache_explain },
    { "gc", WHERE "--json --keep --dropped --abandoned --dry-run --forget ", 0, 0, true, "[SLICE.yaml]", cache_gc },
    { "export", WHERE "--json ", 2, 2, false, "BUNDLE|GENERATION FOLDER", cache_export },
    { "import", WHERE "--json ", 1, 1, false, "FOLDER", cache_import },
};
enum { VERBS_N = sizeof subcommands / sizeof subcommands[0] };

static bool takes (const struct subcommand *subcommand, const char *option)
{
    const char *at = strstr (subcommand->options, option);
    return at && at[-1] == ' ' && at[strlen (option)] == ' ';
}

static bool take_flag (const struct subcommand *subcommand, const char *argument, struct cache_request *request)
{
    bool ignored; /* --full: what is done anyway, for those who want to say it */
    const struct {
        const char *name;
        bool *at;
    } flags[] = { { "--json", &request->json },           { "--full", &ignored },
                  { "--quick", &request->quick },         { "--dropped", &request->dropped },
                  { "--abandoned", &request->abandoned }, { "--dry-run", &request->dry_run } };
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (strcmp (argument, flags[i].name) == 0 && takes (subcommand, flags[i].name))
            return *flags[i].at = true;
    return false;
}

static int say (const struct cli *cli, const char *what, const char *about)
{
    fprintf (cli->log.to, "sliceup cache: %s%s\n", what, about);
    return EXIT_USAGE;
}

static int take_keep (const struct cli *cli, const char *value, struct cache_request *request)
{
    uint64_t keep;
    if (!text_to_u64 (text_of (value), &keep) || keep == 0 || keep > 1000000)
        return say (cli, "--keep: expected how many published generations of each bundle to keep, at least 1; not ",
                    value);
    request->keep = (uint32_t) keep;
    return EXIT_HOLDS;
}

/* -1: not an option with a value. */
static int take_value (const struct cli *cli, const struct subcommand *subcommand, int argc, char **argv, int *i,
                       struct cache_request *request)
{
    const struct {
        const char *name;
        const char **at;
    } places[] = { { "--root", &request->root },
                   { "--run", &request->run },
                   { "--slice", &request->slice },
                   { "--trust", &request->trust } };
    const char *value = NULL;
    for (size_t k = 0; k < sizeof places / sizeof places[0]; k++)
        if (takes (subcommand, places[k].name) && cli_read_option (argc, argv, i, places[k].name, places[k].at))
            return EXIT_HOLDS;
    if (takes (subcommand, "--keep") && cli_read_option (argc, argv, i, "--keep", &value))
        return take_keep (cli, value, request);
    if (!takes (subcommand, "--forget") || !cli_read_option (argc, argv, i, "--forget", &value))
        return -1;
    if (request->forget_n == CACHE_FORGET_MAX)
        return say (cli, "too many --forget", "");
    request->forget[request->forget_n++] = value;
    return EXIT_HOLDS;
}

/* Only what this verb takes is proposed. */
static int refuse (const struct cli *cli, const struct subcommand *subcommand, const char *argument)
{
    static const char *const known[] = { "--root",  "--run",  "--slice",   "--trust",     "--json",    "--full",
                                         "--quick", "--keep", "--dropped", "--abandoned", "--dry-run", "--forget" };
    const char *taken[sizeof known / sizeof known[0] + 1] = { 0 };
    for (size_t i = 0, n = 0; i < sizeof known / sizeof known[0]; i++)
        if (takes (subcommand, known[i]))
            taken[n++] = known[i];
    return cli_refuse_argument (cli, &cache_command, argument, taken);
}

static bool is_number (const char *word)
{
    uint64_t number;
    return text_to_u64 (text_of (word), &number);
}

/* False: there is no place for it. */
static bool take_operand (const struct subcommand *subcommand, const char *word, struct cache_request *request)
{
    if (word[0] == '-')
        return false;
    if (subcommand->slice && !is_number (word)) {
        bool first = request->slice == NULL;
        request->slice = word;
        return first;
    }
    if (request->operands_n == subcommand->most)
        return false;
    request->operands[request->operands_n++] = word;
    return true;
}

static int take_arguments (const struct cli *cli, const struct subcommand *subcommand, int argc, char **argv,
                           struct cache_request *request)
{
    for (int i = 2; i < argc; i++) {
        int status = take_flag (subcommand, argv[i], request) ? EXIT_HOLDS
                                                              : take_value (cli, subcommand, argc, argv, &i, request);
        if (status > EXIT_HOLDS)
            return status;
        if (status == EXIT_HOLDS)
            continue;
        if (!take_operand (subcommand, argv[i], request))
            return refuse (cli, subcommand, argv[i]);
    }
    if ((request->root != NULL) + (request->run != NULL) + (request->slice != NULL) > 1)
        return say (cli, "give only one of --root, --run and --slice to choose the cache root", "");
    if (request->operands_n >= subcommand->least)
        return EXIT_HOLDS;
    fprintf (cli->log.to, "sliceup cache %s: expected %s; see sliceup cache --help\n", subcommand->name,
             subcommand->operands);
    return EXIT_USAGE;
}

static const struct subcommand *find_subcommand (const char *name)
{
    for (size_t i = 0; i < VERBS_N; i++)
        if (strcmp (subcommands[i].name, name) == 0)
            return &subcommands[i];
    return NULL;
}

static int cache_run (struct cli *cli, int argc, char **argv)
{
    const char *names[VERBS_N + 1] = { 0 };
    struct cache_request request = { .keep = KEEP };
    if (argc < 2)
        return say (cli, "expected one of ls, verify, explain, gc, export and import; see sliceup cache --help", "");
    const struct subcommand *subcommand = find_subcommand (argv[1]);
    for (size_t i = 0; i < VERBS_N; i++)
        names[i] = subcommands[i].name;
    if (!subcommand)
        return cli_refuse_argument (cli, &cache_command, argv[1], names);
    int status = take_arguments (cli, subcommand, argc, argv, &request);
    return status == EXIT_HOLDS ? subcommand->run (cli, &request) : status;
}

const struct cli_command cache_command = {
    .name = "cache",
    .usage = "cache ls | verify | explain HOST HOST | gc | import | export",
    .summary = "inspect the shared compile cache: list, verify, explain misses, collect, export and import",
    .help =
        "A cache root holds generations. One host writes each generation once and seals it with a manifest. A run uses "
        "the\n"
        "newest published generation of its bundle (same pins, plugin, flags and hardware). Guide: "
        "docs/guide/cache.md.\n"
        "\n"
        "  ls [SLICE.yaml]            bundles and their generations: state, size, covers, writer and users\n"
        "  verify [GENERATION...]     compare every sealed generation with its manifest, byte by byte, and look for "
        "tokens\n"
        "                             that were never granted and for late writes\n"
        "      --quick                compare only names, kinds, sizes and modes (default: --full, every byte)\n"
        "  explain HOST HOST [RUN]    why two hosts of a run have different cache keys: which parts of the key differ, "
        "and\n"
        "                             the flag, version, argument or device behind it; HOST@RUN HOST@RUN: in two runs\n"
        "  gc                         remove published generations that newer ones replace; never the newest of a "
        "bundle,\n"
        "                             one that an unfinished run uses, or one that is being written\n"
        "      --keep N               keep the newest N of each bundle (default 2)\n"
        "      --dropped              also those that were quarantined after a violation: examine them first\n"
        "      --abandoned            also those whose writer lost its lease or failed\n"
        "      --forget RUN           no longer count this run as a user: its machine is gone, or it was interrupted "
        "and\n"
        "                             will not be resumed; may be repeated\n"
        "      --dry-run              print what would be removed\n"
        "  export WHICH FOLDER        copy a published generation, checked byte by byte, into a new folder that can "
        "be\n"
        "                             taken elsewhere; WHICH: its number, or a bundle (its newest one)\n"
        "  import FOLDER              compare an exported folder with its manifest, and publish it here under a new "
        "number;\n"
        "                             a generation that is already here is not imported again\n"
        "\n"
        "Which cache root, for all but explain:\n"
        "  --root DIR                 this one\n"
        "  --slice SLICE.yaml         that of a slice (ls, verify and gc also take the file without --slice)\n"
        "  --run RUN                  that of a run: an id, the beginning of one, or 'last' (the default)\n"
        "  --trust UID[,UID...]       users who may own it, besides root, you, and the users that the slice trusts\n"
        "  --json                     one JSON object; sizes in bytes\n"
        "\n"
        "Examples:\n"
        "  sliceup cache ls configs/slices/local-jax.yaml\n"
        "  sliceup cache verify --root /mnt/shared/sliceup-cache\n"
        "  sliceup cache explain v6e-0 v6e-3\n"
        "  sliceup cache gc --keep 1 --abandoned --dry-run\n"
        "  sliceup cache export 7 /tmp/gen-7 && rsync -a /tmp/gen-7 other:/tmp/\n"
        "  sliceup cache import /tmp/gen-7 --root /mnt/other/cache\n"
        "\n"
        "Exit status: 0 done, and nothing was modified after it was sealed; 1 explain: the keys differ; 2 usage or\n"
        "configuration; 3 the command could not be completed, or other users could change the cache; 4 verify, "
        "export,\n"
        "import: something was modified after it was sealed; 5 catalogue.db is damaged.\n",
    .run = cache_run,
};
