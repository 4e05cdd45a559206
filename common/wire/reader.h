/* reader.h - reads values one by one from hostile bytes: MessagePack as this project writes it.
 *
 * Knows nothing of records. Every value read costs one item; a length is trusted only if enough bytes remain; integers,
 * lengths and counts in a longer form than needed are refused, so that equal values have equal bytes. nil, ext, float32
 * and the unused byte c1 are refused. Nothing is allocated here. Errors name the offset and sizes, never the bytes. */
#ifndef SLICEUP_COMMON_WIRE_READER_H
#define SLICEUP_COMMON_WIRE_READER_H

#include "common/base/err.h"
#include "common/base/text.h"
#include <stdbool.h>
#include <stdint.h>

/* The one bit pattern of every NaN: quiet, positive, no payload. */
#define WIRE_NAN_BITS 0x7ff8000000000000ull

struct reader {
    const uint8_t *start, *at, *end;
    uint32_t items_left;
};

enum value_kind {
    VALUE_UINT = 1,
    VALUE_NEGATIVE,
    VALUE_BOOL,
    VALUE_FLOAT,
    VALUE_TEXT,
    VALUE_BYTES,
    VALUE_LIST,
    VALUE_MAP
};
struct wire_value {
    enum value_kind kind;
    uint64_t number; /* UINT; NEGATIVE: two's complement; BOOL; LIST, MAP: how many items or pairs follow */
    double real;
    struct text text; /* TEXT, BYTES: aliases the input */
};

struct reader reader_begin (struct text bytes, uint32_t items_max);
uint32_t reader_offset (const struct reader *reader);
/* The head of a list or map, or a whole scalar, text or byte string. */
int reader_next (struct reader *reader, struct wire_value *value, struct err *err);
/* A key of a map; `*last`: the one before, -1 at first. */
int reader_next_key (struct reader *reader, int64_t *last, struct err *err);
/* Skips one value and everything in it, to `depth` more levels, under the same rules as for known values. */
int reader_skip (struct reader *reader, uint32_t depth, struct err *err);
const char *value_kind_name (enum value_kind kind);
/* UTF-8 without NUL. */
bool value_text_is_utf8_no_nul (struct text text);

#endif
