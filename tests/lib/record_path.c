#include "record_path.h"

#include <inttypes.h>

struct place {
    struct field field;
    void *at;
};

static const struct field *field_named (const struct record *record, struct text name)
{
    for (uint32_t i = 0; record && i < record->fields_n; i++)
        if (text_is (name, record->fields[i].name))
            return &record->fields[i];
    return NULL;
}

/* From the list to its item `index`; without an arena the item is there already. */
static void place_index (struct place *place, uint32_t index, struct arena *arena)
{
    struct any_list *list = place->at;
    size_t bytes = field_item_bytes (&place->field);
    if (index >= list->n) {
        assert_non_null (arena);
        char *items = arena_alloc (arena, (index + 1) * bytes);
        if (list->n > 0)
            memcpy (items, list->items, list->n * bytes);
        *list = (struct any_list){ items, index + 1 };
    }
    place->field = field_describe_item (&place->field);
    place->at = (char *) list->items + index * bytes;
    if (place->field.kind != FIELD_REF)
        return;
    void **ref = place->at;
    *ref = *ref ? *ref : arena_alloc (arena, place->field.of->bytes);
    place->at = *ref;
    place->field.kind = FIELD_RECORD;
}

static struct place place_of (const struct record *record, const void *value, struct text path, struct arena *arena)
{
    struct place place = { .at = (void *) value };
    for (const char *c = path.ptr, *end = path.ptr + path.len; c < end;) {
        const char *name = c;
        while (c < end && *c != '.' && *c != '[')
            c++;
        const struct field *field = field_named (record, (struct text){ name, (uint32_t) (c - name) });
        if (!field)
            fail_msg ("%.*s is no field of a %s", TEXT_ARG (path), record ? record->name : "field without parts");
        place = (struct place){ *field, (char *) place.at + field->offset };
        if (c < end && *c == '[') {
            char *after;
            place_index (&place, (uint32_t) strtoul (c + 1, &after, 10), arena);
            c = after + 1;
        }
        record = place.field.of;
        if (c < end)
            c++;
    }
    return place;
}

static void print_field (const struct field *field, const void *at, struct buf *out);

/* Of a record its name, "name=value" if that is all it has. */
static void print_item (const struct field *field, const char *at, struct buf *out)
{
    const struct record *record = field->of;
    if (field->kind != FIELD_RECORD) {
        print_field (field, at, out);
        return;
    }
    print_field (&record->fields[0], at + record->fields[0].offset, out);
    if (record->fields_n == 2 && record->fields[1].kind != FIELD_LIST && record->fields[1].kind != FIELD_RECORD) {
        buf_puts (out, "=");
        print_field (&record->fields[1], at + record->fields[1].offset, out);
    }
}

static void print_field (const struct field *field, const void *at, struct buf *out)
{
    const struct any_list *list = at;
    switch (field->kind) {
    case FIELD_BOOL: buf_puts (out, *(const bool *) at ? "true" : "false"); break;
    case FIELD_U32: buf_printf (out, "%" PRIu32, *(const uint32_t *) at); break;
    case FIELD_U64: buf_printf (out, "%" PRIu64, *(const uint64_t *) at); break;
    case FIELD_F64: buf_printf (out, "%g", *(const double *) at); break;
    case FIELD_ENUM: buf_puts (out, enum_name_of (field->names, *(const uint32_t *) at)); break;
    case FIELD_TEXT:
    case FIELD_BYTES: buf_printf (out, "%.*s", TEXT_ARG (*(const struct text *) at)); break;
    case FIELD_RECORD:
    case FIELD_REF: buf_puts (out, field_is_empty (field, at) ? "empty" : "set"); break;
    case FIELD_LIST:
        if (field->item == FIELD_RECORD && field->of->fields[0].kind != FIELD_TEXT) {
            buf_printf (out, "%" PRIu32, list->n);
            break;
        }
        struct field item = field_describe_item (field);
        for (uint32_t i = 0; i < list->n; i++) {
            buf_puts (out, i ? ", " : "");
            print_item (&item, (const char *) list->items + i * field_item_bytes (field), out);
        }
        break;
    }
}

void record_path_print (const struct record *record, const void *value, struct text path, struct buf *out)
{
    struct place place = place_of (record, value, path, NULL);
    uint32_t before = (uint32_t) out->len;
    print_field (&place.field, place.at, out);
    if (out->len == before)
        buf_puts (out, "(none)");
}

void record_path_print_wanted (const struct record *record, const void *value, struct text want, struct buf *out)
{
    uint32_t at, colon;
    for (struct text line; want.len > 0; want = (struct text){ want.ptr + line.len, want.len - line.len }) {
        line = want;
        if (text_find (want, TEXT_LIT ("\n"), &at))
            line.len = at + 1;
        if (!text_find (line, TEXT_LIT (" = "), &at) || (text_find (line, TEXT_LIT (":"), &colon) && colon < at))
            continue;
        struct text path = { line.ptr, at };
        buf_printf (out, "%.*s = ", TEXT_ARG (path));
        record_path_print (record, value, path, out);
        buf_puts (out, "\n");
    }
}

void record_path_set (const struct record *record, void *value, struct text path, struct text text, struct arena *arena)
{
    struct place place = place_of (record, value, path, arena);
    if (text_is (text, "(none)"))
        text.len = 0;
    const char *c = text_copy (arena, text).ptr;
    switch (place.field.kind) {
    case FIELD_BOOL: *(bool *) place.at = text_is (text, "true"); break;
    case FIELD_U32: *(uint32_t *) place.at = (uint32_t) strtoul (c, NULL, 10); break;
    case FIELD_U64: *(uint64_t *) place.at = strtoull (c, NULL, 10); break;
    case FIELD_F64: *(double *) place.at = strtod (c, NULL); break;
    case FIELD_ENUM:
        *(uint32_t *) place.at = 0;
        assert_true (text_is (text, "none") || enum_value_of (place.field.names, text, place.at));
        break;
    case FIELD_TEXT:
    case FIELD_BYTES: *(struct text *) place.at = text_copy (arena, text); break;
    case FIELD_RECORD:
    case FIELD_REF:
    case FIELD_LIST: /* emptied */
        assert_int_equal (text.len, 0);
        memset (place.at, 0, place.field.kind == FIELD_LIST ? sizeof (struct any_list) : place.field.of->bytes);
        break;
    }
}
