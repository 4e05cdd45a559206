#include "coordinator/cli/cache.h"
#include "coordinator/cli/commands.h"
#include <string.h>

enum { KEEP = 2, KEEP_MOST = 1000000 };
enum { CACHE_FULL = CLI_OWN, CACHE_QUICK, CACHE_KEEP, CACHE_DROPPED, CACHE_ABANDONED, CACHE_FORGET, CACHE_DRY_RUN };

/* ---- the command line ---- */

/* A slice file may stand among the operands, with or without numbers of generations. */
static bool is_slice (const struct cli_operand *rows, const char *word)
{
    uint64_t number;
    return rows->kind == KIND_SLICE && (!rows[1].name || !text_to_u64 (text_of (word), &number));
}

static int take_operands (const struct cli_arguments *arguments, struct cache_request *request, struct err *err)
{
    uint32_t places = (request->root != NULL) + (request->run != NULL) + (request->slice != NULL);
    for (uint32_t i = 0; i < arguments->operands_n; i++) {
        const char *word = arguments->operands[i];
        if (is_slice (cli_arguments_command (arguments)->operands, word)) {
            request->slice = word;
            places++;
        } else
            request->operands[request->operands_n++] = word;
    }
    return places <= 1
               ? 0
               : err_set (err, ERR_USAGE, "give only one of --root, --run and --slice to choose the cache root");
}

static const struct verb {
    const char *name;
    bool makes_root;
    int (*run) (struct cli *cli, const struct cache_request *request, struct cache_location *target);
} verbs[] = {
    { "ls", false, cache_ls }, { "verify", false, cache_verify }, { "explain", false, cache_explain },
    { "gc", false, cache_gc }, { "export", false, cache_export }, { "import", true, cache_import },
};

static int run_verb (struct cli *cli, const struct verb *verb, const struct cache_request *request)
{
    struct cache_location target = { 0 };
    if (verb->makes_root)
        umask (022); /* what is made below it is for workers of other users, too, as when a worker makes it */
    int status = verb->run == cache_explain ? EXIT_HOLDS
                                            : cache_location_find (cli, request, verb->makes_root, &target);
    if (status == EXIT_HOLDS)
        status = verb->run (cli, request, &target);
    arena_release (&target.arena);
    return status;
}

static int cache_run (struct cli *cli, const struct cli_arguments *arguments)
{
    const char *const *values = arguments->values;
    struct cache_request request = { .root = values[CLI_ROOT],
                                     .run = values[CLI_RUN],
                                     .slice = values[CLI_SLICE],
                                     .trust = values[CLI_TRUST],
                                     .json = values[CLI_JSON],
                                     .quick = values[CACHE_QUICK],
                                     .dropped = values[CACHE_DROPPED],
                                     .abandoned = values[CACHE_ABANDONED],
                                     .dry_run = values[CACHE_DRY_RUN],
                                     .keep = cli_number (arguments, CACHE_KEEP, KEEP) };
    struct err err = { 0 };
    const struct verb *verb = verbs;
    request.forget_n = cli_list (arguments, CACHE_FORGET, request.forget);
    if (take_operands (arguments, &request, &err) < 0)
        return cli_fail (cli, &err);
    while (strcmp (verb->name, cli_arguments_command (arguments)->name) != 0)
        verb++;
    return run_verb (cli, verb, &request);
}

/* ---- the table ---- */

#define OPTION_ROOT CLI_ROOT, "--root", .value = "DIR", .help = "this cache root", .kind = KIND_FOLDER
#define OPTION_SLICE                                                                                                   \
    CLI_SLICE, "--slice", .value = "SLICE.yaml", .help = "the cache root of a slice", .kind = KIND_SLICE
#define OPTION_RUN                                                                                                     \
    CLI_RUN, "--run",                                                                                                  \
        .value = "RUN",                                                                                                \
        .help = "the cache root of a run: an id, the beginning of one, or 'last'; default: the newest with a cache",   \
        .kind = KIND_RUN
