#include "common/classify/error_rule.h"

#include "common/classify/words.h"

static bool holds (const struct error_rule *rule, const struct error_clue *clue)
{
    if (rule->types && !words_is (clue->type, rule->types))
        return false;
    if (rule->raised && !(rule->raised & RAISED (clue->raised)))
        return false;
    if (rule->any && !words_any (clue->text, rule->any) && !words_any (clue->type, rule->any))
        return false;
    if (rule->also && !words_any (clue->text, rule->also))
        return false;
    return !rule->unless || !words_any (clue->text, rule->unless);
}

static const struct error_rule *first_of (const struct error_rules *rules, const struct error_clue *clue)
{
    for (uint32_t i = 0; i < rules->n; i++)
        if (holds (&rules->items[i], clue))
            return &rules->items[i];
    return NULL;
}

const struct error_rule *error_rule_match (const struct error_clue *clue)
{
    struct error_clue head = *clue;
    head.text = text_take_until (&(struct text){ clue->text.ptr, clue->text.len }, '\n');
    const struct error_rule *rule = first_of (&echo_rules, &head); /* what stands below may quote anybody */
    if (!rule)
        rule = first_of (&words_rules, clue);
    if (!rule)
        rule = errno_rule_match (clue);
    if (!rule)
        rule = first_of (&status_rules, clue);
    return rule ? rule : first_of (&type_rules, clue);
}

const struct error_rule *error_rule_find (struct text id)
{
    static const struct error_rules *const all[] = { &echo_rules, &words_rules, &status_rules, &type_rules };
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
        for (uint32_t i = 0; i < all[k]->n; i++)
            if (text_is (id, all[k]->items[i].id))
                return &all[k]->items[i];
    return errno_rule_find (id);
}
