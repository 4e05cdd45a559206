/* ssh.c - how hosts are reached: the slice's route, and that of a host with its own. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/conf/address.h"
#include "common/conf/draft.h"

/* The default `identities`. The courier skips those that do not exist. */
static const char *const usual_identities[] = { "~/.ssh/id_ed25519", "~/.ssh/id_ecdsa", "~/.ssh/id_rsa" };
enum { USUAL_IDENTITIES = sizeof usual_identities / sizeof usual_identities[0] };

struct text draft_local_path (struct draft *draft, const struct yaml_node *node, struct text path)
{
    const char *home = draft->options->user_home;
    struct text full = path;
    if (text_starts (path, "~/") && !home) {
        problem_at (
            draft->problems, node,
            "the path %s begins with ~/, but no home folder is known: expected HOME to be set, or an absolute path",
            problem_quote (draft->problems, path));
        return (struct text){ 0 };
    }
    if (text_starts (path, "~/"))
        full = text_format (draft->arena, "%s/%.*s", home, (int) path.len - 2, path.ptr + 2);
    else if (text_starts (path, "."))
        full = text_of (source_own_path (node, path, draft->arena));
    if (full.len <= PATH_MAX_BYTES)
        return text_copy (draft->arena, full);
    problem_at (draft->problems, node, "the absolute path is %u bytes long, expected at most %d", full.len,
                PATH_MAX_BYTES);
    return (struct text){ 0 };
}

/* An error if workers are to be started, else a warning. */
static void report_unreadable (struct draft *draft, const struct yaml_node *node, struct text path, const char *what)
{
    static const char says[] = "'%.*s' cannot be read on this machine: %s; expected %s";
    const char *why = strerror (errno);
    if (draft->options->starts_nothing)
        warning_at (draft->problems, node, says, TEXT_ARG (path), why, what);
    else
        problem_at (draft->problems, node, says, TEXT_ARG (path), why, what);
}

static bool is_readable (struct text path)
{
    return path.len == 0 || access (path.ptr, R_OK) == 0; /* empty: it was reported */
}

static void add_identity (struct draft *draft, const struct yaml_node *item)
{
    struct ssh_plan *ssh = &draft->plan.start.ssh;
    if (item->kind != YAML_SCALAR || !local_path_is_good (item->text)) {
        problem_at (
            draft->problems, item,
            "an item of identities is %s, expected the path of a private key: absolute, or beginning with ~/ or ./",
            problem_quote_value (draft->problems, item));
        return;
    }
    struct text path = draft_local_path (draft, item, item->text);
    ssh->identities.items[ssh->identities.n++] = path;
}

/* A file of keys can name those of several users, so one is enough. */
static void check_identities (struct draft *draft, const struct conf_value *list)
{
    const struct ssh_plan *ssh = &draft->plan.start.ssh;
    for (uint32_t i = 0; i < ssh->identities.n; i++)
        if (is_readable (ssh->identities.items[i]))
            return;
    if (ssh->identities.n > 0)
        report_unreadable (draft, list->node->first, ssh->identities.items[0],
                           "the private key, as ssh-keygen makes it");
}

static void read_identities (struct draft *draft, const struct conf_value *list)
{
    struct ssh_plan *ssh = &draft->plan.start.ssh;
    const struct yaml_node *item;
    if (section_list (list, IDENTITIES_MAX, "identities names", "private keys", draft->problems, &item) != 0)
        return;
    ssh->identities.items = arena_array (draft->arena, IDENTITIES_MAX, sizeof *ssh->identities.items);
    for (; item; item = item->next)
        add_identity (draft, item);
    check_identities (draft, list);
    for (int i = 0; i < USUAL_IDENTITIES && !list->given && draft->options->user_home; i++)
        ssh->identities.items[ssh->identities.n++] = draft_local_path (draft, list->node,
                                                                       text_of (usual_identities[i]));
}

