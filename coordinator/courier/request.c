#include "coordinator/courier/request.h"

#include <string.h>

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
enum { PAUSE_MAX_MS = 60 * 1000 };
static const char name_letters[] = LETTERS "._-";
static const char address_letters[] = LETTERS "._-:%"; /* of IPv6, with its zone */
static const char alias_letters[] = LETTERS "._-+/:[]";

static const char a_name[] = "a name of plain characters that does not begin with a dash",
                  a_number[] = "an integer of the range that this courier takes", a_path[] = "an absolute path",
                  hex[] = "hexadecimal digits";

/* What one member has to be. */
struct check {
    const char *member;
    bool good;
    const char *expected;
};

static int check_all (const char *where, const struct check *checks, size_t n, struct err *err)
{
    for (size_t i = 0; i < n; i++)
        if (!checks[i].good)
            return err_set (err, ERR_PARSE, "%s: %s: expected %s", where, checks[i].member, checks[i].expected);
    return 0;
}

/* Names become parts of options and commands, so none may look like either. */
static bool is_name (const char *name, const char *letters)
{
    size_t len = strlen (name);
    return len <= REQUEST_NAME_MAX_BYTES && name[0] != '-' && strspn (name, letters) == len;
}

static bool is_path (const char *path)
{
    return path[0] == '/' && strlen (path) <= REQUEST_PATH_MAX_BYTES;
}

/* What is negative in JSON is too large here. */
static bool is_from_1_to (uint64_t number, uint64_t most)
{
    return number >= 1 && number <= most;
}

static bool is_hex (const char *text, size_t digits)
{
    return strlen (text) == digits && strspn (text, "0123456789abcdef") == digits;
}

/* Texts that begin with `begin`, and go on. */
static bool take_list (const json_t *list, const char *begin, const char **out, uint32_t max, uint32_t *n)
{
    size_t begin_len = strlen (begin);
    if (!json_is_array (list) || json_array_size (list) > max)
        return false;
    for (*n = 0; *n < json_array_size (list); (*n)++) {
        const char *text = out[*n] = json_string_value (json_array_get (list, *n));
        if (!text || strncmp (text, begin, begin_len) != 0 || !text[begin_len] ||
            strlen (text) > REQUEST_PATH_MAX_BYTES)
            return false;
    }
    return true;
}

/* ---- the courier's line ---- */

/* "[user@]host[:port]", an IPv6 address in brackets. */
static bool split_jump (struct request_ssh *ssh, struct arena *arena)
{
    char *rest = (char *) text_copy (arena, text_of (ssh->jump)).ptr, *at = strrchr (rest, '@'), *port = NULL;
    ssh->jump_user = "";
    if (at) {
        *at = '\0';
        ssh->jump_user = rest;
        rest = at + 1;
    }
    char *bracket = *rest == '[' ? strchr (rest, ']') : NULL;
    if (bracket) {
        *bracket = '\0';
        rest++;
        port = bracket[1] == ':' ? bracket + 2 : bracket[1] ? bracket : NULL;
    } else if ((port = strrchr (rest, ':'))) {
        *port++ = '\0';
    }
    uint64_t number = 22;
    bool port_fits = !port || (text_to_u64 (text_of (port), &number) && number >= 1 && number <= UINT16_MAX);
    ssh->jump_address = rest;
    ssh->jump_port = (uint16_t) number;
    return port_fits && *rest && is_name (rest, bracket ? address_letters : name_letters) && (!at || *ssh->jump_user) &&
           is_name (ssh->jump_user, name_letters);
}

static int take_ssh (struct request_ssh *ssh, json_t *json, struct arena *arena, struct err *err)
{
    json_int_t port = 0;
    int agent = 0, only = 0, password = 0, sudo = 0;
    json_t *identities = NULL;
    json_error_t why;
    ssh->command = "";
    if (json_unpack_ex (json, &why, 0, "{s:s, s:I, s:s, s:s, s:s, s:s, s:o, s:b, s?b, s?s, s?b, s?b}", "address",
                        &ssh->address, "port", &port, "user", &ssh->user, "jump", &ssh->jump, "host_key_alias",
                        &ssh->host_key_alias, "known_hosts", &ssh->known_hosts, "identities", &identities, "agent",
                        &agent, "identities_only", &only, "command", &ssh->command, "password", &password, "sudo",
                        &sudo) != 0)
        return err_set (err, ERR_PARSE, "order: ssh: %s", why.text);
    ssh->port = (uint16_t) port;
    ssh->agent = agent;
    ssh->identities_only = only;
    ssh->password = password ? "" : NULL;
    ssh->sudo = sudo;
    const struct check checks[] = {
        { "address", *ssh->address && is_name (ssh->address, address_letters), a_name },
        { "port", port >= 1 && port <= UINT16_MAX, a_number },
        { "user", is_name (ssh->user, name_letters), a_name },
        { "jump", !*ssh->jump || split_jump (ssh, arena), "[user@]host[:port]" },
        { "host_key_alias", is_name (ssh->host_key_alias, alias_letters), a_name },
        { "known_hosts", is_path (ssh->known_hosts), a_path },
        { "identities", take_list (identities, "/", ssh->identities, REQUEST_IDENTITIES_MAX, &ssh->identities_n),
          "a list of absolute paths, no more than this courier takes" },
    };
    return check_all ("order: ssh", checks, sizeof checks / sizeof checks[0], err);
}

