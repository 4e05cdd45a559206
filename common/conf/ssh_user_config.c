/* ssh_user_config.c - ~/.ssh/config, if the slice file asks for it: merges ssh's answers into routes. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/conf/address.h"
#include "common/conf/draft.h"

/* After the accepted keywords: refused ones, and from STRICT on ignored ones. */
enum { REVOKED = SAID_N, FDPASS, STRICT, LOCALHOST, KEYWORDS = LOCALHOST + 3 };
enum { VALUE_MAX_BYTES = 32 << 10 };

/* ssh separates files by a blank, and prints a name with a blank in the same way. */
static bool known_hosts_is_good (struct text path)
{
    return local_path_is_good (path) && !text_find (path, TEXT_LIT (" "), NULL);
}

static bool command_is_good (struct text command)
{
    return command.len <= PATH_MAX_BYTES && text_is_utf8 (command);
}

#define A_PATH "expected one path, absolute or beginning with ~/, with no tokens but %h %n %p %r %d %u"
static const struct {
    const char *name, *why;
    bool (*good) (struct text);
} keywords[KEYWORDS] = {
    [SAID_ADDRESS] = { "HostName", "expected a host name or an IP address, with no token but %h", address_is_good },
    [SAID_PORT] = { "Port", "expected a number from 1 to 65535", port_is_good },
    [SAID_USER] = { "User", "expected a name of letters, digits, '.', '_' and '-'", name_is_good },
    [SAID_JUMP] = { "ProxyJump", "expected one [user@]host[:port], or none", jump_is_good },
    [SAID_ALIAS] = { "HostKeyAlias", "expected letters, digits and '._-+/:[]'", host_key_alias_is_good },
    [SAID_KNOWN_HOSTS] = { "UserKnownHostsFile", A_PATH, known_hosts_is_good },
    [SAID_IDENTITIES] = { "IdentityFile", A_PATH, local_path_is_good },
    [SAID_COMMAND] = { "ProxyCommand", "expected at most 1023 bytes, with no tokens but %% %h %k %n %p %r",
                       command_is_good },
    [SAID_ONLY] = { "IdentitiesOnly", "expected yes or no", name_is_good },
    [SAID_UNCHECKED] = { .name = "" }, /* what STRICT and LOCALHOST come to */
    [FDPASS] = { "ProxyUseFdpass", "expected a ProxyCommand that carries the connection itself", NULL },
    [REVOKED] = { "RevokedHostKeys", "expected lines with @revoked in the file of known host keys", NULL },
    [STRICT] = { .name = "StrictHostKeyChecking" },
    [LOCALHOST] = { .name = "NoHostAuthenticationForLocalhost" },
    { .name = "KnownHostsCommand" },
    { .name = "LocalCommand" },
};

struct ways {
    struct draft *draft;
    const struct yaml_node *from; /* who wants it */
    struct yaml_node config;      /* where problems with a value are shown */
    struct ssh_route *routes;     /* ssh is asked for their addresses */
    struct text usual[KEYWORDS];  /* without a configuration */
    struct text name,
        first[SAID_N]; /* of the first host: keys and known hosts are the slice's, so all hosts must be equal */
    uint32_t told;     /* bits: keywords that were refused; STRICT: one that was ignored */
    bool failed;       /* reported */
};

/* ---- one answer ---- */

static bool is_same_word (struct text a, struct text b)
{
    return a.len == b.len && strncasecmp (a.ptr, b.ptr, a.len) == 0;
}

/* The adjacent lines of IdentityFile are one value. */
static void answer_read (struct text lines, struct text values[KEYWORDS])
{
    while (lines.len > 0) {
        struct text rest = text_take_until (&lines, '\n'), word = text_take_until (&rest, ' ');
        uint32_t key = 0;
        while (key < KEYWORDS && !is_same_word (word, text_of (keywords[key].name)))
            key++;
        if (key == SAID_IDENTITIES && values[key].len > 0)
            values[key].len = (uint32_t) (rest.ptr + rest.len - values[key].ptr);
        else if (key < KEYWORDS)
            values[key] = rest;
    }
}

