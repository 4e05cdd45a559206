#include "coordinator/courier/request.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
static const char name_letters[] = LETTERS "._-";
static const char address_letters[] = LETTERS "._-:%"; /* of IPv6, with its zone */
static const char alias_letters[] = LETTERS "._-+/:[]";
static const char hex_letters[] = "0123456789abcdef";

/* A reader of one object: its first mistake stays in `err`. */
struct reader {
    const json_t *object;
    const char *name;
    struct arena *arena;
    struct err *err;
    bool failed;
};

static void request_fail (struct reader *reader, const char *member, const char *expected)
{
    if (!reader->failed)
        err_set (reader->err, ERR_PARSE, "%s: %s: expected %s", reader->name, member, expected);
    reader->failed = true;
}

static char *request_keep (struct reader *reader, struct text text)
{
    return (char *) text_copy (reader->arena, text).ptr;
}

/* A text of `least` to `most` bytes without NUL; "" after a mistake. */
static char *request_take_text (struct reader *reader, const char *member, size_t least, size_t most)
{
    const json_t *value = json_object_get (reader->object, member);
    size_t len = json_string_length (value);
    if (!json_is_string (value) || len < least || len > most || strlen (json_string_value (value)) != len) {
        request_fail (reader, member,
                      least ? "a text that is neither empty nor longer than this courier takes"
                            : "a text no longer than this courier takes");
        return request_keep (reader, TEXT_LIT (""));
    }
    return request_keep (reader, (struct text){ json_string_value (value), (uint32_t) len });
}

/* Names become parts of options and commands, so none may look like either. */
static char *request_take_name (struct reader *reader, const char *member, const char *letters, bool may_be_empty)
{
    char *name = request_take_text (reader, member, may_be_empty ? 0 : 1, REQUEST_NAME_MAX_BYTES);
    if (name[0] == '-' || strspn (name, letters) != strlen (name))
        request_fail (reader, member, "a name of plain characters that does not begin with a dash");
    return name;
}

static char *take_hex (struct reader *reader, const char *member, size_t digits)
{
    char *text = request_take_text (reader, member, digits, digits);
    if (strspn (text, hex_letters) != strlen (text))
        request_fail (reader, member, "hexadecimal digits");
    return text;
}

static char *take_path (struct reader *reader, const char *member)
{
    char *path = request_take_text (reader, member, 1, REQUEST_PATH_MAX_BYTES);
    if (path[0] != '/')
        request_fail (reader, member, "an absolute path");
    return path;
}

static uint64_t request_take_number (struct reader *reader, const char *member, uint64_t least, uint64_t most)
{
    const json_t *value = json_object_get (reader->object, member);
    json_int_t number = json_integer_value (value);
    if (!json_is_integer (value) || number < (json_int_t) least || number > (json_int_t) most) {
        request_fail (reader, member, "an integer of the range that this courier takes");
        return least;
    }
    return (uint64_t) number;
}

static bool take_bool (struct reader *reader, const char *member)
{
    const json_t *value = json_object_get (reader->object, member);
    if (!json_is_boolean (value))
        request_fail (reader, member, "true or false");
    return json_is_true (value);
}

static uint32_t take_list (struct reader *reader, const char *member, char **out, size_t max)
{
    const json_t *list = json_object_get (reader->object, member);
    size_t n = json_array_size (list);
    if (!json_is_array (list) || n > max) {
        request_fail (reader, member, "a list with no more texts than this courier takes");
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        const char *text = json_string_value (json_array_get (list, i));
        size_t len = json_string_length (json_array_get (list, i));
        if (!text || len == 0 || len > REQUEST_PATH_MAX_BYTES || strlen (text) != len)
            request_fail (reader, member, "a list of texts, none empty or longer than this courier takes");
        out[i] = request_keep (reader, text ? (struct text){ text, (uint32_t) len } : TEXT_LIT (""));
    }
    return (uint32_t) n;
}

/* ---- the courier's line ---- */

