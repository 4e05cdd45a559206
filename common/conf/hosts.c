/* hosts.c - the hosts of a slice, in rank order (host sets, maps with an address, or a source), and its groups. */

#include <string.h>

#include "common/conf/address.h"
#include "common/conf/draft.h"
#include "common/conf/host_list.h"
#include "common/model/host_source.h"

/* There is no shipped folder of host files, so the reference is always a path. */
static const struct conf_file_kind file_kind = { "host file", "", "" };

static void add_set (struct host_list *list, const struct yaml_node *node)
{
    struct name_list names = { 0 };
    if (draft_host_set (list->draft, node, true, &names) != 0)
        return;
    for (uint32_t i = 0; i < names.n; i++)
        host_list_add (list, node, (struct plan_host){ .name = names.items[i], .ssh = list->draft->route });
}

static bool check_address (struct draft *draft, const struct conf_value host[])
{
    const struct conf_value *address = &host[HOST_ADDRESS];
    if (!address->given)
        return true;
    if (!address_is_good (address->text)) {
        problem_at (draft->problems, address->node, "the host's address is %s, expected a host name or an IP address",
                    problem_quote (draft->problems, address->text));
        return false;
    }
    /* A warning only: `check` may run on another machine than the slice. */
    if (draft->plan.launcher == LAUNCHER_LOCAL && !address_is_loopback (address->text))
        warning_at (draft->problems, address->node,
                    "launcher: local starts the worker of %.*s on this machine, but its address is not a loopback "
                    "address; expected an address of this machine, such as 127.0.0.1",
                    TEXT_ARG (host[HOST_NAME].text));
    return true;
}

static void add_map (struct host_list *list, const struct yaml_node *node)
{
    struct conf_value host[HOST_KEYS];
    struct draft *draft = list->draft;
    if (section_read (&host_section, node, host, draft->problems) != 0 || !host[HOST_NAME].good ||
        (host[HOST_ADDRESS].given && !host[HOST_ADDRESS].good) || !check_address (draft, host))
        return;
    struct plan_host made = { .name = host[HOST_NAME].text, .address = host[HOST_ADDRESS].text };
    if (host[HOST_ENV_DIR].given)
        made.env_dir = draft_host_path (draft, &host[HOST_ENV_DIR]);
    draft_ssh_route (draft, &host[HOST_SSH], &made.ssh);
    host_list_add (list, node, made);
}

static void add_file (struct host_list *list, const struct conf_value *file)
{
    struct source source;
    if (draft_read_source (list->draft, &file_kind, file->node, &source) != 0)
        return;
    uint32_t at = 0, seen = 0, line = 1, line_from = 0;
    struct text word;
    while (host_source_next_word (source.bytes, &at, &word)) {
        uint32_t from = (uint32_t) (word.ptr - source.bytes.ptr);
        for (; seen < from; seen++)
            if (source.bytes.ptr[seen] == '\n') {
                line++;
                line_from = seen + 1;
            }
        struct yaml_node *node = arena_alloc (list->draft->arena, sizeof *node);
        *node = (struct yaml_node){
            .file = source.shown, .line = line, .column = from - line_from + 1, .kind = YAML_SCALAR, .text = word
        };
        add_set (list, node);
    }
}

/* Reads the hosts from a source of this machine. Its answer is checked like a file. */
static void ask_source (struct host_list *list, const struct conf_value *from)
{
    const struct draft *draft = list->draft;
    struct buf set;
    struct err err;
    buf_init (&set, SOURCE_MAX_BYTES);
    const char *word = text_copy (draft->arena, from->text).ptr;
    if (!draft->options->host_source)
        problem_at (draft->problems, from->node, "from: %s is not available here, expected host sets", word);
    else if (draft->options->host_source (word, &set, &err) != 0)
        problem_at (draft->problems, from->node, "from: %s: %s", word, err.text);
    else {
        struct yaml_node node = *from->node;
        node.text = text_copy (draft->arena, buf_as_text (&set));
        add_set (list, arena_copy (draft->arena, &node, sizeof node));
    }
    buf_release (&set);
}

static void add_source (struct host_list *list, const struct yaml_node *node)
{
    struct conf_value of[FROM_KEYS];
    struct draft *draft = list->draft;
    if (section_read (&from_section, node, of, draft->problems) != 0 || !of[FROM_FROM].good)
        return;
    bool is_file = of[FROM_FROM].number == FROM_A_FILE;
    if (is_file != of[FROM_FILE].given)
        problem_at (draft->problems, of[FROM_FILE].node,
                    "from: %.*s %s the key file, expected the key file with from: file, and only there",
                    TEXT_ARG (of[FROM_FROM].text), is_file ? "without" : "with");
    else if (!is_file)
        ask_source (list, &of[FROM_FROM]);
    else if (of[FROM_FILE].good)
        add_file (list, &of[FROM_FILE]);
}

static bool is_source (const struct yaml_node *map)
{
    for (const struct yaml_node *key = map->first; key; key = key->next)
        if (text_is (key->text, from_section.keys[FROM_FROM].name))
            return true;
    return false;
}

