#include "coordinator/verdict/going_on.h"

#include <inttypes.h>
#include <string.h>

#include "common/model/secret.h"
#include "coordinator/verdict/blame.h"

enum { WHAT_BYTES = 120, PID_DIGITS_MAX = 9 };

static bool is_cause (const struct verdict *verdict)
{
    return verdict->outcome != OUTCOME_PASSED && verdict->outcome != OUTCOME_CASCADE &&
           verdict->outcome != OUTCOME_CANCELLED;
}

static const struct verdict *first_cause (const struct verdict *verdicts, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (is_cause (&verdicts[i]))
            return &verdicts[i];
    return NULL;
}

bool retry_all_transient (const struct verdict *verdicts, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (is_cause (&verdicts[i]) && !verdicts[i].transient)
            return false;
    return first_cause (verdicts, n) != NULL;
}

struct text retry_first_signature (const struct verdict *verdicts, uint32_t n)
{
    const struct verdict *first = first_cause (verdicts, n);
    return first ? first->signature : (struct text){ 0 };
}

struct text retry_why (const struct plan *plan, const struct verdict *verdicts, uint32_t n, struct arena *arena)
{
    const struct verdict *first = first_cause (verdicts, n);
    if (first == NULL)
        return (struct text){ 0 };
    struct text *names = arena_array (arena, n, sizeof (*names));
    uint32_t named = 0;
    for (uint32_t i = 0; i < n; i++)
        if (is_cause (&verdicts[i]))
            names[named++] = plan->hosts.items[verdicts[i].host].name;
    struct text hosts = hostset_folded (names, named, NAME_MAX_BYTES, arena);
    return text_format (arena, "%.*s on %.*s",
                        TEXT_ARG (first->signature.len ? first->signature : text_clip (first->cause, WHAT_BYTES)),
                        TEXT_ARG (hosts));
}

uint64_t retry_wait_ms (const struct limits *limits, uint32_t nth)
{
    uint32_t doublings = nth > 1 ? nth - 1 : 0;
    return limits->retry_wait_ms << (doublings < RETRIES_MAX ? doublings : RETRIES_MAX);
}

/* ---- going on command ---- */

enum { COMMAND_BYTES = 1024 };
#define OPTION "--min-hosts"
#define ASK "--ask-pass"

/* How many words to drop here: an earlier `option` with its value, or what is added or of output, since a person copies
 * the command. */
static uint32_t option_words (struct text word, const char *option, const char *added)
{
    size_t n = strlen (option);
    bool one = (text_starts (word, option) && word.len > n && word.ptr[n] == '=') || text_is (word, "--json") ||
               text_is (word, "--again") || text_is (word, added);
    return text_is (word, option) ? 2 : one;
}

struct text going_on_command_with (const struct plan *plan, const char *option, const char *added, bool *hides,
                                   struct arena *arena)
{
    const text_list *words = &plan->origin.command;
    LOCAL_BUF line = { .max = COMMAND_BYTES };
    bool named = false, gate = false, piped = false; /* who copies the command has no such standard input */
    *hides = false;
    for (uint32_t i = 0; i < words->n; i++) {
        struct text word = words->items[i], shown = secret_redact_word (arena, word);
        uint32_t skip = option_words (word, option, added);
        bool is_check = !named && (text_is (word, "check") || text_is (word, "gate")); /* they take fewer options */
        gate |= is_check && text_is (word, "gate");
        if (gate && (text_is (word, "-o") || text_is (word, "--certificate") || text_is (word, "--for")))
            skip = 2;
        if (skip) {
            i += skip - 1;
            continue;
        }
        named |= is_check || text_is (word, "run");
        piped |= text_is (word, "-");
        *hides |= !text_equal (word, shown);
        shell_word_add (&line, is_check ? TEXT_LIT ("run") : shown);
    }
    buf_printf (&line, " %s", added);
    bool whole = words->n > 0 && words->n < ORIGIN_WORDS_MAX && !line.overflow && !piped;
    return whole ? text_copy (arena, buf_as_text (&line)) : (struct text){ 0 };
}

static struct text command_again (const struct plan *plan, const char *added, struct arena *arena)
{
    bool hides;
    struct text line = going_on_command_with (plan, OPTION, added, &hides, arena);
    return line.len ? line : text_format (arena, "the same command with %s", added);
}