/* "[user@]host[:port]", an IPv6 address in brackets. */
static void split_jump (struct reader *reader, struct request_ssh *ssh)
{
    char *rest = request_keep (reader, text_of (ssh->jump)), *at = strrchr (rest, '@'), *port = NULL;
    ssh->jump_user = request_keep (reader, TEXT_LIT (""));
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
    const char *letters = bracket ? address_letters : name_letters;
    if (!port_fits || !*rest || *rest == '-' || strspn (rest, letters) != strlen (rest) || (at && !*ssh->jump_user) ||
        *ssh->jump_user == '-' || strspn (ssh->jump_user, name_letters) != strlen (ssh->jump_user))
        request_fail (reader, "jump", "[user@]host[:port]");
    ssh->jump_address = rest;
    ssh->jump_port = (uint16_t) number;
}

static void take_ssh (struct reader *reader, struct request_ssh *ssh)
{
    ssh->address = request_take_name (reader, "address", address_letters, false);
    ssh->port = (uint16_t) request_take_number (reader, "port", 1, UINT16_MAX);
    ssh->user = request_take_name (reader, "user", name_letters, true);
    ssh->jump = request_take_text (reader, "jump", 0, REQUEST_NAME_MAX_BYTES);
    if (*ssh->jump)
        split_jump (reader, ssh);
    ssh->host_key_alias = request_take_name (reader, "host_key_alias", alias_letters, true);
    ssh->known_hosts = take_path (reader, "known_hosts");
    ssh->identities_n = take_list (reader, "identities", ssh->identities, REQUEST_IDENTITIES_MAX);
    for (uint32_t i = 0; i < ssh->identities_n; i++)
        if (ssh->identities[i][0] != '/')
            request_fail (reader, "identities", "absolute paths");
    ssh->agent = take_bool (reader, "agent");
}

static void take_slurm (struct reader *reader, struct request_slurm *slurm)
{
    slurm->account = request_take_name (reader, "account", name_letters, true);
    slurm->partition = request_take_name (reader, "partition", name_letters, true);
    slurm->options_n = take_list (reader, "options", slurm->options, REQUEST_OPTIONS_MAX);
    for (uint32_t i = 0; i < slurm->options_n; i++)
        if (strncmp (slurm->options[i], "--", 2) != 0 || !slurm->options[i][2])
            request_fail (reader, "options", "options of the form --name or --name=value");
}

/* Refuses blanks and quotes, which would break its line to the host. */
static void take_directory (struct reader *reader, struct request *request)
{
    request->directory = take_path (reader, "directory");
    for (const char *at = request->directory; *at; at++)
        if (*at <= ' ' || *at > '~' || strchr ("'\"\\", *at))
            request_fail (reader, "directory", "printable ASCII without blanks, quotes or backslashes");
}

static void take_transport (struct reader *reader, struct request *request)
{
    const char *by = request_take_text (reader, "by", 1, 16);
    struct reader inner = *reader;
    request->by = strcmp (by, "slurm") == 0 ? BY_SLURM : BY_SSH;
    if (request->by == BY_SSH && strcmp (by, "ssh") != 0)
        request_fail (reader, "by", "ssh or slurm");
    inner.object = json_object_get (reader->object, by);
    inner.name = request->by == BY_SSH ? "order: ssh" : "order: slurm";
    if (reader->failed)
        return;
    if (request->by == BY_SSH)
        take_ssh (&inner, &request->ssh);
    else
        take_slurm (&inner, &request->slurm);
    reader->failed = inner.failed;
}

