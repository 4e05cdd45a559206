#include "coordinator/scene/scene.h"

#include "common/base/utf8.h"
#include "coordinator/scene/scene_private.h"
#include "coordinator/view/waiting.h"

enum { COLUMNS_MAX = 128, WAITING_BYTES = 1 << 20, WAITING_SET_COLUMNS = 48 };

/* ---- the summary ---- */

static struct text mesh_words (const struct mesh *mesh, struct arena *arena)
{
    struct buf out;
    buf_init (&out, 4096);
    for (uint32_t i = 0; i < mesh->n; i++) {
        buf_puts (&out, i ? ", " : "");
        buf_escaped (&out, mesh->items[i].axis, 0);
        buf_printf (&out, "=%u", mesh->items[i].size);
    }
    return buf_finish (&out, arena);
}

/* The last axis, counted in hosts, where a row of tiles can be that long; else a square, or nearly. */
static uint32_t columns_of (const struct plan *plan)
{
    uint32_t each = plan->profile.devices_per_host, columns = 1;
    uint32_t size = plan->mesh.n ? plan->mesh.items[plan->mesh.n - 1].size : 0;
    if (each && size % each == 0 && size / each > 1 && size / each <= COLUMNS_MAX)
        return size / each;
    while ((uint64_t) columns * columns < plan->hosts.n)
        columns *= 2;
    return columns;
}

static void count_hosts (const struct board *board, struct scene *scene)
{
    scene->hosts_n = board->plan.hosts.n;
    scene->joined_n = board->joined_n;
    for (uint32_t i = 0; i < board->plan.hosts.n; i++) {
        const struct board_host *host = &board->hosts[i];
        scene->silent_n += host->life == BOARD_JOINED && host->suspected && !board->ended;
        scene->lost_n += host->life == BOARD_LOST;
        scene->counts.joins += host->joins;
    }
}

static void fill_counts (const struct board *board, struct scene *scene)
{
    scene->counts.retries = board->retries_n;
    scene->counts.conflicts = board->conflicts_n;
    scene->counts.violations = board->violations_n;
    scene->counts.leases_lost = board->leases_lost_n;
    scene->counts.lease = board->lease_token;
    scene->counts.compiling = board->compiling;
    scene->counts.generation = board->generation.token;
    scene->counts.entries = board->generation.entries;
    scene->counts.bytes = board->generation.bytes;
    scene->counts.adopted = board->generation.adopted;
    scene->counts.dropped = board->generation.dropped;
}

static void fill_summary (struct maker *maker)
{
    const struct board *board = maker->board;
    struct scene *scene = maker->scene;
    struct arena *arena = maker->arena;
    scene->opened = true;
    scene->opened_wall_ms = board->opened_wall_ms;
    scene->away_ms = board->away_ms;
    scene->run = scene_text (arena, board->run, SCENE_WORD_COLUMNS);
    scene->slice = scene_text (arena, board->plan.slice, SCENE_WORD_COLUMNS);
    scene->ladder = scene_text (arena, board->plan.ladder, SCENE_WORD_COLUMNS);
    scene->version = scene_text (arena, board->version, SCENE_WORD_COLUMNS);
    scene->sentence = scene_text (arena, board->sentence, SCENE_LINE_COLUMNS);
    scene->mesh = mesh_words (&board->plan.mesh, arena);
    scene->ended = board->ended;
    scene->cancelling = board->cancel_level && !board->ended;
    scene->outcome = board->outcome;
    scene->exit_status = board->exit_status;
    scene->columns = columns_of (&board->plan);
    const struct usual_time *usual = progress_usual_time (board, scene->now_ms, &scene->left_ms);
    scene->usual_ms = usual ? usual->ms : 0;
    scene->usual_runs = usual ? usual->runs : 0;
    count_hosts (board, scene);
    fill_counts (board, scene);
}

/* ---- rungs ---- */

/* Marks of the running pass change with its hosts. */
static uint64_t rung_changed (const struct board *board, uint32_t rung, bool running)
{
    uint64_t changed = board->rungs[rung].changed;
    for (uint32_t i = 0; running && i < board->plan.hosts.n; i++)
        if (board->hosts[i].in_pass && board->hosts[i].changed > changed)
            changed = board->hosts[i].changed;
    return changed;
}

