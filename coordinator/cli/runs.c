/* runs.c - `sliceup runs`: what lies in a home; and `sliceup runs prune`: which runs may go, and what that frees. */
#include <jansson.h>
#include <unistd.h>

#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "coordinator/catalogue/catalogue.h"
#include "coordinator/cli/commands.h"
#include "coordinator/journal/journal.h"
#include "coordinator/journal/run_begun.h"
#include "coordinator/journal/run_dir.h"
#include "coordinator/view/status.h"

/* ---- runs ---- */

/* --slice NAME, of both. */
#define OPTION_OF_SLICE CLI_SLICE, "--slice", .value = "NAME", .help = "only runs of this slice"

static const struct cli_command runs_prune_command;

enum { LIST_MAX_BYTES = 64 << 20 };
enum { OF_RUN, OF_SLICE, OF_OUTCOME, OF_RUNG, OF_SPAN, OF_TIME, COLUMNS_N };
static const struct line_column columns[COLUMNS_N] = {
    [OF_RUN] = { "run", 10 },           [OF_SLICE] = { "slice", 18 }, [OF_OUTCOME] = { "outcome", 15 },
    [OF_RUNG] = { "rung reached", 36 }, [OF_SPAN] = { "took", 12 },   [OF_TIME] = { "begun", 0 },
};

enum { RUNS_LIMIT = CLI_OWN };

struct listing {
    const struct cli *cli;
    struct style style;
    bool json;
    const char *slice; /* NULL: any */
    uint64_t limit;
    uint64_t now_wall_ms;
    uint32_t n;
    json_t *list;
    struct buf out;
};

/* One run, as far as its journal can be read. */
struct listed {
    const struct run_dir *dir;
    uint64_t created_ms;
    struct board *board;
    int64_t pid;
    struct err err; /* set: damaged, or empty */
};

/* As its first fact says; without reading on. A run that lacks it is of no slice. */
static bool run_is_of_slice (const struct run_dir *dir, const char *slice)
{
    LOCAL_ARENA arena = { 0 };
    struct plan plan;
    return run_dir_check (dir, NULL) == 0 && run_facts_read_plan (dir, &arena, &plan, NULL) == 0 &&
           text_is (plan.slice, slice);
}

static void read_run (struct listed *run)
{
    run->board = board_create (BOARD_JUDGED_STATE);
    if (run_dir_check (run->dir, &run->err) < 0 ||
        journal_is_locked (RUN_PATH (run->dir, "journal.db"), &run->pid, &run->err) < 0)
        return;
    if (run_begun_check (run->dir, &run->err) == 0)
        run_facts_each (run->dir, board_take_fact, run->board, &run->err); /* what is wrong with it is listed */
}

static const char *runs_word_of (const struct listed *run)
{
    struct status status = { .board = run->board, .pid = run->pid };
    switch (run->err.code) {
    case ERR_NONE: break;
    case ERR_USAGE: return "never-begun";
    case ERR_DAMAGE: return "damaged";
    default: return "unreadable";
    }
    return run->board->ended ? enum_name_of (&outcome_names, run->board->outcome) : status_run_state (&status);
}

/* The last rung that passed on every host; -1: none. */
static int rung_reached (const struct board *board)
{
    int reached = -1;
    for (uint32_t i = 0; board->opened && i < board->plan.rungs.n; i++)
        if (board_rung_outcome (board, i) == OUTCOME_PASSED)
            reached = (int) i;
    return reached;
}

/* The folder's number is for their order: when the clock was set back, it is later than what the clock said. */
static uint64_t begun_wall_ms (const struct listed *run)
{
    return run->board->opened ? run->board->opened_wall_ms : run->created_ms;
}

static uint64_t age_ms (const struct listing *listing, const struct listed *run)
{
    uint64_t begun_ms = begun_wall_ms (run);
    return listing->now_wall_ms > begun_ms ? listing->now_wall_ms - begun_ms : 0;
}

static uint64_t lasted_ms (const struct listing *listing, const struct listed *run)
{
    return (run->pid ? board_now_ms (run->board, listing->now_wall_ms) : run->board->clock_ms) + run->board->away_ms;
}

/* ---- JSON ---- */

static void list_json (struct listing *listing, const struct listed *run)
{
    const struct board *board = run->board;
    bool known = run->err.code == 0;
    int reached = rung_reached (board);
    json_t *object = json_pack (
        "{s:s, s:s, s:o, s:o, s:o, s:I, s:o, s:o, s:o}", "run", run->dir->id, "state", runs_word_of (run), "slice",
        board->opened ? escaped_json (board->plan.slice) : json_null (), "rung_reached",
        reached < 0 ? json_null () : escaped_json (board_rung_id (board, (uint32_t) reached)), "exit_status",
        known && board->ended ? json_integer (board->exit_status) : json_null (), "created_wall_ms",
        (json_int_t) begun_wall_ms (run), "created", time_json (begun_wall_ms (run)), "duration_ms",
        known ? json_integer ((json_int_t) lasted_ms (listing, run)) : json_null (), "problem",
        known ? json_null () : escaped_json (text_of (run->err.text)));
    json_array_append_new (listing->list, object);
}

