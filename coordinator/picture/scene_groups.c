/* scene_groups.c - groups of hosts with equal verdicts, and causes of cascades. */
#include <stdlib.h>
#include <string.h>

#include "coordinator/picture/scene_private.h"
#include "coordinator/view/status.h"

/* Each host of the plan once, by rank. */
static void sort_hosts (const struct scene *scene, const struct board_verdict_group *from,
                        struct board_verdict_group *says)
{
    uint32_t *ranks = arena_array (scene->arena, from->hosts.n, sizeof (*ranks)), n = 0;
    for (uint32_t i = 0; i < from->hosts.n; i++)
        if (from->hosts.items[i] < scene->hosts_n)
            ranks[n++] = from->hosts.items[i];
    qsort (ranks, n, sizeof (*ranks), u32_order);
    says->hosts.items = ranks;
    says->hosts.n = 0;
    for (uint32_t i = 0; i < n; i++)
        if (says->hosts.n == 0 || ranks[says->hosts.n - 1] != ranks[i])
            ranks[says->hosts.n++] = ranks[i];
}

static struct text fold_names (const struct scene *scene, const struct scene_group *group, struct arena *arena)
{
    LOCAL_ARENA scratch = { 0 };
    struct buf out = { .max = 4 * SCENE_NAMES_COLUMNS + ERR_TEXT_BYTES };
    const uint32_t *hosts = group->says.hosts.items;
    buf_escaped (&out, plan_fold_hosts (&scene->board->plan, hosts, group->says.hosts.n, UINT32_MAX, &scratch),
                 SCENE_NAMES_COLUMNS);
    buf_add_text (&out, plan_name_slices (&scene->board->plan, hosts, group->says.hosts.n, &scratch));
    return buf_finish (&out, arena);
}

/* ---- whom cascades followed ---- */

