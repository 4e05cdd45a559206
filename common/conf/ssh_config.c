#include "common/conf/ssh_config.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "common/conf/address.h"
#include "common/conf/section.h"

/* Behind what is taken: what is refused, and from STRICT on ignored; what directs the reading. */
enum { COMMAND = SAID_N, CANONICAL, REVOKED, REFUSE, MATCH, STRICT, HOST = STRICT + 5, INCLUDE, KEYWORDS, BEGIN, END };
enum { FILES_MAX = 64, BYTES_MAX = 2 << 20 /* of all files */, VALUE_MAX_BYTES = 32 << 10 };

#define A_PATH "expected one path, absolute or beginning with ~/, with no tokens but %h %n %p %r %d %u"
static const struct {
    const char *name, *idle; /* a value that asks for nothing */
    const char *why;
    bool (*good) (struct text);
} keywords[KEYWORDS] = {
    [SAID_ADDRESS] = { "HostName", NULL, "expected a host name or an IP address, with no token but %h",
                       address_is_good },
    [SAID_PORT] = { "Port", NULL, "expected a number from 1 to 65535", port_is_good },
    [SAID_USER] = { "User", NULL, "expected a name of letters, digits, '.', '_' and '-'", name_is_good },
    [SAID_JUMP] = { "ProxyJump", "none", "expected one [user@]host[:port], or none", jump_is_good },
    [SAID_ALIAS] = { "HostKeyAlias", NULL, "expected letters, digits and '._-+/:[]'", host_key_alias_is_good },
    [SAID_KNOWN_HOSTS] = { "UserKnownHostsFile", NULL, A_PATH, local_path_is_good },
    [SAID_IDENTITIES] = { "IdentityFile", NULL, A_PATH, local_path_is_good },
    [COMMAND] = { "ProxyCommand", "none",
                  .why = "sliceup runs no command; expected ssh.jump in the slice file: a jump host, or '' for none" },
    [CANONICAL] = { "CanonicalizeHostname", "no", .why = "sliceup completes no names, expected HostName" },
    [REVOKED] = { "RevokedHostKeys", "none", .why = "expected lines with @revoked in the file of known host keys" },
    [REFUSE] = { "RefuseConnection", NULL, .why = "expected a slice without this host" },
    [MATCH] = { "Match", NULL, .why = "whether it holds is not known, expected Host, Match host or Match all" },
    [STRICT] = { "StrictHostKeyChecking", .idle = "yes" },
    { "CheckHostIP", .idle = "yes" },
    { "NoHostAuthenticationForLocalhost", .idle = "no" },
    { "KnownHostsCommand", .idle = "none" },
    { .name = "LocalCommand" },
    [HOST] = { .name = "Host" },
    [INCLUDE] = { .name = "Include" },
};

static bool is (struct text word, const char *wanted)
{
    return wanted && word.len == strlen (wanted) && strncasecmp (word.ptr, wanted, word.len) == 0;
}

static struct text lowered (struct arena *arena, struct text text)
{
    char *copy = (char *) text_copy (arena, text).ptr;
    for (uint32_t i = 0; i < text.len; i++)
        copy[i] = (char) tolower ((unsigned char) copy[i]);
    return (struct text){ copy, text.len };
}

/* The words of a line, one a line: quotes, what a backslash protects, a comment, and one '=' behind the keyword, as in
 * OpenSSH. False: a quote is open. */
static bool split (struct arena *arena, struct text line, struct text *words)
{
    char *out = arena_alloc (arena, line.len + 1), quote = '\0';
    bool within = false, equals = false;
    uint32_t n = 0, begun = 0;
    for (uint32_t i = 0; i < line.len && (within || line.ptr[i] != '#'); i++) {
        char c = line.ptr[i], next = i + 1 < line.len ? line.ptr[i + 1] : '\0';
        bool escapes = c == '\\' && next && (strchr ("\\\"'", next) || (next == ' ' && !quote));
        bool ends = !quote && (strchr (" \t\r\f", c) || (c == '=' && begun == 1 && !equals));
        equals |= c == '=' && ends;
        if (!ends && !within && begun++)
            out[n++] = '\n';
        within = !ends;
        if (!escapes && (quote ? c == quote : c == '"' || c == '\''))
            quote = quote ? '\0' : c;
        else if (!ends)
            out[n++] = escapes ? line.ptr[++i] : c;
    }
    *words = (struct text){ out, n };
    return !quote;
}

