#include "coordinator/verdict/judge.h"

#include "common/model/requirements.h"

enum { TUPLE_BYTES_MAX = 2048 };

/* Empty: it is not installed. Names are in normal form, as those of rules are. */
static struct text version_of (const var_list *bundle, struct text name)
{
    struct text version = { 0 };
    (void) var_find (bundle, name, &version);
    return version;
}

static bool is_for (const struct bundle_rule *rule, struct text backend)
{
    return rule->backends.n == 0 || text_is_among (backend, rule->backends.items, rule->backends.n);
}

static bool bundle_rules_fits (const struct bundle_rule *rule, const var_list *bundle)
{
    for (uint32_t i = 0; i < rule->parts.n; i++)
        if (!package_version_fits (version_of (bundle, rule->parts.items[i].name), rule->parts.items[i].value))
            return false;
    return rule->parts.n > 0;
}

const struct bundle_rule *bundle_rules_find (const struct plan *plan, const var_list *bundle, struct text backend,
                                             enum bundle_word word)
{
    for (uint32_t i = 0; i < plan->bundles.n; i++) {
        const struct bundle_rule *rule = &plan->bundles.items[i];
        if (rule->word == word && is_for (rule, backend) && bundle_rules_fits (rule, bundle))
            return rule;
    }
    return NULL;
}

struct text bundle_rules_versions_text (const struct bundle_rule *rule, const var_list *bundle, struct arena *arena)
{
    uint32_t told = 0;
    struct buf out = { .max = TUPLE_BYTES_MAX };
    for (uint32_t i = 0; i < rule->parts.n; i++) {
        struct text name = rule->parts.items[i].name, version = version_of (bundle, name);
        if (!version.len) /* that it is absent */
            continue;
        buf_puts (&out, told == 0 ? "" : told == 1 ? " with " : ", ");
        buf_printf (&out, "%.*s %.*s", TEXT_ARG (name), TEXT_ARG (version));
        told++;
    }
    return buf_finish (&out, arena);
}

static bool is_spoken_of (const struct plan *plan, struct text name)
{
    for (uint32_t i = 0; i < plan->bundles.n; i++) {
        const struct bundle_rule *rule = &plan->bundles.items[i];
        if (is_for (rule, plan->profile.backend) && LIST_FIND (rule->parts, struct var, name, name))
            return true;
    }
    return false;
}

/* The installed versions of the packages that rules for this backend name. */
static struct text unknown_tuple (const struct plan *plan, const var_list *bundle, struct arena *arena)
{
    struct buf out = { .max = TUPLE_BYTES_MAX };
    for (uint32_t i = 0; i < bundle->n; i++)
        if (is_spoken_of (plan, bundle->items[i].name))
            buf_printf (&out, "%s%.*s %.*s", out.len ? ", " : "", TEXT_ARG (bundle->items[i].name),
                        TEXT_ARG (bundle->items[i].value));
    return buf_finish (&out, arena);
}

bool bundle_rules_make_note (const struct plan *plan, const var_list *bundle, struct arena *arena,
                             struct result_note *out)
{
    struct text backend = plan->profile.backend;
    const struct bundle_rule *good = bundle_rules_find (plan, bundle, backend, BUNDLE_GOOD);
    *out = (struct result_note){ .source = TEXT_LIT ("bundles"), .durability = DURABILITY_RERUN };
    if (bundle_rules_find (plan, bundle, backend, BUNDLE_BAD))
        return false;
    if (good) {
        struct text tuple = bundle_rules_versions_text (good, bundle, arena);
        out->text = text_format (arena, "%.*s is known good (%.*s: %.*s)", TEXT_ARG (tuple), TEXT_ARG (good->id),
                                 TEXT_ARG (good->source));
        return true;
    }
    struct text tuple = unknown_tuple (plan, bundle, arena);
    out->text = text_format (
        arena, "not known: %.*s on %.*s is in no list of versions that work or fail together (configs/bundles)",
        TEXT_ARG (tuple), TEXT_ARG (backend));
    return tuple.len > 0;
}
