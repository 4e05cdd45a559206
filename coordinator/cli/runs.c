#include <jansson.h>

#include "common/base/duration.h"
#include "common/io/clock.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/options.h"
#include "coordinator/cli/runs.h"
#include "coordinator/home/run_begun.h"
#include "coordinator/home/run_facts.h"
#include "coordinator/journal/journal.h"
#include "coordinator/view/record_json.h"
#include "coordinator/view/status.h"

enum { LIST_MAX_BYTES = 64 << 20, SLICE_COLUMNS = 18, OUTCOME_COLUMNS = 15, RUNG_COLUMNS = 36, SPAN_COLUMNS = 12 };

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

struct slice_question {
    const char *slice;
    bool is;
};

static void answer (void *owner, const struct fact *opened)
{
    struct slice_question *question = owner;
    question->is = text_is (opened->of.run_opened.plan.slice, question->slice);
}

bool run_is_of_slice (const struct run_dir *dir, const char *slice)
{
    struct slice_question question = { .slice = slice };
    return run_dir_check (dir, NULL) == 0 && run_facts_read_first (dir, answer, &question, NULL) == 0 && question.is;
}

static void read_run (struct listed *run)
{
    char path[RUN_PATH_BYTES];
    run->board = board_create ();
    if (run_dir_check (run->dir, &run->err) < 0 ||
        journal_is_locked (run_dir_path (run->dir, "journal.db", path), &run->pid, &run->err) < 0)
        return;
    if (run_begun_check (run->dir, &run->err) == 0)
        run_facts_each (run->dir, board_take_fact, run->board, &run->err); /* what is wrong with it is listed */
}

static const char *word_of (const struct listed *run)
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
        "{s:s, s:s, s:o, s:o, s:o, s:I, s:o, s:o, s:o}", "run", run->dir->id, "state", word_of (run), "slice",
        board->opened ? escaped_json (board->plan.slice) : json_null (), "rung_reached",
        reached < 0 ? json_null () : escaped_json (board_rung_id (board, (uint32_t) reached)), "exit_status",
        known && board->ended ? json_integer (board->exit_status) : json_null (), "created_wall_ms",
        (json_int_t) begun_wall_ms (run), "created", time_json (begun_wall_ms (run)), "duration_ms",
        known ? json_integer ((json_int_t) lasted_ms (listing, run)) : json_null (), "problem",
        known ? json_null () : escaped_json (text_of (run->err.text)));
    if (object == NULL || json_array_append_new (listing->list, object) != 0)
        mem_exit_exhausted (0);
}

/* ---- text ---- */

static void add_cell (struct line *line, struct text text, uint32_t columns)
{
    line_cell (line, text, columns - 1, columns);
}

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
    add_cell (line, text_of (words), RUNG_COLUMNS);
}

static enum paint paint_of (const struct listed *run)
{
    if (run->err.code || (run->board->ended && run->board->outcome != OUTCOME_PASSED))
        return PAINT_BAD;
    return run->board->ended ? PAINT_GOOD : PAINT_STRONG;
}

static void list_text (struct listing *listing, const struct listed *run)
{
    char span[DURATION_TEXT_BYTES];
    struct line line = line_begin (&listing->out, &listing->style);
    line_printf (&line, "%.8s  ", run->dir->id);
    add_cell (&line, run->board->opened ? run->board->plan.slice : TEXT_LIT ("?"), SLICE_COLUMNS);
    line_paint (&line, paint_of (run));
    add_cell (&line, text_of (word_of (run)), OUTCOME_COLUMNS);
    line_paint (&line, PAINT_NONE);
    if (run->err.code) {
        line_text (&line, text_of (run->err.text));
    } else {
        add_reached (&line, run->board);
        add_cell (&line, text_of (duration_print (lasted_ms (listing, run), span)), SPAN_COLUMNS);
        line_printf (&line, "%s ago", duration_print (age_ms (listing, run), span));
    }
    line_end (&line);
}

static void head_text (struct listing *listing)
{
    struct line line = line_begin (&listing->out, &listing->style);
    line_paint (&line, PAINT_FAINT);
    line_puts (&line, "run       ");
    add_cell (&line, TEXT_LIT ("slice"), SLICE_COLUMNS);
    add_cell (&line, TEXT_LIT ("outcome"), OUTCOME_COLUMNS);
    add_cell (&line, TEXT_LIT ("rung reached"), RUNG_COLUMNS);
    add_cell (&line, TEXT_LIT ("took"), SPAN_COLUMNS);
    line_puts (&line, "begun");
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
            head_text (listing);
        list_text (listing, &run);
    }
    board_destroy (run.board);
    return ++listing->n < listing->limit ? 0 : 1;
}

static int finish (struct listing *listing)
{
    if (listing->json) {
        json_t *answer = json_pack ("{s:s, s:O}", "schema", "sliceup.runs/1", "runs", listing->list);
        json_print_release (answer, JSON_INDENT (2) | JSON_ENSURE_ASCII, &listing->out);
    } else if (listing->n == 0) {
        buf_puts (&listing->out,
                  listing->slice ? "no runs of this slice\n" : "no runs yet; start one with: sliceup run SLICE.yaml\n");
    }
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
    int status = run_dir_each (cli->home, list_run, &listing, &err) < 0 ? cli_fail (cli, &err) : finish (&listing);
    json_decref (listing.list);
    buf_release (&listing.out);
    return status;
}

static const struct cli_option options[] = {
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
        "Interrupted: no coordinator "
        "holds the run; "
        "sliceup resume takes it over. Never-begun: the coordinator ended before anything was started on a host; "
        "sliceup resume removes the run. A run with a damaged journal is listed as damaged.",
    .examples = "sliceup runs\n"
                "sliceup runs --slice v6e --limit 10\n"
                "sliceup runs prune --keep 50 --dry-run\n"
                "sliceup runs --json | jq -r '.runs[] | select(.state == \"interrupted\") | .run'\n",
    .exit_status = "0 listed, 2 usage, 3 the folder of runs cannot be read.",
    .options = options,
    .subcommands = (const struct cli_command *const[]){ &runs_prune_command, NULL },
    .run = runs_run,
};
