#include <jansson.h>
#include <string.h>

#include "common/io/curve_key.h"
#include "common/io/private_file.h"
#include "coordinator/czmq/certificate.h"
#include "coordinator/keys/monitor_key.h"

static bool is_run (const char *run)
{
    return strspn (run, "0123456789abcdef") == RUN_ID_HEX_BYTES - 1;
}

static bool take_port (uint64_t port, struct monitor_key *key)
{
    key->port = (uint16_t) port;
    return port > 0 && port <= UINT16_MAX;
}

/* ---- a certificate ---- */

static bool take_word (const struct certificate *from, const char *name, char *out, size_t out_bytes)
{
    const char *word = certificate_meta (from, name);
    return word && word[0] && text_to_c (text_of (word), out, out_bytes);
}

static bool take_words (const struct certificate *from, struct monitor_key *key)
{
    char form[8], digits[8];
    uint64_t port;
    return take_word (from, "sliceup-monitor", form, sizeof form) && strcmp (form, "1") == 0 &&
           take_word (from, "port", digits, sizeof digits) && text_to_u64 (text_of (digits), &port) &&
           take_port (port, key) && take_word (from, "run", key->run, sizeof key->run) && is_run (key->run) &&
           take_word (from, "address", key->address, sizeof key->address) &&
           take_word (from, "coordinator-key", key->coordinator_key, sizeof key->coordinator_key) &&
           strlen (key->coordinator_key) == LINK_KEY_BYTES - 1 && certificate_keys (from, &key->keys);
}

static bool parse_certificate (struct text file, struct monitor_key *key)
{
    struct certificate *certificate = certificate_parse (file);
    bool good = certificate && take_words (certificate, key);
    certificate_release (certificate);
    return good;
}

/* ---- a JSON object, as it was printed before that ---- */

static bool take_string (const json_t *object, const char *name, char *out, size_t out_bytes)
{
    const json_t *value = json_object_get (object, name);
    struct text text = { json_string_value (value), (uint32_t) json_string_length (value) };
    return json_is_string (value) && text.len > 0 && text_to_c (text, out, out_bytes);
}

static bool take_key (const json_t *object, const char *name, char out[LINK_KEY_BYTES])
{
    return take_string (object, name, out, LINK_KEY_BYTES) && strlen (out) == LINK_KEY_BYTES - 1;
}

static bool take_members (const json_t *object, struct monitor_key *key)
{
    json_int_t port = json_integer_value (json_object_get (object, "port"));
    return json_integer_value (json_object_get (object, "sliceup-monitor")) == 1 && port > 0 &&
           take_port ((uint64_t) port, key) && take_string (object, "run", key->run, sizeof key->run) &&
           is_run (key->run) && take_string (object, "address", key->address, sizeof key->address) &&
           take_key (object, "coordinator_key", key->coordinator_key) &&
           take_key (object, "public_key", key->keys.public_key) &&
           take_key (object, "secret_key", key->keys.secret_key);
}

static bool parse_json (struct text file, struct monitor_key *key)
{
    json_t *object = json_loadb (file.ptr, file.len, JSON_REJECT_DUPLICATES, NULL);
    bool good = json_is_object (object) && take_members (object, key);
    json_decref (object);
    return good;
}

int monitor_key_load (struct monitor_key *key, const char *path, struct err *err)
{
    struct buf file;
    struct monitor_key found = { 0 };
    buf_init (&file, MONITOR_KEY_FILE_MAX_BYTES);
    int rc = private_file_read (path, &file, err);
    struct text text = buf_as_text (&file);
    if (rc == 0 && !parse_certificate (text, &found) && !parse_json (text, &found))
        rc = err_set (err, ERR_PARSE, "%s is not a monitor key: sliceup monitor-key RUN prints one", path);
    struct curve_key coordinator;
    if (rc == 0 && (link_keys_check (&found.keys, err) < 0 ||
                    curve_key_parse (text_of (found.coordinator_key), &coordinator, err) < 0))
        rc = err_prefix (err, "monitor key %s", path);
    if (rc == 0)
        *key = found;
    if (file.ptr)
        explicit_bzero (file.ptr, file.len);
    buf_release (&file);
    explicit_bzero (&found, sizeof found);
    return rc;
}
