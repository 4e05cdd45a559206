#include "worker/probe/probe_run.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static const struct {
    const char *word;
    enum pjrt_value_type type;
} types[] = { { "int64", PJRT_INT64 }, { "bool", PJRT_BOOL }, { "float", PJRT_FLOAT }, { "string", PJRT_STRING } };
enum { TYPES_N = sizeof types / sizeof types[0] };

static bool read_int64 (const char *value, int64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoll (value, &end, 10);
    return end != value && !*end && !errno && (value[0] == '-' || (value[0] >= '0' && value[0] <= '9'));
}

static bool read_bool (const char *value, bool *out)
{
    *out = strcmp (value, "true") == 0;
    return *out || strcmp (value, "false") == 0;
}

static bool read_float (const char *value, float *out)
{
    char *end;
    if (!*value || strspn (value, "+-0123456789.eE") != strlen (value))
        return false;
    *out = strtof (value, &end);
    return !*end && end != value && isfinite (*out);
}

static bool read_as (enum pjrt_value_type type, const char *value, struct pjrt_named_value *out)
{
    out->type = (int) type;
    out->value_size = 1;
    switch (type) {
    case PJRT_INT64: return read_int64 (value, &out->value.int64);
    case PJRT_BOOL: return read_bool (value, &out->value.truth);
    case PJRT_FLOAT: return read_float (value, &out->value.number);
    default:
        out->type = PJRT_STRING;
        out->value.text = value;
        out->value_size = strlen (value);
        return true;
    }
}

static int read_typed (struct text word, const char *value, struct pjrt_named_value *out, struct err *err)
{
    for (size_t i = 0; i < TYPES_N; i++) {
        if (!text_is (word, types[i].word))
            continue;
        if (read_as (types[i].type, value, out))
            return 0;
        return err_set (err, ERR_USAGE, "the value \"%.100s\" is not of type %s", value, types[i].word);
    }
    return err_set (err, ERR_USAGE, "\"%.*s\" is not a type; expected int64, bool, float or string",
                    (int) text_clip (word, 40).len, word.ptr);
}

static void read_untyped (const char *value, struct pjrt_named_value *out)
{
    static const enum pjrt_value_type tried[] = { PJRT_INT64, PJRT_BOOL, PJRT_FLOAT, PJRT_STRING };
    uint32_t i = 0;
    while (!read_as (tried[i], value, out)) /* every value is a string */
        i++;
}

int option_read (const char *written, struct pjrt_named_value *out, struct err *err)
{
    const char *equals = strchr (written, '=');
    struct pjrt_named_value value = PJRT_ARGS (struct pjrt_named_value, value_size);
    if (!equals || strlen (written) > OPTION_BYTES_MAX)
        return err_set (err, ERR_USAGE, "the option \"%.100s\": expected NAME=VALUE of at most %d bytes", written,
                        OPTION_BYTES_MAX);
    const char *colon = memchr (written, ':', (size_t) (equals - written));
    struct text name = { written, (uint32_t) ((colon ? colon : equals) - written) };
    if (!(text_span (name, "_-.") == name.len && name.len > 0 && name.len <= OPTION_NAME_MAX))
        return err_set (err, ERR_USAGE,
                        "the name of the option \"%.100s\" is not valid; expected letters, digits, '_', '-' and '.'",
                        written);
    value.name = name.ptr;
    value.name_size = name.len;
    struct text word = colon ? (struct text){ colon + 1, (uint32_t) (equals - colon - 1) } : (struct text){ 0 };
    if (!colon)
        read_untyped (equals + 1, &value);
    else if (read_typed (word, equals + 1, &value, err) < 0)
        return err_prefix (err, "the option \"%.100s\"", written);
    *out = value;
    return 0;
}
