/* scene_groups.c - groups of hosts with equal verdicts, and causes of cascades. */
#include <stdlib.h>
#include <string.h>

#include "coordinator/picture/scene.h"
#include "coordinator/picture/scene_private.h"

static int lowest_first (const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* Each host of the plan once, by rank. */
static void take_ranks (const struct maker *maker, const struct board_verdict_group *from, struct scene_group *group)
{
    uint32_t *ranks = arena_array (maker->arena, from->hosts.n, sizeof (*ranks)), n = 0;
    for (uint32_t i = 0; i < from->hosts.n; i++)
        if (from->hosts.items[i] < maker->board->plan.hosts.n)
            ranks[n++] = from->hosts.items[i];
    qsort (ranks, n, sizeof (*ranks), lowest_first);
    for (uint32_t i = 0; i < n; i++)
        if (group->n == 0 || ranks[group->n - 1] != ranks[i])
            ranks[group->n++] = ranks[i];
    group->ranks = ranks;
}

static struct text fold_names (const struct maker *maker, const struct scene_group *group, struct arena *arena)
{
    struct text *names = mem_array (group->n, sizeof (*names));
    struct buf out;
    buf_init (&out, 4 * SCENE_NAMES_COLUMNS + 16);
    for (uint32_t i = 0; i < group->n; i++)
        names[i] = maker->board->plan.hosts.items[group->ranks[i]].name;
    hostset_fold_escaped (names, group->n, SCENE_NAMES_COLUMNS, &out);
    mem_free (names);
    return buf_finish (&out, arena);
}

/* ---- whom cascades followed ---- */

/* The hosts of the group's pass, by rank, in its last attempt. */
static uint32_t take_pass_hosts (const struct maker *maker, const struct scene_group *group, struct arena *arena,
                                 struct pass_host *hosts, uint32_t *ranks)
{
    const struct board *board = maker->board;
    const struct attempt_key key = { group->rung, group->pass, board->rungs[group->rung].passes[group->pass].attempt };
    uint32_t n = 0;
    for (uint32_t i = 0; i < board->plan.hosts.n; i++) {
        const struct board_attempt *attempt = scene_attempt_of (board, i, &key);
        if (attempt == NULL)
            continue;
        ranks[n] = i;
        hosts[n++] = (struct pass_host){ scene_text (arena, board->plan.hosts.items[i].name, SCENE_WORD_COLUMNS),
                                         scene_mark_of_attempt (board, i, attempt), scene_attempt_ended_ms (attempt) };
    }
    return n;
}

static uint32_t find_cause (const struct maker *maker, const struct scene_group *group)
{
    struct arena arena = { 0 };
    uint32_t *ranks = arena_array (&arena, maker->board->plan.hosts.n, sizeof (*ranks));
    struct pass_host *hosts = arena_array (&arena, maker->board->plan.hosts.n, sizeof (*hosts));
    uint32_t n = take_pass_hosts (maker, group, &arena, hosts, ranks);
    uint32_t cause = cascade_cause_find (hosts, n, group->cause);
    cause = cause < n ? ranks[cause] : SCENE_NOBODY;
    arena_release (&arena);
    return cause;
}

static bool has_rank (const struct scene_group *group, uint32_t rank)
{
    return bsearch (&rank, group->ranks, group->n, sizeof (*group->ranks), lowest_first) != NULL;
}

/* The index among the earlier groups of its pass. */
static uint32_t group_of_cause (const struct scene *scene, const struct scene_group *group, uint32_t first)
{
    for (uint32_t i = first; i < scene->groups_n; i++)
        if (scene->groups[i].outcome != OUTCOME_CASCADE && has_rank (&scene->groups[i], group->cause_host))
            return i;
    return SCENE_NOBODY;
}

/* ---- groups ---- */

/* Cached until the group's hosts change. */
static void fill_names_and_cause (const struct maker *maker, const struct board_verdict_group *from,
                                  struct scene_group *group)
{
    struct scene_memo *memo = feed_memo (maker->feed);
    uint32_t at = maker->scene->groups_n;
    if (memo->groups[at].of != from || memo->groups[at].changed != from->changed) {
        arena_reset (&memo->groups[at].arena);
        memo->groups[at].names = fold_names (maker, group, &memo->groups[at].arena);
        memo->groups[at].cause = from->outcome == OUTCOME_CASCADE ? find_cause (maker, group) : SCENE_NOBODY;
        memo->groups[at].changed = from->changed;
        memo->groups[at].of = from;
    }
    group->names = memo->groups[at].names;
    group->cause_host = memo->groups[at].cause;
}

/* `first`: the first group of its pass. */
static void scene_groups_add_group (struct maker *maker, uint32_t rung, enum pass pass,
                                    const struct board_verdict_group *from, uint32_t first)
{
    struct scene *scene = maker->scene;
    struct scene_group *group = &scene->groups[scene->groups_n];
    if (scene->groups_n == SCENE_GROUPS_MAX) {
        scene->ungrouped_n += from->hosts.n;
        return;
    }
    struct text line = from->line, cause = from->cause; /* of the first host, if numbers differ: group_text */
    struct text *whose = line.len ? &line : &cause;
    if (from->varies)
        *whose = text_format (maker->arena, "%.*s: %.*s",
                              TEXT_ARG (board_host_name (maker->board, from->hosts.items[0])), TEXT_ARG (*whose));
    *group = (struct scene_group){ .rung = rung,
                                   .pass = pass,
                                   .outcome = from->outcome,
                                   .owner = from->owner,
                                   .likely = from->likely,
                                   .preliminary = from->preliminary,
                                   .signature = scene_text (maker->arena, from->signature, SCENE_WORD_COLUMNS),
                                   .line = scene_text (maker->arena, line, SCENE_LINE_COLUMNS),
                                   .cause = scene_text (maker->arena, cause, SCENE_LINE_COLUMNS),
                                   .next = scene_text (maker->arena, from->next, SCENE_LINE_COLUMNS),
                                   .phase = scene_text (maker->arena, from->phase, SCENE_WORD_COLUMNS),
                                   .changed = maker->groups_changed };
    take_ranks (maker, from, group);
    if (group->n == 0)
        return;
    fill_names_and_cause (maker, from, group);
    group->cause_group = group_of_cause (scene, group, first);
    for (uint32_t i = 0; i < group->n; i++)
        maker->group_of[group->ranks[i]] = scene->groups_n;
    scene->groups_n++;
}

/* Causes before their cascades. */
static void add_pass (struct maker *maker, uint32_t rung, enum pass pass)
{
    const struct board_pass *from = &maker->board->rungs[rung].passes[pass];
    uint32_t first = maker->scene->groups_n;
    maker->groups_changed = from->changed > maker->groups_changed ? from->changed : maker->groups_changed;
    for (uint32_t cascades = 0; cascades < 2; cascades++)
        for (uint32_t i = 0; i < from->groups.n; i++)
            if ((from->groups.items[i].outcome == OUTCOME_CASCADE) == cascades)
                scene_groups_add_group (maker, rung, pass, &from->groups.items[i], first);
    maker->scene->ungrouped_n += from->ungrouped_n;
}

void scene_make_groups (struct maker *maker)
{
    const struct board *board = maker->board;
    uint32_t most = 0;
    maker->group_of = arena_array (maker->arena, board->plan.hosts.n, sizeof (*maker->group_of));
    for (uint32_t i = 0; i < board->plan.hosts.n; i++)
        maker->group_of[i] = SCENE_NOBODY;
    for (uint32_t rung = 0; rung < board->plan.rungs.n; rung++)
        for (enum pass pass = PASS_NONE; pass <= PASS_RESTORED; pass++)
            most += board->rungs[rung].passes[pass].groups.n;
    most = most < SCENE_GROUPS_MAX ? most : SCENE_GROUPS_MAX;
    maker->scene->groups = arena_array (maker->arena, most, sizeof (struct scene_group));
    for (uint32_t rung = 0; rung < board->plan.rungs.n; rung++)
        for (enum pass pass = PASS_NONE; pass <= PASS_RESTORED; pass++)
            add_pass (maker, rung, pass);
}

/* ---- scene tiles ---- */

/* Makes one tile a host, and counts marks. */

/* What all tiles share. */
struct tiles {
    struct maker *maker;
    uint64_t now_ms;
    uint8_t untried[RUNGS_MAX]; /* per rung: the mark of a host without an attempt there */
    uint8_t *cells;             /* of all hosts */
    struct host_stand *stands;  /* of all hosts */
};

/* ---- what a host's attempts come to ---- */

/* A restored pass replaces the cold one; else the worst pass counts, as in the receipt (frontier_rung_outcome). */
static struct rung_stand worst_of (const struct rung_stand *passes)
{
    struct rung_stand worst = passes[PASS_ONCE];
    for (enum pass pass = PASS_COLD; pass <= PASS_RESTORED; pass++) {
        bool over = pass == PASS_COLD && passes[PASS_RESTORED].mark != MARK_TO_COME;
        if (!over && passes[pass].mark != MARK_TO_COME &&
            (worst.mark == MARK_TO_COME || scene_mark_badness (passes[pass].mark) > scene_mark_badness (worst.mark)))
            worst = passes[pass];
    }
    return worst;
}

/* The last attempt of the whole slice counts; attempts are in the order of their begin. Attempt 0 only says why there
 * is none. */
static void take_attempts (const struct board *board, uint32_t rank, struct host_stand *stand,
                           struct rung_stand passes[][BOARD_PASSES])
{
    const struct board_host *host = &board->hosts[rank];
    for (uint32_t i = 0; i < host->attempts.n; i++) {
        const struct board_attempt *attempt = &host->attempts.items[i];
        enum scene_mark mark = scene_mark_of_attempt (board, rank, attempt);
        if (scene_attempt_runs (board, attempt) && !attempt->judged)
            stand->runs_since_ms = attempt->began_ms;
        else
            stand->spent_ms += scene_attempt_ms (board, attempt, 0);
        if (mark == MARK_TO_COME || attempt->purpose == PURPOSE_ISOLATION || attempt->key.rung >= board->plan.rungs.n ||
            (uint32_t) attempt->key.pass >= BOARD_PASSES)
            continue;
        struct rung_stand *at = &passes[attempt->key.rung][attempt->key.pass];
        if (attempt->key.attempt || at->mark == MARK_TO_COME)
            *at = (struct rung_stand){ (uint8_t) mark, (uint8_t) attempt->owner };
    }
}

static void make_stand (const struct board *board, uint32_t rank, struct host_stand *stand)
{
    struct rung_stand passes[RUNGS_MAX][BOARD_PASSES];
    memset (passes, 0, board->plan.rungs.n * sizeof (passes[0]));
    *stand = (struct host_stand){ board->hosts[rank].changed, 0, UINT64_MAX, stand->at_rung, stand->name };
    take_attempts (board, rank, stand, passes);
    for (uint32_t i = 0; i < board->plan.rungs.n; i++)
        stand->at_rung[i] = worst_of (passes[i]);
}

/* Keeps cached stands while the same pass runs. */
static struct host_stand *take_stands (const struct maker *maker)
{
    const struct board *board = maker->board;
    struct scene_memo *memo = feed_memo (maker->feed);
    uint32_t hosts = board->plan.hosts.n, rungs = board->plan.rungs.n;
    if (memo->stands && memo->running == board->running && attempt_key_equal (&memo->key, &board->key))
        return memo->stands;
    arena_reset (&memo->stands_arena);
    memo->stands = arena_array (&memo->stands_arena, hosts, sizeof (*memo->stands));
    struct rung_stand *at_rung = arena_array (&memo->stands_arena, (size_t) hosts * rungs, sizeof (*at_rung));
    for (uint32_t i = 0; i < hosts; i++)
        memo->stands[i] = (struct host_stand){ .at_rung = at_rung + (size_t) i * rungs,
                                               .name = scene_text (&memo->stands_arena, board->plan.hosts.items[i].name,
                                                                   SCENE_WORD_COLUMNS) };
    memo->running = board->running;
    memo->key = board->key;
    return memo->stands;
}

static const struct host_stand *stand_of (const struct tiles *tiles, uint32_t rank)
{
    struct host_stand *stand = &tiles->stands[rank];
    if (stand->changed != tiles->maker->board->hosts[rank].changed)
        make_stand (tiles->maker->board, rank, stand);
    return stand;
}

/* ---- tiles ---- */

/* The last failed rung gives the owner. */
static void fill_cells (const struct tiles *tiles, struct scene_tile *tile, uint8_t *cells)
{
    const struct board *board = tiles->maker->board;
    const struct host_stand *stand = stand_of (tiles, tile->rank);
    bool left = board->hosts[tile->rank].left_behind, runs = tiles->now_ms > stand->runs_since_ms;
    tile->spent_ms = stand->spent_ms + (runs ? tiles->now_ms - stand->runs_since_ms : 0);
    for (uint32_t i = 0; i < board->plan.rungs.n; i++) {
        struct rung_stand at = stand->at_rung[i];
        cells[i] = at.mark != MARK_TO_COME ? at.mark : left ? MARK_NOT_REACHED : tiles->untried[i];
        if (scene_mark_is_bad (cells[i]))
            tile->owner = (enum owner) at.owner;
    }
    tile->cells = cells;
}

static uint64_t since (const struct tiles *tiles, uint64_t at_ms)
{
    return tiles->now_ms > at_ms ? tiles->now_ms - at_ms : 0;
}

static void fill_tile (const struct tiles *tiles, uint32_t rank, struct scene_tile *tile)
{
    struct maker *maker = tiles->maker;
    const struct board_host *host = &maker->board->hosts[rank];
    *tile = (struct scene_tile){ .rank = rank, .changed = host->changed, .group = maker->group_of[rank] };
    tile->name = tiles->stands[rank].name;
    fill_cells (tiles, tile, tiles->cells + (size_t) rank * maker->board->plan.rungs.n);
    tile->now = maker->board->ended ? scene_mark_at_end (tile->cells, maker->board->plan.rungs.n)
                                    : scene_mark_now (maker->board, rank);
    tile->phase = scene_text (maker->arena, host->life == BOARD_JOINED ? host->phase : host->step, SCENE_WORD_COLUMNS);
    tile->gate = scene_text (maker->arena, host->gate, SCENE_WORD_COLUMNS);
    if (tile->now == MARK_SILENT)
        tile->since_ms = since (tiles, host->received_ms);
    else if (host->phase.len)
        tile->since_ms = since (tiles, host->phase_since_ms);
}

static void count_tile (struct scene *scene, const struct scene_tile *tile)
{
    scene->marks[tile->now]++;
    for (uint32_t i = 0; i < scene->rungs_n; i++)
        scene->rungs[i].marks[tile->cells[i]]++;
}

static void mark_untried (struct tiles *tiles)
{
    const struct board *board = tiles->maker->board;
    for (uint32_t i = 0; i < board->plan.rungs.n; i++) {
        const struct scene_rung *rung = &tiles->maker->scene->rungs[i];
        bool over = board->ended || (rung->outcome != OUTCOME_NONE && !rung->running);
        tiles->untried[i] = over ? MARK_NOT_REACHED : MARK_TO_COME;
    }
}

void scene_make_tiles (struct maker *maker)
{
    struct scene *scene = maker->scene;
    uint32_t hosts = maker->board->plan.hosts.n;
    struct tiles tiles = { .maker = maker, .now_ms = scene->now_ms };
    const struct scene_filter *filter = scene_filter_make (maker);
    tiles.cells = arena_array (maker->arena, hosts, maker->board->plan.rungs.n);
    scene->tiles = arena_array (maker->arena, hosts, sizeof (struct scene_tile));
    tiles.stands = take_stands (maker);
    mark_untried (&tiles);
    for (uint32_t i = 0; i < hosts; i++) {
        struct scene_tile *tile = &scene->tiles[scene->tiles_n];
        fill_tile (&tiles, i, tile);
        count_tile (scene, tile);
        scene->tiles_n += scene_filter_takes (filter, tile);
    }
    scene->hidden_n = hosts - scene->tiles_n;
    scene_order_tiles (maker);
}
