#include "common/conf/host_list.h"

#include <stdlib.h>

/* The index of the host of this name; list->n: none. */
static uint32_t find (const struct host_list *list, struct text name)
{
    uint32_t at = 0;
    while (at < list->n && !text_equal (list->hosts[at].name, name))
        at++;
    return at;
}

void host_list_add (struct host_list *list, const struct yaml_node *node, struct plan_host host)
{
    struct problem_list *problems = list->draft->problems;
    uint32_t before = find (list, host.name);
    if (before < list->n) {
        problem_at (problems, node, "the host %s is given twice, first in line %u; expected once",
                    problem_quote (problems, host.name), list->where[before]->line);
        return;
    }
    if (list->n == HOSTS_MAX) {
        if (!list->full)
            problem_at (problems, node, "the slice has more than %d hosts, the limit", HOSTS_MAX);
        list->full = true;
        return;
    }
    if (host.address.len == 0)
        host.address = list->draft->plan.launcher == LAUNCHER_LOCAL ? TEXT_LIT ("127.0.0.1") : host.name;
    host.place = list->n;
    list->where[list->n] = node;
    list->hosts[list->n++] = host;
}

static const char *folded (struct draft *draft, const struct text *names, uint32_t n)
{
    return problem_quote (draft->problems, hostset_folded (names, n, UINT32_MAX, draft->arena));
}

/* Which hosts of the list a host set names, and its names that are not in the list (strangers). */
struct choice {
    bool named[HOSTS_MAX];
    struct text *strangers;
    uint32_t strangers_n;
};

static int choose (const struct host_list *list, const struct yaml_node *node, struct choice *choice)
{
    struct name_list names = { 0 };
    if (draft_host_set (list->draft, node, false, &names) != 0)
        return -1;
    choice->strangers = arena_array (list->draft->arena, names.n, sizeof *choice->strangers);
    for (uint32_t i = 0; i < names.n; i++) {
        uint32_t at = find (list, names.items[i]);
        if (at < list->n)
            choice->named[at] = true;
        else
            choice->strangers[choice->strangers_n++] = names.items[i];
    }
    return 0;
}

static void keep (struct host_list *list, const struct choice *choice, bool named)
{
    uint32_t kept = 0;
    text_list *out = &list->draft->excluded;
    for (uint32_t i = 0; i < list->n; i++) {
        if (choice->named[i] != named) {
            out->items[out->n++] = list->hosts[i].name;
            continue;
        }
        list->where[kept] = list->where[i];
        list->hosts[kept++] = list->hosts[i];
    }
    list->n = kept;
}

static void take_out (struct host_list *list, const struct yaml_node *node)
{
    struct choice *choice = mem_alloc (sizeof *choice);
    /* Only a warning: one list of bad machines can serve many slices. */
    if (choose (list, node, choice) == 0) {
        if (choice->strangers_n > 0)
            warning_at (list->draft->problems, node,
                        "the hosts to exclude %s are not in this slice, so nothing was excluded for them",
                        folded (list->draft, choice->strangers, choice->strangers_n));
        keep (list, choice, false);
    }
    mem_free (choice);
}

static const char *all_of (const struct host_list *list)
{
    struct text *names = mem_array (list->n, sizeof *names);
    for (uint32_t i = 0; i < list->n; i++)
        names[i] = list->hosts[i].name;
    const char *shown = folded (list->draft, names, list->n);
    mem_free (names);
    return shown;
}

static void keep_only (struct host_list *list, const struct yaml_node *node)
{
    struct choice *choice = mem_alloc (sizeof *choice);
    int result = choose (list, node, choice);
    if (result == 0 && choice->strangers_n > 0)
        problem_at (list->draft->problems, node, "the hosts %s are not in this slice, expected hosts of %s",
                    folded (list->draft, choice->strangers, choice->strangers_n), all_of (list));
    else if (result == 0)
        keep (list, choice, true);
    mem_free (choice);
}

static const struct yaml_node *option_node (struct draft *draft, const char *option, const char *set)
{
    struct yaml_node *node = arena_alloc (draft->arena, sizeof *node);
    *node = (struct yaml_node){ .file = option, .kind = YAML_SCALAR, .text = text_of (set) };
    return node;
}

/* The command line comes after the file, so it can only remove hosts. */
void host_list_filter (struct host_list *list)
{
    struct draft *draft = list->draft;
    const struct conf_value *exclude = &draft->slice[SLICE_EXCLUDE];
    draft->excluded.items = arena_array (draft->arena, list->n, sizeof *draft->excluded.items);
    if (exclude->given && exclude->good)
        take_out (list, exclude->node);
    if (draft->options->hosts)
        keep_only (list, option_node (draft, "--hosts", draft->options->hosts));
    if (draft->options->exclude)
        take_out (list, option_node (draft, "--exclude", draft->options->exclude));
}

/* Where a host can be reached. Two hosts with the same location are probably a mistake. */
struct location {
    struct text address;
    uint32_t port, host;
};

static int by_location (const void *a, const void *b)
{
    const struct location *x = a, *y = b;
    int by_address = text_compare (x->address, y->address);
    if (by_address != 0)
        return by_address;
    if (x->port != y->port)
        return x->port < y->port ? -1 : 1;
    return x->host < y->host ? -1 : x->host > y->host;
}

static void warn_of_same (const struct host_list *list, const struct location *before, const struct location *location)
{
    const struct plan_host *first = &list->hosts[before->host], *second = &list->hosts[location->host];
    if (!text_equal (before->address, location->address) || before->port != location->port)
        return;
    warning_at (list->draft->problems, list->where[location->host],
                "the hosts %.*s and %.*s have the same %s%.*s%s: is one machine listed twice?", TEXT_ARG (first->name),
                TEXT_ARG (second->name), location->port ? "sshd, " : "address ", TEXT_ARG (location->address),
                location->port ? text_format (list->draft->arena, " port %u", location->port).ptr : "");
}

/* Hosts with the same address were warned of already, so their ssh locations are not compared. */
static void check_locations (const struct host_list *list, bool ssh)
{
    struct location *locations = mem_array (list->n, sizeof *locations);
    for (uint32_t i = 0; i < list->n; i++) {
        const struct plan_host *host = &list->hosts[i];
        bool own = ssh && host->ssh.address.len > 0;
        locations[i] = (struct location){ own ? host->ssh.address : host->address, ssh ? host->ssh.port : 0, i };
    }
    if (list->n > 0)
        qsort (locations, list->n, sizeof *locations, by_location);
    for (uint32_t i = 1; i < list->n; i++) {
        bool told = ssh &&
                    text_equal (list->hosts[locations[i - 1].host].address, list->hosts[locations[i].host].address);
        if (!told)
            warn_of_same (list, &locations[i - 1], &locations[i]);
    }
    mem_free (locations);
}

void host_list_warn_same_machine (const struct host_list *list)
{
    if (draft_is_remote (list->draft))
        check_locations (list, false);
    if (list->draft->plan.launcher == LAUNCHER_SSH)
        check_locations (list, true);
}