static int take_slurm (struct request_slurm *slurm, json_t *json, struct err *err)
{
    json_t *options = NULL;
    json_error_t why;
    if (json_unpack_ex (json, &why, 0, "{s:s, s:s, s:o}", "account", &slurm->account, "partition", &slurm->partition,
                        "options", &options) != 0)
        return err_set (err, ERR_PARSE, "order: slurm: %s", why.text);
    const struct check checks[] = {
        { "account", is_name (slurm->account, name_letters), a_name },
        { "partition", is_name (slurm->partition, name_letters), a_name },
        { "options", take_list (options, "--", slurm->options, REQUEST_OPTIONS_MAX, &slurm->options_n),
          "a list of options of the form --name or --name=value, no more than this courier takes" },
    };
    return check_all ("order: slurm", checks, sizeof checks / sizeof checks[0], err);
}

/* Without blanks and quotes, which would break its line to the host. */
static bool is_directory (const char *path)
{
    const char *at = path;
    while (*at > ' ' && *at <= '~' && !strchr ("'\"\\", *at))
        at++;
    return is_path (path) && !*at;
}

static int check_order (const struct request *request, const char *by, struct err *err)
{
    const struct check checks[] = {
        { "by", strcmp (by, "slurm") == 0 || strcmp (by, "ssh") == 0, "ssh or slurm" },
        { "host", *request->host && is_name (request->host, name_letters), a_name },
        { "nonce", is_hex (request->nonce, REQUEST_NONCE_BYTES), hex },
        { "deadline_ms", is_from_1_to (request->deadline_ms, REQUEST_DEADLINE_MAX_MS), a_number },
        { "directory", is_directory (request->directory),
          "an absolute path of printable ASCII without blanks, quotes or backslashes" },
        { "bundle", is_path (request->bundle), a_path },
        { "bundle_sha256", is_hex (request->bundle_sha256, REQUEST_SHA256_BYTES), hex },
        { "bundle_head_bytes", is_from_1_to (request->bundle_head_bytes, REQUEST_BUNDLE_MAX_BYTES), a_number },
        { "bundle_bytes", is_from_1_to (request->bundle_bytes, REQUEST_BUNDLE_MAX_BYTES), a_number },
    };
    return check_all ("order", checks, sizeof checks / sizeof checks[0], err);
}

static int request_take_order (struct request *request, struct err *err)
{
    const char *by = "", *reach = "auto";
    int tied = 0, again = 0;
    json_int_t head = 0, bytes = 0, deadline = 0, pause = 0;
    json_t *ssh = NULL, *slurm = NULL;
    json_error_t why;
    if (json_integer_value (json_object_get (request->order, "sliceup-courier")) != REQUEST_PROTOCOL)
        return err_set (err, ERR_REFUSED,
                        "order: sliceup-courier: this courier has protocol version %d, and sliceup another: use both "
                        "programs of one build",
                        REQUEST_PROTOCOL);
    if (json_unpack_ex (
            request->order, &why, 0, "{s:s, s:s, s:s, s:I, s:b, s:s, s:s, s:s, s:I, s:I, s?o, s?o, s?s, s?s, s?b, s?I}",
            "by", &by, "host", &request->host, "nonce", &request->nonce, "deadline_ms", &deadline, "tied", &tied,
            "directory", &request->directory, "bundle", &request->bundle, "bundle_sha256", &request->bundle_sha256,
            "bundle_head_bytes", &head, "bundle_bytes", &bytes, "ssh", &ssh, "slurm", &slurm, "reach", &reach, "hub",
            &request->hub.address, "again", &again, "pause_ms", &pause) != 0)
        return err_set (err, ERR_PARSE, "order: %s", why.text);
    request->by = strcmp (by, "slurm") == 0 ? BY_SLURM : BY_SSH;
    request->carry = strcmp (reach, "ssh") == 0      ? CARRY_ALWAYS
                     : strcmp (reach, "direct") == 0 ? CARRY_NEVER
                                                     : CARRY_IF_NEEDED;
    request->hub.address = request->hub.address ? request->hub.address : "127.0.0.1";
    request->pause_ms = pause > 0 && pause < PAUSE_MAX_MS ? (uint64_t) pause : 0;
    request->again = again;
    request->tied = tied;
    request->deadline_ms = (uint64_t) deadline;
    request->bundle_head_bytes = (uint64_t) head;
    request->bundle_bytes = (uint64_t) bytes;
    if (check_order (request, by, err) != 0)
        return -1;
    return request->by == BY_SSH ? take_ssh (&request->ssh, ssh, &request->arena, err)
                                 : take_slurm (&request->slurm, slurm, err);
}

