/* scene_host.c - an opened host: its attempts and facts. */
#include <stdlib.h>
#include <string.h>

#include "coordinator/picture/scene.h"
#include "coordinator/picture/scene_private.h"

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
    struct arena arena = { 0 };
    struct text name = scene_text (&arena, board_host_name (scene->board, rank), 63);
    if (!text_to_c (text_clip (name, 63), out, 64))
        strcpy (out, "?");
    arena_release (&arena);
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
