/* ssh_user_config.c - ~/.ssh/config, where the slice file asks for it: read, and put into the ways to the hosts. */
#include <glob.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/conf/address.h"
#include "common/conf/draft.h"
#include "common/conf/ssh_config.h"

enum { SSH_PORT_DEFAULT = 22 };

struct ways {
    struct ssh_config config; /* first: `include` gets it */
    struct draft *draft;
    struct ssh_config_answer first; /* keys and known hosts belong to the slice: no answer may differ in them */
};

/* Whoever may write to the file decides where hosts are: OpenSSH's rule. */
static void add_file (struct ssh_config *config, const struct yaml_node *from, const char *path)
{
    static const struct conf_file_kind kind = { "ssh configuration", "", "" };
    struct source source;
    struct stat at;
    struct yaml_node file = draft_make_reference (from, text_of (path));
    if (stat (path, &at) != 0)
        return; /* a link to nothing */
    if ((at.st_uid != 0 && at.st_uid != getuid ()) || at.st_mode & 022)
        config->failed = problem_at (config->problems, from,
                                     "others may write to %s, expected only you or root (chown, chmod go-w)", path);
    else if (draft_read_source (((struct ways *) config)->draft, &kind, &file, &source) != 0)
        config->failed = true;
    else
        ssh_config_add (config, source.shown, source.bytes, from);
}

/* A relative path begins in ~/.ssh, and that there is no file is fine, as in OpenSSH. */
static void include (struct ssh_config *config, const struct yaml_node *word)
{
    glob_t found = { 0 };
    struct text path = word->text;
    if (!local_path_is_good (path))
        path = text_format (config->problems->arena, "~/.ssh/%.*s", TEXT_ARG (path));
    path = draft_local_path (((struct ways *) config)->draft, word, path);
    int rc = path.len == 0 || strpbrk (path.ptr, "~%$") ? GLOB_ABORTED : glob (path.ptr, 0, NULL, &found);
    if (rc != 0 && rc != GLOB_NOMATCH)
        config->failed = problem_at (config->problems, word, "Include %s: expected a path without ~user, %% and $",
                                     problem_quote (config->problems, word->text));
    for (size_t i = 0; rc == 0 && i < found.gl_pathc && !config->failed; i++)
        add_file (config, word, found.gl_pathv[i]);
    globfree (&found);
}

static void compare (struct ways *ways, const struct ssh_config_answer *answer)
{
    static const char *const keys[] = { [SAID_KNOWN_HOSTS] = "known_hosts", [SAID_IDENTITIES] = "identities" };
    if (ways->first.name.len == 0)
        ways->first = *answer;
    for (uint32_t key = SAID_KNOWN_HOSTS; key <= SAID_IDENTITIES; key++)
        if (!text_equal (ways->first.text[key], answer->text[key]))
            ways->config.failed = problem_at (ways->config.problems, ways->draft->slice[SLICE_SSH].node,
                                              "the ssh configuration gives %.*s and %.*s different %s, expected ssh.%s "
                                              "here, or the same for all hosts and jump hosts",
                                              TEXT_ARG (ways->first.name), TEXT_ARG (answer->name), keys[key],
                                              keys[key]);
}

/* What `route` leaves open; -1: refused, which is reported. */
static int fill (struct ways *ways, struct text name, struct ssh_route *route)
{
    struct ssh_config_answer answer = { .name = name, .said = ways->draft->ssh_said };
    struct text *said = answer.text;
    uint64_t port = 0;
    answer.said |= (uint32_t) (route->jump.ptr != NULL) << SAID_JUMP; /* '' too */
    said[SAID_PORT] = route->port ? text_format (ways->draft->arena, "%u", route->port) : (struct text){ 0 };
    said[SAID_USER] = route->user;
    said[SAID_JUMP] = route->jump;
    said[SAID_ALIAS] = route->host_key_alias;
    ssh_config_ask (&ways->config, &answer);
    if (answer.refused)
        return -1;
    compare (ways, &answer);
    route->address = answer.of[SAID_ADDRESS] ? said[SAID_ADDRESS] : route->address;
    route->port = text_to_u64 (said[SAID_PORT], &port) ? (uint32_t) port : SSH_PORT_DEFAULT;
    route->user = said[SAID_USER];
    route->jump = said[SAID_JUMP];
    route->host_key_alias = said[SAID_ALIAS];
    for (uint32_t key = 0; key < SAID_N; key++)
        route->from_config |= (uint32_t) (answer.of[key] != NULL) << key;
    return 0;
}