static void fill_rung (const struct maker *maker, uint32_t at, struct scene_rung *rung)
{
    const struct board *board = maker->board;
    const struct board_rung *from = &board->rungs[at];
    const struct rung *plan = &board->plan.rungs.items[at];
    rung->running = board->running && board->key.rung == at;
    const struct board_pass *pass = rung->running ? board_running_pass (board) : &from->passes[from->last];
    rung->id = scene_text (maker->arena, plan->id, SCENE_WORD_COLUMNS);
    rung->outcome = board_rung_outcome (board, at);
    rung->pass = from->last;
    rung->slice_wide = plan->scope == SCOPE_SLICE;
    rung->attempt = pass->attempt;
    rung->began_ms = rung->running ? pass->began_ms : 0;
    rung->spent_ms = board_rung_ms (board, at, maker->scene->now_ms);
    rung->limit_ms = plan->timeout_ms;
    rung->hosts_n = pass->hosts_n;
    rung->ended_n = pass->ended_n;
    rung->changed = rung_changed (board, at, rung->running);
}

static void fill_rungs (const struct maker *maker)
{
    struct scene *scene = maker->scene;
    uint32_t n = maker->board->plan.rungs.n;
    scene->rungs = arena_array (maker->arena, n, sizeof (*scene->rungs));
    for (scene->rungs_n = 0; scene->rungs_n < n; scene->rungs_n++)
        fill_rung (maker, scene->rungs_n, &scene->rungs[scene->rungs_n]);
    scene->metrics_changed = maker->board->metrics_changed;
    for (uint32_t i = 0; i < n; i++)
        if (maker->board->rungs[i].changed > scene->groups_changed)
            scene->groups_changed = maker->board->rungs[i].changed;
    while (scene->frontier < n && scene->rungs[scene->frontier].outcome == OUTCOME_PASSED)
        scene->frontier++;
}

/* ---- metrics, gates, what is waited for, notes ---- */

static void fill_metrics (const struct maker *maker)
{
    const struct board *board = maker->board;
    struct arena *arena = maker->arena;
    struct scene *scene = maker->scene;
    scene->metrics = arena_array (arena, board->metrics.n, sizeof (*scene->metrics));
    for (scene->metrics_n = 0; scene->metrics_n < board->metrics.n; scene->metrics_n++) {
        const struct board_metric *from = &board->metrics.items[scene->metrics_n];
        scene->metrics[scene->metrics_n] =
            (struct scene_metric){ .rung = from->key.rung,
                                   .pass = from->key.pass,
                                   .name = scene_text (arena, from->name, SCENE_WORD_COLUMNS),
                                   .axes = scene_text (arena, from->axes, SCENE_WORD_COLUMNS),
                                   .why = scene_text (arena, from->why, SCENE_LINE_COLUMNS),
                                   .culprits = scene_text (arena, from->culprits, SCENE_LINE_COLUMNS),
                                   .value = from->value,
                                   .proof = from->proof };
    }
}

static bool of_last_attempt (const struct board *board, const struct attempt_key *key)
{
    return key->rung < board->plan.rungs.n && (uint32_t) key->pass < BOARD_PASSES &&
           board->rungs[key->rung].passes[key->pass].attempt == key->attempt;
}

static void fill_gates (const struct maker *maker)
{
    const struct gate_table *table = feed_gates (maker->feed);
    struct scene *scene = maker->scene;
    scene->gates = arena_array (maker->arena, table->n, sizeof (*scene->gates));
    for (uint32_t i = 0; i < table->n; i++) {
        const struct gate_wait *from = &table->items[i];
        struct text word = board_word (maker->board, from->word);
        if (!of_last_attempt (maker->board, &from->key) ||
            !scene_in_range (maker->query, from->opened_ms, from->opened_ms))
            continue;
        word = (struct text){ word.ptr + sizeof (GATE_SPAN) - 1, word.len - (uint32_t) (sizeof (GATE_SPAN) - 1) };
        scene->gates[scene->gates_n++] =
            (struct scene_gate){ .rung = from->key.rung,
                                 .pass = from->key.pass,
                                 .attempt = from->key.attempt,
                                 .gate = scene_text (maker->arena, word, SCENE_WORD_COLUMNS),
                                 .last = from->last,
                                 .hosts_n = from->hosts_n,
                                 .median_wait_ms = from->median_ms,
                                 .longest_wait_ms = from->longest_ms,
                                 .opened_ms = from->opened_ms };
    }
}