static void add_item (struct host_list *list, const struct yaml_node *node)
{
    if (node->kind == YAML_MAP && is_source (node))
        add_source (list, node);
    else if (node->kind == YAML_MAP)
        add_map (list, node);
    else if (node->kind == YAML_SCALAR)
        add_set (list, node);
    else if (node->kind != YAML_BAD)
        problem_at (list->draft->problems, node,
                    "an item of hosts is %s, expected a host set or a map that describes one host",
                    yaml_kind_name (node->kind));
}

static void add_all (struct host_list *list, const struct yaml_node *node)
{
    if (node->kind == YAML_LIST)
        for (const struct yaml_node *item = node->first; item; item = item->next)
            add_item (list, item);
    else if (node->kind == YAML_SCALAR)
        add_set (list, node);
    else if (is_source (node))
        add_source (list, node);
    else
        problem_at (list->draft->problems, node,
                    "hosts is a map without the key from, expected a host set such as v6e[0-3], a list of hosts, or "
                    "{from: slurm}");
}

static void finish (struct host_list *list, const struct yaml_node *node)
{
    struct draft *draft = list->draft;
    if (list->n == 0) {
        problem_at (draft->problems, node, "the slice has no hosts%s, expected at least one%s",
                    draft->excluded.n ? " left" : "",
                    !draft->excluded.n        ? ""
                    : draft->options->exclude ? "; --exclude takes them out"
                    : draft->options->hosts   ? "; --hosts and the key exclude take them out"
                                              : "; the key exclude takes them out");
        return;
    }
    if (draft->ssh_config)
        draft_ssh_config (draft, list->hosts, list->n);
    host_list_warn_same_machine (list);
    draft->plan.hosts.items = arena_copy (draft->arena, list->hosts, list->n * sizeof *list->hosts);
    draft->plan.hosts.n = list->n;
    draft->plan.whole = list->n + draft->excluded.n;
}

void draft_hosts (struct draft *draft)
{
    const struct conf_value *value = &draft->slice[SLICE_HOSTS];
    uint32_t errors_before = draft->problems->errors;
    if (!value->good)
        return;
    struct host_list *list = mem_alloc (sizeof *list);
    list->draft = draft;
    add_all (list, value->node);
    if (draft->problems->errors == errors_before)
        host_list_filter (list);
    /* With a host missing, the mesh and the writer would be found wrong as well. */
    if (draft->problems->errors == errors_before)
        finish (list, value->node);
    mem_free (list);
}

/* ---- host sets of the slice file: plain, or with groups by name ---- */

static const char *group_names (const struct draft *draft)
{
    struct buf list;
    buf_init (&list, ERR_TEXT_BYTES);
    for (uint32_t i = 0; i < draft->groups.n; i++)
        buf_printf (&list, "%s%.*s", i ? ", " : "", TEXT_ARG (draft->groups.items[i].name));
    return buf_finish (&list, draft->arena).ptr;
}

static bool find_group (const void *owner, struct text name, struct text *expression)
{
    return var_find (owner, name, expression);
}

int draft_host_set (struct draft *draft, const struct yaml_node *node, bool once, struct name_list *names)
{
    struct err err;
    const struct hostset_group_lookup groups = { .find = find_group, .owner = &draft->groups };
    const struct hostset_rules rules = { .max = HOSTS_MAX, .once = once, .groups = &groups };
    if (hostset_read (node->text, &rules, draft->arena, names, &err) == 0)
        return 0;
    const char *known = "";
    if (draft->groups.n > 0)
        known = text_format (draft->arena, "; the groups of the slice file: %s", group_names (draft)).ptr;
    else if (memchr (node->text.ptr, '@', node->text.len))
        known = "; a group is defined in the slice file: groups: {spare: 'v6e[2-3]'}";
    return problem_at (draft->problems, node, "%s; expected a host set such as v6e[0-3]%s%s", err.text,
                       text_starts (node->text, "-") ? "; an item of a list has a blank behind its '-'" : "", known);
}

static void add_group (struct draft *draft, const struct yaml_node *key)
{
    const struct yaml_node *set = key->value;
    if (!name_is_good (key->text))
        problem_at (draft->problems, key, "%s is not a group name, expected letters, digits, '.', '_' and '-'",
                    problem_quote (draft->problems, key->text));
    else if (set->kind == YAML_SCALAR && !yaml_is_null (set))
        draft->groups.items[draft->groups.n++] = (struct var){ .name = key->text, .value = set->text };
    else if (set->kind != YAML_BAD)
        problem_at (draft->problems, set, "the group %.*s holds %s, expected a host set such as v6e[0-3]",
                    TEXT_ARG (key->text), set->kind == YAML_SCALAR ? "nothing" : yaml_kind_name (set->kind));
}

void draft_check_groups (struct draft *draft)
{
    const struct conf_value *groups = &draft->slice[SLICE_GROUPS];
    if (!groups->given || !groups->good)
        return;
    draft->groups.items = arena_array (draft->arena, groups->node->n, sizeof *draft->groups.items);
    for (const struct yaml_node *key = groups->node->first; key; key = key->next)
        add_group (draft, key);
    for (const struct yaml_node *key = groups->node->first; key; key = key->next) {
        struct name_list names = { 0 };
        if (key->value->kind == YAML_SCALAR && !yaml_is_null (key->value))
            (void) draft_host_set (draft, key->value, false, &names); /* reported; the load fails */
    }
    draft->plan.groups = draft->groups;
}
