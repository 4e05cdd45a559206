/* receipt_fixture.h - receipts compared and read back, for the tests of receipts. */
#ifndef SLICEUP_TESTS_RECEIPT_FIXTURE_H
#define SLICEUP_TESTS_RECEIPT_FIXTURE_H

#include "coordinator/view/receipt_json.h"

static inline bool same (const struct slice_receipt *a, const struct slice_receipt *b)
{
    struct buf x, y;
    buf_init (&x, 64 << 20);
    buf_init (&y, 64 << 20);
    receipt_json (a, NULL, 0, &x);
    receipt_json (b, NULL, 0, &y);
    bool equal = record_equal (&slice_receipt_record, a, b) && x.len == y.len && memcmp (x.ptr, y.ptr, x.len) == 0;
    buf_release (&x);
    buf_release (&y);
    return equal;
}

static inline void read_back (struct buf *json, struct slice_receipt *out, struct arena *arena)
{
    struct err err = { 0 };
    if (receipt_from_json (buf_as_text (json), out, arena, &err) < 0)
        fail_msg ("%s", err.text);
}

#endif
