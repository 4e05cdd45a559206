#include "coordinator/picture/scene.h"

#include "coordinator/picture/scene_private.h"
#include "coordinator/view/waiting.h"

enum { COLUMNS_MAX = 128, WAITING_BYTES = 1 << 20, WAITING_SET_COLUMNS = 48 };

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
