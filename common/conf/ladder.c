/* ladder.c - the ladder file: rungs in rising order. */
#include "common/conf/draft.h"

static const struct source_kind ladder_kind = { "ladder", "configs/ladders", ".yaml" };

static void check_frontend (struct draft *draft, const struct value *frontend)
{
    if (!frontend->given || !frontend->good)
        return;
    if (!frontend_find (frontend->text))
        problem_at (draft->problems, frontend->node, "unknown frontend %s, expected one that a profile can name",
                    problem_quote (draft->problems, frontend->text));
    else if (draft->frontend && !text_is (frontend->text, frontend_name (draft->frontend)))
        problem_at (draft->problems, frontend->node,
                    "a ladder for the frontend %.*s, expected one for %s, which the profile %.*s names",
                    TEXT_ARG (frontend->text), frontend_name (draft->frontend), TEXT_ARG (draft->plan.profile.name));
}

static const struct yaml_node *rung_id (const struct yaml_node *rung)
{
    for (const struct yaml_node *key = rung->kind == YAML_MAP ? rung->first : NULL; key; key = key->next)
        if (text_is (key->text, "id"))
            return key->value;
    return NULL;
}

/* By the nodes, not by the rungs read so far: one of the two may be wrong in other ways as well. */
static void check_id_is_new (struct draft *draft, const struct yaml_node *first, const struct yaml_node *rung)
{
    const struct yaml_node *id = rung_id (rung);
    if (!id || id->kind != YAML_SCALAR)
        return;
    for (const struct yaml_node *other = first; other != rung; other = other->next) {
        const struct yaml_node *taken = rung_id (other);
        if (taken && taken->kind == YAML_SCALAR && text_equal (taken->text, id->text)) {
            problem_at (draft->problems, id, "the rung %s is given twice, first in line %u; expected once",
                        problem_quote (draft->problems, id->text), taken->line);
            return;
        }
    }
}

static void read_rungs (struct draft *draft, const struct value *list)
{
    if (!list->good)
        return;
    if (list->node->n == 0 || list->node->n > RUNGS_MAX) {
        problem_at (draft->problems, list->node, "%u rungs, expected 1 to %d", list->node->n, RUNGS_MAX);
        return;
    }
    draft->plan.rungs.items = arena_array (draft->arena, list->node->n, sizeof *draft->plan.rungs.items);
    for (const struct yaml_node *rung = list->node->first; rung; rung = rung->next) {
        check_id_is_new (draft, list->node->first, rung);
        if (draft_rung (draft, rung, &draft->plan.rungs.items[draft->plan.rungs.n]) == 0)
            draft->plan.rungs.n++;
    }
}

void draft_ladder (struct draft *draft)
{
    const struct yaml_node *reference = draft_reference (draft, SLICE_LADDER, draft->options->ladder, "--ladder");
    struct source source;
    struct value ladder[LADDER_KEYS];
    const struct yaml_node *root = reference ? draft_open (draft, &ladder_kind, reference, &source) : NULL;
    if (!root || section_read (&ladder_section, root, ladder, draft->problems) != 0)
        return;
    draft->plan.ladder = ladder[LADDER_LADDER].text;
    check_frontend (draft, &ladder[LADDER_FRONTEND]);
    read_rungs (draft, &ladder[LADDER_RUNGS]);
    /* An environment that no rung asks for would be restored for nothing. */
    if (!draft->needs_pins)
        draft->plan.pins = (struct pins) { 0 };
}
