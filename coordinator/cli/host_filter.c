#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/io/fd.h"
#include "coordinator/cli/hosts.h"

int host_input_read (const char *path, struct buf *out, struct err *err)
{
    bool is_stdin = strcmp (path, "-") == 0;
    const char *name = is_stdin ? "standard input" : path;
    int fd = is_stdin ? STDIN_FILENO : open (path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_errno (err, ERR_USAGE, "'%s' cannot be opened", path);
    int rc = fd_read_all (fd, out);
    if (rc < 0)
        err_errno (err, ERR_IO, "cannot read %s", name);
    else if (out->overflow)
        rc = err_set (err, ERR_LIMIT, "%s has more than %zu bytes, the limit", name, out->max);
    if (!is_stdin)
        close (fd);
    return rc;
}

bool host_filter_is_default (const struct host_filter *filter)
{
    return !filter->hosts && !filter->exclude;
}

struct host_filter host_filter_of (const struct cli_arguments *arguments)
{
    return (struct host_filter){ arguments->values[CLI_HOSTS], arguments->values[CLI_EXCLUDE] };
}

bool host_groups_find (const void *owner, struct text name, struct text *expression)
{
    const struct host_groups *groups = owner;
    if (groups->named && var_find (groups->named, name, expression))
        return true;
    *expression = groups->everything;
    return groups->everything.len && text_is (name, "*");
}

static int read_set (const char *option, const char *set, const struct host_groups *known, struct arena *arena,
                     struct name_list *names, struct err *err)
{
    const struct hostset_group_lookup groups = { host_groups_find, known };
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
    const struct host_groups known = { plan ? &plan->groups : NULL,
                                       hostset_folded (all->items, all->n, UINT32_MAX, &arena) };
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
