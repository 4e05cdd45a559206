#include "coordinator/view/record_json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/model/receipt.h"

enum { ESCAPED_MAX_BYTES = 1 << 20 };

static bool is_object_list (const struct field *field)
{
    return field->kind == FIELD_LIST && (field->of == &var_record || field->of == &number_record);
}

/* ---- to JSON ---- */

json_t *text_json (struct text text)
{
    json_t *value = json_stringn (text.len ? text.ptr : "", text.len);
    return value ? value : json_string ("");
}

json_t *text_or_null_json (struct text text)
{
    return text.len ? escaped_json (text) : json_null ();
}

json_t *number_or_null_json (uint64_t number)
{
    return number ? json_integer ((json_int_t) number) : json_null ();
}

json_t *time_json (uint64_t wall_ms)
{
    struct tm day;
    char seconds[32], whole[48];
    time_t at = (time_t) (wall_ms / 1000);
    if (wall_ms == 0 || !gmtime_r (&at, &day) || !strftime (seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &day))
        return json_null ();
    snprintf (whole, sizeof whole, "%s.%03uZ", seconds, (unsigned) (wall_ms % 1000));
    return json_string (whole);
}

json_t *buf_take_json (struct buf *buf)
{
    json_t *json = text_json (buf_as_text (buf));
    buf_release (buf);
    return json;
}

json_t *escaped_json (struct text text)
{
    if (text_is_utf8 (text))
        return text_json (text);
    struct buf safe = { .max = ESCAPED_MAX_BYTES };
    buf_escaped (&safe, text, 0);
    return buf_take_json (&safe);
}

json_t *texts_json (const struct text *items, uint32_t n)
{
    json_t *list = json_array ();
    for (uint32_t i = 0; i < n; i++)
        json_array_append_new (list, escaped_json (items[i]));
    return list;
}

void json_print_release (json_t *json, size_t flags, struct buf *out)
{
    char *text = json ? json_dumps (json, flags | JSON_ENSURE_ASCII) : NULL;
    if (!text)
        mem_exit_exhausted (0);
    for (const char *at = text; *at; at++) /* jansson leaves DEL as it is; it can stand in a string only */
        if (*at == 0x7f)
            buf_puts (out, "\\u007f");
        else
            buf_byte (out, (uint8_t) *at);
    buf_byte (out, '\n');
    free (text);
    json_decref (json);
}

json_t *folded_hosts_json (const struct text *names, uint32_t n)
{
    LOCAL_ARENA arena = { 0 };
    return text_json (hostset_folded (names, n, UINT32_MAX, &arena));
}

static json_t *hex_json (struct text bytes)
{
    struct buf hex = { .max = 2 * (size_t) bytes.len + 1 };
    for (uint32_t i = 0; i < bytes.len; i++)
        buf_printf (&hex, "%02x", (unsigned char) bytes.ptr[i]);
    return buf_take_json (&hex);
}

json_t *enum_json (const struct enum_names *names, uint32_t value)
{
    return value ? json_string (enum_name_of (names, value)) : json_null ();
}

static json_t *vars_json (const struct field *field, const struct any_list *list)
{
    bool numbers = field->of == &number_record;
    json_t *object = json_object ();
    for (uint32_t i = 0; i < list->n; i++) {
        const struct var *var = (const struct var *) list->items + i;
        const struct named_number *number = (const struct named_number *) list->items + i;
        struct text name = numbers ? number->name : var->name;
        json_object_setn_new (object, name.len ? name.ptr : "", name.len,
                              numbers ? json_integer ((json_int_t) number->value) : text_json (var->value));
    }
    return object;
}

static json_t *list_json (const struct field *field, const struct any_list *list)
{
    if (is_object_list (field))
        return vars_json (field, list);
    const struct field item = field_describe_item (field);
    json_t *array = json_array ();
    for (uint32_t i = 0; i < list->n; i++)
        json_array_append_new (array,
                               record_field_json (&item, (const char *) list->items + i * field_item_bytes (field)));
    return array;
}

json_t *record_field_json (const struct field *field, const void *at)
{
    switch (field->kind) {
    case FIELD_BOOL: return json_boolean (*(const bool *) at);
    case FIELD_U32: return json_integer (*(const uint32_t *) at);
    case FIELD_U64: return json_integer ((json_int_t) * (const uint64_t *) at);
    case FIELD_F64: return isfinite (*(const double *) at) ? json_real (*(const double *) at) : json_null ();
    case FIELD_ENUM: return enum_json (field->names, *(const uint32_t *) at);
    case FIELD_TEXT: return text_json (*(const struct text *) at);
    case FIELD_BYTES: return hex_json (*(const struct text *) at);
    case FIELD_RECORD: return record_to_json (field->of, at);
    case FIELD_LIST: return list_json (field, at);
    }
    return json_null ();
}

json_t *record_to_json (const struct record *record, const void *value)
{
    json_t *object = json_object ();
    for (uint32_t i = 0; i < record->fields_n; i++)
        json_object_set_new (object, record->fields[i].name,
                             record_field_json (&record->fields[i], (const char *) value + record->fields[i].offset));
    return object;
}

/* ---- from JSON ---- */

static int wrong (struct err *err, const char *expected)
{
    return err_set (err, ERR_PARSE, "expected %s", expected);
}