/* ---- text ---- */

/* With --keep-going, whatever failed, also at the last rung. */
static bool went_to_the_top (const struct board *board)
{
    uint32_t rungs = board->plan.rungs.n;
    if (!board->ended || !board->plan.climb.keep_going || rungs == 0)
        return false;
    enum outcome top = board_rung_outcome (board, rungs - 1);
    return top != OUTCOME_NOT_REACHED && top != OUTCOME_CANCELLED;
}

static void add_reached (struct line *line, const struct board *board)
{
    char words[160];
    int reached = rung_reached (board);
    bool inside = board->opened && !went_to_the_top (board) && board->next_rung < board->plan.rungs.n &&
                  (board->ended ? board->outcome != OUTCOME_PASSED : board->rungs[board->next_rung].last != PASS_NONE);
    if (inside)
        snprintf (words, sizeof (words), "%s %.*s (%u of %u)", board->ended ? "stopped at" : "in",
                  TEXT_ARG (board_rung_id (board, board->next_rung)), board->next_rung + 1, board->plan.rungs.n);
    else if (reached < 0)
        snprintf (words, sizeof (words), "none of %u", board->plan.rungs.n);
    else
        snprintf (words, sizeof (words), "%.*s (%d of %u)", TEXT_ARG (board_rung_id (board, (uint32_t) reached)),
                  reached + 1, board->plan.rungs.n);
    line_column (line, &columns[OF_RUNG], text_of (words));
}

static enum paint paint_of (const struct listed *run)
{
    if (run->err.code || (run->board->ended && run->board->outcome != OUTCOME_PASSED))
        return PAINT_BAD;
    return run->board->ended ? PAINT_GOOD : PAINT_STRONG;
}

static void list_text (struct listing *listing, const struct listed *run)
{
    struct line line = line_begin (&listing->out, &listing->style);
    line_printf (&line, "%.8s  ", run->dir->id);
    line_column (&line, &columns[OF_SLICE], run->board->opened ? run->board->plan.slice : TEXT_LIT ("?"));
    line_paint (&line, paint_of (run));
    line_column (&line, &columns[OF_OUTCOME], text_of (runs_word_of (run)));
    line_paint (&line, PAINT_NONE);
    if (run->err.code) {
        line_text (&line, text_of (run->err.text));
    } else {
        add_reached (&line, run->board);
        line_column (&line, &columns[OF_SPAN], text_of (DURATION_TEXT (lasted_ms (listing, run))));
        line_printf (&line, "%s ago", DURATION_TEXT (age_ms (listing, run)));
    }
    line_end (&line);
}

static int list_run (void *owner, const struct run_dir *dir, uint64_t created_ms)
{
    struct listing *listing = owner;
    struct listed run = { .dir = dir, .created_ms = created_ms };
    if (listing->slice && !run_is_of_slice (dir, listing->slice))
        return 0;
    read_run (&run);
    if (listing->json) {
        list_json (listing, &run);
    } else {
        if (listing->n == 0)
            line_print_heads (&listing->out, &listing->style, "", columns, COLUMNS_N);
        list_text (listing, &run);
    }
    board_destroy (run.board);
    return ++listing->n < listing->limit ? 0 : 1;
}

static int runs_finish (struct listing *listing)
{
    if (listing->json)
        return cli_print_json (listing->cli, "sliceup.runs/1", json_pack ("{s:O}", "runs", listing->list));
    if (listing->n == 0)
        buf_puts (&listing->out,
                  listing->slice ? "no runs of this slice\n" : "no runs yet; start one with: sliceup run SLICE.yaml\n");
    return cli_write_stdout (listing->cli, &listing->out);
}

static int runs_run (struct cli *cli, const struct cli_arguments *arguments)
{
    struct listing listing = { .cli = cli,
                               .style = cli_detect_style (cli),
                               .json = arguments->values[CLI_JSON],
                               .slice = arguments->values[CLI_SLICE],
                               .limit = cli_number (arguments, RUNS_LIMIT, UINT32_MAX),
                               .now_wall_ms = clock_wall_ms () };
    struct err err = { 0 };
    buf_init (&listing.out, LIST_MAX_BYTES);
    listing.list = json_array ();
    int status = run_dir_each (cli->home, list_run, &listing, &err) < 0 ? cli_fail (cli, &err) : runs_finish (&listing);
    json_decref (listing.list);
    buf_release (&listing.out);
    return status;
}

