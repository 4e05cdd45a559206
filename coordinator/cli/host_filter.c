#include "coordinator/cli/host_filter.h"

bool host_filter_is_default (const struct host_filter *filter)
{
    return !filter->hosts && !filter->exclude;
}

struct host_filter host_filter_of (const struct cli_arguments *arguments)
{
    return (struct host_filter){ arguments->values[CLI_HOSTS], arguments->values[CLI_EXCLUDE] };
}

struct known_groups {
    struct text everything; /* "@*" */
    const struct plan *plan;
};

static bool host_filter_find_group (const void *owner, struct text name, struct text *expression)
{
    const struct known_groups *known = owner;
    if (!text_is (name, "*"))
        return known->plan && var_find (&known->plan->groups, name, expression);
    *expression = known->everything;
    return true;
}

static int read_set (const char *option, const char *set, const struct known_groups *known, struct arena *arena,
                     struct name_list *names, struct err *err)
{
    const struct hostset_group_lookup groups = { host_filter_find_group, known };
    const struct hostset_rules rules = { .max = HOSTS_MAX, .groups = &groups };
    return !set || hostset_read (text_of (set), &rules, arena, names, err) == 0 ? 0 : err_prefix (err, "%s", option);
}

static int none_left (const struct host_filter *filter, struct text everything, struct err *err)
{
    bool both = filter->hosts && filter->exclude;
    return err_set (err, ERR_USAGE, "%s%s%s%s%s: this selects no host of the run, which has %.*s",
                    filter->hosts ? "--hosts " : "", filter->hosts ? filter->hosts : "", both ? " " : "",
                    filter->exclude ? "--exclude " : "", filter->exclude ? filter->exclude : "", TEXT_ARG (everything));
}

int host_filter_resolve (const struct host_filter *filter, const struct name_list *all, const struct plan *plan,
                         bool *chosen, struct err *err)
{
    struct arena arena = { 0 };
    struct name_list with = { 0 }, without = { 0 };
    uint32_t n = 0;
    const struct known_groups known = { hostset_folded (all->items, all->n, UINT32_MAX, &arena), plan };
    int rc = read_set ("--hosts", filter->hosts, &known, &arena, &with, err);
    if (rc == 0)
        rc = read_set ("--exclude", filter->exclude, &known, &arena, &without, err);
    for (uint32_t i = 0; rc == 0 && i < all->n; i++)
        n += chosen[i] = (!filter->hosts || name_list_has (&with, all->items[i])) &&
                         !name_list_has (&without, all->items[i]);
    if (rc == 0 && n == 0 && !host_filter_is_default (filter))
        rc = none_left (filter, known.everything, err);
    arena_release (&arena);
    return rc;
}