static int request_take_request (struct request *request, const json_t *line, struct err *err)
{
    struct reader reader = { .object = line, .name = "order", .arena = &request->arena, .err = err };
    if (json_integer_value (json_object_get (line, "sliceup-courier")) != REQUEST_PROTOCOL)
        return err_set (err, ERR_REFUSED,
                        "order: sliceup-courier: this courier has protocol version %d, and sliceup another: use both "
                        "programs of one build",
                        REQUEST_PROTOCOL);
    request->host = request_take_name (&reader, "host", name_letters, false);
    request->nonce = take_hex (&reader, "nonce", REQUEST_NONCE_BYTES);
    request->deadline_ms = request_take_number (&reader, "deadline_ms", 1, REQUEST_DEADLINE_MAX_MS);
    request->tied = take_bool (&reader, "tied");
    take_directory (&reader, request);
    request->bundle = take_path (&reader, "bundle");
    request->bundle_sha256 = take_hex (&reader, "bundle_sha256", REQUEST_SHA256_BYTES);
    request->bundle_head_bytes = request_take_number (&reader, "bundle_head_bytes", 1, REQUEST_BUNDLE_MAX_BYTES);
    request->bundle_bytes = request_take_number (&reader, "bundle_bytes", 1, REQUEST_BUNDLE_MAX_BYTES);
    take_transport (&reader, request);
    return reader.failed ? -1 : 0;
}

/* ---- the launch line ---- */

static int take_launch (struct request *request, struct text line, const json_t *launch, struct err *err)
{
    const json_t *address = json_object_get (launch, "address");
    if (json_integer_value (json_object_get (launch, "protocol")) != REQUEST_PROTOCOL || !json_is_string (address))
        return err_set (err, ERR_PARSE, "launch line: expected protocol version %d and an address", REQUEST_PROTOCOL);
    request->needs_address = json_string_length (address) == 0;
    request->launch = (char *) text_copy (&request->arena, line).ptr;
    if (request->needs_address && request->by == BY_SSH && *request->ssh.jump)
        return err_set (err, ERR_CONFIG,
                        "the hosts are behind a jump host, so the address of this machine is unknown: set "
                        "coordinator.address to one that they can reach");
    return 0;
}

static int parse_into (struct request *request, struct text courier_line, struct text launch_line, struct err *err)
{
    json_t *courier = json_loadb (courier_line.ptr, courier_line.len, JSON_REJECT_DUPLICATES, NULL);
    bool joins = launch_line.ptr != NULL;
    json_t *launch = joins ? json_loadb (launch_line.ptr, launch_line.len, JSON_REJECT_DUPLICATES, NULL) : NULL;
    int rc = -1;
    if (!json_is_object (courier))
        err_set (err, ERR_PARSE, "order: expected a JSON object on the first line");
    else if (joins && (!json_is_object (launch) || launch_line.len >= REQUEST_LAUNCH_MAX_BYTES))
        err_set (err, ERR_PARSE, "launch line: expected a JSON object of less than %d bytes on the second line",
                 REQUEST_LAUNCH_MAX_BYTES);
    else if ((rc = request_take_request (request, courier, err)) == 0 && joins)
        rc = take_launch (request, launch_line, launch, err);
    json_decref (courier);
    json_decref (launch);
    return rc;
}

int request_parse (struct request *request, struct text courier_line, struct text launch_line, struct err *err)
{
    struct request parsed = { 0 };
    arena_init (&parsed.arena);
    if (parse_into (&parsed, courier_line, launch_line, err) != 0) {
        arena_release (&parsed.arena);
        return -1;
    }
    *request = parsed;
    return 0;
}

int request_set_local_address (struct request *request, const char *address, struct err *err)
{
    json_t *launch = json_loads (request->launch, JSON_REJECT_DUPLICATES, NULL);
    char *words = NULL;
    int rc = -1;
    if (launch && json_object_set_new (launch, "address", json_string (address)) == 0)
        words = json_dumps (launch, JSON_COMPACT);
    if (!words || strlen (words) >= REQUEST_LAUNCH_MAX_BYTES) {
        err_set (err, ERR_LIMIT,
                 "launch line: the address of this machine is too long for it: set coordinator.address");
        goto out;
    }
    request->launch = (char *) text_copy (&request->arena, text_of (words)).ptr;
    request->needs_address = false;
    rc = 0;
out:
    free (words);
    json_decref (launch);
    return rc;
}

void request_release (struct request *request)
{
    arena_release (&request->arena);
    *request = (struct request){ 0 };
}
