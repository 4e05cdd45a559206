/* hosts.c - the hosts of a slice, in rank order: host sets as text, or maps with an address. */
#include <string.h>

#include "common/conf/draft.h"

struct host_draft {
    struct draft *draft;
    const struct yaml_node *where[HOSTS_MAX]; /* of each host, for the one that repeats it */
    struct plan_host hosts[HOSTS_MAX];
    uint32_t n;
};

static bool is_loopback (struct text address)
{
    return text_starts (address, "127.") || text_is (address, "::1") || text_is (address, "localhost");
}

static bool address_is_good (struct text address)
{
    bool good = address.len > 0 && address.ptr[0] != '-';
    for (uint32_t i = 0; good && i < address.len; i++) {
        char c = address.ptr[i];
        good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr (".:-_", c);
    }
    return good;
}

static void add_host (struct host_draft *list, const struct yaml_node *node, struct plan_host host)
{
    struct problem_list *problems = list->draft->problems;
    for (uint32_t i = 0; i < list->n; i++) {
        if (text_equal (list->hosts[i].name, host.name)) {
            problem_at (problems, node, "the host %s is given twice, first in line %u; expected once",
                        problem_quote (problems, host.name), list->where[i]->line);
            return;
        }
    }
    if (list->n == HOSTS_MAX) {
        problem_at (problems, node, "more than %d hosts", HOSTS_MAX);
        return;
    }
    list->where[list->n] = node;
    list->hosts[list->n++] = host;
}

static void add_set (struct host_draft *list, const struct yaml_node *node)
{
    struct name_list names = { 0 };
    struct err err;
    if (hostset_expand (node->text, list->draft->arena, &names, &err) != 0) {
        problem_at (list->draft->problems, node, "%s; expected a host set such as v6e[0-3]", err.text);
        return;
    }
    for (uint32_t i = 0; i < names.n; i++)
        add_host (list, node, (struct plan_host) { .name = names.items[i], .address = TEXT_LIT ("127.0.0.1") });
}

static void add_map (struct host_draft *list, const struct yaml_node *node)
{
    struct value host[HOST_KEYS];
    struct draft *draft = list->draft;
    if (section_read (&host_section, node, host, draft->problems) != 0 || !host[HOST_NAME].good
        || !host[HOST_ADDRESS].good)
        return;
    if (!address_is_good (host[HOST_ADDRESS].text)) {
        problem_at (draft->problems, host[HOST_ADDRESS].node, "the address %s, expected a host name or an IP address",
                    problem_quote (draft->problems, host[HOST_ADDRESS].text));
        return;
    }
    /* Not refused: a slice of other machines can be checked where it will not run. */
    if (!is_loopback (host[HOST_ADDRESS].text))
        warning_at (
            draft->problems, host[HOST_ADDRESS].node,
            "launcher: local starts the worker of %.*s on this machine; expected an address of this machine, such as "
            "127.0.0.1",
            TEXT_ARG (host[HOST_NAME].text));
    struct plan_host made = { .name = host[HOST_NAME].text, .address = host[HOST_ADDRESS].text };
    if (host[HOST_ENV_DIR].given)
        made.env_dir = draft_path (draft, &host[HOST_ENV_DIR]);
    add_host (list, node, made);
}

static void add_item (struct host_draft *list, const struct yaml_node *node)
{
    if (node->kind == YAML_MAP)
        add_map (list, node);
    else if (node->kind == YAML_SCALAR)
        add_set (list, node);
    else if (node->kind != YAML_BAD)
        problem_at (list->draft->problems, node, "%s, expected a host set or a map of a host",
                    yaml_kind_name (node->kind));
}

void draft_hosts (struct draft *draft)
{
    const struct value *value = &draft->slice[SLICE_HOSTS];
    uint32_t errors_before = draft->problems->errors;
    if (!value->good)
        return;
    struct host_draft *list = mem_alloc (sizeof *list);
    list->draft = draft;
    if (value->node->kind == YAML_LIST)
        for (const struct yaml_node *item = value->node->first; item; item = item->next)
            add_item (list, item);
    else if (value->node->kind == YAML_SCALAR)
        add_set (list, value->node);
    else
        problem_at (draft->problems, value->node, "a map, expected a host set such as v6e[0-3], or a list of hosts");
    bool good = draft->problems->errors == errors_before;
    if (good && list->n == 0)
        problem_at (draft->problems, value->node, "no hosts, expected at least one");
    /* With a host missing, the mesh and the writer would be found wrong as well. */
    if (good && list->n > 0) {
        draft->plan.hosts.items = arena_copy (draft->arena, list->hosts, list->n * sizeof *list->hosts);
        draft->plan.hosts.n = list->n;
    }
    mem_free (list);
}