/* "[user@]host[:port]", which was looked at. */
static struct ssh_route jump_route (struct text rest)
{
    struct ssh_route route = { 0 };
    uint64_t port = 0;
    (void) text_cut (&rest, '@', &route.user);
    uint32_t bracket = text_starts (rest, "[");
    struct text host = text_take_until (&rest, bracket ? ']' : ':');
    route.address = (struct text){ host.ptr + bracket, host.len - bracket };
    if (bracket)
        (void) text_take_until (&rest, ':');
    route.port = text_to_u64 (rest, &port) ? (uint32_t) port : 0;
    return route;
}

/* A jump host is looked up as a host is. `user` enters it when nothing says who. */
static struct text follow_jump (struct ways *ways, struct text jump, struct text user)
{
    struct ssh_route route = jump_route (jump);
    if (fill (ways, route.address, &route) != 0)
        return jump;
    if (route.jump.len > 0 || route.host_key_alias.len > 0)
        problem_at (ways->config.problems, ways->draft->slice[SLICE_SSH].node,
                    "the ssh configuration gives the jump host %.*s %s, expected a jump host without it",
                    TEXT_ARG (jump), route.jump.len > 0 ? "ProxyJump" : "HostKeyAlias");
    user = route.user.len > 0 ? route.user : user;
    bool colon = memchr (route.address.ptr, ':', route.address.len) != NULL;
    return text_format (ways->draft->arena, "%.*s%s%s%.*s%s:%u", TEXT_ARG (user), user.len ? "@" : "", colon ? "[" : "",
                        TEXT_ARG (route.address), colon ? "]" : "", route.port);
}

static void fill_host (struct ways *ways, struct plan_host *host)
{
    struct ssh_route *route = &host->ssh;
    bool decided = route->jump.ptr != NULL; /* then a jump host without a user is entered by the host's */
    if (fill (ways, route->address.len > 0 ? route->address : host->name, route) != 0 || route->jump.len == 0)
        return;
    if (jump_is_good (route->jump)) /* else it was reported */
        route->jump = follow_jump (ways, route->jump, decided ? (struct text){ 0 } : ways->config.user);
    ways->draft->jumps = true;
}

/* The keys and known hosts of all. */
static void take_files (struct draft *draft, const struct ssh_config_answer *all)
{
    struct ssh_plan *plan = &draft->plan.start.ssh;
    const struct ssh_config_line *known = all->of[SAID_KNOWN_HOSTS], *identity = all->of[SAID_IDENTITIES];
    struct text rest = all->text[SAID_IDENTITIES];
    if (known)
        plan->known_hosts = draft_local_path (draft, &known->at, all->text[SAID_KNOWN_HOSTS]);
    if (!identity)
        return;
    plan->identities.items = arena_array (draft->arena, rest.len, sizeof *plan->identities.items);
    for (plan->identities.n = 0; rest.len > 0;) /* too many: the plan's own bound is looked at */
        plan->identities.items[plan->identities.n++] = draft_local_path (draft, &identity->at,
                                                                         text_take_until (&rest, '\n'));
}

void draft_ssh_config (struct draft *draft, struct plan_host *hosts, uint32_t n)
{
    const struct yaml_node *from = draft->slice[SLICE_SSH].node;
    struct ways ways = { .draft = draft, .config = { .problems = draft->problems, .include = include } };
    ways.config.user = text_of (draft->options->user_name);
    ways.config.home = text_of (draft->options->user_home);
    const char *folder = text_format (draft->arena, "%.*s/.ssh", TEXT_ARG (ways.config.home)).ptr;
    const char *path = text_format (draft->arena, "%s/config", folder).ptr;
    draft_note_path (draft, folder); /* a program could put a file there that is included */
    if (ways.config.home.len == 0 || access (path, F_OK) != 0)
        warning_at (draft->problems, from, "config: true, but there is no %s", path);
    else
        add_file (&ways.config, from, path);
    for (uint32_t i = 0; i < n && !ways.config.failed; i++)
        fill_host (&ways, &hosts[i]);
    take_files (draft, &ways.first);
    mem_free (ways.config.lines);
}
