/* scene_groups.c - hosts whose verdicts say the same, and which of them followed which. */
#include "coordinator/scene/scene_private.h"

#include <stdlib.h>

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

/* Folded once, as long as nobody comes to the group. */
static struct text folded_names (const struct maker *maker, const struct board_verdict_group *from,
                                 const struct scene_group *group)
{
    struct scene_memo *memo = feed_memo (maker->feed);
    uint32_t at = maker->scene->groups_n;
    if (memo->groups[at].of != from || memo->groups[at].changed != from->changed) {
        arena_reset (&memo->groups[at].arena);
        memo->groups[at].names = fold_names (maker, group, &memo->groups[at].arena);
        memo->groups[at].changed = from->changed;
        memo->groups[at].of = from;
    }
    return memo->groups[at].names;
}

static void add_group (struct maker *maker, uint32_t rung, enum pass pass, const struct board_verdict_group *from)
{
    struct scene *scene = maker->scene;
    struct scene_group *group = &scene->groups[scene->groups_n];
    if (scene->groups_n == SCENE_GROUPS_MAX) {
        scene->ungrouped_n += from->hosts.n;
        return;
    }
    *group = (struct scene_group){ .rung = rung,
                                   .pass = pass,
                                   .outcome = from->outcome,
                                   .owner = from->owner,
                                   .likely = from->likely,
                                   .preliminary = from->preliminary,
                                   .signature = scene_text (maker->arena, from->signature, SCENE_WORD_COLUMNS),
                                   .line = scene_text (maker->arena, from->line, SCENE_LINE_COLUMNS),
                                   .cause = scene_text (maker->arena, from->cause, SCENE_LINE_COLUMNS),
                                   .next = scene_text (maker->arena, from->next, SCENE_LINE_COLUMNS),
                                   .phase = scene_text (maker->arena, from->phase, SCENE_WORD_COLUMNS),
                                   .cause_group = SCENE_NOBODY,
                                   .changed = from->changed };
    take_ranks (maker, from, group);
    if (group->n == 0)
        return;
    group->names = folded_names (maker, from, group);
    for (uint32_t i = 0; i < group->n; i++)
        maker->group_of[group->ranks[i]] = scene->groups_n;
    scene->groups_n++;
}

/* ---- whom cascades followed ---- */

static bool may_be_cause (const struct scene_group *group)
{
    return group->outcome != OUTCOME_CASCADE && group->outcome != OUTCOME_CANCELLED;
}

static uint64_t first_end (const struct maker *maker, const struct scene_group *group)
{
    const struct attempt_key key = { group->rung, group->pass,
                                     maker->board->rungs[group->rung].passes[group->pass].attempt };
    uint64_t first_ms = UINT64_MAX;
    for (uint32_t i = 0; i < group->n; i++) {
        const struct board_attempt *attempt = scene_attempt_of (maker->board, group->ranks[i], &key);
        if (attempt && attempt->ended && attempt->ended_ms < first_ms)
            first_ms = attempt->ended_ms;
    }
    return first_ms;
}

/* The one of which a host ended first; of two the larger, then the one that was told first. */
static uint32_t find_cause (const struct maker *maker, uint32_t from)
{
    const struct scene *scene = maker->scene;
    uint32_t cause = SCENE_NOBODY;
    uint64_t cause_ms = UINT64_MAX;
    for (uint32_t i = from; i < scene->groups_n; i++) {
        if (!may_be_cause (&scene->groups[i]))
            continue;
        uint64_t first_ms = first_end (maker, &scene->groups[i]);
        if (cause != SCENE_NOBODY &&
            (first_ms > cause_ms || (first_ms == cause_ms && scene->groups[i].n <= scene->groups[cause].n)))
            continue;
        cause = i;
        cause_ms = first_ms;
    }
    return cause;
}

/* Causes before their cascades. */
static void add_pass (struct maker *maker, uint32_t rung, enum pass pass)
{
    const struct board_pass *from = &maker->board->rungs[rung].passes[pass];
    uint32_t first = maker->scene->groups_n;
    for (uint32_t cascades = 0; cascades < 2; cascades++)
        for (uint32_t i = 0; i < from->groups.n; i++)
            if ((from->groups.items[i].outcome == OUTCOME_CASCADE) == cascades)
                add_group (maker, rung, pass, &from->groups.items[i]);
    maker->scene->ungrouped_n += from->ungrouped_n;
    uint32_t last = maker->scene->groups_n;
    if (first == last || maker->scene->groups[last - 1].outcome != OUTCOME_CASCADE)
        return;
    uint32_t cause = find_cause (maker, first);
    for (uint32_t i = first; i < last; i++)
        if (maker->scene->groups[i].outcome == OUTCOME_CASCADE)
            maker->scene->groups[i].cause_group = cause;
}

void scene_make_groups (struct maker *maker)
{
    const struct board *board = maker->board;
    uint32_t most = 0;
    maker->group_of = arena_array (maker->arena, board->plan.hosts.n, sizeof (*maker->group_of));
    for (uint32_t i = 0; i < board->plan.hosts.n; i++)
        maker->group_of[i] = SCENE_NOBODY;
    for (uint32_t rung = 0; rung < board->plan.rungs.n; rung++)
        for (enum pass pass = PASS_ONCE; pass <= PASS_RESTORED; pass++)
            most += board->rungs[rung].passes[pass].groups.n;
    most = most < SCENE_GROUPS_MAX ? most : SCENE_GROUPS_MAX;
    maker->scene->groups = arena_array (maker->arena, most, sizeof (struct scene_group));
    for (uint32_t rung = 0; rung < board->plan.rungs.n; rung++)
        for (enum pass pass = PASS_ONCE; pass <= PASS_RESTORED; pass++)
            add_pass (maker, rung, pass);
}
