/* runs_prune.c - `sliceup runs prune`: which runs may go, and what that frees. */
#include "coordinator/cli/runs.h"

#include <unistd.h>

#include "common/base/duration.h"
#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "coordinator/cli/cache.h"
#include "coordinator/home/run_removal.h"

enum { PRUNED_MAX = 100000, ANSWER_MAX_BYTES = 64 << 20 };

struct prune {
    struct cli *cli;
    const char *slice;
    uint64_t keep, older_ms, now_wall_ms;
    bool dry_run;
    uint64_t seen; /* of the slice, the newest first */
    struct run_dir *chosen;
    uint32_t n, room, removed, stay;
    uint64_t bytes;
    int status;
    struct buf out;
};

static int choose (void *owner, const struct run_dir *dir, uint64_t created_ms)
{
    struct prune *prune = owner;
    if (prune->slice && !run_is_of_slice (dir, prune->slice))
        return 0;
    if (prune->seen++ < prune->keep || prune->n == PRUNED_MAX ||
        (prune->older_ms && prune->now_wall_ms < created_ms + prune->older_ms))
        return 0;
    prune->chosen = mem_room (prune->chosen, prune->n, &prune->room, 16, sizeof *prune->chosen);
    prune->chosen[prune->n++] = *dir;
    return 0;
}

/* ---- its cache ---- */

static bool uses (const struct catalogue_entry *entry, const char *run)
{
    bool is = entry->leased && text_is (entry->run, run);
    for (uint32_t i = 0; i < entry->users.n && !is; i++)
        is = text_is (entry->users.items[i].run, run);
    return is;
}

static int check_entries (struct catalogue *catalogue, const char *root, const char *run, struct arena *arena,
                          struct err *err)
{
    struct catalogue_list all = { 0 };
    if (catalogue_list (catalogue, TEXT_LIT (""), arena, &all, err) < 0)
        return -1;
    for (uint32_t i = 0; i < all.n; i++)
        if (uses (&all.items[i], run))
            return err_set (err, ERR_STATE, "is still a user of generation %llu in the catalogue of %s",
                            (unsigned long long) all.items[i].token, root);
    return 0;
}

/* The catalogue asks the journal of a user whether that has ended: without it the generation could not be collected. */
static int check_cache (const struct run_dir *dir, struct err *err)
{
    struct arena arena = { 0 };
    struct plan plan;
    struct err missing = { 0 };
    char root[PATH_MAX_BYTES + 1];
    int rc = cache_plan_of_run (dir, &arena, &plan, err);
    bool here = rc == 0 && plan.cache.mode != CACHE_OFF && plan.cache.mode != CACHE_PER_HOST &&
                text_to_c (plan.cache.root, root, sizeof root);
    struct catalogue *catalogue = here ? catalogue_open_read_only (root, &missing) : NULL;
    if (catalogue)
        rc = check_entries (catalogue, root, dir->id, &arena, err);
    else if (here && missing.code != ERR_STATE)
        rc = err_set (err, missing.code, "may still use its cache: %s", missing.text);
    catalogue_close (catalogue);
    arena_release (&arena);
    return rc;
}

/* ---- removing ---- */

static void remove_one (struct prune *prune, const struct run_dir *dir)
{
    char path[RUN_PATH_BYTES], size[SIZE_TEXT_BYTES];
    struct err err = { 0 };
    bool may = run_check_removable (dir, &err) == 0 && check_cache (dir, &err) == 0;
    uint64_t bytes = may ? folder_count_bytes (run_dir_path (dir, "", path)) : 0;
    if (may && (prune->dry_run || run_remove_ended (dir, &err) == 0)) {
        buf_printf (&prune->out, "run %.8s %s, %s\n", dir->id, prune->dry_run ? "would be removed" : "was removed",
                    size_print (bytes, size));
        prune->removed++;
        prune->bytes += bytes;
        return;
    }
    if (access (run_dir_path (dir, "", path), F_OK) != 0 && !prune->dry_run && !may)
        return; /* another prune has removed it */
    buf_printf (&prune->out, may ? "run %.8s was not removed: " : "run %.8s stays: it ", dir->id);
    buf_escaped (&prune->out, text_of (err.text), 0);
    buf_puts (&prune->out, "\n");
    prune->stay++;
    if (may)
        prune->status = EXIT_COULD_NOT;
}