static void read_jump (struct draft *draft, const struct conf_value *jump, struct ssh_route *route)
{
    if (!jump->given || !jump->good)
        return;
    if (jump->text.len > 0 && !jump_is_good (jump->text))
        problem_at (draft->problems, jump->node, "the jump host is %s, expected [user@]host[:port]",
                    problem_quote (draft->problems, jump->text));
    route->jump = jump->text.len > 0 ? jump->text : TEXT_LIT ("");
    draft->jumps |= jump->text.len > 0;
}

void draft_ssh (struct draft *draft)
{
    struct conf_value ssh[SSH_KEYS];
    struct ssh_plan *plan = &draft->plan.start.ssh;
    if (section_read_optional (&ssh_section, &draft->slice[SLICE_SSH], ssh, draft->problems) != 0)
        return;
    draft->route.user = ssh[SSH_USER].good ? ssh[SSH_USER].text : (struct text){ 0 };
    draft->route.port = ssh[SSH_PORT].given || !ssh[SSH_CONFIG].number ? (uint32_t) ssh[SSH_PORT].number : 0;
    draft->ssh_said = (uint32_t) ssh[SSH_IDENTITIES].given << SAID_IDENTITIES | (uint32_t) ssh[SSH_KNOWN_HOSTS].given
                                                                                    << SAID_KNOWN_HOSTS;
    draft->ssh_config = ssh[SSH_CONFIG].number;
    read_jump (draft, &ssh[SSH_JUMP], &draft->route);
    read_identities (draft, &ssh[SSH_IDENTITIES]);
    plan->agent = ssh[SSH_AGENT].number;
    plan->sudo = ssh[SSH_SUDO].number;
    if (!ssh[SSH_KNOWN_HOSTS].good)
        return;
    plan->known_hosts = draft_local_path (draft, ssh[SSH_KNOWN_HOSTS].node, ssh[SSH_KNOWN_HOSTS].text);
    if (ssh[SSH_KNOWN_HOSTS].given && !is_readable (plan->known_hosts))
        report_unreadable (
            draft, ssh[SSH_KNOWN_HOSTS].node, plan->known_hosts,
            "the file of known host keys; ssh-keyscan prints them, compare them with those of the hosts");
}

void draft_ssh_route (struct draft *draft, const struct conf_value *given, struct ssh_route *route)
{
    struct conf_value of[ROUTE_KEYS];
    *route = draft->route;
    draft_check_launcher_key (draft, &host_section.keys[HOST_SSH], given, 1u << LAUNCHER_SSH);
    if (draft->plan.launcher != LAUNCHER_SSH || !given->given || !given->good ||
        section_read (&ssh_route_section, given->node, of, draft->problems) != 0)
        return;
    if (of[ROUTE_ADDRESS].good && !address_is_good (of[ROUTE_ADDRESS].text))
        problem_at (draft->problems, of[ROUTE_ADDRESS].node,
                    "the host's ssh address is %s, expected a host name or an IP address",
                    problem_quote (draft->problems, of[ROUTE_ADDRESS].text));
    route->address = of[ROUTE_ADDRESS].text;
    if (of[ROUTE_PORT].given)
        route->port = (uint32_t) of[ROUTE_PORT].number;
    if (of[ROUTE_USER].given)
        route->user = of[ROUTE_USER].text;
    read_jump (draft, &of[ROUTE_JUMP], route);
    if (of[ROUTE_HOST_KEY_ALIAS].good && !host_key_alias_is_good (of[ROUTE_HOST_KEY_ALIAS].text))
        problem_at (draft->problems, of[ROUTE_HOST_KEY_ALIAS].node,
                    "host_key_alias is %s, expected one name of letters, digits and '._-+/:[]'",
                    problem_quote (draft->problems, of[ROUTE_HOST_KEY_ALIAS].text));
    route->host_key_alias = of[ROUTE_HOST_KEY_ALIAS].text;
}
