/* get.c - decoding by table. Recursion is bounded twice: by how deep the tables nest and by `depth`. */
#include "common/wire/get.h"

#include <inttypes.h>
#include <string.h>

struct getter {
    struct reader *reader;
    struct arena *arena;
    struct err *err;
};

static int refuse_kind (const struct getter *get, const char *wanted, const struct wire_value *value)
{
    return err_set (get->err, ERR_PARSE, "byte %" PRIu32 ": found %s, expected %s", reader_offset (get->reader),
                    value_kind_name (value->kind), wanted);
}

static int refuse_size (const struct getter *get, const char *what, uint64_t found, uint64_t max)
{
    return err_set (get->err, ERR_LIMIT, "byte %" PRIu32 ": %s is %" PRIu64 ", expected at most %" PRIu64,
                    reader_offset (get->reader), what, found, max);
}

static int get_uint (const struct getter *get, const struct wire_value *value, uint64_t max, uint64_t *out)
{
    if (value->kind != VALUE_UINT)
        return refuse_kind (get, "integer from 0", value);
    if (value->number > max)
        return refuse_size (get, "the number", value->number, max);
    *out = value->number;
    return 0;
}

static int get_u32 (const struct getter *get, const struct wire_value *value, uint64_t max, void *out)
{
    uint64_t number;
    if (get_uint (get, value, max < UINT32_MAX ? max : UINT32_MAX, &number) < 0)
        return -1;
    uint32_t narrow = (uint32_t) number;
    memcpy (out, &narrow, sizeof narrow);
    return 0;
}

static int get_i64 (const struct getter *get, const struct wire_value *value, uint64_t max, void *out)
{
    if (value->kind != VALUE_UINT && value->kind != VALUE_NEGATIVE)
        return refuse_kind (get, "integer", value);
    uint64_t magnitude = value->kind == VALUE_NEGATIVE ? 0 - value->number : value->number;
    uint64_t reaches = (uint64_t) INT64_MAX + (value->kind == VALUE_NEGATIVE);
    if (magnitude > (max < reaches ? max : reaches))
        return refuse_size (get, "the magnitude", magnitude, max);
    memcpy (out, &value->number, sizeof value->number);
    return 0;
}

static int get_bool (const struct getter *get, const struct wire_value *value, void *out)
{
    if (value->kind != VALUE_BOOL)
        return refuse_kind (get, "truth value", value);
    bool truth = value->number != 0;
    memcpy (out, &truth, sizeof truth);
    return 0;
}

static int get_f64 (const struct getter *get, const struct wire_value *value, void *out)
{
    if (value->kind != VALUE_FLOAT)
        return refuse_kind (get, "float", value);
    memcpy (out, &value->real, sizeof value->real);
    return 0;
}

static int get_text (const struct getter *get, const struct wire_value *value, const struct field *field, void *out)
{
    enum value_kind wanted = field->kind == FIELD_TEXT ? VALUE_TEXT : VALUE_BYTES;
    if (value->kind != wanted)
        return refuse_kind (get, value_kind_name (wanted), value);
    if (value->text.len > field->max)
        return refuse_size (get, "the length in bytes", value->text.len, field->max);
    struct text text = { .ptr = value->text.len ? value->text.ptr : NULL, .len = value->text.len };
    memcpy (out, &text, sizeof text);
    return 0;
}

static int get_pairs (const struct getter *get, const struct record *record, void *out, uint64_t pairs, uint32_t depth);
static int get_list (const struct getter *get, const struct field *field, void *out, const struct wire_value *head,
                     uint32_t depth);

static int get_value (const struct getter *get, const struct field *field, void *out, uint32_t depth)
{
    struct wire_value value;
    uint64_t number;

    if (reader_next (get->reader, &value, get->err) < 0)
        return -1;
    switch (field->kind) {
    case FIELD_BOOL: return get_bool (get, &value, out);
    case FIELD_U32: return get_u32 (get, &value, field->max, out);
    case FIELD_ENUM: return get_u32 (get, &value, field->names->n - 1, out);
    case FIELD_U64:
        if (get_uint (get, &value, field->max, &number) < 0)
            return -1;
        memcpy (out, &number, sizeof number);
        return 0;
    case FIELD_I64: return get_i64 (get, &value, field->max, out);
    case FIELD_F64: return get_f64 (get, &value, out);
    case FIELD_TEXT:
    case FIELD_BYTES: return get_text (get, &value, field, out);
    case FIELD_LIST: return get_list (get, field, out, &value, depth);
    case FIELD_RECORD: break;
    }
    if (value.kind != VALUE_MAP)
        return refuse_kind (get, "map", &value);
    return get_pairs (get, field->of, out, value.number, depth);
}

