/* record.c - a record by itself: result files, seals of what was said. */
#include <assert.h>

#include "common/base/digest.h"
#include "common/wire/get.h"
#include "common/wire/put.h"
#include "common/wire/wire.h"

/* No value within its table comes near: the largest, a plan of 4,096 hosts with every text at its bound, has 50 MiB. */
enum { DIGESTED_MAX_BYTES = 1 << 30 };

void wire_put_record (struct buf *out, const struct record *record, const void *value)
{
    size_t began = out->len;
    msgpack_packer packer = put_into (out);
    put_end (out, began, put_record (&packer, record, value));
}

int wire_get_record (struct text bytes, const struct record *record, void *out, struct arena *arena, struct err *err)
{
    struct reader reader = reader_over (bytes, WIRE_RECORD_ITEMS_MAX);
    if (get_record (&reader, record, out, WIRE_DEPTH_MAX, arena, err) < 0)
        return -1;
    return get_end (&reader, err);
}

void wire_digest (const struct record *record, const void *value, struct digest *out)
{
    struct buf bytes;
    buf_init (&bytes, DIGESTED_MAX_BYTES);
    wire_put_record (&bytes, record, value);
    assert (!bytes.overflow);
    *out = digest_of (bytes.ptr, bytes.len);
    buf_release (&bytes);
}