static int carry_out (struct prune *prune, struct err *err)
{
    char size[SIZE_TEXT_BYTES];
    uint32_t leftovers = 0;
    if (!prune->dry_run && run_remove_leftovers (prune->cli->home, &leftovers, err) < 0)
        return -1;
    if (leftovers)
        buf_printf (&prune->out, "%u folder%s of an interrupted removal removed\n", leftovers,
                    leftovers == 1 ? "" : "s");
    if (run_dir_each (prune->cli->home, choose, prune, err) < 0)
        return -1;
    for (uint32_t i = prune->n; i > 0; i--)
        remove_one (prune, &prune->chosen[i - 1]);
    buf_printf (&prune->out, "%u run%s %s, %s; %u that cannot go %s\n", prune->removed, prune->removed == 1 ? "" : "s",
                prune->dry_run ? "would be removed" : "removed", size_print (prune->bytes, size), prune->stay,
                prune->stay == 1 ? "stays" : "stay");
    return 0;
}

static int take_options (struct prune *prune, const char *keep, const char *older, struct err *err)
{
    if (!keep && !older)
        return err_set (err, ERR_USAGE, "runs prune: expected --keep N or --older-than DURATION, which say what stays");
    if (keep && !text_to_u64 (text_of (keep), &prune->keep))
        return err_set (err, ERR_USAGE, "--keep '%s': expected a number of runs", keep);
    if (older && !duration_parse (text_of (older), &prune->older_ms))
        return err_set (err, ERR_USAGE, "--older-than '%s': expected a duration like 30d or 12h, at most 365d", older);
    return 0;
}

enum { PRUNE_KEEP = CLI_OWN, PRUNE_OLDER, PRUNE_DRY_RUN };

static int runs_prune (struct cli *cli, const struct cli_arguments *arguments)
{
    const char *const *values = arguments->values;
    struct prune prune = {
        .cli = cli, .slice = values[CLI_SLICE], .dry_run = values[PRUNE_DRY_RUN], .now_wall_ms = clock_wall_ms ()
    };
    struct err err = { 0 };
    if (take_options (&prune, values[PRUNE_KEEP], values[PRUNE_OLDER], &err) < 0)
        return cli_fail (cli, &err);
    buf_init (&prune.out, ANSWER_MAX_BYTES);
    int failed = carry_out (&prune, &err) < 0 ? cli_fail (cli, &err) : prune.status;
    int written = cli_write_stdout (cli, &prune.out);
    mem_free (prune.chosen);
    return failed ? failed : written;
}

static const struct cli_option options[] = {
    { PRUNE_KEEP, "--keep", .value = "N", .help = "the newest N runs (of the slice) stay" },
    { PRUNE_OLDER, "--older-than", .value = "DURATION", .help = "only runs that were begun longer ago, such as 30d" },
    { OPTION_OF_SLICE },
    { PRUNE_DRY_RUN, "--dry-run", .help = "say what would be removed, and remove nothing" },
    { 0 },
};

const struct cli_command runs_prune_command = {
    .name = "prune",
    .summary = "remove runs that have ended, the oldest first",
    .help = "With their journals, receipts and logs. A run that is running, was interrupted, never began or cannot be "
            "read stays, and so does one that the catalogue of its cache still counts as a user of a generation. "
            "Baselines of sliceup drift are files of their own.",
    .examples = "sliceup runs prune --keep 50 --dry-run\n"
                "sliceup runs prune --older-than 30d --slice v6e\n",
    .exit_status = "0 removed; 2 usage; 3 the folder of runs cannot be read, or a run not removed.",
    .options = options,
    .run = runs_prune,
};