static int refuse_depth (const struct getter *get)
{
    return err_set (get->err, ERR_LIMIT, "byte %" PRIu32 ": lists and maps are nested too deeply",
                    reader_offset (get->reader));
}

static int get_list (const struct getter *get, const struct field *field, void *out, const struct wire_value *head,
                     uint32_t depth)
{
    if (head->kind != VALUE_LIST)
        return refuse_kind (get, "list", head);
    if (head->number > field->max)
        return refuse_size (get, "the count of items", head->number, field->max);
    if (depth == 0)
        return refuse_depth (get);

    struct field item = field_describe_item (field);
    size_t item_bytes = field_item_bytes (field);
    struct any_list list = { .n = (uint32_t) head->number };
    if (list.n > 0)
        list.items = arena_array (get->arena, list.n, item_bytes);
    for (uint32_t i = 0; i < list.n; i++) {
        if (get_value (get, &item, (char *) list.items + i * item_bytes, depth - 1) < 0)
            return err_prefix (get->err, "%s[%" PRIu32 "]", field->name, i);
    }
    memcpy (out, &list, sizeof list);
    return 0;
}

static int get_key (const struct getter *get, int64_t *last)
{
    struct wire_value key;
    if (reader_next (get->reader, &key, get->err) < 0)
        return -1;
    if (key.kind != VALUE_UINT || key.number > UINT32_MAX || (int64_t) key.number <= *last)
        return err_set (get->err, ERR_PARSE, "byte %" PRIu32 ": the keys of a map are not ascending integers",
                        reader_offset (get->reader));
    *last = (int64_t) key.number;
    return 0;
}

/* Zero written out would be a second form of the same value. A record that holds only fields of a later version is zero
 * here but not there, so of records only the empty map is refused. */
static bool is_written_zero (const struct field *field, const void *at, const struct reader *in, const uint8_t *began)
{
    if (field->kind == FIELD_RECORD)
        return in->at == began + 1;
    return field_is_empty (field, at);
}

static int get_field (const struct getter *get, const struct field *field, void *out, uint32_t depth)
{
    void *at = (char *) out + field->offset;
    const uint8_t *began = get->reader->at;

    if (get_value (get, field, at, depth) < 0)
        return err_prefix (get->err, "%s", field->name);
    if (is_written_zero (field, at, get->reader, began))
        return err_set (get->err, ERR_PARSE,
                        "%s: byte %" PRIu32 ": found a zero or empty value, expected it to be left out", field->name,
                        reader_offset (get->reader));
    return 0;
}

/* Both the map and the table rise, so one pass over each finds every field. */
static int get_pairs (const struct getter *get, const struct record *record, void *out, uint64_t pairs, uint32_t depth)
{
    uint32_t at = 0;
    int64_t key = -1;

    if (depth == 0)
        return refuse_depth (get);
    for (uint64_t i = 0; i < pairs; i++) {
        if (get_key (get, &key) < 0)
            return -1;
        while (at < record->fields_n && record->fields[at].key < key)
            at++;
        bool known = at < record->fields_n && record->fields[at].key == key;
        int rc = known ? get_field (get, &record->fields[at], out, depth - 1)
                       : reader_skip (get->reader, depth - 1, get->err);
        if (rc < 0)
            return -1;
    }
    return 0;
}

int get_record (struct reader *reader, const struct record *record, void *out, uint32_t depth, struct arena *arena,
                struct err *err)
{
    struct getter get = { .reader = reader, .arena = arena, .err = err };
    struct field whole = { .name = record->name, .kind = FIELD_RECORD, .of = record };

    memset (out, 0, record->bytes);
    return get_value (&get, &whole, out, depth) < 0 ? err_prefix (err, "%s", record->name) : 0;
}

int get_u64 (struct reader *reader, const char *name, uint64_t max, uint64_t *out, struct err *err)
{
    struct getter get = { .reader = reader, .err = err };
    struct wire_value value;
    if (reader_next (reader, &value, err) < 0 || get_uint (&get, &value, max, out) < 0)
        return err_prefix (err, "%s", name);
    return 0;
}

int get_list_head_of_n (struct reader *reader, const char *name, uint32_t items, struct err *err)
{
    struct wire_value value;
    if (reader_next (reader, &value, err) < 0)
        return err_prefix (err, "%s", name);
    if (value.kind != VALUE_LIST || value.number != items)
        return err_set (err, ERR_PARSE, "%s: expected a list of %" PRIu32 " items", name, items);
    return 0;
}

int get_end (const struct reader *reader, struct err *err)
{
    if (reader->at == reader->end)
        return 0;
    return err_set (err, ERR_PARSE, "byte %" PRIu32 ": %td extra bytes after the value", reader_offset (reader),
                    reader->end - reader->at);
}
