/* groups.c - host sets of the slice file: plain, or with groups by name. */
#include "common/conf/draft.h"

static bool find_group (const void *owner, struct text name, struct text *expression)
{
    return var_find (owner, name, expression);
}

int draft_host_set (struct draft *draft, const struct yaml_node *node, bool once, struct name_list *names)
{
    struct err err;
    const struct host_groups groups = { .find = find_group, .owner = &draft->groups };
    const struct hostset_rules rules = { .max = HOSTS_MAX, .once = once, .groups = &groups };
    if (hostset_read (node->text, &rules, draft->arena, names, &err) == 0)
        return 0;
    return problem_at (draft->problems, node, "%s; expected a host set such as v6e[0-3]", err.text);
}

static void add_group (struct draft *draft, const struct yaml_node *key)
{
    const struct yaml_node *set = key->value;
    if (!name_is_good (key->text))
        problem_at (draft->problems, key, "%s is not a group name, expected letters, digits, '.', '_' and '-'",
                    problem_quote (draft->problems, key->text));
    else if (set->kind == YAML_SCALAR && !yaml_is_null (set))
        draft->groups.items[draft->groups.n++] = (struct var){ .name = key->text, .value = set->text };
    else if (set->kind != YAML_BAD)
        problem_at (draft->problems, set, "the group %.*s holds %s, expected a host set such as v6e[0-3]",
                    TEXT_ARG (key->text), set->kind == YAML_SCALAR ? "nothing" : yaml_kind_name (set->kind));
}

void draft_groups (struct draft *draft)
{
    const struct value *groups = &draft->slice[SLICE_GROUPS];
    if (!groups->given || !groups->good)
        return;
    draft->groups.items = arena_array (draft->arena, groups->node->n, sizeof *draft->groups.items);
    for (const struct yaml_node *key = groups->node->first; key; key = key->next)
        add_group (draft, key);
    for (const struct yaml_node *key = groups->node->first; key; key = key->next) {
        struct name_list names = { 0 };
        if (key->value->kind == YAML_SCALAR && !yaml_is_null (key->value))
            (void) draft_host_set (draft, key->value, false, &names); /* reported; the load fails */
    }
}
