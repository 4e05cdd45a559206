#include "coordinator/picture/scene.h"

#include "common/base/utf8.h"
#include "coordinator/picture/scene_private.h"
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
