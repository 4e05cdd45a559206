#include "common/logs/error_rule.h"

#include "common/logs/words.h"

static bool error_rule_holds (const struct error_rule *rule, const struct folded_clue *folded)
{
    if (rule->types && !words_is (folded->clue.type, rule->types))
        return false;
    if (rule->raised && !(rule->raised & RAISED (folded->clue.raised)))
        return false;
    if (rule->any && !words_any_folded (folded->text, rule->any) && !words_any_folded (folded->type, rule->any))
        return false;
    if (rule->also && !words_any_folded (folded->text, rule->also))
        return false;
    return !rule->unless || !words_any_folded (folded->text, rule->unless);
}

static const struct error_rule *first_of (const struct error_rules *rules, const struct folded_clue *folded)
{
    for (uint32_t i = 0; i < rules->n; i++)
        if (error_rule_holds (&rules->items[i], folded))
            return &rules->items[i];
    return NULL;
}

/* What stands below the first line may quote anybody: echoes are looked for in the first alone. */
static const struct error_rule *echo_of (const struct folded_clue *folded)
{
    struct folded_clue head = *folded;
    struct text rest = folded->text;
    head.text = text_take_until (&rest, '\n');
    return first_of (&echo_rules, &head);
}

const struct error_rule *error_rule_match (const struct error_clue *clue)
{
    char text[WORDS_FOLDED_BYTES], type[WORDS_FOLDED_BYTES];
    struct folded_clue folded = { *clue, words_fold (clue->type, type), words_fold (clue->text, text) };
    const struct error_rule *rule = echo_of (&folded);
    if (!rule)
        rule = first_of (&words_rules, &folded);
    if (!rule)
        rule = errno_rule_match (&folded);
    if (!rule)
        rule = first_of (&status_rules, &folded);
    return rule ? rule : first_of (&type_rules, &folded);
}

const struct error_rule *error_rule_find (struct text id)
{
    static const struct error_rules *const all[] = { &echo_rules, &words_rules, &status_rules, &type_rules };
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
        for (uint32_t i = 0; i < all[k]->n; i++)
            if (text_is (id, all[k]->items[i].id))
                return &all[k]->items[i];
    return text_is (id, peer_unnamed_rule.id) ? &peer_unnamed_rule : errno_rule_find (id);
}