static void fill_waiting (const struct maker *maker)
{
    struct scene *scene = maker->scene;
    struct buf lines;
    buf_init (&lines, WAITING_BYTES);
    uint32_t n = waiting_append_lines (maker->board, scene->now_ms, WAITING_LINES, WAITING_SET_COLUMNS, &lines);
    struct text rest = buf_finish (&lines, maker->arena), line;
    scene->waiting = arena_array (maker->arena, n, sizeof (*scene->waiting));
    while (scene->waiting_n < n && text_cut (&rest, '\n', &line))
        scene->waiting[scene->waiting_n++] = scene_text (maker->arena, line, SCENE_LINE_COLUMNS);
}

static void fill_notes (const struct maker *maker)
{
    const struct feed *feed = maker->feed;
    struct scene *scene = maker->scene;
    uint64_t since = maker->query->since, last = feed_notes_last (feed);
    uint64_t seen = since ? feed_notes_at_revision (feed, since) : 0;
    uint64_t kept = last > FEED_NOTES_KEPT ? last - FEED_NOTES_KEPT : 0;
    scene->notes_skipped = since && kept > seen ? kept - seen : 0;
    scene->notes = arena_array (maker->arena, FEED_NOTES_KEPT, sizeof (*scene->notes));
    for (uint64_t number = (seen > kept ? seen : kept) + 1; number <= last; number++) {
        const struct feed_note *note = feed_note_at (feed, number);
        if (scene_in_range (maker->query, note->at_ms, note->at_ms))
            scene->notes[scene->notes_n++] = note;
    }
}

void scene_make (const struct feed *feed, const struct scene_query *query, uint64_t boot_ms, struct arena *arena,
                 struct scene *out)
{
    struct maker maker = { .feed = feed, .board = feed_board (feed), .query = query, .arena = arena, .scene = out };
    *out = (struct scene){ .revision = feed_revision (feed), .now_ms = feed_now_ms (feed, boot_ms) };
    fill_notes (&maker);
    if (!maker.board->opened)
        return;
    fill_summary (&maker);
    fill_rungs (&maker);
    scene_make_groups (&maker);
    scene_make_tiles (&maker);
    fill_metrics (&maker);
    fill_gates (&maker);
    fill_waiting (&maker);
    scene_make_host (&maker);
}

/* ---- scene mark ---- */

/* How hosts stand, as marks. */

/* `badness` orders "worst first": what failed for good, what may yet, what waits, what is fine. */
static const struct {
    char letter;
    uint8_t badness;
    const char *word;
} marks[MARK_N] = {
    [MARK_TO_COME] = { '.', 3, "to come" },         [MARK_PASSED] = { 'P', 0, "passed" },
    [MARK_NOT_REACHED] = { '-', 1, "not reached" }, [MARK_RUNS] = { 'r', 5, "runs" },
    [MARK_AT_GATE] = { 'g', 4, "at a gate" },       [MARK_ENDED] = { 'e', 2, "ended" },
    [MARK_SO_FAR] = { 'f', 11, "failed so far" },   [MARK_CASCADE] = { 'c', 7, "cascade" },
    [MARK_CANCELLED] = { 'X', 8, "cancelled" },     [MARK_BLOCKED] = { 'B', 9, "blocked" },
    [MARK_TIMED_OUT] = { 'T', 12, "timed out" },    [MARK_LOST] = { 'L', 13, "lost" },
    [MARK_FAILED] = { 'F', 14, "failed" },          [MARK_SILENT] = { '?', 10, "silent" },
    [MARK_JOINING] = { 'j', 6, "not joined" },
};

char scene_mark_letter (enum scene_mark mark)
{
    return (uint32_t) mark < MARK_N ? marks[mark].letter : ' ';
}

const char *scene_mark_word (enum scene_mark mark)
{
    return (uint32_t) mark < MARK_N ? marks[mark].word : "";
}

uint32_t scene_mark_badness (enum scene_mark mark)
{
    return (uint32_t) mark < MARK_N ? marks[mark].badness : 0;
}

bool scene_mark_is_bad (enum scene_mark mark)
{
    return mark >= MARK_SO_FAR && mark < MARK_N && mark != MARK_JOINING;
}