struct text going_on_command (const struct plan *plan, uint32_t up, struct arena *arena)
{
    return command_again (plan, text_format (arena, OPTION " %u", up).ptr, arena);
}

/* ---- commands on a host ---- */

/* What the user's ssh configuration sets is left to it, under the name that it was asked by. */
static void add_ssh (const struct plan *plan, const struct plan_host *host, struct arena *arena, struct buf *line)
{
    const struct ssh_route *route = &host->ssh;
    uint32_t known = route->from_config;
    struct text address = known >> SAID_ADDRESS & 1 ? host->name
                          : route->address.len      ? route->address
                          : known                   ? host->name
                                                    : host->address,
                user = known >> SAID_USER & 1 ? (struct text){ 0 } : route->user;
    const struct ssh_plan *ssh = &plan->start.ssh;
    buf_puts (line, "ssh");
    if (ssh->identities.n) {
        buf_puts (line, " -i");
        shell_word_add (line, ssh->identities.items[0]);
    }
    if (ssh->known_hosts.len && !text_ends (ssh->known_hosts, "/.ssh/known_hosts"))
        shell_word_add (line, text_format (arena, "-oUserKnownHostsFile=%.*s", TEXT_ARG (ssh->known_hosts)));
    if (route->port && route->port != SSH_PORT_DEFAULT && !(known >> SAID_PORT & 1))
        buf_printf (line, " -p %u", route->port);
    if (route->jump.len && !(known >> SAID_JUMP & 1)) {
        buf_puts (line, " -J");
        shell_word_add (line, route->jump);
    }
    shell_word_add (line, user.len ? text_format (arena, "%.*s@%.*s", TEXT_ARG (user), TEXT_ARG (address)) : address);
}

struct text host_command (const struct plan *plan, uint32_t host, struct text command, struct arena *arena)
{
    struct buf line;
    if (plan->launcher == LAUNCHER_LOCAL || host >= plan->hosts.n)
        return command;
    const struct plan_host *on = &plan->hosts.items[host];
    if (plan->launcher == LAUNCHER_JOIN)
        return text_format (arena, "on %.*s: %.*s", TEXT_ARG (on->name), TEXT_ARG (command));
    buf_init (&line, SENTENCE_MAX_BYTES + 4 * PATH_MAX_BYTES); /* a key, a file of known hosts, a command */
    if (plan->launcher == LAUNCHER_SLURM) {
        buf_puts (&line, "srun --overlap -w");
        shell_word_add (&line, on->name);
    } else {
        add_ssh (plan, on, arena, &line);
    }
    buf_printf (&line, " %.*s", TEXT_ARG (command));
    return buf_finish (&line, arena);
}

/* The pid in "/dev/vfio/0 is held by 4232 train.py"; 0: none. */
static uint64_t held_by (struct text sentence)
{
    const struct text words = TEXT_LIT (" is held by ");
    uint64_t pid = 0;
    uint32_t at;
    if (!text_find (sentence, words, &at))
        return 0;
    struct text rest = { sentence.ptr + at + words.len, sentence.len - at - words.len },
                digits = text_take_until (&rest, ' ');
    return digits.len <= PID_DIGITS_MAX && text_to_u64 (digits, &pid) ? pid : 0;
}

/* The mount point in "/var/tmp (tmpfs, 600 MiB) is full". Two shells read it, so one with other letters is left out. */
static struct text mount_point_in (struct text sentence)
{
    struct text point = { .ptr = sentence.ptr, .len = text_span (sentence, "/._-+") };
    struct text behind = { sentence.ptr + point.len, sentence.len - point.len };
    return text_starts (point, "/") && text_starts (behind, " (") ? point : (struct text){ 0 };
}

