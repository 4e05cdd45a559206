#include "coordinator/story/drift.h"

#include "common/frontend/frontend.h"
#include "coordinator/verdict/flag_set.h"

enum { SCOPES = 3, FRONTENDS_MAX = 16 };

/* A program of one scope has that scope's own value, and else that of all. */
static uint32_t values_set (const struct policy_receipt *policy, struct text name, struct text values[SCOPES])
{
    const var_list *lists[SCOPES] = { &policy->slice_scope, &policy->host_scope, &policy->launched };
    uint32_t n = 0;
    for (size_t i = 0; i < SCOPES; i++)
        n += var_find (lists[i], name, &values[n]);
    return n;
}

bool policy_is_as_launched (const struct policy_receipt *policy, const struct var *seen, struct arena *arena)
{
    struct text values[SCOPES], is = flag_set_normalise (seen->value, arena);
    uint32_t n = values_set (policy, seen->name, values);
    for (uint32_t i = 0; i < n; i++)
        if (text_equal (flag_set_normalise (values[i], arena), is))
            return true;
    return false;
}

static bool is_of_frontend (struct text name)
{
    const char *names[FRONTENDS_MAX];
    uint32_t n = frontend_names (names, FRONTENDS_MAX);
    for (uint32_t i = 0; i < n && i < FRONTENDS_MAX; i++)
        if (frontend_why_owned (frontend_find (text_of (names[i])), name))
            return true;
    return false;
}

static uint32_t count_set (const struct policy_receipt *policy)
{
    const var_list *lists[SCOPES] = { &policy->launched, &policy->host_scope, &policy->slice_scope };
    struct text value;
    uint32_t n = 0;
    for (size_t i = 0; i < SCOPES; i++)
        for (uint32_t k = 0; k < lists[i]->n; k++) {
            bool before = false;
            for (size_t other = 0; other < i; other++)
                before |= var_find (lists[other], lists[i]->items[k].name, &value);
            n += !before;
        }
    return n;
}

void policy_changes_find (const struct policy_receipt *policy, struct arena *arena, struct policy_changes *out)
{
    *out = (struct policy_changes){ .set_n = count_set (policy),
                                    .edited = arena_array (arena, policy->observed.n, sizeof *out->edited),
                                    .added = arena_array (arena, policy->observed.n, sizeof *out->added) };
    for (uint32_t i = 0; i < policy->observed.n; i++) {
        const struct var *seen = &policy->observed.items[i];
        struct text values[SCOPES];
        if (text_is (seen->value, FACT_NOT_REPORTED))
            continue;
        uint32_t n = values_set (policy, seen->name, values);
        out->told_n += n > 0;
        if (n > 0 && !policy_is_as_launched (policy, seen, arena))
            out->edited[out->edited_n++] = (struct policy_edit){ seen->name, values[0], seen->value };
        else if (n == 0 && !is_of_frontend (seen->name) &&
                 !text_is_among (seen->name, policy->inherited.items, policy->inherited.n))
            out->added[out->added_n++] = *seen;
    }
}
