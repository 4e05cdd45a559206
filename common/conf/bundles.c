/* bundles.c - versions known to work together, and known not to: the lists of configs/bundles, one after the other. */
#include <unistd.h>

#include "common/conf/draft.h"
#include "common/model/requirements.h"

static const struct conf_file_kind bundles_kind = { "bundle list", "configs/bundles", ".yaml" };

static int read_part (struct draft *draft, const struct yaml_node *key, struct var *part)
{
    const struct yaml_node *value = key->value;
    if (!requirement_name_valid (key->text) || key->text.len > WORD_MAX_BYTES)
        return problem_at (
            draft->problems, key,
            "%s is not a package name, expected letters and digits, with '.', '_' and '-' only between them",
            problem_quote (draft->problems, key->text));
    if (value->kind != YAML_SCALAR || !package_version_pattern_valid (value->text))
        return problem_at (
            draft->problems, value,
            "the version is %s, expected a version such as '0.4.32', '0.0.20.*' or '<0.0.6', '*' for any, or 'absent'",
            problem_quote_value (draft->problems, value));
    *part = (struct var){ requirement_normal_name (key->text, draft->arena), value->text };
    return 0;
}

static int bundles_read_parts (struct draft *draft, const struct yaml_node *map, var_list *parts)
{
    int result = 0;
    if (map->n == 0 || map->n > BUNDLE_PARTS_MAX)
        return problem_at (draft->problems, map, "parts names %u packages, expected 1 to %d", map->n, BUNDLE_PARTS_MAX);
    parts->items = arena_array (draft->arena, map->n, sizeof *parts->items);
    for (const struct yaml_node *key = map->first; key; key = key->next) {
        if (read_part (draft, key, &parts->items[parts->n]) == 0)
            parts->n++;
        else
            result = -1;
    }
    return result;
}

static int bundles_check (struct draft *draft, const struct conf_value of[], const struct yaml_node *node)
{
    struct problem_list *problems = draft->problems;
    if (LIST_FIND (draft->plan.bundles, struct bundle_rule, id, of[BUNDLE_ID].text))
        return problem_at (problems, of[BUNDLE_ID].node,
                           "the bundle rule %s is given twice, expected once in all bundle lists",
                           problem_quote (problems, of[BUNDLE_ID].text));
    if (of[BUNDLE_WORD].number == BUNDLE_BAD && !of[BUNDLE_WHY].given)
        return problem_at (problems, node,
                           "a bundle rule with word: bad lacks the key 'why', expected a text that says what is wrong "
                           "with these versions");
    if (draft->plan.bundles.n == BUNDLE_RULES_MAX)
        return problem_at (problems, node, "the bundle lists have more than %d rules together, the limit",
                           BUNDLE_RULES_MAX);
    return 0;
}

static void bundles_add (struct draft *draft, const struct conf_value of[], const struct yaml_node *node)
{
    struct name_list backends;
    var_list parts = { 0 };
    if (!section_is_good (&bundle_section, of) || bundles_check (draft, of, node) != 0 ||
        bundles_read_parts (draft, of[BUNDLE_PARTS].node, &parts) != 0 ||
        draft_names (draft, &of[BUNDLE_BACKENDS], BUNDLE_PARTS_MAX, &backends) != 0)
        return;
    draft->plan.bundles.items[draft->plan.bundles.n++] =
        (struct bundle_rule){ .id = of[BUNDLE_ID].text,
                              .word = (enum bundle_word) of[BUNDLE_WORD].number,
                              .backends.items = backends.items,
                              .backends.n = backends.n,
                              .parts = parts,
                              .why = of[BUNDLE_WHY].text,
                              .source = of[BUNDLE_SOURCE].text };
}

static void bundles_read_file (void *owner, const struct yaml_node *reference)
{
    struct draft *draft = owner;
    struct source source;
    struct conf_value file[BUNDLES_KEYS], of[BUNDLE_KEYS];
    struct problem_list *problems = draft->problems;
    const struct yaml_node *root = draft_parse_referenced_file (draft, &bundles_kind, reference, &source);
    if (!root || section_read (&bundles_section, root, file, problems) != 0 || !file[BUNDLES_LIST].good)
        return;
    for (const struct yaml_node *node = file[BUNDLES_LIST].node->first; node; node = node->next)
        if (section_read (&bundle_section, node, of, problems) == 0)
            bundles_add (draft, of, node);
}

/* A frontend without known bundles has no file. */
static void bundles_read_default (struct draft *draft)
{
    if (!draft->frontend)
        return;
    const char *name = draft->frontend->name;
    struct text path = text_format (draft->arena, "%s/%s/%s%s", draft->options->share_dir, bundles_kind.folder, name,
                                    bundles_kind.extension);
    struct yaml_node reference = draft_make_reference (draft->slice[SLICE_BUNDLES].node, text_of (name));
    if (access (path.ptr, F_OK) == 0)
        bundles_read_file (draft, &reference);
}

void draft_bundles (struct draft *draft)
{
    const struct conf_value *given = &draft->slice[SLICE_BUNDLES];
    draft->plan.bundles.items = arena_array (draft->arena, BUNDLE_RULES_MAX, sizeof *draft->plan.bundles.items);
    if (given->given && given->good)
        draft_each_reference (draft, given->node, &bundles_kind, bundles_read_file, draft);
    if (!given->given)
        bundles_read_default (draft);
}
