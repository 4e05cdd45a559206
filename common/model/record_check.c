/* record_check.c - checks a value by its table's bounds, or cuts it to them. Errors name place and size, never quote,
 * since the bytes are untrusted. */
#include <inttypes.h>
#include <string.h>

#include "common/model/record.h"

/* Where the walk stands, from the innermost place outwards; lives on the stack of the walk. */
struct place {
    const struct place *outer;
    const char *name;
    uint32_t index;
    bool is_item;
};

static void place_print (const struct place *place, struct buf *out)
{
    if (place->outer)
        place_print (place->outer, out);
    if (place->is_item) {
        buf_printf (out, "[%" PRIu32 "]", place->index);
        return;
    }
    if (place->outer)
        buf_byte (out, '.');
    buf_puts (out, place->name);
}

static bool record_check_refuse (const struct place *place, struct buf *why, const char *what, uint64_t found,
                                 uint64_t max)
{
    if (!why)
        return false;
    place_print (place, why);
    buf_printf (why, ": %s is %" PRIu64 ", expected at most %" PRIu64, what, found, max);
    return false;
}

static bool number_check (const struct field *field, uint64_t value, const struct place *place, struct buf *why)
{
    return value <= field->max || record_check_refuse (place, why, "the number", value, field->max);
}

static bool enum_check (const struct field *field, uint32_t value, const struct place *place, struct buf *why)
{
    return value < field->names->n || record_check_refuse (place, why, "the choice", value, field->names->n - 1);
}

static bool text_check (const struct field *field, struct text value, const struct place *place, struct buf *why)
{
    if (value.len > field->max)
        return record_check_refuse (place, why, "the length in bytes", value.len, field->max);
    if (field->kind == FIELD_BYTES || value.len == 0)
        return true;
    if (!memchr (value.ptr, 0, value.len) && text_is_utf8 (value))
        return true;
    if (why) {
        place_print (place, why);
        buf_puts (why, ": the text has a NUL or is not UTF-8");
    }
    return false;
}

static bool fields_check (const struct record *record, const void *value, const struct place *outer, struct buf *why);
static bool field_check (const struct field *field, const void *at, const struct place *place, struct buf *why);

static bool list_check (const struct field *field, const struct any_list *list, const struct place *at, struct buf *why)
{
    if (list->n > field->max)
        return record_check_refuse (at, why, "the count of items", list->n, field->max);
    size_t item_bytes = field_item_bytes (field);
    struct field item = field_describe_item (field);
    for (uint32_t i = 0; i < list->n; i++) {
        struct place here = { .outer = at, .index = i, .is_item = true };
        if (!field_check (&item, (const char *) list->items + i * item_bytes, &here, why))
            return false;
    }
    return true;
}

static bool field_check (const struct field *field, const void *at, const struct place *place, struct buf *why)
{
    switch (field->kind) {
    case FIELD_BOOL:
    case FIELD_F64: return true;
    case FIELD_U32: return number_check (field, *(const uint32_t *) at, place, why);
    case FIELD_U64: return number_check (field, *(const uint64_t *) at, place, why);
    case FIELD_ENUM: return enum_check (field, *(const uint32_t *) at, place, why);
    case FIELD_TEXT:
    case FIELD_BYTES: return text_check (field, *(const struct text *) at, place, why);
    case FIELD_RECORD: return fields_check (field->of, at, place, why);
    case FIELD_REF: return fields_check (field->of, *(void *const *) at, place, why);
    case FIELD_LIST: return list_check (field, at, place, why);
    }
    return false;
}

static bool fields_check (const struct record *record, const void *value, const struct place *outer, struct buf *why)
{
    if (record_encoded (record, value).len)
        return true;
    for (uint32_t i = 0; i < record->fields_n; i++) {
        const struct field *field = &record->fields[i];
        struct place here = { .outer = outer, .name = field->name };
        if (!field_check (field, (const char *) value + field->offset, &here, why))
            return false;
    }
    return true;
}

bool record_check (const struct record *record, const void *value, struct buf *why)
{
    struct place here = { .name = record->name };
    return fields_check (record, value, &here, why);
}

/* ---- a value cut to its bounds ---- */

static uint64_t field_fit (const struct field *field, void *at);

static uint64_t list_fit (const struct field *field, struct any_list *list)
{
    size_t item_bytes = field_item_bytes (field);
    struct field item = field_describe_item (field);
    uint64_t left_out = list->n > field->max ? list->n - field->max : 0;
    list->n -= (uint32_t) left_out;
    for (uint32_t i = 0; i < list->n; i++)
        left_out += field_fit (&item, (char *) list->items + i * item_bytes);
    return left_out;
}

static uint64_t field_fit (const struct field *field, void *at)
{
    switch (field->kind) {
    case FIELD_TEXT: *(struct text *) at = text_clip (*(struct text *) at, (uint32_t) field->max); return 0;
    case FIELD_RECORD: return record_fit (field->of, at);
    case FIELD_LIST: return list_fit (field, at);
    default: return 0;
    }
}

uint64_t record_fit (const struct record *record, void *value)
{
    uint64_t left_out = 0;
    for (uint32_t i = 0; i < record->fields_n; i++)
        left_out += field_fit (&record->fields[i], (char *) value + record->fields[i].offset);
    return left_out;
}
