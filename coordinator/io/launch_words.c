#include "coordinator/io/launch_words.h"

#include <jansson.h>
#include <string.h>

int launch_words_join (struct buf *out, const struct launch_join *join, struct err *err)
{
    int rc = -1;
    char *line = NULL;
    json_t *words = json_pack ("{s:i, s:s, s:s%, s:I, s:s, s:i, s:i, s:s, s:s}", "protocol", LAUNCH_PROTOCOL, "run",
                               join->run_id_hex, "host", join->host.ptr, (size_t) join->host.len, "rank",
                               (json_int_t) join->rank, "address", join->address, "control_port",
                               (int) join->control_port, "bulk_port", (int) join->bulk_port, "key",
                               join->hub_public_key, "directory", join->directory);
    if (words)
        line = json_dumps (words, JSON_COMPACT);
    if (!line)
        err_set (err, ERR_PARSE, "a worker's name, address or directory is not UTF-8 text");
    else if (strlen (line) + 1 > LAUNCH_LINE_MAX_BYTES)
        err_set (err, ERR_LIMIT,
                 "what a worker is told at its start takes %zu bytes, expected at most %d: use a shorter directory",
                 strlen (line) + 1, LAUNCH_LINE_MAX_BYTES);
    else
        rc = 0;
    if (rc == 0)
        buf_printf (out, "%s\n", line);
    free (line);
    json_decref (words);
    return rc;
}

/* The alphabet of ZeroMQ's RFC 32. */
static bool is_z85 (const char *key)
{
    return strlen (key) == LAUNCH_KEY_BYTES - 1 &&
           strspn (key, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#") ==
               LAUNCH_KEY_BYTES - 1;
}

static int answer_of (json_t *words, struct launch_answer *answer, struct err *err)
{
    json_t *protocol = json_object_get (words, "sliceup-worker"), *key = json_object_get (words, "key");
    json_t *pid = json_object_get (words, "pid"), *pid_start = json_object_get (words, "pid_start");
    if (!json_is_integer (protocol) || json_integer_value (protocol) != LAUNCH_PROTOCOL)
        return err_set (err, ERR_PARSE,
                        "it speaks another launch protocol than %d: use a worker of this coordinator's version",
                        LAUNCH_PROTOCOL);
    if (!json_is_string (key) || !is_z85 (json_string_value (key)))
        return err_set (err, ERR_PARSE, "it named no public key: expected 40 characters of Z85");
    if (!json_is_integer (pid) || json_integer_value (pid) < 1 || json_integer_value (pid) > INT32_MAX)
        return err_set (err, ERR_PARSE, "it named no pid");
    if (!json_is_integer (pid_start) || json_integer_value (pid_start) < 1)
        return err_set (err, ERR_PARSE, "it named no start time of its process");
    if (!json_is_string (json_object_get (words, "version")))
        return err_set (err, ERR_PARSE, "it named no version");
    memcpy (answer->public_key, json_string_value (key), LAUNCH_KEY_BYTES);
    answer->pid = json_integer_value (pid);
    answer->pid_start = json_integer_value (pid_start);
    return 1;
}

/* A whole line: the answer, a broken answer, or something else. */
static int hear_line (const struct launch_ear *ear, struct launch_answer *answer, struct err *err)
{
    int rc = 0;
    if (ear->too_long || ear->line_len == 0 || ear->line[0] != '{')
        return 0;
    json_t *words = json_loadb (ear->line, ear->line_len, JSON_REJECT_DUPLICATES, NULL);
    if (words && json_object_get (words, "sliceup-worker"))
        rc = answer_of (words, answer, err);
    json_decref (words);
    return rc;
}

static void hear_byte (struct launch_ear *ear, char byte)
{
    if (ear->line_len < sizeof ear->line)
        ear->line[ear->line_len++] = byte;
    else
        ear->too_long = true;
}

int launch_words_hear (struct launch_ear *ear, struct text output, struct launch_answer *answer, struct err *err)
{
    for (uint32_t i = 0; i < output.len; i++) {
        if (++ear->heard_bytes > LAUNCH_OUTPUT_MAX_BYTES)
            return err_set (err, ERR_LIMIT, "it wrote more than %d KiB without naming its key",
                            LAUNCH_OUTPUT_MAX_BYTES / 1024);
        if (output.ptr[i] != '\n') {
            hear_byte (ear, output.ptr[i]);
            continue;
        }
        int rc = hear_line (ear, answer, err);
        ear->line_len = 0;
        ear->too_long = false;
        if (rc != 0)
            return rc;
    }
    return 0;
}
