#include "coordinator/cli/host_filter.h"

#include "coordinator/cli/cli.h"

bool host_filter_is_default (const struct host_filter *filter)
{
    return !filter->hosts && !filter->exclude;
}

bool host_filter_read_option (struct host_filter *filter, int argc, char **argv, int *i)
{
    return cli_read_option (argc, argv, i, "--hosts", &filter->hosts) ||
           cli_read_option (argc, argv, i, "--host", &filter->hosts) ||
           cli_read_option (argc, argv, i, "--exclude", &filter->exclude);
}

static bool find_all (const void *owner, struct text name, struct text *expression)
{
    *expression = *(const struct text *) owner;
    return text_is (name, "*");
}

static int read_set (const char *option, const char *set, struct text everything, struct arena *arena,
                     struct name_list *names, struct err *err)
{
    const struct hostset_group_lookup groups = { find_all, &everything };
    const struct hostset_rules rules = { .max = HOSTS_MAX, .groups = &groups };
    return !set || hostset_read (text_of (set), &rules, arena, names, err) == 0 ? 0 : err_prefix (err, "%s", option);
}

static int none_left (const struct host_filter *filter, struct err *err)
{
    bool both = filter->hosts && filter->exclude;
    return err_set (err, ERR_USAGE, "%s%s%s%s%s: this selects no host of the run", filter->hosts ? "--hosts " : "",
                    filter->hosts ? filter->hosts : "", both ? " " : "", filter->exclude ? "--exclude " : "",
                    filter->exclude ? filter->exclude : "");
}

int host_filter_resolve (const struct host_filter *filter, const struct name_list *all, bool *chosen, struct err *err)
{
    struct arena arena = { 0 };
    struct name_list with = { 0 }, without = { 0 };
    uint32_t n = 0;
    struct text everything = hostset_folded (all->items, all->n, UINT32_MAX, &arena);
    int rc = read_set ("--hosts", filter->hosts, everything, &arena, &with, err);
    if (rc == 0)
        rc = read_set ("--exclude", filter->exclude, everything, &arena, &without, err);
    for (uint32_t i = 0; rc == 0 && i < all->n; i++)
        n += chosen[i] = (!filter->hosts || name_list_has (&with, all->items[i])) &&
                         !name_list_has (&without, all->items[i]);
    arena_release (&arena);
    return rc < 0 || n > 0 || host_filter_is_default (filter) ? rc : none_left (filter, err);
}
