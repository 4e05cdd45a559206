/* put.c - the shortest form of everything, so that equal values have equal bytes. Format bytes: see reader.c. */
#include "common/wire/put.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "common/wire/reader.h"

/* The longest head of a value: a format byte and eight more. */
enum { HEAD_MAX_BYTES = 9 };

static void flush (struct put *put)
{
    buf_add (put->out, put->chunk, put->n);
    put->n = 0;
}

void put_begin (struct put *put, struct buf *out)
{
    put->out = out;
    put->began = out->len;
    put->n = 0;
}

void put_end (struct put *put)
{
    flush (put);
    if (put->out->overflow)
        put->out->len = put->began;
}

/* A format byte and a big-endian number of `bytes`. */
static void put_head (struct put *put, uint8_t format, uint64_t number, uint32_t bytes)
{
    if (put->n + HEAD_MAX_BYTES > sizeof put->chunk)
        flush (put);
    uint8_t *at = put->chunk + put->n;
    *at++ = format;
    for (uint32_t i = bytes; i-- > 0;)
        *at++ = (uint8_t) (number >> (8 * i));
    put->n += 1 + bytes;
}

static void put_raw (struct put *put, struct text bytes)
{
    if (put->n + bytes.len > sizeof put->chunk)
        flush (put);
    if (bytes.len > sizeof put->chunk) {
        buf_text (put->out, bytes);
    } else if (bytes.len > 0) {
        memcpy (put->chunk + put->n, bytes.ptr, bytes.len);
        put->n += bytes.len;
    }
}

void put_u64 (struct put *put, uint64_t number)
{
    if (number < 0x80)
        put_head (put, (uint8_t) number, 0, 0);
    else if (number <= UINT8_MAX)
        put_head (put, 0xcc, number, 1);
    else if (number <= UINT16_MAX)
        put_head (put, 0xcd, number, 2);
    else if (number <= UINT32_MAX)
        put_head (put, 0xce, number, 4);
    else
        put_head (put, 0xcf, number, 8);
}

static void put_i64 (struct put *put, int64_t number)
{
    if (number >= 0)
        put_u64 (put, (uint64_t) number);
    else if (number >= -32)
        put_head (put, (uint8_t) number, 0, 0);
    else if (number >= INT8_MIN)
        put_head (put, 0xd0, (uint64_t) number, 1);
    else if (number >= INT16_MIN)
        put_head (put, 0xd1, (uint64_t) number, 2);
    else if (number >= INT32_MIN)
        put_head (put, 0xd2, (uint64_t) number, 4);
    else
        put_head (put, 0xd3, (uint64_t) number, 8);
}

static void put_f64 (struct put *put, double number)
{
    uint64_t bits;
    memcpy (&bits, &number, sizeof bits);
    if (number == 0.0)
        bits = 0;
    else if (isnan (number))
        bits = WIRE_NAN_BITS;
    put_head (put, 0xcb, bits, sizeof bits);
}

static void put_text (struct put *put, struct text text)
{
    if (text.len < 32)
        put_head (put, (uint8_t) (0xa0 | text.len), 0, 0);
    else if (text.len <= UINT8_MAX)
        put_head (put, 0xd9, text.len, 1);
    else if (text.len <= UINT16_MAX)
        put_head (put, 0xda, text.len, 2);
    else
        put_head (put, 0xdb, text.len, 4);
    put_raw (put, text);
}

void put_bytes (struct put *put, struct text bytes)
{
    if (bytes.len <= UINT8_MAX)
        put_head (put, 0xc4, bytes.len, 1);
    else if (bytes.len <= UINT16_MAX)
        put_head (put, 0xc5, bytes.len, 2);
    else
        put_head (put, 0xc6, bytes.len, 4);
    put_raw (put, bytes);
}

static void put_count (struct put *put, uint32_t count, uint8_t small, uint8_t format16, uint8_t format32)
{
    if (count < 16)
        put_head (put, (uint8_t) (small | count), 0, 0);
    else if (count <= UINT16_MAX)
        put_head (put, format16, count, 2);
    else
        put_head (put, format32, count, 4);
}

void put_list (struct put *put, uint32_t items)
{
    put_count (put, items, 0x90, 0xdc, 0xdd);
}

static void put_map (struct put *put, uint32_t pairs)
{
    put_count (put, pairs, 0x80, 0xde, 0xdf);
}

static void put_value (struct put *put, const struct field *field, const void *at);

static void put_items (struct put *put, const struct field *field, const struct any_list *list)
{
    struct field item = field_item (field);
    size_t item_bytes = field_item_bytes (field);

    put_list (put, list->n);
    for (uint32_t i = 0; i < list->n; i++)
        put_value (put, &item, (const char *) list->items + i * item_bytes);
}

static void put_value (struct put *put, const struct field *field, const void *at)
{
    switch (field->kind) {
    case FIELD_BOOL: put_head (put, *(const bool *) at ? 0xc3 : 0xc2, 0, 0); break;
    case FIELD_U32:
    case FIELD_ENUM: put_u64 (put, *(const uint32_t *) at); break;
    case FIELD_U64: put_u64 (put, *(const uint64_t *) at); break;
    case FIELD_I64: put_i64 (put, *(const int64_t *) at); break;
    case FIELD_F64: put_f64 (put, *(const double *) at); break;
    case FIELD_TEXT: put_text (put, *(const struct text *) at); break;
    case FIELD_BYTES: put_bytes (put, *(const struct text *) at); break;
    case FIELD_RECORD: put_record (put, field->of, at); break;
    case FIELD_LIST: put_items (put, field, at); break;
    }
}

void put_record (struct put *put, const struct record *record, const void *value)
{
    uint32_t written = 0;
    uint64_t present = 0;

    assert (record->fields_n <= 64);
    for (uint32_t i = 0; i < record->fields_n; i++) {
        const struct field *field = &record->fields[i];
        if (!field_is_empty (field, (const char *) value + field->offset)) {
            present |= 1ull << i;
            written++;
        }
    }
    put_map (put, written);
    for (uint32_t i = 0; i < record->fields_n; i++) {
        const struct field *field = &record->fields[i];
        if (!(present >> i & 1))
            continue;
        put_u64 (put, field->key);
        put_value (put, field, (const char *) value + field->offset);
    }
}
