/* chosen_rungs.c - which rungs of the ladder are climbed: all, those from one on, or a few and those they need. */
#include <string.h>

#include "common/conf/draft.h"

struct rung_ids {
    const char *items[RUNGS_MAX + 2];
    uint32_t n, of_file; /* of_file: without the survey that sliceup may add at the end */
};

static bool has_id (const struct rung_ids *ids, struct text id)
{
    return text_is_word (id, ids->items, ids->n);
}

/* Lists the ids of the file, also of rungs with mistakes. */
static void list_ids (const struct draft *draft, const struct yaml_node *first, struct rung_ids *ids)
{
    for (const struct yaml_node *rung = first; rung && ids->n < RUNGS_MAX; rung = rung->next) {
        const struct yaml_node *id = yaml_value (rung, "id");
        if (id && id->kind == YAML_SCALAR)
            ids->items[ids->n++] = text_copy (draft->arena, id->text).ptr;
    }
    ids->of_file = ids->n;
}

static void add_survey (const struct draft *draft, struct rung_ids *ids)
{
    for (uint32_t i = 0; i < draft->plan.rungs.n; i++)
        if (!has_id (ids, draft->plan.rungs.items[i].id))
            ids->items[ids->n++] = text_copy (draft->arena, draft->plan.rungs.items[i].id).ptr;
}

/* Reports a name that is not in the ladder. */
static void chosen_rungs_check_name (struct draft *draft, const struct rung_ids *ids, const char *option,
                                     const char *name)
{
    const struct yaml_node at = { .file = option, .kind = YAML_SCALAR, .text = text_of (name) };
    if (!has_id (ids, at.text))
        problem_unknown (draft->problems, &at, "rung", "", ids->items, ids->n);
    else if (draft->problems->errors == 0 && strcmp (option, "--leave-out") != 0 &&
             plan_rung_index (&draft->plan, at.text) < 0)
        problem_at (draft->problems, &at, "the rung %s is left out of this run, expected one that is climbed",
                    problem_quote (draft->problems, at.text));
}

static void check_arg (struct draft *draft, const struct rung_ids *ids, const char *given)
{
    struct text rung, name, value;
    bool is_arg = draft_cut_arg (text_of (given), &rung, &name, &value);
    int at = is_arg ? plan_rung_index (&draft->plan, rung) : -1;
    if (is_arg && at < 0)
        chosen_rungs_check_name (draft, ids, "--arg", text_copy (draft->arena, rung).ptr);
    else if (!is_arg || draft->plan.rungs.items[at].kind != PROGRAM_CANARY)
        problem_add (draft->problems, "--arg", 0, 0, "%s, expected RUNG.NAME=VALUE with a rung that is a canary",
                     problem_quote (draft->problems, text_of (given)));
}

/* The survey cannot be left out by name. */
static void check_names (struct draft *draft, struct rung_ids *ids)
{
    const struct conf_options *options = draft->options;
    for (int i = 0; i < LEFT_OUT_RUNGS_MAX && options->leave_out[i]; i++)
        chosen_rungs_check_name (draft, ids, "--leave-out", options->leave_out[i]);
    add_survey (draft, ids);
    for (int i = 0; i < LEFT_OUT_RUNGS_MAX && options->only[i]; i++)
        chosen_rungs_check_name (draft, ids, "--only", options->only[i]);
    if (options->from)
        chosen_rungs_check_name (draft, ids, "--from", options->from);
    for (int i = 0; i < RUNG_ARGS_GIVEN_MAX && options->args[i]; i++)
        check_arg (draft, ids, options->args[i]);
}

static bool is_chosen (const struct draft *draft, uint32_t at)
{
    const struct conf_options *options = draft->options;
    if (options->from)
        return (int) at >= plan_rung_index (&draft->plan, text_of (options->from));
    return text_is_word (draft->plan.rungs.items[at].id, options->only, LEFT_OUT_RUNGS_MAX);
}

/* Why a rung not asked for is climbed anyway, for a later one; empty: it is not. */
static struct text need_of (const struct draft *draft, uint32_t at)
{
    const struct rung *rungs = draft->plan.rungs.items;
    for (uint32_t i = at + 1; i < draft->plan.rungs.n; i++) {
        struct text id = rungs[i].id;
        if (!is_chosen (draft, i))
            continue;
        if (rung_is_builtin (&rungs[at], "facts"))
            return text_format (draft->arena, "what the hosts are is part of every receipt");
        if (rung_is_builtin (&rungs[at], "restore") && rungs[i].needs_env)
            return text_format (draft->arena, "%.*s runs in the environment", TEXT_ARG (id));
        if (rung_is_builtin (&rungs[at], "ways") && rungs[i].scope == SCOPE_SLICE)
            return text_format (draft->arena, "%.*s needs the network between the hosts", TEXT_ARG (id));
        if (rung_is_builtin (&rungs[at], "cache") && rungs[i].warm != WARM_NONE)
            return text_format (draft->arena, "%.*s uses the compile cache", TEXT_ARG (id));
    }
    return (struct text){ 0 };
}

/* Lists left-out rungs in the ladder's order: earlier ones and new ones. */
static void leave_out (struct draft *draft, const struct rung_ids *ids, const struct rung_ids *gone)
{
    text_list before = draft->plan.left_out, all = { .items = arena_array (draft->arena, ids->n, sizeof *all.items) };
    for (uint32_t i = 0; i < ids->of_file; i++) {
        struct text id = text_of (ids->items[i]);
        if (has_id (gone, id) || text_is_among (id, before.items, before.n))
            all.items[all.n++] = id;
    }
    draft->plan.left_out = all;
}

/* The chosen ones and what they need; only these say whether an environment is needed. */
static void keep_chosen (struct draft *draft, const struct rung_ids *ids)
{
    struct rung *rungs = draft->plan.rungs.items, *kept = arena_array (draft->arena, RUNGS_MAX + 1, sizeof *kept);
    struct var *why = arena_array (draft->arena, RUNGS_MAX + 1, sizeof *why);
    struct rung_ids gone = { 0 };
    uint32_t n = 0;
    draft->needs_pins = false;
    for (uint32_t i = 0; i < draft->plan.rungs.n; i++) {
        bool chosen = is_chosen (draft, i);
        struct text need = chosen ? (struct text){ 0 } : need_of (draft, i);
        if (need.len)
            why[draft->plan.kept.n++] = (struct var){ rungs[i].id, need };
        if (chosen || need.len) {
            draft->needs_pins |= rungs[i].needs_env || rung_is_builtin (&rungs[i], "restore");
            kept[n++] = rungs[i];
        } else {
            gone.items[gone.n++] = text_copy (draft->arena, rungs[i].id).ptr;
        }
    }
    leave_out (draft, ids, &gone);
    draft->plan.kept.items = why;
    draft->plan.rungs.items = kept;
    draft->plan.rungs.n = n;
}

void draft_choose_rungs (struct draft *draft, const struct yaml_node *first)
{
    struct rung_ids ids = { 0 };
    uint32_t errors_before = draft->problems->errors;
    list_ids (draft, first, &ids);
    check_names (draft, &ids);
    if ((draft->options->from || draft->options->only[0]) && draft->problems->errors == errors_before)
        keep_chosen (draft, &ids);
}
