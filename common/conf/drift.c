/* drift.c - how hosts are compared: a file of configs/drift as the rules of a plan. */
#include "common/base/duration.h"
#include "common/conf/draft.h"

static const struct conf_file_kind drift_kind = { "drift policy", "configs/drift", ".yaml" };

/* A number in the fact's own unit: "256MiB" is bytes, "3s" ms. */
static bool read_least (struct text text, double *least)
{
    uint64_t number;
    if (!text_to_u64 (text, &number) && !size_parse (text, &number) && !duration_parse (text, &number))
        return false;
    *least = (double) number;
    return true;
}

static int read_rule (struct problem_list *problems, const struct yaml_node *node, struct drift_rule *rule)
{
    struct conf_value of[DRIFT_RULE_KEYS];
    if (section_read (&drift_rule_section, node, of, problems) != 0 || !section_is_good (&drift_rule_section, of))
        return -1;
    *rule = (struct drift_rule){ .fact = of[DRIFT_RULE_FACT].text,
                                 .kind = (enum drift_kind) of[DRIFT_RULE_COMPARE].number,
                                 .why = of[DRIFT_RULE_WHY].text,
                                 .repeats = of[DRIFT_RULE_REPEATS].number,
                                 .rate = of[DRIFT_RULE_RATE].number,
                                 .tolerance = (double) of[DRIFT_RULE_TOLERANCE].number / 100 };
    bool near = rule->kind == DRIFT_NEAR_ZERO, percent = of[DRIFT_RULE_TOLERANCE].given;
    if ((percent || of[DRIFT_RULE_LEAST].given) != (near || rule->kind == DRIFT_TOLERANCE) || (near && percent))
        return problem_at (problems, node,
                           "`compare: tolerance` needs tolerance_percent or least, `compare: near_zero` needs least, "
                           "and the other comparisons take neither");
    if (of[DRIFT_RULE_LEAST].given && !read_least (of[DRIFT_RULE_LEAST].text, &rule->least))
        return problem_at (problems, of[DRIFT_RULE_LEAST].node,
                           "least is %s, expected a number, a size (256MiB) or a duration (3s)",
                           problem_quote (problems, of[DRIFT_RULE_LEAST].text));
    return 0;
}

/* -1: reported. */
static int read_rules (struct problem_list *problems, const struct yaml_node *root, struct drift_rules *rules)
{
    struct conf_value file[DRIFTS_KEYS];
    if (section_read (&drifts_section, root, file, problems) != 0 || !file[DRIFTS_RULES].good)
        return -1;
    const struct yaml_node *list = file[DRIFTS_RULES].node;
    if (list->n == 0 || list->n > DRIFT_RULES_MAX)
        return problem_at (problems, list, "the drift policy has %u rules, expected 1 to %d", list->n, DRIFT_RULES_MAX);
    rules->items = arena_array (problems->arena, list->n, sizeof (*rules->items));
    rules->n = 0;
    for (const struct yaml_node *node = list->first; node; node = node->next)
        if (read_rule (problems, node, &rules->items[rules->n]) == 0)
            rules->n++;
    return 0;
}

void draft_drift (struct draft *draft)
{
    struct source source;
    struct drift_rules rules = { 0 };
    const struct conf_value *given = &draft->slice[SLICE_DRIFT];
    if (!given->good)
        return;
    struct yaml_node reference = draft_make_reference (given->node, given->text);
    const struct yaml_node *root = draft_parse_referenced_file (draft, &drift_kind, &reference, &source);
    if (!root || read_rules (draft->problems, root, &rules) != 0)
        return;
    draft->plan.drift.items = rules.items;
    draft->plan.drift.n = rules.n;
}

int conf_load_drift (const char *share_dir, const char *reference, struct arena *arena, struct drift_rules *rules,
                     struct conf_report *report, struct err *err)
{
    struct problem_list problems = { .arena = arena };
    struct yaml_node at = { .file = "--policy", .kind = YAML_SCALAR, .text = text_of (reference) };
    struct source source;
    struct drift_rules read = { 0 };
    if (source_read (&source, &drift_kind, share_dir, &at, &problems) == 0) {
        const struct yaml_node *root = yaml_parse (source.shown, source.bytes, &problems);
        if (root)
            read_rules (&problems, root, &read);
    }
    int rc = problems_to_report (&problems, report, err);
    if (rc == 0)
        *rules = read;
    return rc;
}