struct text host_remedy (const struct plan *plan, uint32_t host, struct text sentence, struct arena *arena)
{
    uint64_t pid = held_by (sentence);
    struct text point = mount_point_in (sentence), look;
    const char *space = point.len ? " " : "", *inodes = text_find (sentence, TEXT_LIT ("inode"), NULL) ? "-i" : "-h";
    if (pid)
        look = text_format (arena, "kill %" PRIu64, pid);
    else if (text_find (sentence, TEXT_LIT (NOTE_NAME_SERVER), NULL))
        look = TEXT_LIT ("cat /etc/resolv.conf");
    else if (text_find (sentence, TEXT_LIT (NOTE_READ_ONLY), NULL))
        look = text_format (arena, "findmnt%s%.*s", space, TEXT_ARG (point));
    else
        look = text_format (arena, "df %s%s%.*s", inodes, space, TEXT_ARG (point));
    return host_command (plan, host, look, arena);
}

/* ---- an absent host ---- */

/* " at 10.0.0.5", " at [fe80::1]:22"; port 0: without. */
static struct text place_of (struct text address, uint32_t port, struct arena *arena)
{
    bool bracketed = port && memchr (address.ptr, ':', address.len);
    return !port ? text_format (arena, " at %.*s", TEXT_ARG (address))
                 : text_format (arena, bracketed ? " at [%.*s]:%u" : " at %.*s:%u", TEXT_ARG (address), port);
}

struct text host_asked_text (const struct fact_host_asked *asked, bool where, struct arena *arena)
{
    struct text none = { 0 }, machine = where ? place_of (asked->address, 0, arena) : none,
                port = where ? place_of (asked->address, asked->port, arena) : none;
    if (asked->ssh == REACH_ANSWERS)
        return TEXT_LIT ("answers on its ssh port, its worker does not");
    if (asked->ssh == REACH_REFUSES)
        return text_format (arena, "refuses ssh%.*s", TEXT_ARG (port));
    if (asked->ping == REACH_ANSWERS)
        return text_format (arena, "answers ping%.*s, its ssh port does not", TEXT_ARG (machine));
    if (asked->ssh == REACH_NO_ROUTE)
        return text_format (arena, "cannot be asked%.*s: this machine has no route there", TEXT_ARG (machine));
    return text_format (arena, "answers nothing%.*s (ssh port%s)", TEXT_ARG (machine), asked->ping ? ", ping" : "");
}

/* Booted anew? Does its worker live, or did the kernel kill it? The way there is the slice file's, else its worker's. */
static struct text look_by_ssh (const struct plan *plan, const struct fact_host_asked *asked, uint32_t host,
                                struct arena *arena)
{
    const struct text look = TEXT_LIT ("\"uptime; pgrep -af '[s]liceup-worker' || dmesg | grep -i 'killed process'\"");
    if (plan->launcher == LAUNCHER_SSH)
        return host_command (plan, host, look, arena);
    return text_format (arena, "ssh%s %.*s %.*s",
                        asked->port == SSH_PORT_DEFAULT ? "" : text_format (arena, " -p %u", asked->port).ptr,
                        TEXT_ARG (asked->address), TEXT_ARG (look));
}

static struct text where_to_look (const struct plan *plan, const struct fact_host_asked *asked, uint32_t host,
                                  struct arena *arena)
{
    if (asked->ssh == REACH_ANSWERS)
        return look_by_ssh (plan, asked, host, arena);
    if (asked->ssh == REACH_REFUSES || asked->ping == REACH_ANSWERS)
        return TEXT_LIT ("look at its console: the machine is up, and its sshd does not answer");
    if (asked->ssh == REACH_NO_ROUTE)
        return text_format (arena, "on this machine: ip route get %.*s", TEXT_ARG (asked->address));
    return TEXT_LIT ("look at its console first: is it up?");
}

/* "upload" of "the worker was not started; failed in step upload: ..."; empty: it was started. */
static struct text start_step (struct text why)
{
    const struct text words = TEXT_LIT ("failed in step ");
    uint32_t at;
    if (!text_find (why, words, &at))
        return (struct text){ 0 };
    struct text rest = { why.ptr + at + words.len, why.len - at - words.len };
    return text_take_until (&rest, ':');
}

#define OPEN_PORTS                                                                                                     \
    "set coordinator: {control_port: 7001, bulk_port: 7002} and open these ports of this machine to the hosts"

