/* put.h - writing values in their shortest form. For this room; others use wire.h.
 * Small pieces gather in `chunk`: a call into the buffer for each byte would cost more than the bytes. */
#ifndef SLICEUP_COMMON_WIRE_PUT_H
#define SLICEUP_COMMON_WIRE_PUT_H

#include "common/base/buf.h"
#include "common/model/record.h"

struct put {
    struct buf *out;
    size_t began; /* out->len before: what overflows leaves nothing behind */
    uint32_t n;
    uint8_t chunk[512];
};

void put_begin (struct put *put, struct buf *out);
void put_end (struct put *put);
void put_list (struct put *put, uint32_t items);
void put_u64 (struct put *put, uint64_t number);
void put_bytes (struct put *put, struct text bytes);
void put_record (struct put *put, const struct record *record, const void *value);

#endif
