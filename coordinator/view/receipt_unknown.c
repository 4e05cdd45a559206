#include "coordinator/view/receipt_unknown.h"

#include <string.h>

#include "common/model/receipt.h"
#include "common/model/result.h"

/* By the names of records and members: numbers whose 0 means that nobody said. */
static const char *const unknown_at_0[][2] = {
    { "header", "began_wall_ms" },   { "header", "ended_wall_ms" }, { "memory", "peak_bytes" },
    { "memory", "predicted_bytes" }, { "sighting", "line" },        { "memory", "device_peak_bytes" },
    { "generation", "compile_ms" },  { "violation", "since" },      { "violation", "token" },
    { "finding", "token" },          { "rung", "attempt" },
};
/* Members of an attempt that only its host counts. */
static const char *const counted[] = { "duration_ms", "output_bytes", "dropped_bytes", "strays", "bad_lines" };

static bool number_is_unknown (const struct record *record, const struct field *field, const json_t *value)
{
    for (size_t i = 0; i < sizeof unknown_at_0 / sizeof unknown_at_0[0]; i++)
        if (strcmp (record->name, unknown_at_0[i][0]) == 0 && strcmp (field->name, unknown_at_0[i][1]) == 0)
            return json_integer_value (value) == 0;
    return false;
}

static bool is_unknown (const struct record *record, const struct field *field, const json_t *value)
{
    switch (field->kind) {
    case FIELD_TEXT: return json_string_length (value) == 0;
    case FIELD_U32:
    case FIELD_U64: return number_is_unknown (record, field, value);
    case FIELD_RECORD:
        return field->of == &backend_record && json_string_length (json_object_get (value, "platform")) == 0;
    default: return false;
    }
}

static void go_into (const struct field *field, json_t *value)
{
    size_t i;
    json_t *item;
    if (field->kind == FIELD_RECORD)
        receipt_unknown (field->of, value);
    if (field->kind == FIELD_LIST && field->item == FIELD_RECORD)
        json_array_foreach (value, i, item) receipt_unknown (field->of, item); /* lists of variables are no arrays */
}

/* Its host was lost before it reported, or there was no attempt. An attempt whose result came took some time. */
static bool nobody_counted (const struct record *record, const json_t *json)
{
    const char *outcome = json_string_value (json_object_get (json, "outcome"));
    return record == &rung_receipt_record && outcome &&
           json_integer_value (json_object_get (json, "duration_ms")) == 0 &&
           (strcmp (outcome, "lost") == 0 || json_integer_value (json_object_get (json, "attempt")) == 0);
}

void receipt_unknown (const struct record *record, json_t *json)
{
    if (nobody_counted (record, json))
        for (size_t i = 0; i < sizeof counted / sizeof counted[0]; i++)
            json_object_set_new (json, counted[i], json_null ());
    for (uint32_t i = 0; i < record->fields_n; i++) {
        const struct field *field = &record->fields[i];
        json_t *value = json_object_get (json, field->name);
        if (is_unknown (record, field, value))
            json_object_set_new (json, field->name, json_null ());
        else
            go_into (field, value);
    }
}