enum scene_mark scene_mark_of_outcome (enum outcome outcome)
{
    static const enum scene_mark of[OUTCOME_N] = {
        [OUTCOME_NONE] = MARK_TO_COME,
        [OUTCOME_PASSED] = MARK_PASSED,
        [OUTCOME_NOT_REACHED] = MARK_NOT_REACHED,
        [OUTCOME_CASCADE] = MARK_CASCADE,
        [OUTCOME_BLOCKED] = MARK_BLOCKED,
        [OUTCOME_LOST] = MARK_LOST,
        [OUTCOME_FAILED] = MARK_FAILED,
        [OUTCOME_TIMED_OUT] = MARK_TIMED_OUT,
        [OUTCOME_CANCELLED] = MARK_CANCELLED,
    };
    return (uint32_t) outcome < OUTCOME_N ? of[outcome] : MARK_TO_COME;
}

const struct board_attempt *scene_attempt_of (const struct board *board, uint32_t host, const struct attempt_key *key)
{
    const struct board_host *of = &board->hosts[host];
    for (uint32_t i = of->attempts.n; i > 0; i--)
        if (attempt_key_equal (&of->attempts.items[i - 1].key, key))
            return &of->attempts.items[i - 1];
    return NULL;
}

bool scene_attempt_runs (const struct board *board, const struct board_attempt *attempt)
{
    return !attempt->ended && board->running && attempt_key_equal (&attempt->key, &board->key);
}

uint64_t scene_attempt_ms (const struct board *board, const struct board_attempt *attempt, uint64_t now_ms)
{
    if (attempt->ended || attempt->judged)
        return attempt->duration_ms;
    return scene_attempt_runs (board, attempt) && now_ms > attempt->began_ms ? now_ms - attempt->began_ms : 0;
}

uint64_t scene_attempt_ended_ms (const struct board_attempt *attempt)
{
    return attempt->ended && attempt->duration_ms ? attempt->began_ms + attempt->duration_ms : attempt->ended_ms;
}

static enum scene_mark mark_of_running (const struct board_host *host)
{
    if (host->life == BOARD_LOST)
        return MARK_LOST;
    return host->state == ATTEMPT_AT_GATE ? MARK_AT_GATE : MARK_RUNS;
}

enum scene_mark scene_mark_of_attempt (const struct board *board, uint32_t host, const struct board_attempt *attempt)
{
    if (attempt->judged)
        return scene_mark_of_outcome (attempt->outcome);
    if (attempt->ended)
        return attempt->outcome == OUTCOME_NONE ? MARK_ENDED : MARK_SO_FAR;
    return scene_attempt_runs (board, attempt) ? mark_of_running (&board->hosts[host]) : MARK_TO_COME;
}

enum scene_mark scene_mark_now (const struct board *board, uint32_t at)
{
    const struct board_host *host = &board->hosts[at];
    if (host->left_behind)
        return scene_mark_of_outcome (host->outcome);
    if (host->life == BOARD_LOST)
        return MARK_LOST;
    if (host->life != BOARD_JOINED)
        return MARK_JOINING;
    if (host->suspected)
        return MARK_SILENT;
    if (board->running && host->in_pass && host->ended)
        return host->so_far == OUTCOME_NONE ? MARK_ENDED : MARK_SO_FAR;
    if (board->running && host->in_pass)
        return mark_of_running (host);
    return scene_mark_of_outcome (host->outcome);
}

enum scene_mark scene_mark_at_end (const uint8_t *cells, uint32_t rungs)
{
    enum scene_mark worst = MARK_NOT_REACHED;
    for (uint32_t i = 0; i < rungs; i++)
        if (cells[i] != MARK_NOT_REACHED &&
            (worst == MARK_NOT_REACHED || scene_mark_badness (cells[i]) > scene_mark_badness (worst)))
            worst = cells[i];
    return worst;
}

/* ---- texts that can do no harm to a terminal ---- */

static bool is_safe (struct text text, uint32_t columns)
{
    uint32_t wide = 0;
    for (uint32_t at = 0, len; at < text.len; at += len) {
        uint32_t character = 0;
        len = utf8_next (text, at, &character);
        if (len == 0 || !utf8_is_printable (character))
            return false;
        wide += utf8_columns (character);
        if (wide > columns)
            return false;
    }
    return true;
}

struct text scene_text (struct arena *arena, struct text from, uint32_t columns)
{
    struct buf safe;
    if (is_safe (from, columns))
        return from;
    buf_init (&safe, 4 * (size_t) columns + 16); /* no character of a column has more than four bytes */
    buf_escaped (&safe, from, columns);
    return buf_finish (&safe, arena);
}
