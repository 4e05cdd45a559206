/* scene_groups.c - hosts whose verdicts say the same, and which of them followed which. */
#include "coordinator/scene/cascade_cause.h"
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

/* Among the groups of its pass, which stand before it. */
static uint32_t group_of_cause (const struct scene *scene, const struct scene_group *group, uint32_t first)
{
    for (uint32_t i = first; i < scene->groups_n; i++)
        if (scene->groups[i].outcome != OUTCOME_CASCADE && has_rank (&scene->groups[i], group->cause_host))
            return i;
    return SCENE_NOBODY;
}

/* ---- groups ---- */

/* Once, as long as nobody comes to the group. */
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

/* `first`: of the groups of its pass. */
static void add_group (struct maker *maker, uint32_t rung, enum pass pass, const struct board_verdict_group *from,
                       uint32_t first)
{
    struct scene *scene = maker->scene;
    struct scene_group *group = &scene->groups[scene->groups_n];
    if (scene->groups_n == SCENE_GROUPS_MAX) {
        scene->ungrouped_n += from->hosts.n;
        return;
    }
    struct text line = from->line, cause = from->cause; /* of the first, where others have other numbers: group_text */
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
                add_group (maker, rung, pass, &from->groups.items[i], first);
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