/* Expands tokens of ProxyJump, ProxyCommand and IdentityFile, which ssh prints unexpanded. False: one is unknown, or
 * has no value. `shell`: it expands variables itself. */
static bool put_expanded (struct buf *out, struct text from, const struct text values[], bool shell)
{
    static const char letters[] = "hnprduk";
    for (uint32_t i = 0; i < from.len; i++) {
        char c = from.ptr[i], next = i + 1 < from.len ? from.ptr[i + 1] : '\0';
        const char *token = c == '%' && next ? strchr (letters, next) : NULL;
        if (token && values[token - letters].len > 0)
            buf_add_text (out, values[token - letters]);
        else if ((c == '%' && next != '%') || (c == '$' && next == '{' && !shell))
            return false;
        else
            buf_byte (out, (uint8_t) c);
        i += c == '%' ? 1 : c == '\n' ? (uint32_t) strlen ("identityfile ") : 0;
    }
    return !out->overflow;
}

/* Copies a value that comes from the configuration into the draft's memory. False: refused and reported. */
static bool value_take (struct ways *ways, struct text name, const struct text all[], uint32_t key, struct text *value)
{
    const struct conf_options *options = ways->draft->options;
    struct text home = text_of (options->user_home), me = text_of (options->user_name), rest = all[key];
    const struct text alias = all[SAID_ALIAS].len ? all[SAID_ALIAS] : name;
    const struct text values[] = { all[SAID_ADDRESS], name, all[SAID_PORT], all[SAID_USER], home, me, alias };
    const char *said = problem_quote (ways->draft->problems, text_take_until (&rest, '\n'));
    struct buf out = { .max = VALUE_MAX_BYTES };
    bool good = true;
    if (key == SAID_JUMP || key == SAID_IDENTITIES || key == SAID_COMMAND)
        good = put_expanded (&out, all[key], values, key == SAID_COMMAND);
    else
        buf_add_text (&out, all[key]);
    *value = rest = buf_finish (&out, ways->draft->arena);
    while (rest.len > 0 && good)
        good = keywords[key].good && keywords[key].good (text_take_until (&rest, '\n'));
    if (!good && !(ways->told >> key & 1))
        problem_at (ways->draft->problems, &ways->config, "%s %s for the host %.*s: %s", keywords[key].name, said,
                    TEXT_ARG (name), keywords[key].why);
    ways->told |= (uint32_t) !good << key;
    return good;
}

/* Says once that something is ignored. */
static bool value_relaxes (struct ways *ways, uint32_t key, struct text value, struct ssh_route *route)
{
    bool nowhere = key == SAID_KNOWN_HOSTS && text_is (value, "/dev/null"), relaxes = key >= STRICT || nowhere;
    bool strict = key == STRICT && text_is (value, "true");
    route->from_config |= (uint32_t) (nowhere || key == LOCALHOST || (key == STRICT && !strict)) << SAID_UNCHECKED;
    if (relaxes && !(ways->told >> STRICT & 1) && !strict) {
        warning_at (ways->draft->problems, &ways->config,
                    "%s %s is ignored, as all that relaxes a check or runs a command", keywords[key].name,
                    problem_quote (ways->draft->problems, value));
        ways->told |= 1u << STRICT;
    }
    return relaxes;
}

/* Keys and known hosts are the slice's: takes those of the first host, and refuses others. */
static void files_take (struct ways *ways, struct text name, const struct text values[])
{
    static const char *const keys[] = { [SAID_KNOWN_HOSTS] = "known_hosts", [SAID_IDENTITIES] = "identities" };
    struct draft *draft = ways->draft;
    struct ssh_plan *plan = &draft->plan.start.ssh;
    struct text rest = values[SAID_IDENTITIES];
    for (uint32_t key = SAID_KNOWN_HOSTS; key <= SAID_IDENTITIES && ways->name.len > 0; key++)
        if (!text_equal (ways->first[key], values[key]))
            ways->failed = problem_at (draft->problems, ways->from,
                                       "the ssh configuration gives %.*s and %.*s different %s, expected ssh.%s "
                                       "here, or the same for all hosts and jump hosts",
                                       TEXT_ARG (ways->name), TEXT_ARG (name), keys[key], keys[key]);
    if (ways->name.len > 0)
        return;
    ways->name = name;
    memcpy (ways->first, values, sizeof ways->first);
    if (values[SAID_KNOWN_HOSTS].len > 0)
        plan->known_hosts = draft_local_path (draft, &ways->config, values[SAID_KNOWN_HOSTS]);
    if (rest.len > 0) /* too many: the plan's bound reports it */
        plan->identities.items = arena_array (draft->arena, rest.len, sizeof *plan->identities.items);
    for (plan->identities.n = rest.len > 0 ? 0 : plan->identities.n; rest.len > 0;)
        plan->identities.items[plan->identities.n++] = draft_local_path (draft, &ways->config,
                                                                         text_take_until (&rest, '\n'));
}