/* The hosts of the group's pass, by rank, in its last attempt. */
static uint32_t take_pass_hosts (const struct scene *scene, const struct scene_group *group, struct arena *arena,
                                 struct pass_host *hosts, uint32_t *ranks)
{
    const struct board *board = scene->board;
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

static uint32_t find_cause (const struct scene *scene, const struct scene_group *group)
{
    LOCAL_ARENA arena = { 0 };
    uint32_t *ranks = arena_array (&arena, scene->board->plan.hosts.n, sizeof (*ranks));
    struct pass_host *hosts = arena_array (&arena, scene->board->plan.hosts.n, sizeof (*hosts));
    uint32_t n = take_pass_hosts (scene, group, &arena, hosts, ranks);
    uint32_t cause = cascade_cause_find (hosts, n, group->says.cause);
    return cause < n ? ranks[cause] : SCENE_NOBODY;
}

static bool has_rank (const struct scene_group *group, uint32_t rank)
{
    return bsearch (&rank, group->says.hosts.items, group->says.hosts.n, sizeof (rank), u32_order) != NULL;
}

/* The index among the earlier groups of its pass. */
static uint32_t group_of_cause (const struct scene *scene, const struct scene_group *group, uint32_t first)
{
    for (uint32_t i = first; i < scene->groups_n; i++)
        if (scene->groups[i].says.outcome != OUTCOME_CASCADE && has_rank (&scene->groups[i], group->cause_host))
            return i;
    return SCENE_NOBODY;
}

/* ---- groups ---- */

/* Cached until the group's hosts change. */
static void fill_names_and_cause (const struct scene *scene, const struct board_verdict_group *from,
                                  struct scene_group *group)
{
    struct scene_memo *memo = feed_memo (scene->feed);
    uint32_t at = scene->groups_n;
    if (memo->groups[at].of != from || memo->groups[at].changed != from->changed) {
        arena_reset (&memo->groups[at].arena);
        memo->groups[at].names = fold_names (scene, group, &memo->groups[at].arena);
        memo->groups[at].cause = from->outcome == OUTCOME_CASCADE ? find_cause (scene, group) : SCENE_NOBODY;
        memo->groups[at].changed = from->changed;
        memo->groups[at].of = from;
    }
    group->names = memo->groups[at].names;
    group->cause_host = memo->groups[at].cause;
}

/* `first`: the first group of its pass. */
static void scene_groups_add_group (struct scene *scene, uint32_t rung, enum pass pass,
                                    const struct board_verdict_group *from, uint32_t first)
{
    struct scene_group *group = &scene->groups[scene->groups_n];
    if (scene->groups_n == SCENE_GROUPS_MAX) {
        scene->ungrouped_n += from->hosts.n;
        return;
    }
    *group = (struct scene_group){ .rung = rung, .pass = pass, .says = *from };
    struct board_verdict_group *says = &group->says;
    struct text *whose = says->line.len ? &says->line : &says->cause;
    if (from->varies) /* of the first host, if numbers differ: group_text */
        *whose = text_format (scene->arena, "%.*s: %.*s",
                              TEXT_ARG (board_host_name (scene->board, from->hosts.items[0])), TEXT_ARG (*whose));
    says->signature = scene_text (scene->arena, says->signature, SCENE_WORD_COLUMNS);
    says->line = scene_text (scene->arena, says->line, SCENE_LINE_COLUMNS);
    says->cause = scene_text (scene->arena, says->cause, SCENE_LINE_COLUMNS);
    says->next = scene_text (scene->arena, says->next, SCENE_LINE_COLUMNS);
    says->phase = scene_text (scene->arena, says->phase, SCENE_WORD_COLUMNS);
    sort_hosts (scene, from, says);
    if (says->hosts.n == 0)
        return;
    fill_names_and_cause (scene, from, group);
    group->cause_group = group_of_cause (scene, group, first);
    scene->groups_n++;
}

/* Causes before their cascades. `changed`: of this pass and all before it. */
static void add_pass (struct scene *scene, uint32_t rung, enum pass pass, uint64_t *changed)
{
    const struct board_pass *from = &scene->board->rungs[rung].passes[pass];
    uint32_t first = scene->groups_n;
    *changed = from->changed > *changed ? from->changed : *changed;
    for (uint32_t cascades = 0; cascades < 2; cascades++)
        for (uint32_t i = 0; i < from->groups.n; i++)
            if ((from->groups.items[i].outcome == OUTCOME_CASCADE) == cascades)
                scene_groups_add_group (scene, rung, pass, &from->groups.items[i], first);
    scene->ungrouped_n += from->ungrouped_n;
    for (uint32_t i = first; i < scene->groups_n; i++)
        scene->groups[i].changed = *changed;
}

const uint32_t *scene_make_groups (struct scene *scene)
{
    const struct board *board = scene->board;
    uint32_t *group_of = arena_array (scene->arena, scene->hosts_n, sizeof (*group_of)), most = 0;
    uint64_t changed = 0;
    for (uint32_t rung = 0; rung < scene->rungs_n; rung++)
        for (enum pass pass = PASS_NONE; pass <= PASS_RESTORED; pass++)
            most += board->rungs[rung].passes[pass].groups.n;
    most = most < SCENE_GROUPS_MAX ? most : SCENE_GROUPS_MAX;
    scene->groups = arena_array (scene->arena, most, sizeof (struct scene_group));
    for (uint32_t rung = 0; rung < scene->rungs_n; rung++)
        for (enum pass pass = PASS_NONE; pass <= PASS_RESTORED; pass++)
            add_pass (scene, rung, pass, &changed);
    for (uint32_t i = 0; i < scene->hosts_n; i++)
        group_of[i] = SCENE_NOBODY;
    for (uint32_t i = 0; i < scene->groups_n; i++)
        for (uint32_t k = 0; k < scene->groups[i].says.hosts.n; k++)
            group_of[scene->groups[i].says.hosts.items[k]] = i;
    return group_of;
}

/* ---- scene tiles ---- */

/* Makes one tile a host, and counts marks. */

/* What all tiles share. */
struct tiles {
    struct scene *scene;
    const uint32_t *group_of;   /* per host */
    uint8_t untried[RUNGS_MAX]; /* per rung: the mark of a host without an attempt there */
    uint8_t *cells;             /* of all hosts */
    struct host_stand *stands;  /* of all hosts */
    uint8_t *troubles;          /* enum trouble, of all hosts */
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
    *stand = (struct host_stand){ board->hosts[rank].changed, 0, UINT64_MAX, stand->at_rung };
    take_attempts (board, rank, stand, passes);
    for (uint32_t i = 0; i < board->plan.rungs.n; i++)
        stand->at_rung[i] = worst_of (passes[i]);
}

/* Keeps cached stands while the same pass runs. */
static struct host_stand *take_stands (const struct scene *scene)
{
    const struct board *board = scene->board;
    struct scene_memo *memo = feed_memo (scene->feed);
    uint32_t hosts = board->plan.hosts.n, rungs = board->plan.rungs.n;
    if (memo->stands && memo->running == board->running && attempt_key_equal (&memo->key, &board->key))
        return memo->stands;
    arena_reset (&memo->stands_arena);
    memo->stands = arena_array (&memo->stands_arena, hosts, sizeof (*memo->stands));
    struct rung_stand *at_rung = arena_array (&memo->stands_arena, (size_t) hosts * rungs, sizeof (*at_rung));
    for (uint32_t i = 0; i < hosts; i++)
        memo->stands[i].at_rung = at_rung + (size_t) i * rungs;
    memo->running = board->running;
    memo->key = board->key;
    return memo->stands;
}

static const struct host_stand *stand_of (const struct tiles *tiles, uint32_t rank)
{
    struct host_stand *stand = &tiles->stands[rank];
    if (stand->changed != tiles->scene->board->hosts[rank].changed)
        make_stand (tiles->scene->board, rank, stand);
    return stand;
}

/* ---- tiles ---- */

/* The last failed rung gives the owner. */
static void fill_cells (const struct tiles *tiles, struct scene_tile *tile, uint8_t *cells)
{
    const struct board *board = tiles->scene->board;
    const struct host_stand *stand = stand_of (tiles, tile->rank);
    bool left = board->hosts[tile->rank].left_behind, runs = tiles->scene->now_ms > stand->runs_since_ms;
    tile->spent_ms = stand->spent_ms + (runs ? tiles->scene->now_ms - stand->runs_since_ms : 0);
    for (uint32_t i = 0; i < board->plan.rungs.n; i++) {
        struct rung_stand at = stand->at_rung[i];
        cells[i] = at.mark != MARK_TO_COME ? at.mark : left ? MARK_NOT_REACHED : tiles->untried[i];
        if (scene_mark_is_bad (cells[i]))
            tile->owner = (enum owner) at.owner;
    }
    tile->cells = cells;
}

static uint64_t since (const struct scene *scene, uint64_t at_ms)
{
    return scene->now_ms > at_ms ? scene->now_ms - at_ms : 0;
}

static void fill_tile (const struct tiles *tiles, uint32_t rank, struct scene_tile *tile)
{
    const struct scene *scene = tiles->scene;
    const struct board_host *host = &scene->board->hosts[rank];
    *tile = (struct scene_tile){
        .rank = rank, .changed = host->changed, .group = tiles->group_of[rank], .trouble = tiles->troubles[rank]
    };
    fill_cells (tiles, tile, tiles->cells + (size_t) rank * scene->rungs_n);
    tile->now = scene->board->ended ? scene_mark_at_end (tile->cells, scene->rungs_n)
                                    : scene_mark_now (scene->board, rank);
    tile->phase = scene_text (scene->arena, host->life == BOARD_JOINED ? host->phase : host->step, SCENE_WORD_COLUMNS);
    tile->gate = scene_text (scene->arena, host->gate, SCENE_WORD_COLUMNS);
    if (tile->now == MARK_SILENT)
        tile->since_ms = since (scene, host->received_ms);
    else if (host->phase.len)
        tile->since_ms = since (scene, host->phase_since_ms);
}

static void mark_untried (const struct board *board, uint8_t *untried)
{
    for (uint32_t i = 0; i < board->plan.rungs.n; i++) {
        bool over = board->ended || (board_rung_outcome (board, i) != OUTCOME_NONE && !scene_rung_runs (board, i));
        untried[i] = over ? MARK_NOT_REACHED : MARK_TO_COME;
    }
}

void scene_make_tiles (struct scene *scene, const uint32_t *group_of)
{
    struct tiles tiles = { .scene = scene, .group_of = group_of };
    const struct scene_filter *filter = scene_filter_make (scene);
    tiles.cells = arena_array (scene->arena, scene->hosts_n, scene->rungs_n);
    scene->tiles = arena_array (scene->arena, scene->hosts_n, sizeof (struct scene_tile));
    tiles.troubles = arena_array (scene->arena, scene->hosts_n, 1);
    progress_mark_troubles (scene->board, scene->now_ms, scene->arena, tiles.troubles);
    tiles.stands = take_stands (scene);
    mark_untried (scene->board, tiles.untried);
    for (uint32_t i = 0; i < scene->hosts_n; i++) {
        struct scene_tile *tile = &scene->tiles[scene->tiles_n];
        fill_tile (&tiles, i, tile);
        scene->marks[tile->now]++;
        scene->tiles_n += scene_filter_takes (filter, tile);
    }
    scene->hidden_n = scene->hosts_n - scene->tiles_n;
    scene_order_tiles (scene);
}
