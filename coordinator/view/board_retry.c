/* board_retry.c - the part of a board that follows what is run again: retries, and parts of the slice by themselves. */
#include "coordinator/view/board_private.h"

#include <string.h>

#include "coordinator/verdict/isolate.h"

void board_retry_planned (struct board *board, const struct fact *fact)
{
    const struct fact_retry_planned *planned = &fact->of.retry_planned;
    uint32_t most = board->plan.limits.retries;
    if (planned->key.rung >= board->plan.rungs.n)
        return;
    board->retries_n++;
    board->retry.key = planned->key;
    board->retry.planned_ms = fact->at_ms;
    board->retry.due_ms = planned->due_ms;
    board->retry.nth = planned->left < most ? most - planned->left : 1;
    kept_set (&board->retry.why, planned->why, BOARD_CAUSE_MAX_BYTES);
}

static void count_again (struct board_pass *pass, enum outcome before, enum outcome after)
{
    if (before <= OUTCOME_NONE || before >= OUTCOME_N || after >= OUTCOME_N || !pass->counts[before])
        return;
    pass->counts[before]--;
    pass->counts[after]++;
}

/* A group's hosts go where their verdicts belong now. */
static void regroup (struct board *board, struct board_pass *pass, const struct isolate_ruling *ruling,
                     const struct board_group *from, struct arena *arena)
{
    for (uint32_t i = 0; i < from->hosts.n; i++) {
        struct verdict before = { .host = from->hosts.items[i],
                                  .outcome = from->outcome,
                                  .owner = from->owner,
                                  .signature = from->signature,
                                  .cause = from->cause,
                                  .next = from->next,
                                  .phase = from->phase };
        struct verdict after;
        isolate_verdict (ruling, &before, arena, &after);
        count_again (pass, before.outcome, after.outcome);
        if (board_host_of (board, after.host))
            board->hosts[after.host].outcome = after.outcome;
        struct board_group *group = board_group_for (pass, &after, board->plan.hosts.n);
        if (group)
            group->hosts.items[group->hosts.n++] = after.host;
        else
            pass->ungrouped_n++;
    }
}

static void regroup_all (struct board *board, struct board_pass *pass, const struct fact_suspects_named *named)
{
    struct arena arena = { 0 };
    struct isolate_ruling ruling;
    uint32_t n = pass->groups.n;
    struct board_group *before = arena_array (&arena, n, sizeof (*before));
    if (n)
        memcpy (before, pass->groups.items, n * sizeof (*before));
    isolate_rule (&board->plan, named, pass->outcome, &arena, &ruling);
    pass->groups.n = 0; /* their lists and texts stay in the pass's arena */
    for (uint32_t i = 0; i < n; i++)
        regroup (board, pass, &ruling, &before[i], &arena);
    arena_release (&arena);
}

void board_suspects_named (struct board *board, const struct fact_suspects_named *named)
{
    struct board_isolation *isolation = &board->isolation;
    struct buf folded;
    if (named->key.rung >= board->plan.rungs.n || named->key.pass <= PASS_NONE || named->key.pass > PASS_RESTORED ||
        isolation->over)
        return;
    isolation->rung = named->key.rung;
    isolation->passes_n = named->passes;
    isolation->over = true;
    buf_init (&folded, BOARD_CAUSE_MAX_BYTES);
    board_fold (board, named->suspects.items, named->suspects.n, &folded);
    kept_set (&isolation->suspects, buf_as_text (&folded), BOARD_CAUSE_MAX_BYTES);
    kept_set (&isolation->why, named->why, BOARD_CAUSE_MAX_BYTES);
    buf_release (&folded);
    struct board_pass *pass = &board->rungs[named->key.rung].passes[named->key.pass];
    if (pass->groups.items)
        regroup_all (board, pass, named);
}

uint32_t board_parts_most (const struct board *board)
{
    return isolate_trials_max (board->plan.hosts.n);
}

uint64_t board_part_most_ms (const struct board *board)
{
    return board->isolation.rung < board->plan.rungs.n ? board->plan.rungs.items[board->isolation.rung].timeout_ms : 0;
}