/* Fills in what the route leaves open. */
static void route_take (void *owner, uint32_t index, struct text lines)
{
    struct ways *ways = owner;
    struct ssh_route *route = &ways->routes[index];
    struct text name = route->address, all[KEYWORDS] = { { 0 } }, values[KEYWORDS] = { { 0 } };
    uint64_t port = 0;
    bool good = true;
    uint32_t given = ways->draft->ssh_said | (uint32_t) (route->port > 0) << SAID_PORT |
                     (uint32_t) (route->user.len > 0) << SAID_USER |
                     (uint32_t) (route->host_key_alias.len > 0) << SAID_ALIAS |
                     (route->jump.ptr ? 1u << SAID_JUMP | 1u << SAID_COMMAND : 0); /* '' too */
    answer_read (lines, all);
    for (uint32_t key = 0; key < KEYWORDS; key++) {
        bool usual = key == SAID_ADDRESS ? is_same_word (all[key], name) : text_equal (all[key], ways->usual[key]);
        if (!usual && !(given >> key & 1) && !value_relaxes (ways, key, all[key], route))
            good &= value_take (ways, name, all, key, &values[key]);
        route->from_config |= (uint32_t) (key < SAID_N && values[key].len > 0) << key;
    }
    if (!good || ways->failed)
        return;
    files_take (ways, name, values);
    struct text *into[] = { &route->address, NULL, &route->user, &route->jump, &route->host_key_alias };
    for (uint32_t key = 0; key <= SAID_ALIAS; key++)
        if (into[key] && values[key].len > 0)
            *into[key] = values[key];
    route->port = text_to_u64 (values[SAID_PORT], &port) ? (uint32_t) port : route->port;
    route->command = values[SAID_COMMAND];
    ways->draft->jumps |= route->command.len > 0;
}

/* ---- all of them ---- */

static void usual_take (void *owner, uint32_t index, struct text lines)
{
    struct ways *ways = owner;
    (void) index;
    answer_read (text_copy (ways->draft->arena, lines), ways->usual);
}