static void append (struct ssh_config *config, uint32_t key, struct yaml_node at)
{
    config->lines = mem_room (config->lines, config->n, &config->room, 64, sizeof *config->lines);
    config->lines[config->n++] = (struct ssh_config_line){ .key = key, .at = at };
}

static void read_line (struct ssh_config *config, struct yaml_node at, struct text line)
{
    struct text words;
    uint32_t key = 0;
    bool closed = split (config->problems->arena, line, &words);
    struct text name = text_take_until (&words, '\n');
    if (closed && name.len == 0)
        return;
    while (key < KEYWORDS && !is (name, keywords[key].name))
        key++;
    at.text = key == MATCH ? lowered (config->problems->arena, words) : words;
    if (!closed || words.len == 0 || !isalpha ((unsigned char) name.ptr[0]))
        config->failed = problem_at (config->problems, &at, "expected a keyword and its value, every quote closed");
    else if (key < KEYWORDS && key != INCLUDE)
        append (config, key, at);
    while (key == INCLUDE && words.len > 0 && !config->failed) {
        at.text = text_take_until (&words, '\n');
        config->include (config, &at);
    }
}

void ssh_config_add (struct ssh_config *config, const char *file, struct text bytes, const struct yaml_node *from)
{
    struct yaml_node at = { .file = file, .line = 1, .column = 1, .kind = YAML_SCALAR };
    config->bytes += bytes.len; /* of files that were read: far from overflow */
    if (++config->depth > SSH_CONFIG_DEPTH_MAX || ++config->files > FILES_MAX || config->bytes > BYTES_MAX)
        config->failed = problem_at (config->problems, from, "%s: expected at most %d files, %d MiB, included %d deep",
                                     file, FILES_MAX, BYTES_MAX >> 20, SSH_CONFIG_DEPTH_MAX);
    append (config, BEGIN, at);
    for (; bytes.len > 0 && !config->failed; at.line++)
        read_line (config, at, text_take_until (&bytes, '\n'));
    append (config, END, at);
    config->depth--;
}

static void refuse (struct ssh_config *config, struct ssh_config_line *line, struct ssh_config_answer *answer)
{
    struct text words = line->at.text;
    const char *first = problem_quote (config->problems, text_take_until (&words, '\n'));
    if (!line->told)
        problem_at (config->problems, &line->at, "%s %s for the host %.*s: %s", keywords[line->key].name, first,
                    TEXT_ARG (answer->name), keywords[line->key].why);
    line->told = answer->refused = true;
}

/* False: a token that is not known, or has no value. */
static bool put_expanded (struct buf *out, struct text from, const struct text values[], uint32_t n)
{
    static const char letters[] = "hnprdu";
    for (uint32_t i = 0; i < from.len; i++) {
        char c = from.ptr[i], next = i + 1 < from.len ? from.ptr[i + 1] : '\0';
        const char *token = c == '%' ? memchr (letters, next, n) : NULL;
        if (token && values[token - letters].len > 0)
            buf_add_text (out, values[token - letters]);
        else if ((c == '%' && next != '%') || (c == '$' && next == '{'))
            return false;
        else
            buf_byte (out, (uint8_t) c);
        i += c == '%';
    }
    return !out->overflow;
}

static void expand (struct ssh_config *config, uint32_t key, struct ssh_config_answer *answer)
{
    struct text *text = &answer->text[key], port = answer->text[SAID_PORT], user = answer->text[SAID_USER];
    const struct text values[] = {
        answer->host, answer->name, port.len ? port : TEXT_LIT ("22"), user.len ? user : config->user,
        config->home, config->user
    };
    struct buf all;
    buf_init (&all, VALUE_MAX_BYTES);
    bool good = put_expanded (&all, *text, values, key == SAID_ADDRESS ? 1 : 6);
    struct text rest = *text = buf_finish (&all, config->problems->arena);
    while (rest.len > 0 && good)
        good = keywords[key].good (text_take_until (&rest, '\n'));
    if (!good)
        refuse (config, answer->of[key], answer);
}