static const struct cli_option runs_options[] = {
    { OPTION_OF_SLICE },
    { RUNS_LIMIT, "--limit", .value = "N", .help = "only the newest N of them", .kind = KIND_NUMBER,
      .most = INT32_MAX },
    { OPTION_JSON ("one object with a list of them: docs/spec/runs.schema.json") },
    { 0 },
};

const struct cli_command runs_command = {
    .name = "runs",
    .task = TASK_LOOK,
    .summary = "list every run under this home, the newest first, or remove old ones",
    .help =
        "For each run: its id (every command accepts its first digits), the slice, its state or outcome, the "
        "rung at which it stopped or is, or the highest that all hosts of its passes passed, its duration and its age. "
        "Interrupted: no coordinator holds the run; sliceup resume takes it over. Never-begun: the coordinator ended "
        "before anything was started on a host; "
        "sliceup resume removes the run. A run with a damaged journal is listed as damaged.",
    .examples = "sliceup runs\n"
                "sliceup runs --slice v6e --limit 10\n"
                "sliceup runs prune --keep 50 --dry-run\n"
                "sliceup runs --json | jq -r '.runs[] | select(.state == \"interrupted\") | .run'\n",
    .exit_status = "0 listed, 2 usage, 3 the folder of runs cannot be read.",
    .options = runs_options,
    .subcommands = (const struct cli_command *const[]){ &runs_prune_command, NULL },
    .run = runs_run,
};

/* ---- runs prune ---- */

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

static int runs_choose (void *owner, const struct run_dir *dir, uint64_t created_ms)
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
    return (entry->leased && text_is (entry->run, run)) ||
           LIST_FIND (entry->users, struct generation_user, run, text_of (run));
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
    LOCAL_ARENA arena = { 0 };
    struct plan plan;
    struct err missing = { 0 };
    char root[PATH_MAX_BYTES + 1];
    int rc = run_facts_read_plan (dir, &arena, &plan, err);
    bool here = rc == 0 && plan.cache.mode != CACHE_OFF && plan.cache.mode != CACHE_PER_HOST &&
                text_to_c (plan.cache.root, root, sizeof root);
    struct catalogue *catalogue = here ? catalogue_open_read_only (root, &missing) : NULL;
    if (catalogue)
        rc = check_entries (catalogue, root, dir->id, &arena, err);
    else if (here && missing.code != ERR_STATE)
        rc = err_set (err, missing.code, "may still use its cache: %s", missing.text);
    catalogue_close (catalogue);
    return rc;
}

/* ---- removing ---- */

static void remove_one (struct prune *prune, const struct run_dir *dir)
{
    struct err err = { 0 };
    bool may = run_check_removable (dir, &err) == 0 && check_cache (dir, &err) == 0;
    uint64_t bytes = may ? folder_count_bytes (RUN_PATH (dir, "")) : 0;
    if (may && (prune->dry_run || run_remove_ended (dir, &err) == 0)) {
        buf_printf (&prune->out, "run %.8s %s, %s\n", dir->id, prune->dry_run ? "would be removed" : "was removed",
                    SIZE_TEXT (bytes));
        prune->removed++;
        prune->bytes += bytes;
        return;
    }
    if (access (RUN_PATH (dir, ""), F_OK) != 0 && !prune->dry_run && !may)
        return; /* another prune has removed it */
    buf_printf (&prune->out, may ? "run %.8s was not removed: " : "run %.8s stays: it ", dir->id);
    buf_escaped (&prune->out, text_of (err.text), 0);
    buf_puts (&prune->out, "\n");
    prune->stay++;
    if (may)
        prune->status = EXIT_COULD_NOT;
}

static int runs_carry_out (struct prune *prune, struct err *err)
{
    char size[SIZE_TEXT_BYTES];
    uint32_t leftovers = 0;
    if (!prune->dry_run && run_remove_leftovers (prune->cli->home, &leftovers, err) < 0)
        return -1;
    if (leftovers)
        buf_printf (&prune->out, "%u folder%s of an interrupted removal removed\n", leftovers, plural (leftovers));
    if (run_dir_each (prune->cli->home, runs_choose, prune, err) < 0)
        return -1;
    for (uint32_t i = prune->n; i > 0; i--)
        remove_one (prune, &prune->chosen[i - 1]);
    buf_printf (&prune->out, "%u run%s %s, %s; %u that cannot go %s\n", prune->removed, plural (prune->removed),
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
    int failed = runs_carry_out (&prune, &err) < 0 ? cli_fail (cli, &err) : prune.status;
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

static const struct cli_command runs_prune_command = {
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