#define OPTION_TRUST                                                                                                   \
    CLI_TRUST, "--trust",                                                                                              \
        .value = "UID",                                                                                                \
        .help =                                                                                                        \
            "users who may own it, besides root, you, and the users that the slice trusts: 1000,1001; several add up", \
        .repeat = REPEAT_JOINED
#define OPTION_JSON_BYTES OPTION_JSON ("print one JSON object; sizes in bytes")

#define OPTIONS_OF_CACHE                                                                                               \
    { OPTION_ROOT }, { OPTION_SLICE }, { OPTION_RUN }, { OPTION_TRUST },                                               \
    {                                                                                                                  \
        OPTION_JSON_BYTES                                                                                              \
    }

static const struct cli_option where[] = { OPTIONS_OF_CACHE, { 0 } };
static const struct cli_operand slice_or_none[] = { { "SLICE.yaml", 0, 1, .kind = KIND_SLICE }, { 0 } };

#define COMMON_STATUS                                                                                                  \
    "2 usage or configuration; 3 the command could not be completed, or other users could change the cache; "

static const struct cli_command ls_command = {
    .name = "ls",
    .summary = "list bundles and their generations: state, size, covers, writer and users",
    .help = "SLICE.yaml is the same as --slice.",
    .examples = "sliceup cache ls configs/slices/local-jax.yaml\n",
    .exit_status = "0 listed; " COMMON_STATUS "5 catalogue.db is damaged.",
    .operands = slice_or_none,
    .options = where,
    .run = cache_run,
};
static const struct cli_option verify_options[] = {
    OPTIONS_OF_CACHE,
    { CACHE_QUICK, "--quick", .help = "compare only names, kinds, sizes and modes", .not_with = CACHE_FULL },
    { CACHE_FULL, "--full", .help = "compare every byte (the default)" },
    { 0 },
};

static const struct cli_command verify_command = {
    .name = "verify",
    .summary = "compare every sealed generation with its manifest, and look for late writes",
    .help = "Compares byte by byte. Also looks for tokens that were never granted. SLICE.yaml is the same as --slice.",
    .examples = "sliceup cache verify --root /mnt/shared/sliceup-cache\n",
    .exit_status = "0 nothing was modified after it was sealed; " COMMON_STATUS
                   "4 something was; 5 catalogue.db is damaged.",
    .operands = (const struct cli_operand[]){ { "SLICE.yaml", 0, 1, .kind = KIND_SLICE },
                                              { "GENERATION", 0, CACHE_OPERANDS_MAX - 1, .kind = KIND_TEXT },
                                              { 0 } },
    .options = verify_options,
    .run = cache_run,
};
static const struct cli_option explain_options[] = { { OPTION_JSON_BYTES }, { 0 } };

static const struct cli_command explain_command_of_cache = {
    .name = "explain",
    .usage = "HOST HOST [RUN] | HOST@RUN HOST@RUN [OPTIONS]",
    .summary = "show why two hosts have different cache keys",
    .help = "Names the parts of the key that differ, and the flag, version, argument or device behind them. HOST@RUN "
            "HOST@RUN: in two runs.",
    .examples = "sliceup cache explain v6e-0 v6e-3\n",
    .exit_status = "0 the keys are equal; 1 they differ; " COMMON_STATUS "5 the journal is damaged.",
    .operands = (const struct cli_operand[]){ { "HOST[@RUN]", 2, 2, .kind = KIND_HOSTS },
                                              { "RUN", 0, 1, .kind = KIND_RUN },
                                              { 0 } },
    .options = explain_options,
    .run = cache_run,
};
static const struct cli_option gc_options[] = {
    OPTIONS_OF_CACHE,
    { CACHE_KEEP, "--keep", .value = "N", .help = "keep the newest N of each bundle (default 2)", .kind = KIND_NUMBER,
      .most = KEEP_MOST },
    { CACHE_DROPPED, "--dropped", .help = "also those that were quarantined after a violation: examine them first" },
    { CACHE_ABANDONED, "--abandoned", .help = "also those whose writer lost its lease or failed" },
    { CACHE_FORGET, "--forget", .value = "RUN",
      .help = "no longer count this run as a user: its machine is gone, or it was interrupted and will not be resumed; "
              "may be repeated",
      .kind = KIND_RUN, .repeat = REPEAT_LISTED, .most = CACHE_FORGET_MAX },
    { CACHE_DRY_RUN, "--dry-run", .help = "print what would be removed" },
    { 0 },
};

