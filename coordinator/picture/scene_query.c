/* scene_query.c - which tiles a query takes, and in which order. */
#include "coordinator/picture/scene_private.h"
#include "coordinator/view/status.h"

#include <stdlib.h>
#include <strings.h>

struct scene_filter {
    const struct scene *scene;
    const bool *chosen; /* per host, by the set of hosts; NULL: all */
    bool *group_says;   /* per group: the searched text is in its cause or error line */
};

void scene_query_init (struct scene_query *query)
{
    *query = (struct scene_query){ .opened = SCENE_NOBODY };
}

/* ---- the set of hosts ---- */

struct known_groups {
    struct text everything; /* "@*" */
    const struct plan *plan;
};

static bool scene_query_find_group (const void *owner, struct text name, struct text *expression)
{
    const struct known_groups *known = owner;
    if (!text_is (name, "*"))
        return var_find (&known->plan->groups, name, expression);
    *expression = known->everything;
    return true;
}

static void read_hosts (const struct plan *plan, struct scene_memo *memo)
{
    struct arena *arena = &memo->arena;
    struct name_list names = { 0 };
    struct err err = { 0 };
    bool groups = text_find (memo->hosts, TEXT_LIT ("@"), NULL);
    const struct known_groups known = { groups ? plan_fold_all_hosts (plan, UINT32_MAX, arena) : (struct text){ 0 },
                                        plan };
    const struct hostset_group_lookup lookup = { scene_query_find_group, &known };
    const struct hostset_rules rules = { .max = HOSTS_MAX, .groups = &lookup };
    if (hostset_read (memo->hosts, &rules, arena, &names, &err) != 0) {
        memo->error = text_copy (arena, text_of (err.text));
        return;
    }
    memo->chosen = arena_array (arena, plan->hosts.n, sizeof (*memo->chosen));
    sort_items (names.items, names.n, sizeof (*names.items), text_order);
    for (uint32_t i = 0; names.n && i < plan->hosts.n; i++)
        memo->chosen[i] = bsearch (&plan->hosts.items[i].name, names.items, names.n, sizeof (*names.items),
                                   text_order) != NULL;
}

static const bool *choose_hosts (struct scene *scene)
{
    struct scene_memo *memo = feed_memo (scene->feed);
    if (!text_equal (memo->hosts, scene->query.hosts)) {
        arena_reset (&memo->arena);
        memo->hosts = text_copy (&memo->arena, scene->query.hosts);
        memo->chosen = NULL;
        memo->error = (struct text){ 0 };
        read_hosts (&scene->board->plan, memo);
    }
    scene->host_set_error = scene_text (scene->arena, memo->error, SCENE_LINE_COLUMNS);
    return memo->chosen;
}

/* ---- the range of time ---- */

bool scene_in_range (const struct scene *scene, uint64_t first_ms, uint64_t last_ms)
{
    const struct scene_query *query = &scene->query;
    return query->until_ms == 0 || (last_ms >= query->from_ms && first_ms < query->until_ms);
}

static uint64_t last_before (uint64_t end_ms, uint64_t began_ms)
{
    return end_ms > began_ms ? end_ms - 1 : began_ms; /* an attempt without duration is there at its begin */
}

bool scene_attempt_in_range (const struct scene *scene, const struct board_attempt *attempt)
{
    uint64_t began_ms = attempt->began_ms;
    return scene_in_range (scene, began_ms,
                           scene_attempt_runs (scene->board, attempt)
                               ? scene->now_ms
                               : last_before (scene_attempt_ended_ms (attempt), began_ms));
}

static bool was_there (const struct scene *scene, uint32_t rank)
{
    const struct board_host *host = &scene->board->hosts[rank];
    bool away = host->back_ms == UINT64_MAX;
    if (host->back_ms && scene_in_range (scene, host->away_since_ms,
                                         away ? scene->now_ms : last_before (host->back_ms, host->away_since_ms)))
        return true;
    for (uint32_t i = 0; i < host->attempts.n; i++)
        if (scene_attempt_in_range (scene, &host->attempts.items[i]))
            return true;
    return false;
}

