/* receipt_fixture.h - receipts compared and read back, for the tests of receipts. */
#ifndef SLICEUP_TESTS_RECEIPT_FIXTURE_H
#define SLICEUP_TESTS_RECEIPT_FIXTURE_H

#include <jansson.h>

#include "coordinator/view/receipt_text.h"
#include "coordinator/view/record_json.h"
#include "test.h"

static inline bool same (const struct slice_receipt *a, const struct slice_receipt *b)
{
    struct buf x, y;
    buf_init (&x, 64 << 20);
    buf_init (&y, 64 << 20);
    receipt_json (a, &(const struct drift_query){ 0 }, &x);
    receipt_json (b, &(const struct drift_query){ 0 }, &y);
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

/* Hosts are written one after the other: the bytes are those of all of it written as one tree, which is returned. */
static inline json_t *parse_as_one_tree (struct buf *json)
{
    json_error_t error;
    json_t *tree = json_loadb ((const char *) json->ptr, json->len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (!tree)
        fail_msg ("line %d: %s", error.line, error.text);
    struct buf whole;
    buf_init (&whole, 64 << 20);
    json_print_release (json_incref (tree),
                        JSON_INDENT (1) | JSON_SORT_KEYS | JSON_REAL_PRECISION (17) | JSON_ENSURE_ASCII, &whole);
    assert_int_equal (whole.len, json->len);
    assert_memory_equal (whole.ptr, json->ptr, json->len);
    buf_release (&whole);
    return tree;
}

#endif
