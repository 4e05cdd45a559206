/* put.c - turns a table into calls of the packer. We choose what it leaves open: the one form of zero and NaN. */
#include "common/wire/put.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "common/wire/reader.h"

/* Most pieces are one byte, and nearly all fit: two calls for each would cost more than the packing. */
static int write_out (void *owner, const char *bytes, size_t len)
{
    struct buf *out = owner;
    if (len == 0 || len > out->capacity - out->len || out->overflow) {
        buf_add (out, bytes, len);
        return out->overflow ? -1 : 0;
    }
    if (len == 1)
        out->ptr[out->len] = (uint8_t) *bytes;
    else
        memcpy (out->ptr + out->len, bytes, len);
    out->len += len;
    return 0;
}

msgpack_packer put_begin (struct buf *out)
{
    msgpack_packer packer;
    msgpack_packer_init (&packer, out, write_out);
    return packer;
}

void put_end (struct buf *out, size_t began, int rc)
{
    if (rc == 0)
        return;
    out->overflow = true;
    out->len = began;
}

static int put_f64 (msgpack_packer *to, double number)
{
    static const uint64_t nan_bits = WIRE_NAN_BITS;
    if (isnan (number))
        memcpy (&number, &nan_bits, sizeof number);
    return msgpack_pack_double (to, number == 0.0 ? 0.0 : number);
}

static int put_value (msgpack_packer *to, const struct field *field, const void *at);

static int put_items (msgpack_packer *to, const struct field *field, const struct any_list *list)
{
    struct field item = field_describe_item (field);
    size_t item_bytes = field_item_bytes (field);
    int rc = msgpack_pack_array (to, list->n);

    for (uint32_t i = 0; rc == 0 && i < list->n; i++)
        rc = put_value (to, &item, (const char *) list->items + i * item_bytes);
    return rc;
}

static int put_value (msgpack_packer *to, const struct field *field, const void *at)
{
    const struct text *text = at;

    switch (field->kind) {
    case FIELD_BOOL: return *(const bool *) at ? msgpack_pack_true (to) : msgpack_pack_false (to);
    case FIELD_U32:
    case FIELD_ENUM: return msgpack_pack_uint32 (to, *(const uint32_t *) at);
    case FIELD_U64: return msgpack_pack_uint64 (to, *(const uint64_t *) at);
    case FIELD_I64: return msgpack_pack_int64 (to, *(const int64_t *) at);
    case FIELD_F64: return put_f64 (to, *(const double *) at);
    case FIELD_TEXT: return msgpack_pack_str_with_body (to, text->ptr, text->len);
    case FIELD_BYTES: return msgpack_pack_bin_with_body (to, text->ptr, text->len);
    case FIELD_RECORD: return put_record (to, field->of, at);
    case FIELD_LIST: break;
    }
    return put_items (to, field, at);
}

static int put_field (msgpack_packer *to, const struct field *field, const void *value)
{
    int rc = msgpack_pack_uint32 (to, field->key);
    return rc == 0 ? put_value (to, field, (const char *) value + field->offset) : rc;
}

int put_record (msgpack_packer *to, const struct record *record, const void *value)
{
    uint32_t pairs = 0;
    uint64_t present = 0;

    assert (record->fields_n <= 64);
    for (uint32_t i = 0; i < record->fields_n; i++) {
        if (field_is_empty (&record->fields[i], (const char *) value + record->fields[i].offset))
            continue;
        present |= 1ull << i;
        pairs++;
    }
    int rc = msgpack_pack_map (to, pairs);
    for (uint32_t i = 0; rc == 0 && i < record->fields_n; i++)
        if (present >> i & 1)
            rc = put_field (to, &record->fields[i], value);
    return rc;
}
