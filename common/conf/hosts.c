/* hosts.c - the hosts of a slice, in rank order (host sets, maps with an address, or a source), and its groups. */
#include <search.h>
#include <string.h>

#include "common/conf/address.h"
#include "common/conf/draft.h"
#include "common/model/host_source.h"

/* ---- host list ---- */

/* The hosts of a slice while they are being read: added in rank order, reduced, then checked together. It knows each
 * one's place, for reports of repeats. Large, but only what is used of it takes memory: lives on the heap, for one
 * draft_hosts. */
struct host_list {
    struct draft *draft;
    const struct yaml_node *where[HOSTS_MAX];
    struct plan_host hosts[HOSTS_MAX];
    uint32_t n;
    void *by_name; /* tsearch(3), of `hosts` */
    bool full;     /* too many hosts: reported once */
};

/* The index of the host of this name; list->n: none. */
static uint32_t hosts_find (const struct host_list *list, struct text name)
{
    struct plan_host *const *found = tfind (&name, &list->by_name, text_order);
    return found ? (uint32_t) (*found - list->hosts) : list->n;
}

static void keep_last (struct host_list *list)
{
    if (!tsearch (&list->hosts[list->n++], &list->by_name, text_order))
        mem_exit_exhausted (sizeof (void *));
}

static void nothing (void *host)
{
    (void) host;
}

/* Adds a host. Its address and ssh route follow from the launcher and its name if not given. A repeated name is reported. */
static void host_list_add (struct host_list *list, const struct yaml_node *node, struct plan_host host)
{
    struct problem_list *problems = list->draft->problems;
    uint32_t before = hosts_find (list, host.name);
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
    bool local = list->draft->plan.launcher == LAUNCHER_LOCAL, own = local || host.address.len > 0;
    struct text ipv6 = own ? (struct text){ 0 } : host_ipv6_address (host.name, list->draft->arena);
    if (ipv6.len > 0 && host.ssh.address.len == 0)
        host.ssh.address = ipv6; /* by which ssh_config knows the host */
    if (host.address.len == 0)
        host.address = local ? TEXT_LIT ("127.0.0.1") : ipv6.len > 0 ? ipv6 : host.name;
    host.place = list->n;
    list->where[list->n] = node;
    list->hosts[list->n] = host;
    keep_last (list);
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

static int hosts_choose (const struct host_list *list, const struct yaml_node *node, struct choice *choice)
{
    struct name_list names = { 0 };
    if (draft_host_set (list->draft, node, false, &names) != 0)
        return -1;
    choice->strangers = arena_array (list->draft->arena, names.n, sizeof *choice->strangers);
    for (uint32_t i = 0; i < names.n; i++) {
        uint32_t at = hosts_find (list, names.items[i]);
        if (at < list->n)
            choice->named[at] = true;
        else
            choice->strangers[choice->strangers_n++] = names.items[i];
    }
    return 0;
}

static void hosts_keep (struct host_list *list, const struct choice *choice, bool named)
{
    uint32_t n = list->n;
    text_list *out = &list->draft->excluded;
    tdestroy (list->by_name, nothing);
    list->by_name = NULL;
    list->n = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (choice->named[i] != named) {
            out->items[out->n++] = list->hosts[i].name;
            continue;
        }
        list->where[list->n] = list->where[i];
        list->hosts[list->n] = list->hosts[i];
        keep_last (list);
    }
}

#define SUSPECT "suspect"

/* Suspects of a home are of all its slices. */
static bool names_suspects (const struct yaml_node *node)
{
    return text_find (node->text, TEXT_LIT ("@" SUSPECT), NULL);
}

static void take_out (struct host_list *list, const struct yaml_node *node)
{
    LOCAL_MEM struct choice *choice = mem_alloc (sizeof *choice);
    /* Only a warning: one list of bad machines can serve many slices. */
    if (hosts_choose (list, node, choice) == 0) {
        if (choice->strangers_n > 0 && !names_suspects (node))
            warning_at (list->draft->problems, node,
                        "the hosts to exclude %s are not in this slice, so nothing was excluded for them",
                        folded (list->draft, choice->strangers, choice->strangers_n));
        const text_list *out = &list->draft->excluded;
        uint32_t before = out->n;
        hosts_keep (list, choice, false);
        if (out->n > before && names_suspects (node))
            warning_at (list->draft->problems, node, "left out: %s; who is suspect, and why: sliceup hosts --history",
                        folded (list->draft, out->items + before, out->n - before));
    }
}