/* ---- one tile ---- */

static bool says (struct text text, struct text searched)
{
    for (uint32_t at = 0; searched.len <= text.len && at <= text.len - searched.len; at++)
        if (strncasecmp (text.ptr + at, searched.ptr, searched.len) == 0)
            return true;
    return false;
}

struct scene_filter *scene_filter_make (struct scene *scene)
{
    struct scene_filter *filter = arena_alloc (scene->arena, sizeof (*filter));
    struct text searched = scene->query.text;
    filter->scene = scene;
    if (scene->query.hosts.len)
        filter->chosen = choose_hosts (scene);
    filter->group_says = arena_array (scene->arena, scene->groups_n, sizeof (*filter->group_says));
    for (uint32_t i = 0; searched.len && i < scene->groups_n; i++)
        filter->group_says[i] = says (scene->groups[i].says.cause, searched) ||
                                says (scene->groups[i].says.line, searched);
    return filter;
}

static bool has_text (const struct scene_filter *filter, const struct scene_tile *tile)
{
    struct text searched = filter->scene->query.text;
    return says (board_host_name (filter->scene->board, tile->rank), searched) || says (tile->phase, searched) ||
           says (tile->gate, searched) || (tile->group != SCENE_NOBODY && filter->group_says[tile->group]);
}

bool scene_filter_takes (const struct scene_filter *filter, const struct scene_tile *tile)
{
    const struct scene_query *query = &filter->scene->query;
    return (filter->chosen == NULL || filter->chosen[tile->rank]) &&
           (query->marks == 0 || (query->marks >> tile->now & 1)) &&
           (query->owner == OWNER_NONE || query->owner == tile->owner) &&
           (query->phase.len == 0 || text_equal (query->phase, tile->phase)) &&
           (query->text.len == 0 || has_text (filter, tile)) &&
           (query->until_ms == 0 || was_there (filter->scene, tile->rank));
}

/* ---- the order ---- */

struct place {
    uint64_t key; /* the greatest first */
    uint32_t at;  /* by rank */
};

static int first_of (const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    int order = order_u64 (y->key, x->key);
    return order ? order : order_u64 (x->at, y->at);
}

/* The present mark counts more than earlier ones; who is to be looked at stands behind who failed. */
uint64_t scene_tile_badness (const struct scene *scene, const struct scene_tile *tile)
{
    uint64_t worst = 0, trouble = tile->now == MARK_SILENT ? TROUBLE_HOLDS + 1 : tile->trouble;
    for (uint32_t i = 0; i < scene->rungs_n; i++)
        if (scene_mark_is_bad (tile->cells[i]) && scene_mark_badness (tile->cells[i]) > worst)
            worst = scene_mark_badness (tile->cells[i]);
    uint64_t now = scene_mark_badness (trouble ? MARK_SILENT : tile->now);
    return now << 16 | trouble << 8 | worst;
}

void scene_order_tiles (struct scene *scene)
{
    uint32_t n = scene->tiles_n;
    if (scene->query.order == SCENE_BY_RANK || n == 0)
        return;
    struct place *places = arena_array (scene->arena, n, sizeof (*places));
    struct scene_tile *sorted = arena_array (scene->arena, n, sizeof (*sorted));
    for (uint32_t i = 0; i < n; i++) {
        const struct scene_tile *tile = &scene->tiles[i];
        bool worst = scene->query.order == SCENE_WORST_FIRST;
        places[i] = (struct place){ worst ? scene_tile_badness (scene, tile) : tile->spent_ms, i };
    }
    qsort (places, n, sizeof (*places), first_of);
    for (uint32_t i = 0; i < n; i++)
        sorted[i] = scene->tiles[places[i].at];
    scene->tiles = sorted;
}
