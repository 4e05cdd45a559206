/* board_groups.c - the part of a board that folds hosts whose verdicts say the same, and what the verdicts corrected. */
#include "coordinator/story/board_private.h"
#include "coordinator/verdict/failure.h"

static struct text kept_part (struct text from)
{
    return (struct text){ from.ptr, board_text_kept_bytes (from, BOARD_CAUSE_MAX_BYTES) };
}

static struct text keep_in (struct arena *arena, struct text from)
{
    return text_copy (arena, kept_part (from));
}

void board_groups_clear (struct board_pass *pass)
{
    arena_reset (&pass->arena);
    pass->groups.items = NULL;
    pass->corrections.items = NULL;
    pass->groups.n = pass->ungrouped_n = pass->corrections.n = 0;
}

static bool board_groups_belongs (const struct board *board, const struct board_verdict_group *group,
                                  const struct verdict *verdict, struct text line)
{
    return group->outcome == verdict->outcome && group->owner == verdict->owner && group->likely == verdict->likely &&
           text_equal (group->signature, verdict->signature) &&
           cause_equal (group->cause, board_host_name (board, group->hosts.items[0]), kept_part (verdict->cause),
                        board_host_name (board, verdict->host)) &&
           text_equal_but_numbers (group->line, kept_part (line));
}

/* In place of the group that tells least and has the fewest hosts; NULL: this one tells no more. */
static struct board_verdict_group *replaced_group (struct board_pass *pass, const struct verdict *verdict)
{
    struct board_verdict_group *least = &pass->groups.items[0];
    for (uint32_t i = 1; i < pass->groups.n; i++) {
        struct board_verdict_group *group = &pass->groups.items[i];
        uint32_t own = failure_worth (group->outcome, group->owner, group->likely || group->else_owner),
                 best = failure_worth (least->outcome, least->owner, least->likely || least->else_owner);
        if (own < best || (own == best && group->hosts.n < least->hosts.n))
            least = group;
    }
    if (failure_worth (verdict->outcome, verdict->owner, verdict->likely || verdict->else_owner) <=
        failure_worth (least->outcome, least->owner, least->likely || least->else_owner))
        return NULL;
    pass->ungrouped_n += least->hosts.n;
    return least;
}

static struct board_verdict_group *new_group (struct board_pass *pass, const struct verdict *verdict)
{
    if (pass->groups.items == NULL)
        pass->groups.items = arena_array (&pass->arena, BOARD_GROUPS_MAX, sizeof (struct board_verdict_group));
    return pass->groups.n == BOARD_GROUPS_MAX ? replaced_group (pass, verdict) : &pass->groups.items[pass->groups.n++];
}

/* NULL: full of groups that tell as much. */
static struct board_verdict_group *group_for (const struct board *board, struct board_pass *pass,
                                              const struct verdict *verdict, uint32_t capacity)
{
    struct text line = error_line_beside (verdict->outcome, verdict->evidence, verdict->cause);
    for (uint32_t i = 0; i < pass->groups.n; i++)
        if (board_groups_belongs (board, &pass->groups.items[i], verdict, line)) {
            pass->groups.items[i].varies |= !text_equal (pass->groups.items[i].line, kept_part (line)) ||
                                            !text_equal (pass->groups.items[i].cause, kept_part (verdict->cause));
            return &pass->groups.items[i];
        }
    struct board_verdict_group *group = new_group (pass, verdict);
    if (group == NULL)
        return NULL;
    *group = (struct board_verdict_group){ .outcome = verdict->outcome,
                                           .owner = verdict->owner,
                                           .else_owner = verdict->else_owner,
                                           .likely = verdict->likely,
                                           .signature = keep_in (&pass->arena, verdict->signature),
                                           .cause = keep_in (&pass->arena, verdict->cause),
                                           .next = keep_in (&pass->arena, verdict->next),
                                           .phase = keep_in (&pass->arena, verdict->phase),
                                           .line = keep_in (&pass->arena, line) };
    group->hosts.items = arena_array (&pass->arena, capacity, sizeof (uint32_t));
    group->room = capacity;
    return group;
}

void board_groups_add (const struct board *board, struct board_pass *pass, const struct verdict *verdict,
                       bool preliminary, uint32_t capacity)
{
    struct board_verdict_group *group = group_for (board, pass, verdict, capacity);
    if (group == NULL || group->hosts.n == group->room) {
        pass->ungrouped_n++;
        return;
    }
    group->preliminary = preliminary;
    group->changed = pass->changed;
    group->hosts.items[group->hosts.n++] = verdict->host;
}

void board_groups_add_absent (struct board *board, uint32_t rung, const struct verdict *verdict)
{
    struct board_pass *absent = &board->rungs[rung].passes[PASS_NONE];
    board->rungs[rung].changed = absent->changed = board->revision;
    board_groups_add (board, absent, verdict, false, board->plan.hosts.n);
}

static struct board_correction *correction_for (struct board *board, struct board_pass *pass,
                                                const struct board_correction *of)
{
    for (uint32_t i = 0; i < pass->corrections.n; i++) {
        struct board_correction *same = &pass->corrections.items[i];
        if (same->from == of->from && same->to == of->to && same->from_owner == of->from_owner &&
            same->to_owner == of->to_owner)
            return same;
    }
    if (pass->corrections.n == BOARD_GROUPS_MAX)
        return NULL;
    if (pass->corrections.items == NULL)
        pass->corrections.items = arena_array (&pass->arena, BOARD_GROUPS_MAX, sizeof (struct board_correction));
    struct board_correction *correction = &pass->corrections.items[pass->corrections.n++];
    *correction = *of;
    correction->hosts.items = arena_array (&pass->arena, board->plan.hosts.n, sizeof (uint32_t));
    return correction;
}

void board_groups_correct (struct board *board, struct board_pass *pass, uint32_t host, enum outcome to,
                           enum owner to_owner)
{
    struct board_correction of = { board->hosts[host].so_far, to, board->hosts[host].so_far_owner, to_owner, { 0 } };
    if (of.from == OUTCOME_NONE || (of.from == of.to && of.from_owner == of.to_owner))
        return;
    board->hosts[host].so_far = OUTCOME_NONE; /* once, however often a verdict names it */
    struct board_correction *correction = correction_for (board, pass, &of);
    if (correction)
        correction->hosts.items[correction->hosts.n++] = host;
}