static const char *all_of (const struct host_list *list)
{
    LOCAL_MEM struct text *names = mem_array (list->n, sizeof *names);
    for (uint32_t i = 0; i < list->n; i++)
        names[i] = list->hosts[i].name;
    return folded (list->draft, names, list->n);
}

static void keep_only (struct host_list *list, const struct yaml_node *node)
{
    LOCAL_MEM struct choice *choice = mem_alloc (sizeof *choice);
    int result = hosts_choose (list, node, choice);
    if (result == 0 && choice->strangers_n > 0 && !names_suspects (node))
        problem_at (list->draft->problems, node, "the hosts %s are not in this slice, expected hosts of %s",
                    folded (list->draft, choice->strangers, choice->strangers_n), all_of (list));
    else if (result == 0)
        hosts_keep (list, choice, true);
    if (result == 0 && list->n == 0 && text_is (node->text, "@" SUSPECT))
        problem_at (list->draft->problems, node,
                    "no host of this slice is suspect by the runs of this home, expected one at least: sliceup hosts "
                    "--history shows how they fared");
}

/* Removes the hosts that `exclude`, --hosts and --exclude leave out. */
/* The command line comes after the file, so it can only remove hosts. */
static void host_list_filter (struct host_list *list)
{
    struct draft *draft = list->draft;
    const struct conf_value *exclude = &draft->slice[SLICE_EXCLUDE];
    draft->excluded.items = arena_array (draft->arena, list->n, sizeof *draft->excluded.items);
    if (exclude->given && exclude->good)
        take_out (list, exclude->node);
    if (draft->options->hosts)
        keep_only (list, draft_choose_reference (draft, SLICE_HOSTS, draft->options->hosts, "--hosts"));
    if (draft->options->exclude)
        take_out (list, draft_choose_reference (draft, SLICE_HOSTS, draft->options->exclude, "--exclude"));
}

/* Where a host can be reached. Two hosts with the same location are probably a mistake. */
struct location {
    struct text address;
    uint32_t port, host;
};

static int by_location (const void *a, const void *b)
{
    const struct location *x = a, *y = b;
    int order = text_compare (x->address, y->address);
    order = order ? order : order_u64 (x->port, y->port);
    return order ? order : order_u64 (x->host, y->host);
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
    LOCAL_MEM struct location *locations = mem_array (list->n, sizeof *locations);
    for (uint32_t i = 0; i < list->n; i++) {
        const struct plan_host *host = &list->hosts[i];
        bool own = ssh && host->ssh.address.len > 0;
        locations[i] = (struct location){ own ? host->ssh.address : host->address, ssh ? host->ssh.port : 0, i };
    }
    sort_items (locations, list->n, sizeof *locations, by_location);
    for (uint32_t i = 1; i < list->n; i++) {
        bool told = ssh &&
                    text_equal (list->hosts[locations[i - 1].host].address, list->hosts[locations[i].host].address);
        if (!told)
            warn_of_same (list, &locations[i - 1], &locations[i]);
    }
}

static void host_list_warn_same_machine (const struct host_list *list)
{
    if (draft_is_remote (list->draft))
        check_locations (list, false);
    if (list->draft->plan.launcher == LAUNCHER_SSH)
        check_locations (list, true);
}

/* ---- hosts ---- */

/* There is no shipped folder of host files, so the reference is always a path. */
static const struct conf_file_kind file_kind = { "host file", "", "" };

