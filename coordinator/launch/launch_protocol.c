#include "coordinator/launch/launch_private.h"

#include <jansson.h>
#include <string.h>

/* ---- what is told ---- */

/* `line` is used up; NULL: a text in it was not UTF-8. */
static int launch_protocol_tell (struct buf *out, json_t *line, size_t max_bytes, const char *advice, struct err *err)
{
    int rc = -1;
    LOCAL_MEM char *words = line ? json_dumps (line, JSON_COMPACT) : NULL;
    if (!words)
        err_set (err, ERR_PARSE, "a worker's name, address or directory is not UTF-8 text");
    else if (strlen (words) + 1 > max_bytes)
        err_set (err, ERR_LIMIT, "the start parameters of a worker take %zu bytes, expected at most %zu: %s",
                 strlen (words) + 1, max_bytes, advice);
    else
        rc = 0;
    if (rc == 0)
        buf_printf (out, "%s\n", words);
    json_decref (line);
    return rc;
}

/* Texts of the plan were checked to be UTF-8 when it was made, or read back. */
static json_t *json_text (struct text text)
{
    return json_stringn (text.len ? text.ptr : "", text.len);
}

int launch_protocol_put_join (struct buf *out, const struct launch_line_fields *join, struct err *err)
{
    json_t *line = json_pack ("{s:i, s:s, s:s%, s:I, s:s, s:i, s:i, s:s, s:s}", "protocol", LAUNCH_PROTOCOL, "run",
                              join->run_id_hex, "host", join->host.ptr, (size_t) join->host.len, "rank",
                              (json_int_t) join->rank, "address", join->address, "control_port",
                              (int) join->control_port, "bulk_port", (int) join->bulk_port, "key", join->hub_public_key,
                              "directory", join->directory);
    if (line && join->slice.len)
        json_object_set_new (line, "slice", json_text (join->slice));
    if (line && join->try_ms)
        json_object_set_new (line, "try_ms", json_integer (join->try_ms));
    if (line && join->tied)
        json_object_set_new (line, "tied", json_true ());
    return launch_protocol_tell (out, line, LAUNCH_LINE_MAX_BYTES, "use a shorter start.directory", err);
}

static json_t *json_texts (const struct text *items, uint32_t n)
{
    json_t *list = json_array ();
    for (uint32_t i = 0; i < n; i++)
        json_array_append_new (list, json_text (items[i]));
    return list;
}

static json_t *json_ssh (const struct courier_request *request)
{
    const struct ssh_route *route = &request->host->ssh;
    const struct ssh_plan *ssh = &request->start->ssh;
    return json_pack (
        "{s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:b, s:b, s:b}", "address",
        json_text (route->address.len ? route->address : request->host->address), "port", (json_int_t) route->port,
        "user", json_text (route->user), "jump", json_text (route->jump), "command", json_text (route->command),
        "host_key_alias", json_text (route->host_key_alias), "known_hosts", json_text (ssh->known_hosts), "identities",
        json_texts (ssh->identities.items, ssh->identities.n), "agent", (int) ssh->agent, "identities_only",
        (int) (route->from_config >> SAID_ONLY & 1), "password", (int) request->password, "sudo", (int) ssh->sudo);
}

static json_t *json_slurm (const struct slurm_plan *slurm)
{
    return json_pack ("{s:o, s:o, s:o}", "account", json_text (slurm->account), "partition",
                      json_text (slurm->partition), "options", json_texts (slurm->options.items, slurm->options.n));
}

int launch_protocol_put_courier (struct buf *out, const struct courier_request *request, struct err *err)
{
    bool ssh = request->launcher == LAUNCHER_SSH;
    json_t *line = json_pack ("{s:i, s:s, s:o, s:s, s:I, s:b, s:o, s:s, s:s, s:I}", "sliceup-courier", LAUNCH_PROTOCOL,
                              "by", enum_name_of (&launcher_names, request->launcher), "host",
                              json_text (request->host->name), "nonce", request->nonce, "deadline_ms",
                              (json_int_t) request->start->deadline_ms, "tied", (int) request->start->tied, "directory",
                              json_text (request->start->directory), "bundle", request->bundle, "bundle_sha256",
                              request->bundle_sha256, "bundle_bytes", (json_int_t) request->bundle_bytes);
    if (line)
        json_object_set_new (line, "bundle_head_bytes", json_integer ((json_int_t) request->bundle_head_bytes));
    if (line)
        json_object_set_new (line, ssh ? "ssh" : "slurm",
                             ssh ? json_ssh (request) : json_slurm (&request->start->slurm));
    if (line && request->hub_address)
        json_object_update_new (line, json_pack ("{s:s, s:s, s:b, s:I}", "reach",
                                                 enum_name_of (&link_way_names, request->start->reach), "hub",
                                                 request->hub_address, "again", (int) request->again, "pause_ms",
                                                 (json_int_t) request->pause_ms));
    return launch_protocol_tell (out, line, COURIER_LINE_MAX_BYTES, "name fewer ssh.identities or slurm.options", err);
}

/* ---- what is heard ---- */