static int record_json_take_text (const json_t *json, uint64_t max, struct text *out, struct arena *arena,
                                  struct err *err)
{
    if (json_is_null (json))
        return 0;
    if (!json_is_string (json) || json_string_length (json) > max)
        return err_set (err, ERR_PARSE, "expected a string of at most %" PRIu64 " bytes", max);
    *out = text_copy (arena, (struct text){ json_string_value (json), (uint32_t) json_string_length (json) });
    return 0;
}

static int take_integer (const json_t *json, uint64_t max, uint64_t *out, struct err *err)
{
    *out = 0;
    if (json_is_null (json))
        return 0;
    if (!json_is_integer (json) || json_integer_value (json) < 0 || (uint64_t) json_integer_value (json) > max)
        return err_set (err, ERR_PARSE, "expected an integer from 0 to %" PRIu64, max);
    *out = (uint64_t) json_integer_value (json);
    return 0;
}

static int take_double (const json_t *json, double *out, struct err *err)
{
    if (!json_is_number (json) && !json_is_null (json))
        return wrong (err, "a number or null");
    *out = json_is_null (json) ? NAN : json_number_value (json);
    return 0;
}

static int take_enum (const struct enum_names *names, const json_t *json, uint32_t *out, struct err *err)
{
    *out = 0;
    if (json_is_null (json) ||
        (json_is_string (json) && enum_value_of (names, text_of (json_string_value (json)), out)))
        return 0;
    return err_set (err, ERR_PARSE, "expected null or a known word such as %s", enum_name_of (names, names->n - 1));
}

static int take_vars (const json_t *json, const struct field *field, struct any_list *out, struct arena *arena,
                      struct err *err)
{
    if (!json_is_object (json) || json_object_size (json) > field->max)
        return wrong (err, "an object");
    bool numbers = field->of == &number_record;
    out->items = arena_array (arena, json_object_size (json), field->of->bytes);
    const char *name;
    json_t *member;
    json_object_foreach ((json_t *) (uintptr_t) json, name, member) {
        struct var *var = (struct var *) out->items + out->n;
        struct named_number *number = (struct named_number *) out->items + out->n;
        struct text *at = numbers ? &number->name : &var->name;
        *at = text_copy (arena, text_of (name));
        if (numbers ? take_integer (member, INT64_MAX, &number->value, err)
                    : record_json_take_text (member, TEXT_MAX_BYTES, &var->value, arena, err))
            return err_prefix (err, "%s", name);
        out->n++;
    }
    return 0;
}

static int take_field (const json_t *json, const struct field *field, void *at, struct arena *arena, struct err *err);

static int take_list (const json_t *json, const struct field *field, struct any_list *out, struct arena *arena,
                      struct err *err)
{
    if (is_object_list (field))
        return take_vars (json, field, out, arena, err);
    if (!json_is_array (json) || json_array_size (json) > field->max)
        return err_set (err, ERR_PARSE, "expected an array of at most %" PRIu64 " items", field->max);
    const struct field item = field_describe_item (field);
    size_t bytes = field_item_bytes (field);
    out->items = arena_array (arena, json_array_size (json), bytes);
    for (size_t i = 0; i < json_array_size (json); i++, out->n++)
        if (take_field (json_array_get (json, i), &item, (char *) out->items + i * bytes, arena, err) < 0)
            return err_prefix (err, "[%zu]", i);
    return 0;
}

static int take_field (const json_t *json, const struct field *field, void *at, struct arena *arena, struct err *err)
{
    uint64_t number = 0;
    switch (field->kind) {
    case FIELD_BOOL:
        *(bool *) at = json_is_true (json);
        return json_is_boolean (json) ? 0 : wrong (err, "true or false");
    case FIELD_U32:
        if (take_integer (json, field->max, &number, err) < 0)
            return -1;
        *(uint32_t *) at = (uint32_t) number;
        return 0;
    case FIELD_U64: return take_integer (json, field->max < INT64_MAX ? field->max : INT64_MAX, at, err);
    case FIELD_F64: return take_double (json, at, err);
    case FIELD_ENUM: return take_enum (field->names, json, at, err);
    case FIELD_TEXT: return record_json_take_text (json, field->max, at, arena, err);
    case FIELD_RECORD: return record_from_json (field->of, json, at, arena, err);
    case FIELD_LIST: return take_list (json, field, at, arena, err);
    case FIELD_BYTES: break;
    }
    return wrong (err, "that this member is absent: sliceup does not read it from JSON");
}

static const struct field *field_named (const struct record *record, const char *name)
{
    for (uint32_t i = 0; i < record->fields_n; i++)
        if (strcmp (record->fields[i].name, name) == 0)
            return &record->fields[i];
    return NULL;
}

int record_from_json (const struct record *record, const json_t *json, void *out, struct arena *arena, struct err *err)
{
    const char *name;
    json_t *member;
    memset (out, 0, record->bytes);
    if (json_is_null (json))
        return 0;
    if (!json_is_object (json))
        return err_set (err, ERR_PARSE, "expected an object (%s)", record->name);
    json_object_foreach ((json_t *) (uintptr_t) json, name, member) {
        const struct field *field = field_named (record, name);
        if (field == NULL)
            return err_set (err, ERR_PARSE, "%s: unknown member of %s", name, record->name);
        if (take_field (member, field, (char *) out + field->offset, arena, err) < 0)
            return err_prefix (err, "%s", name);
    }
    return 0;
}