static void take_value (struct ssh_config *config, struct ssh_config_line *line, struct ssh_config_answer *answer)
{
    struct text *text = &answer->text[line->key], said = line->at.text;
    struct arena *arena = config->problems->arena;
    if (memchr (said.ptr, '\n', said.len))
        refuse (config, line, answer);
    answer->of[line->key] = line;
    *text = text->len ? text_format (arena, "%.*s\n%.*s", TEXT_ARG (*text), TEXT_ARG (said)) : said;
    if (line->key == SAID_ADDRESS) {
        expand (config, line->key, answer); /* Match host asks for it */
        answer->host = lowered (arena, *text);
    }
}

/* Of ProxyJump and ProxyCommand the first counts. */
static void take (struct ssh_config *config, struct ssh_config_line *line, struct ssh_config_answer *answer)
{
    const uint32_t ways = 1u << SAID_JUMP | 1u << COMMAND, bit = 1u << line->key;
    bool adds = line->key == SAID_IDENTITIES && answer->of[line->key];
    if ((answer->said & (bit & ways ? ways : bit)) && !adds)
        return;
    answer->said |= bit;
    if (is (line->at.text, keywords[line->key].idle))
        return;
    bool relaxes = line->key >= STRICT || (line->key == SAID_KNOWN_HOSTS && is (line->at.text, "/dev/null"));
    if (relaxes && !config->warned)
        warning_at (config->problems, &line->at, "%s %s is ignored, as all that relaxes a check or runs a command",
                    keywords[line->key].name, problem_quote (config->problems, line->at.text));
    config->warned |= relaxes;
    if (line->key < SAID_N && !relaxes)
        take_value (config, line, answer);
    else if (!relaxes)
        refuse (config, line, answer);
}

/* Does a pattern of the list name it, and none behind '!'? */
static bool list_names (struct text list, char separator, struct text name)
{
    bool named = false;
    while (list.len > 0) {
        struct text pattern = text_take_until (&list, separator);
        uint32_t no = text_starts (pattern, "!");
        bool names = text_matches (name, (struct text){ pattern.ptr + no, pattern.len - no });
        if (names && no)
            return false;
        named |= names;
    }
    return named;
}

/* Criteria are looked at until one does not hold. */
static bool match_holds (struct ssh_config *config, struct ssh_config_line *line, struct ssh_config_answer *answer)
{
    bool known = true, holds = true;
    for (struct text rest = line->at.text; rest.len > 0 && holds && known;) {
        struct text word = text_take_until (&rest, '\n');
        bool host = text_is (word, "host");
        known = host || text_is (word, "all");
        holds = !host || list_names (text_take_until (&rest, '\n'), ',', answer->host);
    }
    if (!known)
        refuse (config, line, answer);
    return holds && known;
}

void ssh_config_ask (struct ssh_config *config, struct ssh_config_answer *answer)
{
    bool active = true, outer[SSH_CONFIG_DEPTH_MAX];
    answer->host = lowered (config->problems->arena, answer->name);
    for (uint32_t key = 0; key < SAID_N; key++)
        answer->said |= (uint32_t) (answer->text[key].len > 0) << key;
    for (uint32_t i = 0, depth = 0; i < config->n; i++) {
        struct ssh_config_line *line = &config->lines[i];
        if (line->key == BEGIN)
            outer[depth++] = active;
        else if (line->key == END)
            active = outer[--depth];
        else if (line->key == HOST)
            active = outer[depth - 1] && list_names (line->at.text, '\n', answer->name);
        else if (line->key == MATCH)
            active = outer[depth - 1] && match_holds (config, line, answer);
        else if (active)
            take (config, line, answer);
    }
    for (uint32_t key = SAID_PORT; key < SAID_N; key++)
        if (answer->of[key])
            expand (config, key, answer);
}
