/* scene_tiles.c - one tile a host, and how many hosts stand how. */
#include "coordinator/scene/scene_private.h"

#include <string.h>

/* What all tiles share. */
struct tiles {
    struct maker *maker;
    uint64_t now_ms;
    uint8_t untried[RUNGS_MAX]; /* per rung: the mark of a host without an attempt there */
    uint8_t *cells;             /* of all hosts */
};

/* How the last attempt at a pass stands; TO_COME: there is none. */
struct tried {
    uint8_t mark, owner;
};

/* Who restored what was compiled has its cold pass behind it; else the worst of the passes tells, as in the receipt
 * (frontier_rung_outcome). */
static struct tried rung_stands (const struct tried *passes)
{
    struct tried worst = passes[PASS_ONCE];
    for (enum pass pass = PASS_COLD; pass <= PASS_RESTORED; pass++) {
        bool over = pass == PASS_COLD && passes[PASS_RESTORED].mark != MARK_TO_COME;
        if (!over && passes[pass].mark != MARK_TO_COME &&
            (worst.mark == MARK_TO_COME || scene_mark_badness (passes[pass].mark) > scene_mark_badness (worst.mark)))
            worst = passes[pass];
    }
    return worst;
}

/* The last attempt of the whole slice counts; they are there in the order in which they began. One without a number says
 * only why there is none. */
static void fill_tried (const struct tiles *tiles, struct scene_tile *tile, struct tried tried[][BOARD_PASSES])
{
    const struct board *board = tiles->maker->board;
    const struct board_host *host = &board->hosts[tile->rank];
    for (uint32_t i = 0; i < host->attempts.n; i++) {
        const struct board_attempt *attempt = &host->attempts.items[i];
        enum scene_mark mark = scene_mark_of_attempt (board, tile->rank, attempt);
        tile->spent_ms += scene_attempt_ms (board, attempt, tiles->now_ms);
        if (mark == MARK_TO_COME || attempt->purpose == PURPOSE_ISOLATION || attempt->key.rung >= board->plan.rungs.n ||
            (uint32_t) attempt->key.pass >= BOARD_PASSES)
            continue;
        struct tried *at = &tried[attempt->key.rung][attempt->key.pass];
        if (attempt->key.attempt || at->mark == MARK_TO_COME)
            *at = (struct tried){ (uint8_t) mark, (uint8_t) attempt->owner };
    }
}

/* Of the rungs that went badly the last tells whose fault it is. */
static void fill_cells (const struct tiles *tiles, struct scene_tile *tile, uint8_t *cells)
{
    const struct board *board = tiles->maker->board;
    struct tried tried[RUNGS_MAX][BOARD_PASSES];
    memset (tried, 0, board->plan.rungs.n * sizeof (tried[0]));
    fill_tried (tiles, tile, tried);
    for (uint32_t i = 0; i < board->plan.rungs.n; i++) {
        struct tried stands = rung_stands (tried[i]);
        bool left = board->hosts[tile->rank].left_behind;
        cells[i] = stands.mark != MARK_TO_COME ? stands.mark : left ? MARK_NOT_REACHED : tiles->untried[i];
        if (scene_mark_is_bad (cells[i]))
            tile->owner = (enum owner) stands.owner;
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
    tile->name = scene_text (maker->arena, maker->board->plan.hosts.items[rank].name, SCENE_WORD_COLUMNS);
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
