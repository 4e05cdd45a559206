#include "coordinator/verdict/expected_facts.h"

enum { SHOWN = 4, SHOWN_COLUMNS = 80 };

static void add_difference (const struct var *expected, struct text found, struct buf *out)
{
    buf_printf (out, "%s%.*s is ", out->len ? "; " : "", TEXT_ARG (expected->name));
    buf_escaped (out, found.len ? found : TEXT_LIT ("not told by this host"), SHOWN_COLUMNS);
    buf_puts (out, ", expected ");
    buf_escaped (out, expected->value, SHOWN_COLUMNS);
}

/* What a host says of a fact that it does not have is no value that a pattern could mean. */
static bool is_as (struct text found, struct text expected)
{
    if (text_is (found, "absent") || text_starts (found, "unreadable"))
        return text_equal (found, expected);
    return text_matches (found, expected);
}

struct text expected_facts_differ (const var_list *expect, const var_list *facts, struct arena *arena,
                                   enum owner *owner)
{
    struct buf out;
    uint32_t n = 0;
    *owner = OWNER_BUNDLE;
    buf_init (&out, SENTENCE_MAX_BYTES);
    for (uint32_t i = 0; i < expect->n; i++) {
        const struct var *expected = &expect->items[i];
        struct text found = { 0 };
        if (var_find (facts, expected->name, &found) && is_as (found, expected->value))
            continue;
        if (!text_starts (expected->name, EXPECT_PACKAGE))
            *owner = OWNER_PLATFORM;
        if (n++ < SHOWN)
            add_difference (expected, found, &out);
    }
    if (n > SHOWN)
        buf_printf (&out, "; and %u more", n - SHOWN);
    return buf_finish (&out, arena);
}