static void ways_ask (struct ways *ways, const char *file, const struct ssh_route *of, uint32_t n, ssh_answer_fn *take)
{
    struct err err;
    if (!ways->failed && ways->draft->options->ssh_answers (file, of, n, take, ways, &err) != 0)
        ways->failed = problem_at (ways->draft->problems, ways->from, "%s", err.text);
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

/* `user` enters the jump host when nothing says who. */
static struct text jump_text (struct ways *ways, struct text said, const struct ssh_route *route, struct text user)
{
    const char *other = route->command.len > 0 ? "ProxyCommand" : "HostKeyAlias";
    if (route->jump.len > 0 || route->host_key_alias.len > 0 || route->command.len > 0)
        problem_at (ways->draft->problems, ways->from,
                    "the ssh configuration gives the jump host %.*s %s, expected a jump host without it",
                    TEXT_ARG (said), route->jump.len > 0 ? "ProxyJump" : other);
    user = route->user.len > 0 ? route->user : user;
    bool colon = memchr (route->address.ptr, ':', route->address.len) != NULL;
    return text_format (ways->draft->arena, "%.*s%s%s%.*s%s:%u", TEXT_ARG (user), user.len ? "@" : "", colon ? "[" : "",
                        TEXT_ARG (route->address), colon ? "]" : "", route->port ? route->port : SSH_PORT_DEFAULT);
}

/* A jump host is looked up as a host is. */
static void jumps_fill (struct ways *ways, struct plan_host *hosts, uint32_t n)
{
    uint32_t *of = mem_array (n, sizeof *of), jumps = 0;
    struct text last = { 0 };
    for (uint32_t i = 0; i < n; i++) {
        if (!jump_is_good (hosts[i].ssh.jump)) /* there is none, or it was reported */
            continue;
        if (!text_equal (hosts[i].ssh.jump, last))
            ways->routes[jumps++] = jump_route (last = hosts[i].ssh.jump);
        of[i] = jumps;
    }
    ways_ask (ways, ways->config.file, ways->routes, jumps, route_take);
    for (uint32_t i = 0; i < n && !ways->failed; i++) {
        bool from_config = hosts[i].ssh.from_config >> SAID_JUMP & 1; /* else the user of the host enters it */
        const char *user = from_config ? ways->draft->options->user_name : NULL;
        if (of[i] > 0)
            hosts[i].ssh.jump = jump_text (ways, hosts[i].ssh.jump, &ways->routes[of[i] - 1], text_of (user));
        ways->draft->jumps |= of[i] > 0;
    }
    mem_free (of);
}

static void hosts_fill (struct ways *ways, struct plan_host *hosts, uint32_t n)
{
    const struct ssh_route nobody = { .address = TEXT_LIT ("localhost") };
    ways->routes = mem_array (n, sizeof *ways->routes);
    for (uint32_t i = 0; i < n; i++) {
        ways->routes[i] = hosts[i].ssh;
        if (hosts[i].ssh.address.len == 0)
            ways->routes[i].address = hosts[i].name;
    }
    ways_ask (ways, "none", &nobody, 1, usual_take);
    ways_ask (ways, ways->config.file, ways->routes, n, route_take);
    for (uint32_t i = 0; i < n; i++) {
        struct text own = hosts[i].ssh.address;
        hosts[i].ssh = ways->routes[i];
        if (!(hosts[i].ssh.from_config >> SAID_ADDRESS & 1) && !hosts[i].ssh.command.len) /* a command knows the name */
            hosts[i].ssh.address = own;
    }
    jumps_fill (ways, hosts, n);
    mem_free (ways->routes);
}

/* Nobody else may write the file, since it controls where hosts are: OpenSSH's rule, which ssh applies to included
 * files. */
static bool config_is_good (struct ways *ways, const struct stat *at)
{
    struct draft *draft = ways->draft;
    const char *path = ways->config.file;
    char real[PATH_MAX];
    draft_note_path (draft, path);
    if (realpath (path, real))
        draft_note_path (draft, real);
    if (!S_ISREG (at->st_mode))
        problem_at (draft->problems, ways->from, "ssh configuration '%s' cannot be read: it is not a regular file",
                    path);
    else if ((at->st_uid != 0 && at->st_uid != getuid ()) || at->st_mode & 022)
        problem_at (draft->problems, ways->from,
                    "others may write to %s, expected only you or root (chown, chmod go-w)", path);
    else
        return true;
    return false;
}

void draft_ssh_config (struct draft *draft, struct plan_host *hosts, uint32_t n)
{
    struct ways ways = { .draft = draft, .from = draft->slice[SLICE_SSH].node, .config.kind = YAML_SCALAR };
    struct stat at;
    const char *home = draft->options->user_home ? draft->options->user_home : "";
    const char *folder = text_format (draft->arena, "%s/.ssh", home).ptr;
    ways.config.file = text_format (draft->arena, "%s/config", folder).ptr;
    draft_note_path (draft, folder); /* a program could put a file there that is included */
    if (!home[0] || stat (ways.config.file, &at) != 0)
        warning_at (draft->problems, ways.from, "config: true, but there is no %s", ways.config.file);
    else if (config_is_good (&ways, &at) && draft->options->ssh_answers)
        hosts_fill (&ways, hosts, n);
    for (uint32_t i = 0; i < n; i++)
        hosts[i].ssh.port = hosts[i].ssh.port ? hosts[i].ssh.port : SSH_PORT_DEFAULT;
}