static void add_set (struct host_list *list, const struct yaml_node *node)
{
    struct name_list names = { 0 };
    if (draft_host_set (list->draft, node, true, &names) != 0)
        return;
    for (uint32_t i = 0; i < names.n; i++) {
        struct plan_host host = { .name = names.items[i], .ssh = list->draft->route };
        host.ssh.user = names.users[i].len > 0 ? names.users[i] : host.ssh.user;
        host_list_add (list, node, host);
    }
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
    struct text name = host[HOST_NAME].text, user = { 0 };
    (void) text_cut (&name, '@', &user);
    if (!host_name_valid (name) || (user.ptr && !name_is_good (user))) {
        problem_at (draft->problems, host[HOST_NAME].node,
                    "name is %s, expected letters, digits, '.', '_' and '-', or user@ and that",
                    problem_quote (draft->problems, host[HOST_NAME].text));
        return;
    }
    struct plan_host made = { .name = name, .address = host[HOST_ADDRESS].text };
    if (host[HOST_ENV_DIR].given)
        made.env_dir = draft_host_path (draft, &host[HOST_ENV_DIR]);
    draft_ssh_route (draft, &host[HOST_SSH], &made.ssh);
    if (user.len > 0 && !text_equal (made.ssh.user, draft->route.user) && !text_equal (made.ssh.user, user))
        problem_at (draft->problems, host[HOST_NAME].node, "%.*s is given two users", TEXT_ARG (name));
    made.ssh.user = user.len > 0 ? user : made.ssh.user;
    host_list_add (list, node, made);
}

static void hosts_add_file (struct host_list *list, const struct conf_value *file)
{
    struct source source;
    if (draft_read_source (list->draft, &file_kind, file->node, &source) != 0)
        return;
    struct host_file words = { .content = source.bytes };
    for (struct text last = { 0 }; host_file_next (&words); last = words.word) {
        struct yaml_node *node = arena_alloc (list->draft->arena, sizeof *node);
        *node = (struct yaml_node){
            .file = source.shown, .line = words.line, .column = words.column, .kind = YAML_SCALAR, .text = words.word
        };
        const char *other = host_file_other_tool (&words);
        if (other) {
            problem_at (list->draft->problems, node, "the host file holds %s, expected " HOST_SOURCE_EXPECTED, other);
            return;
        }
        if (!text_equal (words.word, last)) /* PBS names a host in as many lines as it has slots */
            add_set (list, node);
    }
    if (text_find (source.bytes, TEXT_LIT ("slots="), NULL))
        warning_at (list->draft->problems, file->node, "slots of the host file are not read: a host runs one program");
}

/* Reads the hosts from a source of this machine. Its answer is checked like a file. */
static void ask_source (struct host_list *list, const struct conf_value *from)
{
    const struct draft *draft = list->draft;
    struct err err;
    LOCAL_BUF set = { .max = SOURCE_MAX_BYTES };
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
}

static void hosts_add_source (struct host_list *list, const struct yaml_node *node)
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
        hosts_add_file (list, &of[FROM_FILE]);
}

static void add_item (struct host_list *list, const struct yaml_node *node)
{
    if (node->kind == YAML_MAP && yaml_value (node, from_section.keys[FROM_FROM].name))
        hosts_add_source (list, node);
    else if (node->kind == YAML_MAP)
        add_map (list, node);
    else if (node->kind == YAML_SCALAR)
        add_set (list, node);
    else
        problem_at (list->draft->problems, node,
                    "an item of hosts is %s, expected a host set or a map that describes one host",
                    yaml_kind_name (node->kind));
}

static void hosts_add_all (struct host_list *list, const struct yaml_node *node)
{
    if (node->kind == YAML_LIST)
        for (const struct yaml_node *item = node->first; item; item = item->next)
            add_item (list, item);
    else if (node->kind == YAML_SCALAR)
        add_set (list, node);
    else if (yaml_value (node, from_section.keys[FROM_FROM].name))
        hosts_add_source (list, node);
    else
        problem_at (list->draft->problems, node,
                    "hosts is a map without the key from, expected a host set such as v6e[0-3], a list of hosts, or "
                    "{from: slurm}");
}

static void hosts_finish (struct host_list *list, const struct yaml_node *node)
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
    LOCAL_MEM struct host_list *list = mem_alloc (sizeof *list);
    list->draft = draft;
    hosts_add_all (list, value->node);
    if (draft->problems->errors == errors_before)
        host_list_filter (list);
    /* With a host missing, the mesh and the writer would be found wrong as well. */
    if (draft->problems->errors == errors_before)
        hosts_finish (list, value->node);
    tdestroy (list->by_name, nothing);
}

