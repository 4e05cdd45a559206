/* reader.c - format bytes as in https://github.com/msgpack/msgpack/blob/master/spec.md */
#include "common/wire/reader.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define NEGATIVE_ZERO_BITS 0x8000000000000000ull

static const char *const kind_words[] = { "nothing",     "integer", "negative integer",
                                          "truth value", "float",   "text",
                                          "bytes",       "list",    "map" };

const char *value_kind_name (enum value_kind kind)
{
    return kind_words[kind];
}

struct reader reader_begin (struct text bytes, uint32_t items_max)
{
    const uint8_t *start = (const uint8_t *) bytes.ptr;
    return (struct reader){
        .start = start, .at = start, .end = start ? start + bytes.len : start, .items_left = items_max
    };
}

uint32_t reader_offset (const struct reader *reader)
{
    return (uint32_t) (reader->at - reader->start);
}

bool value_text_is_utf8_no_nul (struct text text)
{
    const char *at = text.ptr, *end = at + text.len;

    for (; end - at >= 8; at += 8) {
        uint64_t word;
        memcpy (&word, at, sizeof word);
        /* No byte above 7f and none 00: subtracting 1 from each then borrows nowhere. */
        if ((word | (word - 0x0101010101010101ull)) & 0x8080808080808080ull)
            break;
    }
    for (; at < end && (signed char) *at > 0; at++)
        ;
    return at == end || (!memchr (at, 0, (size_t) (end - at)) &&
                         text_is_utf8 ((struct text){ .ptr = at, .len = (uint32_t) (end - at) }));
}

static int short_of (const struct reader *reader, uint64_t wanted, struct err *err)
{
    return err_set (err, ERR_PARSE, "byte %" PRIu32 ": %" PRIu64 " bytes or items are announced, but %td bytes remain",
                    reader_offset (reader), wanted, reader->end - reader->at);
}

static int longer_than_needed (const struct reader *reader, struct err *err)
{
    return err_set (err, ERR_PARSE, "byte %" PRIu32 ": the value is not in its shortest form", reader_offset (reader));
}

/* A big-endian number of `bytes`; the caller has checked the remaining length. */
static uint64_t big_endian (const uint8_t *at, uint32_t bytes)
{
    uint64_t number = 0;
    for (uint32_t i = 0; i < bytes; i++)
        number = number << 8 | at[i];
    return number;
}

static int reader_take_number (struct reader *reader, uint32_t bytes, uint64_t *number, struct err *err)
{
    if (reader->end - reader->at < (ptrdiff_t) bytes)
        return short_of (reader, bytes, err);
    *number = big_endian (reader->at, bytes);
    reader->at += bytes;
    return 0;
}

static int take_uint (struct reader *reader, uint32_t bytes, struct wire_value *value, struct err *err)
{
    value->kind = VALUE_UINT;
    if (reader_take_number (reader, bytes, &value->number, err) < 0)
        return -1;
    uint64_t least = bytes == 1 ? 0x80 : 1ull << (bytes * 4);
    return value->number < least ? longer_than_needed (reader, err) : 0;
}

static int take_negative (struct reader *reader, uint32_t bytes, struct wire_value *value, struct err *err)
{
    uint64_t raw;
    if (reader_take_number (reader, bytes, &raw, err) < 0)
        return -1;
    uint32_t shift = 64 - 8 * bytes;
    int64_t number = (int64_t) (raw << shift) >> shift;
    int64_t shorter_reaches = bytes == 1 ? -32 : -(1ll << (bytes * 4 - 1));
    if (number >= shorter_reaches)
        return longer_than_needed (reader, err);
    *value = (struct wire_value){ .kind = VALUE_NEGATIVE, .number = (uint64_t) number };
    return 0;
}

static int take_float (struct reader *reader, struct wire_value *value, struct err *err)
{
    uint64_t bits = 0;
    if (reader_take_number (reader, sizeof bits, &bits, err) < 0)
        return -1;
    value->kind = VALUE_FLOAT;
    memcpy (&value->real, &bits, sizeof bits);
    if ((isnan (value->real) && bits != WIRE_NAN_BITS) || bits == NEGATIVE_ZERO_BITS)
        return err_set (err, ERR_PARSE, "byte %" PRIu32 ": NaN or zero is not in its canonical form",
                        reader_offset (reader));
    return 0;
}

static int reader_take_text (struct reader *reader, enum value_kind as, uint64_t len, struct wire_value *out,
                             struct err *err)
{
    if (len > (uint64_t) (reader->end - reader->at))
        return short_of (reader, len, err);
    out->kind = as;
    out->text = (struct text){ .ptr = (const char *) reader->at, .len = (uint32_t) len };
    if (as == VALUE_TEXT && !value_text_is_utf8_no_nul (out->text))
        return err_set (err, ERR_PARSE, "byte %" PRIu32 ": a text of %" PRIu64 " bytes has a NUL or is not UTF-8",
                        reader_offset (reader), len);
    reader->at += len;
    return 0;
}

