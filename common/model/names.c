/* names.c - enums and their words. */
#include "common/model/outcome.h"

/* Words that canaries, signature lists and receipts said before. */
static const struct {
    const struct names *names;
    const char *word;
    uint32_t value;
} former[] = {
    { &outcome_names, "could-not-run", OUTCOME_BLOCKED },
    { &outcome_names, "no-report", OUTCOME_LOST },
    { &owner_names, "frontend", OWNER_BUNDLE },
    { &owner_names, "launch-policy", OWNER_LAUNCH },
    { &owner_names, "backend", OWNER_LAUNCH },
    { &owner_names, "collective", OWNER_PEER },
};

const char *names_of (const struct names *names, uint32_t value)
{
    if (value == 0)
        return "none";
    return value < names->n && names->of[value][0] ? names->of[value] : "?";
}

static bool former_find (const struct names *names, struct text name, uint32_t *value)
{
    for (size_t i = 0; i < sizeof former / sizeof former[0]; i++) {
        if (former[i].names == names && text_is (name, former[i].word)) {
            *value = former[i].value;
            return true;
        }
    }
    return false;
}

bool names_find (const struct names *names, struct text name, uint32_t *value)
{
    for (uint32_t i = 1; i < names->n && name.len; i++) {
        if (text_is (name, names->of[i])) {
            *value = i;
            return true;
        }
    }
    return former_find (names, name, value);
}
