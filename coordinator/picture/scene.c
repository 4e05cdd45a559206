#include "coordinator/picture/scene.h"

#include <stdlib.h>
#include <string.h>

#include "coordinator/picture/scene_private.h"
#include "coordinator/view/status.h"

enum { COLUMNS_MAX = 128, WAITING_BYTES = 1 << 20, WAITING_SET_COLUMNS = 48 };

/* ---- the slice and its rungs ---- */

struct text scene_mesh (const struct scene *scene)
{
    const struct mesh *mesh = &scene->board->plan.mesh;
    struct buf out = { .max = 4096 };
    for (uint32_t i = 0; plan_has_devices (&scene->board->plan) && i < mesh->n; i++) {
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
    struct buf lines = { .max = WAITING_BYTES };
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

/* ---- one host, opened ---- */

static uint32_t scene_host_group_of (const struct scene *scene, uint32_t rank, const struct board_attempt *attempt)
{
    const struct attempt_key *key = &attempt->key; /* only the last attempt of a pass has groups */
    bool last = key->attempt == scene->board->rungs[key->rung].passes[key->pass].attempt;
    for (uint32_t i = 0; i < scene->groups_n; i++) {
        const struct scene_group *group = &scene->groups[i];
        bool of_it = group->rung == key->rung &&
                     (group->pass == PASS_NONE ? !key->attempt : last && group->pass == key->pass);
        for (uint32_t k = 0; of_it && k < group->says.hosts.n; k++)
            if (group->says.hosts.items[k] == rank)
                return i;
    }
    return SCENE_NOBODY;
}

/* False: outside the range of time. */
static bool cut_span (const struct scene *scene, struct scene_span *span)
{
    const struct scene_query *query = &scene->query;
    uint64_t end_ms = span->began_ms + span->ms;
    if (!scene_in_range (scene, span->began_ms, span->ms ? end_ms - 1 : end_ms))
        return false;
    span->began_ms = span->began_ms > query->from_ms ? span->began_ms : query->from_ms;
    span->ms = (query->until_ms && query->until_ms < end_ms ? query->until_ms : end_ms) - span->began_ms;
    return true;
}

/* One after the other, cut to the attempt's length. */
static void fill_spans (const struct scene *scene, uint32_t rank, const struct board_attempt *from,
                        struct scene_attempt *out)
{
    uint64_t spent_ms = 0;
    out->spans = arena_array (scene->arena, from->spans_n, sizeof (*out->spans));
    for (uint32_t i = 0; i < from->spans_n; i++) {
        const struct board_span *span = &from->spans[i];
        uint64_t left_ms = out->ms - spent_ms, ms = span->ms < left_ms ? span->ms : left_ms;
        struct text word = board_word (scene->board, span->word);
        struct scene_span *to = &out->spans[out->spans_n];
        *to = (struct scene_span){ .name = scene_text (scene->arena, word, SCENE_WORD_COLUMNS),
                                   .gate = text_starts (word, GATE_SPAN),
                                   .began_ms = out->began_ms + spent_ms,
                                   .ms = ms,
                                   .awaited = SCENE_NOBODY };
        const struct gate_wait *wait = to->gate ? gate_table_find (feed_gates (scene->feed), &from->key, span->word)
                                                : NULL;
        if (wait && wait->last != rank)
            to->awaited = wait->last;
        spent_ms += ms;
        out->spans_n += cut_span (scene, to);
    }
}

static void fill_attempts (const struct scene *scene, struct scene_host *out)
{
    const struct board *board = scene->board;
    const struct board_host *host = &board->hosts[out->rank];
    out->attempts_left_out = host->attempts_left_out;
    out->attempts = arena_array (scene->arena, host->attempts.n, sizeof (*out->attempts));
    for (uint32_t i = 0; i < host->attempts.n; i++) {
        const struct board_attempt *from = &host->attempts.items[i];
        struct scene_attempt *to = &out->attempts[out->attempts_n];
        if (from->key.rung >= board->plan.rungs.n || (uint32_t) from->key.pass >= BOARD_PASSES ||
            !scene_attempt_in_range (scene, from))
            continue;
        *to = (struct scene_attempt){ .key = from->key,
                                      .purpose = from->purpose ? from->purpose : PURPOSE_CLIMB,
                                      .mark = scene_mark_of_attempt (board, out->rank, from),
                                      .began_ms = from->began_ms,
                                      .ms = scene_attempt_ms (board, from, scene->now_ms),
                                      .ended_ms = scene_attempt_ended_ms (from),
                                      .group = SCENE_NOBODY };
        to->ms_known = to->ms || to->ended_ms == 0 || to->mark == MARK_PASSED;
        if (scene_mark_is_bad (to->mark) && from->purpose != PURPOSE_ISOLATION)
            to->group = scene_host_group_of (scene, out->rank, from);
        fill_spans (scene, out->rank, from, to);
        out->attempts_n++;
    }
}

static void fill_facts (const struct scene *scene, struct scene_host *out)
{
    const struct board_host *host = &scene->board->hosts[out->rank];
    out->facts = arena_array (scene->arena, host->facts.n, sizeof (*out->facts));
    for (out->facts_n = 0; out->facts_n < host->facts.n; out->facts_n++) {
        const struct board_host_fact *from = &host->facts.items[out->facts_n];
        out->facts[out->facts_n] = (struct scene_fact){
            scene_text (scene->arena, board_word (scene->board, from->name), SCENE_WORD_COLUMNS),
            scene_text (scene->arena, board_word (scene->board, from->value), SCENE_LINE_COLUMNS)
        };
    }
    qsort (out->facts, out->facts_n, sizeof (*out->facts), text_order);
}

void scene_open_host (const struct scene *scene, uint32_t rank, struct scene_host *out)
{
    *out = (struct scene_host){ .rank = rank };
    if (rank >= scene->hosts_n)
        return;
    const struct board_host *host = &scene->board->hosts[rank];
    out->name = scene_text (scene->arena, board_host_name (scene->board, rank), SCENE_WORD_COLUMNS);
    out->life = text_of (enum_name_of (&board_life_names, host->life + 1));
    out->why = scene_text (scene->arena, host->why, SCENE_LINE_COLUMNS);
    fill_attempts (scene, out);
    fill_facts (scene, out);
}

const char *scene_host_name (const struct scene *scene, uint32_t rank, char out[64])
{
    LOCAL_ARENA arena = { 0 };
    struct text name = scene_text (&arena, board_host_name (scene->board, rank), 63);
    if (!text_to_c (text_clip (name, 63), out, 64))
        strcpy (out, "?");
    return out;
}

/* ---- cascade cause ---- */

/* 2: its own failure; 1: it was told to stop; 0: no failure, or a cascade. */
static uint32_t may_be_cause (enum scene_mark mark)
{
    switch (mark) {
    case MARK_BLOCKED:
    case MARK_TIMED_OUT:
    case MARK_LOST:
    case MARK_FAILED: return 2;
    case MARK_CANCELLED: return 1;
    default: return 0;
    }
}

/* Does the name occur as a whole word? */
static bool is_named (struct text sentence, struct text name)
{
    struct text rest = sentence;
    for (uint32_t at; name.len && text_find (rest, name, &at);) {
        const char *found = rest.ptr + at, *behind = found + name.len, *end = sentence.ptr + sentence.len;
        if (found > sentence.ptr && found[-1] == ' ' && behind < end && *behind == ' ')
            return true;
        rest = (struct text){ found + 1, (uint32_t) (end - found - 1) };
    }
    return false;
}

uint32_t cascade_cause_find (const struct pass_host *hosts, uint32_t n, struct text sentence)
{
    uint32_t first = n;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t may = may_be_cause (hosts[i].mark), before = first < n ? may_be_cause (hosts[first].mark) : 0;
        if (may && is_named (sentence, hosts[i].name))
            return i;
        if (may > before || (may && may == before && hosts[i].ended_ms < hosts[first].ended_ms))
            first = i;
    }
    return first;
}
