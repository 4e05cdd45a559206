/* shapes.c - the sizes that programs may give the dimensions of their arrays. */

#include "common/conf/draft.h"
#include "common/frontend/launch_lint.h"

static int read_sizes (struct draft *draft, const struct yaml_node *key, struct dimension *dimension)
{
    const struct yaml_node *list = key->value;
    uint64_t size = 0, last = 0;
    if (list->kind != YAML_LIST || list->n == 0 || list->n > SHAPE_SIZES_MAX)
        return problem_at (draft->problems, list, "the dimension %.*s has no list of sizes, expected 1 to %d of them",
                           TEXT_ARG (key->text), SHAPE_SIZES_MAX);
    dimension->sizes.items = arena_array (draft->arena, list->n, sizeof *dimension->sizes.items);
    for (const struct yaml_node *item = list->first; item; item = item->next, last = size) {
        bool good = item->kind == YAML_SCALAR && item->plain && text_to_u64 (item->text, &size);
        if (!good || size <= last || size > SHAPE_SIZE_MAX)
            return problem_at (
                draft->problems, item,
                "%s is no size of the dimension %.*s here, expected a whole number above the one before, "
                "from 1 to %d",
                problem_quote_value (draft->problems, item), TEXT_ARG (key->text), SHAPE_SIZE_MAX);
        dimension->sizes.items[dimension->sizes.n++] = (uint32_t) size;
    }
    return 0;
}

static int read_padding (struct draft *draft, const struct yaml_node *value)
{
    bool is_word = value->kind == YAML_SCALAR && value->plain;
    draft->plan.profile.padding = is_word && text_is (value->text, "true");
    if (draft->plan.profile.padding || (is_word && text_is (value->text, "false")))
        return 0;
    return problem_at (draft->problems, value, "padding is %s, expected true or false",
                       problem_quote_value (draft->problems, value));
}

static int read_dimension (struct draft *draft, const struct yaml_node *key)
{
    struct profile *profile = &draft->plan.profile;
    if (!identifier_is_good (key->text, AXIS_NAME_MAX_BYTES))
        return problem_at (draft->problems, key,
                           "%s is not the name of a dimension, expected letters, digits and '_', "
                           "at most %d bytes",
                           problem_quote (draft->problems, key->text), AXIS_NAME_MAX_BYTES);
    if (profile->shapes.n == SHAPES_MAX)
        return problem_at (draft->problems, key, "a dimension too many, expected at most %d", SHAPES_MAX);
    struct dimension *dimension = &profile->shapes.items[profile->shapes.n++];
    dimension->name = key->text;
    return read_sizes (draft, key, dimension);
}

void draft_shapes (struct draft *draft, const struct yaml_node *root, const struct conf_value *map)
{
    struct profile *profile = &draft->plan.profile;
    const char *why = map->given ? NULL : launch_lint_shapes (profile);
    if (why)
        warning_at (draft->problems, root, "the profile gives no shapes; %s", why);
    if (!map->given || !map->good)
        return;
    profile->shapes.items = arena_array (draft->arena, SHAPES_MAX, sizeof *profile->shapes.items);
    for (const struct yaml_node *key = map->node->first; key; key = key->next)
        if (text_is (key->text, "padding") ? read_padding (draft, key->value) : read_dimension (draft, key))
            return;
    if (profile->shapes.n == 0)
        problem_at (draft->problems, map->node, "shapes without a dimension, expected one, such as batch: [8, 16]");
}