/* ---- the launch line ---- */

static int take_launch (struct request *request, struct text line, const json_t *launch, struct err *err)
{
    const json_t *address = json_object_get (launch, "address");
    if (json_integer_value (json_object_get (launch, "protocol")) != REQUEST_PROTOCOL || !json_is_string (address))
        return err_set (err, ERR_PARSE, "launch line: expected protocol version %d and an address", REQUEST_PROTOCOL);
    request->needs_address = json_string_length (address) == 0;
    request->launch = text_copy (&request->arena, line).ptr;
    request->hub.ports[CARRIER_CONTROL] = (uint16_t) json_integer_value (json_object_get (launch, "control_port"));
    request->hub.ports[CARRIER_BULK] = (uint16_t) json_integer_value (json_object_get (launch, "bulk_port"));
    const char *directory = json_string_value (json_object_get (launch, "directory"));
    if (request->again && !(directory && is_directory (directory)))
        return err_set (err, ERR_PARSE, "launch line: directory: expected %s", a_path);
    request->worker_directory = text_copy (&request->arena, text_of (directory ? directory : "")).ptr;
    if (request->needs_address && request->by == BY_SSH && request->carry == CARRY_NEVER &&
        (*request->ssh.jump || *request->ssh.command))
        return err_set (err, ERR_CONFIG,
                        "the hosts are behind a jump host, so the address of this machine is unknown: set "
                        "coordinator.address to one that they can reach, or coordinator.reach: auto");
    return 0;
}

static int parse_into (struct request *request, struct text launch_line, struct err *err)
{
    bool joins = launch_line.ptr != NULL;
    json_auto_t *launch = joins ? json_loadb (launch_line.ptr, launch_line.len, JSON_REJECT_DUPLICATES, NULL) : NULL;
    if (!json_is_object (request->order))
        return err_set (err, ERR_PARSE, "order: expected a JSON object on the first line");
    if (joins && (!json_is_object (launch) || launch_line.len >= REQUEST_LAUNCH_MAX_BYTES))
        return err_set (err, ERR_PARSE, "launch line: expected a JSON object of less than %d bytes on the second line",
                        REQUEST_LAUNCH_MAX_BYTES);
    return request_take_order (request, err) || (joins && take_launch (request, launch_line, launch, err)) ? -1 : 0;
}

int request_parse (struct request *request, struct text courier_line, struct text launch_line, struct err *err)
{
    struct request parsed = { .order = json_loadb (courier_line.ptr, courier_line.len, JSON_REJECT_DUPLICATES, NULL) };
    if (parse_into (&parsed, launch_line, err) != 0) {
        request_release (&parsed);
        return -1;
    }
    *request = parsed;
    return 0;
}

int request_set_way (struct request *request, const char *address, const uint16_t ports[CARRIER_ENDS], struct err *err)
{
    json_auto_t *launch = json_loads (request->launch, JSON_REJECT_DUPLICATES, NULL);
    if (launch && ports) {
        json_object_set_new (launch, "control_port", json_integer (ports[CARRIER_CONTROL]));
        json_object_set_new (launch, "bulk_port", json_integer (ports[CARRIER_BULK]));
    }
    bool set = launch && json_object_set_new (launch, "address", json_string (address)) == 0;
    LOCAL_MEM char *words = set ? json_dumps (launch, JSON_COMPACT) : NULL;
    bool fits = words && strlen (words) < REQUEST_LAUNCH_MAX_BYTES;
    if (fits)
        request->launch = text_copy (&request->arena, text_of (words)).ptr;
    request->needs_address &= !fits;
    return fits ? 0
                : err_set (err, ERR_LIMIT,
                           "launch line: the address of this machine is too long for it: set coordinator.address");
}

void request_release (struct request *request)
{
    json_decref (request->order);
    arena_release (&request->arena);
    *request = (struct request){ 0 };
}