static int take_count (struct reader *reader, enum value_kind kind, uint64_t n, struct wire_value *out, struct err *err)
{
    uint64_t items = kind == VALUE_MAP ? 2 * n : n;
    if (items > (uint64_t) (reader->end - reader->at))
        return short_of (reader, items, err);
    if (items > reader->items_left)
        return err_set (err, ERR_LIMIT,
                        "byte %" PRIu32 ": %" PRIu64 " more items are announced, expected at most %" PRIu32,
                        reader_offset (reader), items, reader->items_left);
    out->kind = kind;
    out->number = n;
    return 0;
}

/* A length or a count in `bytes`. `least`: the first that the next shorter form cannot hold. */
static int take_long (struct reader *reader, enum value_kind kind, uint32_t bytes, uint64_t least,
                      struct wire_value *value, struct err *err)
{
    uint64_t n;
    if (reader_take_number (reader, bytes, &n, err) < 0)
        return -1;
    if (n < least)
        return longer_than_needed (reader, err);
    return kind == VALUE_TEXT || kind == VALUE_BYTES ? reader_take_text (reader, kind, n, value, err)
                                                     : take_count (reader, kind, n, value, err);
}

static int refuse_format (const struct reader *reader, uint8_t format, struct err *err)
{
    return err_set (err, ERR_PARSE, "byte %" PRIu32 ": format %02x (nil, ext, float32 or unused) is not allowed",
                    reader_offset (reader) - 1, format);
}

static int take_long_form (struct reader *reader, uint8_t format, struct wire_value *value, struct err *err)
{
    switch (format) {
    case 0xc2:
    case 0xc3: *value = (struct wire_value){ .kind = VALUE_BOOL, .number = format & 1 }; return 0;
    case 0xc4: return take_long (reader, VALUE_BYTES, 1, 0, value, err);
    case 0xc5: return take_long (reader, VALUE_BYTES, 2, 0x100, value, err);
    case 0xc6: return take_long (reader, VALUE_BYTES, 4, 0x10000, value, err);
    case 0xcb: return take_float (reader, value, err);
    case 0xcc:
    case 0xcd:
    case 0xce:
    case 0xcf: return take_uint (reader, 1u << (format & 3), value, err);
    case 0xd0:
    case 0xd1:
    case 0xd2:
    case 0xd3: return take_negative (reader, 1u << (format & 3), value, err);
    case 0xd9: return take_long (reader, VALUE_TEXT, 1, 32, value, err);
    case 0xda: return take_long (reader, VALUE_TEXT, 2, 0x100, value, err);
    case 0xdb: return take_long (reader, VALUE_TEXT, 4, 0x10000, value, err);
    case 0xdc: return take_long (reader, VALUE_LIST, 2, 16, value, err);
    case 0xdd: return take_long (reader, VALUE_LIST, 4, 0x10000, value, err);
    case 0xde: return take_long (reader, VALUE_MAP, 2, 16, value, err);
    case 0xdf: return take_long (reader, VALUE_MAP, 4, 0x10000, value, err);
    default: return refuse_format (reader, format, err);
    }
}

int reader_next (struct reader *reader, struct wire_value *value, struct err *err)
{
    if (reader->at == reader->end)
        return short_of (reader, 1, err);
    if (reader->items_left == 0)
        return err_set (err, ERR_LIMIT, "byte %" PRIu32 ": there are more items than a message may have",
                        reader_offset (reader));
    reader->items_left--;
    uint8_t format = *reader->at++;
    if (format < 0x80) {
        value->kind = VALUE_UINT;
        value->number = format;
        return 0;
    }
    if (format < 0x90)
        return take_count (reader, VALUE_MAP, format & 0x0f, value, err);
    if (format < 0xa0)
        return take_count (reader, VALUE_LIST, format & 0x0f, value, err);
    if (format < 0xc0)
        return reader_take_text (reader, VALUE_TEXT, format & 0x1f, value, err);
    if (format < 0xe0)
        return take_long_form (reader, format, value, err);
    *value = (struct wire_value){ .kind = VALUE_NEGATIVE, .number = (uint64_t) (int64_t) (int8_t) format };
    return 0;
}

int reader_next_key (struct reader *reader, int64_t *last, struct err *err)
{
    struct wire_value key;
    if (reader_next (reader, &key, err) < 0)
        return -1;
    if (key.kind != VALUE_UINT || key.number > UINT32_MAX || (int64_t) key.number <= *last)
        return err_set (err, ERR_PARSE, "byte %" PRIu32 ": the keys of a map are not ascending integers",
                        reader_offset (reader));
    *last = (int64_t) key.number;
    return 0;
}

int reader_skip (struct reader *reader, uint32_t depth, struct err *err)
{
    struct wire_value value;
    if (reader_next (reader, &value, err) < 0)
        return -1;
    if (value.kind != VALUE_LIST && value.kind != VALUE_MAP)
        return 0;
    if (depth == 0)
        return err_set (err, ERR_LIMIT, "byte %" PRIu32 ": lists and maps are nested too deeply",
                        reader_offset (reader));
    int64_t key = -1;
    for (uint64_t i = 0; i < value.number; i++) {
        if (value.kind == VALUE_MAP && reader_next_key (reader, &key, err) < 0)
            return -1;
        if (reader_skip (reader, depth - 1, err) < 0)
            return -1;
    }
    return 0;
}
