/* ladder.c - the ladder file: rungs in rising order. */
#include "common/conf/draft.h"

/* The builtin that checks the cache as programs will see it, and the id of the rung that sliceup adds for it. */
#define SURVEY "cache"
enum { SURVEY_TIMEOUT_MS = 60 * 1000 };

static const struct conf_file_kind ladder_kind = { "ladder", "configs/ladders", ".yaml" };

static void check_frontend (struct draft *draft, const struct conf_value *frontend)
{
    if (!frontend->given || !frontend->good)
        return;
    if (!frontend_find (frontend->text))
        problem_at (draft->problems, frontend->node,
                    "the ladder is for the unknown frontend %s, expected one that a profile can name",
                    problem_quote (draft->problems, frontend->text));
    else if (draft->frontend && !text_is (frontend->text, frontend_name (draft->frontend)))
        problem_at (draft->problems, frontend->node,
                    "the ladder is for the frontend %.*s, expected a ladder for %s, the frontend of the profile %.*s",
                    TEXT_ARG (frontend->text), frontend_name (draft->frontend), TEXT_ARG (draft->plan.profile.name));
}

const struct yaml_node *draft_rung_key (const struct yaml_node *rung, const char *name)
{
    for (const struct yaml_node *key = rung->kind == YAML_MAP ? rung->first : NULL; key; key = key->next)
        if (text_is (key->text, name))
            return key->value;
    return NULL;
}

/* Compares the YAML nodes: a rung with another mistake is not in the list of rungs. */
static void check_id_is_new (struct draft *draft, const struct yaml_node *first, const struct yaml_node *rung)
{
    const struct yaml_node *id = draft_rung_key (rung, "id");
    if (!id || id->kind != YAML_SCALAR)
        return;
    for (const struct yaml_node *other = first; other != rung; other = other->next) {
        const struct yaml_node *taken = draft_rung_key (other, "id");
        if (taken && taken->kind == YAML_SCALAR && text_equal (taken->text, id->text)) {
            problem_at (draft->problems, id, "the rung %s is given twice, first in line %u; expected once",
                        problem_quote (draft->problems, id->text), taken->line);
            return;
        }
    }
}

static const struct yaml_node *with_text (const struct yaml_node *first, const char *key, const char *text)
{
    for (const struct yaml_node *rung = first; rung; rung = rung->next) {
        const struct yaml_node *value = draft_rung_key (rung, key);
        if (value && value->kind == YAML_SCALAR && text_is (value->text, text))
            return rung;
    }
    return NULL;
}

/* Each host checks the cache and its protection before the first cold pass. Adds that rung where it is missing. */
static void put_survey (struct draft *draft, const struct conf_value *list, const struct yaml_node *warm)
{
    const struct yaml_node *taken = with_text (list->node->first, "id", SURVEY);
    const struct yaml_node *late = with_text (list->node->first, "builtin", SURVEY);
    if (late)
        problem_at (draft->problems, late,
                    "the rung with builtin: cache comes after the rung in line %u, which has a cold pass; "
                    "expected it before the first rung with a cold pass",
                    warm->line);
    else if (taken)
        problem_at (draft->problems, draft_rung_key (taken, "id"),
                    "a rung has the id cache, expected another id: sliceup adds a rung of that id before the "
                    "first cold pass, unless the ladder has a rung with builtin: cache");
    else if (list->node->n == RUNGS_MAX)
        problem_at (draft->problems, list->node,
                    "the ladder has %d rungs, and sliceup adds one with builtin: cache before the first cold pass; "
                    "expected at most %d in all",
                    RUNGS_MAX, RUNGS_MAX);
    else
        draft->plan.rungs.items[draft->plan.rungs.n++] = (struct rung){ .id = TEXT_LIT (SURVEY),
                                                                        .kind = PROGRAM_BUILTIN,
                                                                        .builtin = TEXT_LIT (SURVEY),
                                                                        .scope = SCOPE_HOST,
                                                                        .timeout_ms = SURVEY_TIMEOUT_MS };
}

static bool is_needless (struct draft *draft, const struct rung *rung, const struct yaml_node *node)
{
    if (draft->plan.cache.mode != CACHE_OFF || !text_is (rung->builtin, SURVEY))
        return false;
    warning_at (draft->problems, node, "rung %.*s is left out: the slice's cache is off, so there is nothing to check",
                TEXT_ARG (rung->id));
    return true;
}

static void read_rung (struct draft *draft, const struct conf_value *list, const struct yaml_node *node, bool *surveyed)
{
    struct rung rung;
    check_id_is_new (draft, list->node->first, node);
    int result = draft_rung (draft, node, &rung);
    if (result > 0)
        draft->plan.left_out.items[draft->plan.left_out.n++] = rung.id;
    if (result != 0 || is_needless (draft, &rung, node))
        return;
    bool is_first = rung.warm != WARM_NONE && draft->plan.cache.mode > CACHE_OFF && !*surveyed;
    if (is_first)
        put_survey (draft, list, node);
    *surveyed |= is_first || text_is (rung.builtin, SURVEY);
    draft->plan.rungs.items[draft->plan.rungs.n++] = rung;
}

static void read_rungs (struct draft *draft, const struct conf_value *list)
{
    uint32_t errors_before = draft->problems->errors;
    bool surveyed = false;
    if (!list->good)
        return;
    if (list->node->n == 0 || list->node->n > RUNGS_MAX) {
        problem_at (draft->problems, list->node, "the ladder has %u rungs, expected 1 to %d", list->node->n, RUNGS_MAX);
        return;
    }
    draft->plan.rungs.items = arena_array (draft->arena, list->node->n + 1, sizeof *draft->plan.rungs.items);
    draft->plan.left_out.items = arena_array (draft->arena, list->node->n, sizeof *draft->plan.left_out.items);
    for (const struct yaml_node *rung = list->node->first; rung; rung = rung->next)
        read_rung (draft, list, rung, &surveyed);
    draft_choose_rungs (draft, list->node->first);
    if (draft->plan.rungs.n == 0 && draft->problems->errors == errors_before)
        problem_at (draft->problems, list->node,
                    "with cache mode: off no rung of the ladder is left, expected at least one that needs no cache");
}

void draft_ladder (struct draft *draft)
{
    const struct yaml_node *node = draft_choose_reference (draft, SLICE_LADDER, draft->options->ladder, "--ladder");
    struct source source;
    struct conf_value ladder[LADDER_KEYS];
    const struct yaml_node *root = node ? draft_parse_referenced_file (draft, &ladder_kind, node, &source) : NULL;
    if (!root || section_read (&ladder_section, root, ladder, draft->problems) != 0)
        return;
    draft->plan.ladder = ladder[LADDER_LADDER].text;
    check_frontend (draft, &ladder[LADDER_FRONTEND]);
    read_rungs (draft, &ladder[LADDER_RUNGS]);
    /* No rung uses the environment, so it is not restored. */
    if (!draft->needs_pins)
        draft->plan.pins = (struct pins){ 0 };
}
