#include "coordinator/picture/scene.h"

#include <stdio.h>
#include <string.h>

#include "common/base/utf8.h"
#include "coordinator/picture/scene_private.h"
#include "coordinator/view/waiting.h"

enum { COLUMNS_MAX = 128, WAITING_BYTES = 1 << 20, WAITING_SET_COLUMNS = 48 };

int u32_order (const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* ---- how hosts stand, as marks ---- */

/* `badness` orders "worst first": failed, not yet judged, waiting, fine. */
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

const char *scene_mark_label (enum scene_mark mark, char out[MARK_LABEL_BYTES])
{
    snprintf (out, MARK_LABEL_BYTES, "%s", scene_mark_word (mark));
    for (char *at = strchr (out, ' '); at; at = strchr (at, ' '))
        *at = '-';
    return out;
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

/* ---- the slice and its rungs ---- */

struct text scene_mesh (const struct scene *scene)
{
    const struct mesh *mesh = &scene->board->plan.mesh;
    struct buf out;
    buf_init (&out, 4096);
    for (uint32_t i = 0; i < mesh->n; i++) {
        buf_puts (&out, i ? ", " : "");
        buf_escaped (&out, mesh->items[i].axis, 0);
        buf_printf (&out, "=%u", mesh->items[i].size);
    }
    return buf_finish (&out, scene->arena);
}

/* The last axis in hosts, if a row of tiles can be that long; else nearly a square. */
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

bool scene_rung_runs (const struct board *board, uint32_t rung)
{
    return board->running && board->key.rung == rung;
}

const struct board_pass *scene_rung_pass (const struct board *board, uint32_t rung)
{
    const struct board_rung *at = &board->rungs[rung];
    return scene_rung_runs (board, rung) ? board_running_pass (board) : &at->passes[at->last];
}

/* Marks of the running pass change with its hosts. */
uint64_t scene_rung_changed (const struct board *board, uint32_t rung)
{
    uint64_t changed = board->rungs[rung].changed;
    for (uint32_t i = 0; scene_rung_runs (board, rung) && i < board->plan.hosts.n; i++)
        if (board->hosts[i].in_pass && board->hosts[i].changed > changed)
            changed = board->hosts[i].changed;
    return changed;
}

static void scene_sum_up (struct scene *scene)
{
    const struct board *board = scene->board;
    scene->hosts_n = board->plan.hosts.n;
    scene->rungs_n = board->plan.rungs.n;
    scene->columns = columns_of (&board->plan);
    scene->usual = progress_usual_time (board, scene->now_ms, &scene->left_ms);
    if (scene->usual && scene->usual->ms == 0)
        scene->usual = NULL;
    for (uint32_t i = 0; i < scene->hosts_n; i++) {
        const struct board_host *host = &board->hosts[i];
        scene->silent_n += host->life == BOARD_JOINED && host->suspected && !board->ended;
        scene->lost_n += host->life == BOARD_LOST;
        scene->joins += host->joins;
    }
    for (uint32_t i = 0; i < scene->rungs_n; i++)
        if (board->rungs[i].changed > scene->groups_changed)
            scene->groups_changed = board->rungs[i].changed;
    while (scene->frontier < scene->rungs_n && board_rung_outcome (board, scene->frontier) == OUTCOME_PASSED)
        scene->frontier++;
}

/* ---- gates, what is waited for, notes ---- */

static bool of_last_attempt (const struct board *board, const struct attempt_key *key)
{
    return key->rung < board->plan.rungs.n && (uint32_t) key->pass < BOARD_PASSES &&
           board->rungs[key->rung].passes[key->pass].attempt == key->attempt;
}

static void choose_gates (struct scene *scene)
{
    const struct gate_table *table = feed_gates (scene->feed);
    scene->gates = arena_array (scene->arena, table->n, sizeof (*scene->gates));
    for (uint32_t i = 0; i < table->n; i++)
        if (of_last_attempt (scene->board, &table->items[i].key) &&
            scene_in_range (scene, table->items[i].opened_ms, table->items[i].opened_ms))
            scene->gates[scene->gates_n++] = &table->items[i];
}

static void fill_waiting (struct scene *scene)
{
    struct buf lines;
    buf_init (&lines, WAITING_BYTES);
    uint32_t n = waiting_append_lines (scene->board, scene->now_ms, WAITING_LINES, WAITING_SET_COLUMNS, &lines);
    struct text rest = buf_finish (&lines, scene->arena), line;
    scene->waiting = arena_array (scene->arena, n, sizeof (*scene->waiting));
    while (scene->waiting_n < n && text_cut (&rest, '\n', &line))
        scene->waiting[scene->waiting_n++] = scene_text (scene->arena, line, SCENE_LINE_COLUMNS);
}

static void choose_notes (struct scene *scene)
{
    const struct feed *feed = scene->feed;
    uint64_t since = scene->query.since, last = feed_notes_last (feed);
    uint64_t seen = since ? feed_notes_at_revision (feed, since) : 0;
    uint64_t kept = last > FEED_NOTES_KEPT ? last - FEED_NOTES_KEPT : 0;
    scene->notes_skipped = since && kept > seen ? kept - seen : 0;
    scene->notes = arena_array (scene->arena, FEED_NOTES_KEPT, sizeof (*scene->notes));
    for (uint64_t number = (seen > kept ? seen : kept) + 1; number <= last; number++) {
        const struct feed_note *note = feed_note_at (feed, number);
        if (scene_in_range (scene, note->at_ms, note->at_ms))
            scene->notes[scene->notes_n++] = note;
    }
}

void scene_make (const struct feed *feed, const struct scene_query *query, uint64_t boot_ms, struct arena *arena,
                 struct scene *out)
{
    *out = (struct scene){
        .feed = feed, .board = feed_board (feed), .query = *query, .arena = arena, .now_ms = feed_now_ms (feed, boot_ms)
    };
    choose_notes (out);
    if (!out->board->opened)
        return;
    scene_sum_up (out);
    scene_make_tiles (out, scene_make_groups (out));
    choose_gates (out);
    fill_waiting (out);
    if (query->opened >= out->hosts_n)
        return;
    out->host = arena_alloc (arena, sizeof (struct scene_host));
    scene_open_host (out, query->opened, out->host);
}