/* The alphabet of ZeroMQ's RFC 32. */
static bool is_z85 (const char *key)
{
    return strlen (key) == LAUNCH_KEY_BYTES - 1 &&
           strspn (key, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#") ==
               LAUNCH_KEY_BYTES - 1;
}

static int answer_of (json_t *words, struct launch_report *reply, struct err *err)
{
    json_t *key = json_object_get (words, "key");
    json_t *pid = json_object_get (words, "pid"), *pid_start = json_object_get (words, "pid_start");
    if (json_integer_value (json_object_get (words, "sliceup-worker")) != LAUNCH_PROTOCOL)
        return err_set (err, ERR_PARSE,
                        "the worker's launch protocol version is not %d: use a worker of this coordinator's version",
                        LAUNCH_PROTOCOL);
    if (json_is_true (json_object_get (words, "exec"))) {
        reply->word = WORD_EXEC;
        return 1;
    }
    if (!json_is_string (key) || !is_z85 (json_string_value (key)))
        return err_set (err, ERR_PARSE, "the worker reported no public key, expected 40 characters of Z85");
    if (!json_is_integer (pid) || json_integer_value (pid) < 1 || json_integer_value (pid) > INT32_MAX)
        return err_set (err, ERR_PARSE, "the worker reported no pid");
    if (!json_is_integer (pid_start) || json_integer_value (pid_start) < 1)
        return err_set (err, ERR_PARSE, "the worker reported no start time of its process");
    if (!json_is_string (json_object_get (words, "version")))
        return err_set (err, ERR_PARSE, "the worker reported no version");
    memcpy (reply->public_key, json_string_value (key), LAUNCH_KEY_BYTES);
    reply->pid = json_integer_value (pid);
    reply->pid_start = json_integer_value (pid_start);
    reply->word = WORD_ANSWER;
    return 1;
}

static int courier_reply (json_t *words, struct launch_report *reply, struct err *err)
{
    const char *step = NULL, *refused = NULL, *why = NULL, *ended = NULL, *found = NULL, *carries = NULL;
    int left = 0;
    if (json_integer_value (json_object_get (words, "sliceup-courier")) != LAUNCH_PROTOCOL)
        return err_set (err, ERR_PARSE,
                        "the protocol version of its courier is not %d: use sliceup and sliceup-courier of one build",
                        LAUNCH_PROTOCOL);
    (void) json_unpack (words, "{s?s, s?s, s?s, s?s, s?s, s?s, s?b}", "step", &step, "refused", &refused, "why", &why,
                        "ended", &ended, "found", &found, "carries", &carries, "left",
                        &left); /* what has another type is not there */
    if (left)
        reply->word = WORD_LEFT;
    else if (refused && why)
        reply->word = WORD_REFUSED;
    else if (ended)
        reply->word = WORD_ENDED;
    else if (found)
        reply->word = WORD_FOUND;
    else if (carries)
        reply->word = WORD_CARRIES;
    else if (step)
        reply->word = WORD_STEP;
    else
        return err_set (err, ERR_PARSE, "the worker's courier sent an unknown message");
    snprintf (reply->step, sizeof reply->step, "%s", refused ? refused : step ? step : "");
    snprintf (reply->why, sizeof reply->why, "%s",
              refused   ? why
              : ended   ? ended
              : found   ? found
              : carries ? carries
                        : "");
    return 1;
}

static bool is_meant_for_us (const struct launch_parser *parser)
{
    struct text line = { parser->line, parser->line_len };
    return text_starts (line, "{\"sliceup-worker\"") || (parser->courier && text_starts (line, "{\"sliceup-courier\""));
}

/* A whole line: a word, a broken word, or something else. */
static int receive_line (const struct launch_parser *parser, struct launch_report *reply, struct err *err)
{
    if (parser->too_long || parser->line_len == 0 || parser->line[0] != '{')
        return 0;
    json_auto_t *words = json_loadb (parser->line, parser->line_len, JSON_REJECT_DUPLICATES, NULL);
    *reply = (struct launch_report){ 0 };
    if (!words && is_meant_for_us (parser))
        return err_set (err, ERR_PARSE, "the worker's answer cannot be parsed, expected one line of JSON");
    if (words && json_object_get (words, "sliceup-worker"))
        return answer_of (words, reply, err);
    bool courier = words && parser->courier && json_object_get (words, "sliceup-courier");
    return courier ? courier_reply (words, reply, err) : 0;
}

static void receive_byte (struct launch_parser *parser, char byte)
{
    if (parser->line_len < sizeof parser->line)
        parser->line[parser->line_len++] = byte;
    else
        parser->too_long = true;
}

int launch_protocol_receive (struct launch_parser *parser, struct text *output, struct launch_report *reply,
                             struct err *err)
{
    while (output->len > 0) {
        char byte = *output->ptr++;
        output->len--;
        if (++parser->received_bytes > LAUNCH_OUTPUT_MAX_BYTES)
            return err_set (err, ERR_LIMIT, "the worker printed more than %d KiB without reporting its public key",
                            LAUNCH_OUTPUT_MAX_BYTES / 1024);
        if (byte != '\n') {
            receive_byte (parser, byte);
            continue;
        }
        int rc = receive_line (parser, reply, err);
        parser->line_len = 0;
        parser->too_long = false;
        if (rc != 0)
            return rc;
    }
    return 0;
}