static const struct cli_command gc_command = {
    .name = "gc",
    .summary = "remove published generations that newer ones replace",
    .help = "Never removes the newest of a bundle, one that an unfinished run uses, or one that is being written. "
            "SLICE.yaml is the same as --slice.",
    .examples = "sliceup cache gc --keep 1 --abandoned --dry-run\n",
    .exit_status = "0 done; " COMMON_STATUS "5 catalogue.db is damaged.",
    .operands = slice_or_none,
    .options = gc_options,
    .run = cache_run,
};
static const struct cli_command export_command = {
    .name = "export",
    .summary = "copy a published generation, checked byte by byte, into a new folder that can be taken elsewhere",
    .help = "WHICH is the number of a generation, or a bundle: its newest one.",
    .examples = "sliceup cache export 7 /tmp/gen-7 && rsync -a /tmp/gen-7 other:/tmp/\n",
    .exit_status = "0 copied; " COMMON_STATUS "4 it was modified after it was sealed; 5 catalogue.db is damaged.",
    .operands = (const struct cli_operand[]){ { "WHICH", 1, 1, .kind = KIND_TEXT },
                                              { "FOLDER", 1, 1, .kind = KIND_FOLDER },
                                              { 0 } },
    .options = where,
    .run = cache_run,
};
static const struct cli_command import_command = {
    .name = "import",
    .summary = "compare an exported folder with its manifest, and publish it here under a new number",
    .help = "A generation that is already here is not imported again.",
    .examples = "sliceup cache import /tmp/gen-7 --root /mnt/other/cache\n",
    .exit_status = "0 published, or already here; " COMMON_STATUS
                   "4 it was modified after it was sealed; 5 catalogue.db is damaged.",
    .operands = (const struct cli_operand[]){ { "FOLDER", 1, 1, .kind = KIND_FOLDER }, { 0 } },
    .options = where,
    .run = cache_run,
};

const struct cli_command cache_command = {
    .name = "cache",
    .task = TASK_CACHE,
    .summary = "inspect the shared compile cache: list, verify, explain misses, collect, export and import",
    .help = "A cache root holds generations. One host writes each generation once and seals it with a manifest. A run "
            "uses the newest published generation of its bundle (same pins, plugin, flags and hardware). Guide: "
            "docs/guide/cache.md.",
    .examples = "sliceup cache ls configs/slices/local-jax.yaml\n"
                "sliceup cache verify --root /mnt/shared/sliceup-cache\n"
                "sliceup cache explain v6e-0 v6e-3\n"
                "sliceup cache gc --keep 1 --abandoned --dry-run\n"
                "sliceup cache export 7 /tmp/gen-7 && rsync -a /tmp/gen-7 other:/tmp/\n"
                "sliceup cache import /tmp/gen-7 --root /mnt/other/cache\n",
    .exit_status = "0 done, and nothing was modified after it was sealed; 1 explain: the keys differ; " COMMON_STATUS
                   "4 verify, export, import: something was modified after it was sealed; 5 catalogue.db is damaged.",
    .subcommands = (const struct cli_command *const[]){ &ls_command, &verify_command, &explain_command_of_cache,
                                                        &gc_command, &export_command, &import_command, NULL },
};
