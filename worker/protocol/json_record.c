#include "worker/protocol/json_record.h"

#include "common/base/utf8.h"
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

static int spend (struct json_budget *budget, size_t bytes, struct err *err)
{
    if (budget->left_bytes < bytes)
        return err_set (err, ERR_LIMIT, "the program reported more than a result can hold");
    budget->left_bytes -= bytes;
    return 0;
}

int json_read_text (const json_t *value, const char *name, uint32_t max_bytes, bool whole, struct text *out,
                    struct json_budget *budget, struct err *err)
{
    if (!json_is_string (value))
        return err_set (err, ERR_PARSE, "%s: expected a string", name);
    size_t len = json_string_length (value);
    if (whole && len > max_bytes)
        return err_set (err, ERR_LIMIT, "%s: %zu bytes, expected at most %" PRIu32, name, len, max_bytes);
    if (spend (budget, (len < max_bytes ? len : max_bytes) + JSON_FIELD_COST_BYTES, err) < 0)
        return -1;
    struct text raw = { json_string_value (value), (uint32_t) len }; /* lines are bounded, so it fits */
    *out = text_repair_utf8 (budget->arena, raw, max_bytes);
    return 0;
}

static bool must_be_whole (const struct field *field)
{
    return strcmp (field->name, "name") == 0 || strcmp (field->name, "fingerprint") == 0;
}

static int json_record_read_text (const json_t *value, const struct field *as, void *at, struct json_budget *room,
                                  struct err *err)
{
    struct text *text = at;
    if (!value && !must_be_whole (as)) {
        *text = (struct text){ 0 };
        return 0;
    }
    if (json_read_text (value, as->name, (uint32_t) as->max, must_be_whole (as), text, room, err) < 0)
        return -1;
    if (!text->len && must_be_whole (as))
        return err_set (err, ERR_PARSE, "%s: empty", as->name);
    return 0;
}

static int read_count (const json_t *value, const struct field *field, uint64_t *out, struct err *err)
{
    *out = 0;
    if (!value)
        return 0;
    if (!json_is_integer (value) || json_integer_value (value) < 0)
        return err_set (err, ERR_PARSE, "%s: expected a whole number of at least 0", field->name);
    *out = (uint64_t) json_integer_value (value);
    if (*out > field->max)
        return err_set (err, ERR_LIMIT, "%s: expected at most %" PRIu64, field->name, field->max);
    return 0;
}

static int read_real (const json_t *value, const struct field *field, double *out, struct err *err)
{
    *out = 0;
    if (!value && strcmp (field->name, "tolerance") == 0)
        return 0;
    if (!json_is_number (value) || !isfinite (json_number_value (value)))
        return err_set (err, ERR_PARSE, "%s: expected a finite number", field->name);
    *out = json_number_value (value);
    return 0;
}

static int read_enum (const json_t *value, const struct field *field, void *at, struct err *err)
{
    uint32_t found = 0;
    if (!json_is_string (value) || !enum_value_of (field->names, text_of (json_string_value (value)), &found))
        return err_set (err, ERR_PARSE, "%s: this word is not in the protocol", field->name);
    memcpy (at, &found, sizeof found);
    return 0;
}

static int json_record_read_list (const json_t *value, const struct field *as, void *at, struct json_budget *room,
                                  struct err *err);

static int read_field (const json_t *value, const struct field *as, void *at, struct json_budget *room, struct err *err)
{
    uint64_t count = 0;
    switch (as->kind) {
    case FIELD_TEXT: return json_record_read_text (value, as, at, room, err);
    case FIELD_U32:
    case FIELD_U64:
        if (read_count (value, as, &count, err) < 0)
            return -1;
        if (as->kind == FIELD_U32)
            *(uint32_t *) at = (uint32_t) count;
        else
            *(uint64_t *) at = count;
        return spend (room, JSON_FIELD_COST_BYTES, err);
    case FIELD_F64: return read_real (value, as, at, err) < 0 ? -1 : spend (room, JSON_FIELD_COST_BYTES, err);
    case FIELD_ENUM: return read_enum (value, as, at, err) < 0 ? -1 : spend (room, JSON_FIELD_COST_BYTES, err);
    case FIELD_LIST: return json_record_read_list (value, as, at, room, err);
    default:
        *(bool *) at = false; /* the only FIELD_BOOL, a metric's scope, has a word of its own in JSON */
        assert (as->kind == FIELD_BOOL);
        return spend (room, JSON_FIELD_COST_BYTES, err);
    }
}

static int read_item (const json_t *value, const struct field *as, void *at, struct json_budget *room, struct err *err)
{
    if (as->item == FIELD_RECORD)
        return json_read_record (value, as->of, at, room, err);
    assert (as->item == FIELD_TEXT);
    return json_read_text (value, as->name, (uint32_t) as->item_max, true, at, room, err);
}

static int json_record_read_list (const json_t *value, const struct field *as, void *at, struct json_budget *room,
                                  struct err *err)
{
    if (!json_is_array (value))
        return err_set (err, ERR_PARSE, "%s: expected a list", as->name);
    size_t n = json_array_size (value);
    size_t item_bytes = as->item == FIELD_RECORD ? as->of->bytes : sizeof (struct text);
    if (n > as->max)
        return err_set (err, ERR_LIMIT, "%s: %zu items, expected at most %" PRIu64, as->name, n, as->max);
    if (spend (room, JSON_FIELD_COST_BYTES, err) < 0)
        return -1;
    char *items = n ? arena_array (room->arena, n, item_bytes) : NULL;
    for (size_t i = 0; i < n; i++) {
        if (read_item (json_array_get (value, i), as, items + i * item_bytes, room, err) < 0)
            return -1;
    }
    *(struct any_list *) at = (struct any_list){ items, (uint32_t) n };
    return 0;
}

int json_read_record (const json_t *object, const struct record *record, void *out, struct json_budget *budget,
                      struct err *err)
{
    if (!json_is_object (object))
        return err_set (err, ERR_PARSE, "%s: expected a JSON object", record->name);
    if (spend (budget, JSON_ITEM_COST_BYTES, err) < 0)
        return -1;
    for (uint32_t i = 0; i < record->fields_n; i++) {
        const struct field *field = &record->fields[i];
        if (read_field (json_object_get (object, field->name), field, (char *) out + field->offset, budget, err) < 0)
            return err_prefix (err, "%s", record->name);
    }
    return 0;
}

static size_t value_cost (const struct field *field, const void *at);

static size_t list_cost (const struct field *field, const struct any_list *list)
{
    struct field item = field_describe_item (field);
    size_t bytes = JSON_FIELD_COST_BYTES, item_bytes = field_item_bytes (field);
    for (uint32_t i = 0; i < list->n; i++)
        bytes += value_cost (&item, (const char *) list->items + i * item_bytes);
    return bytes;
}

static size_t value_cost (const struct field *field, const void *at)
{
    switch (field->kind) {
    case FIELD_TEXT: return JSON_FIELD_COST_BYTES + ((const struct text *) at)->len;
    case FIELD_RECORD: return json_record_wire_bytes (field->of, at);
    case FIELD_LIST: return list_cost (field, at);
    default: return JSON_FIELD_COST_BYTES;
    }
}

size_t json_record_wire_bytes (const struct record *record, const void *value)
{
    size_t bytes = JSON_ITEM_COST_BYTES;
    for (uint32_t i = 0; i < record->fields_n; i++)
        bytes += value_cost (&record->fields[i], (const char *) value + record->fields[i].offset);
    return bytes;
}