/* ssh-keyscan asks addresses, straight; behind something else, or under an alias, ssh itself adds a key. */
struct text host_key_advice (const struct plan *plan, uint32_t host, struct arena *arena)
{
    const struct ssh_route *way = &plan->hosts.items[host].ssh;
    struct text known = plan->start.ssh.known_hosts, alias = way->host_key_alias;
    bool straight = !way->jump.len && !way->command.len && !alias.len;
    struct buf scan = { .max = SENTENCE_MAX_BYTES + 4 * PATH_MAX_BYTES };
    buf_printf (&scan, "ssh-keyscan -p %u -t ed25519", way->port ? way->port : SSH_PORT_DEFAULT);
    for (uint32_t i = 0; i < plan->hosts.n && scan.len < SENTENCE_MAX_BYTES; i++) {
        const struct plan_host *on = &plan->hosts.items[(host + i) % plan->hosts.n]; /* the one that is meant first */
        if (on->ssh.port == way->port && !on->ssh.jump.len && !on->ssh.command.len && !on->ssh.host_key_alias.len)
            shell_word_add (&scan, on->ssh.address.len ? on->ssh.address : on->address);
    }
    buf_puts (&scan, " >>");
    shell_word_add (&scan, known);
    struct text add = buf_finish (&scan, arena);
    if (!straight)
        add = text_format (arena, "-oStrictHostKeyChecking=accept-new -oUserKnownHostsFile=%.*s%s%.*s true",
                           TEXT_ARG (known), alias.len ? " -oHostKeyAlias=" : "", TEXT_ARG (alias));
    if (!straight)
        add = host_command (plan, host, add, arena);
    bool skips = way->from_config >> SAID_UNCHECKED & 1;
    return text_format (arena, "%scollect the keys, and compare them with the hosts' own: %.*s",
                        skips ? "~/.ssh/config asks to skip the check of host keys, which is never skipped here: " : "",
                        TEXT_ARG (add));
}

/* What shows why its worker did not get there. A worker that was started has a log. */
static struct text look_at_start (const struct plan *plan, uint32_t host, struct text step, struct arena *arena)
{
    struct text space = text_format (arena, "df -h %.*s", TEXT_ARG (plan->start.directory));
    if (text_is (step, "link"))
        return plan->start.reach == LINK_WAY_DIRECT ? TEXT_LIT ("set coordinator: {reach: auto}, which lets the ssh "
                                                                "connection carry the link; or " OPEN_PORTS)
               : plan->launcher == LAUNCHER_SSH
                   ? TEXT_LIT ("set AllowTcpForwarding yes, PermitListen any in the hosts' sshd_config; or " OPEN_PORTS)
                   : TEXT_LIT (OPEN_PORTS);
    if (text_is (step, "host-key") && plan->launcher == LAUNCHER_SSH)
        return host_key_advice (plan, host, arena);
    if (text_is (step, "authentication") && /* ssh with a key would show nothing */
        (plan->start.ssh.sudo || text_is_among (TEXT_LIT (ASK), plan->origin.command.items, plan->origin.command.n)))
        return command_again (plan, ASK, arena);
    return host_command (plan, host, text_is (step, "upload") ? space : TEXT_LIT ("true"), arena);
}

bool going_on_is_of_launch (struct text why)
{
    struct text step = start_step (why);
    return text_is (step, "host-key") || text_is (step, "authentication") || text_is (step, "resolve") ||
           text_is (step, "link") || text_find (why, TEXT_LIT ("its ProxyCommand ended"), NULL);
}

struct text going_on_advice (const struct plan *plan, const struct fact_host_asked *asked, uint32_t host, uint32_t up,
                             struct text why, struct arena *arena)
{
    struct text step = start_step (why), look;
    if (asked->ssh && (!step.len || text_is (step, "connect")))
        look = where_to_look (plan, asked, host, arena);
    else if (step.len && !text_is (step, "start") && !text_is (step, "join"))
        look = look_at_start (plan, host, step, arena);
    else
        look = blame_advice_for_lost (plan, host, arena);
    if (up == 0 || up >= plan->hosts.n)
        return look;
    struct text go_on = text_format (arena, "to go on with the %u that are up: %.*s", up,
                                     TEXT_ARG (going_on_command (plan, up, arena)));
    return asked->ssh ? text_format (arena, "%.*s; %.*s", TEXT_ARG (look), TEXT_ARG (go_on))
                      : text_format (arena, "%.*s; %.*s", TEXT_ARG (go_on), TEXT_ARG (look));
}