/* ---- host sets of the slice file: plain, or with groups by name ---- */

static const char *group_names (const struct draft *draft)
{
    struct buf list = { .max = ERR_TEXT_BYTES };
    for (uint32_t i = 0; i < draft->plan.groups.n; i++)
        buf_printf (&list, "%s%.*s", i ? ", " : "", TEXT_ARG (draft->plan.groups.items[i].name));
    return buf_finish (&list, draft->arena).ptr;
}

static bool hosts_find_group (const void *owner, struct text name, struct text *expression)
{
    const struct draft *draft = owner;
    struct err err = { 0 };
    if (var_find (&draft->plan.groups, name, expression))
        return true;
    if (!text_is (name, SUSPECT) || !draft->options->suspects)
        return false;
    LOCAL_BUF set = { .max = HOSTS_MAX * (size_t) HOST_NAME_MAX_BYTES };
    if (draft->options->suspects (draft->options->home, &set, &err) < 0)
        problem_add (draft->problems, "@suspect", 0, 0, "%s", err.text);
    *expression = set.len ? text_copy (draft->arena, buf_as_text (&set)) : TEXT_LIT ("none!none"); /* no host */
    return true;
}

int draft_host_set (struct draft *draft, const struct yaml_node *node, bool once, struct name_list *names)
{
    struct err err;
    const struct hostset_group_lookup groups = { .find = hosts_find_group, .owner = draft };
    const struct hostset_rules rules = { .max = HOSTS_MAX, .once = once, .groups = &groups };
    if (hostset_read (node->text, &rules, draft->arena, names, &err) == 0)
        return 0;
    const char *known = "";
    if (draft->plan.groups.n > 0)
        known = text_format (draft->arena, "; the groups of the slice file: %s", group_names (draft)).ptr;
    else if (memchr (node->text.ptr, '@', node->text.len))
        known = "; a group is defined in the slice file: groups: {spare: 'v6e[2-3]'}";
    return problem_at (draft->problems, node, "%s; expected a host set such as v6e[0-3]%s%s", err.text,
                       text_starts (node->text, "-") ? "; an item of a list has a blank behind its '-'" : "", known);
}

static void hosts_add_group (struct draft *draft, const struct yaml_node *key)
{
    const struct yaml_node *set = key->value;
    if (!name_is_good (key->text))
        problem_at (draft->problems, key, "%s is not a group name, expected letters, digits, '.', '_' and '-'",
                    problem_quote (draft->problems, key->text));
    else if (text_is (key->text, SUSPECT))
        problem_at (draft->problems, key,
                    "the group is named " SUSPECT ", expected another name: @" SUSPECT
                    " stands for the hosts that failed in runs "
                    "of this home (sliceup hosts --history)");
    else if (set->kind == YAML_SCALAR && !yaml_is_null (set))
        draft->plan.groups.items[draft->plan.groups.n++] = (struct var){ .name = key->text, .value = set->text };
    else
        problem_at (draft->problems, set, "the group %.*s holds %s, expected a host set such as v6e[0-3]",
                    TEXT_ARG (key->text), set->kind == YAML_SCALAR ? "nothing" : yaml_kind_name (set->kind));
}

void draft_check_groups (struct draft *draft)
{
    const struct conf_value *groups = &draft->slice[SLICE_GROUPS];
    if (!groups->given || !groups->good)
        return;
    draft->plan.groups.items = arena_array (draft->arena, groups->node->n, sizeof *draft->plan.groups.items);
    for (const struct yaml_node *key = groups->node->first; key; key = key->next)
        hosts_add_group (draft, key);
    for (const struct yaml_node *key = groups->node->first; key; key = key->next) {
        struct name_list names = { 0 };
        if (key->value->kind == YAML_SCALAR && !yaml_is_null (key->value))
            (void) draft_host_set (draft, key->value, false, &names); /* reported; the load fails */
    }
}
