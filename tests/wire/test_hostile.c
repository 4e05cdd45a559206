/* links: wire */
/* Bytes from a peer that means harm, row by row, against a record that has a field of every kind. */
#include "common/wire/wire.h"
#include "test.h"
#include "tests/wire/generate.h"

struct inner {
    uint32_t a;
    struct text b;
};
static const struct field inner_fields[] = { F_U32 (1, struct inner, a, 9), F_TEXT (2, struct inner, b, 3) };
static const struct record inner_record = RECORD ("inner", struct inner, inner_fields);

struct all {
    bool flag;
    uint32_t small;
    uint64_t large, any;
    double real;
    enum pass pass;
    struct text words, raw;
    struct inner in;
    LIST_OF (struct inner) list;
    LIST_OF (struct text) texts;
    LIST_OF (uint32_t) numbers;
    LIST_OF (double) reals;
};
static const struct field all_fields[] = {
    F_BOOL (1, struct all, flag),
    F_U32 (2, struct all, small, 1000),
    F_U64 (3, struct all, large, 1ull << 40),
    F_F64 (5, struct all, real),
    F_ENUM (6, struct all, pass, &pass_names),
    F_TEXT (7, struct all, words, 40),
    F_BYTES (8, struct all, raw, 4),
    F_RECORD (9, struct all, in, &inner_record),
    F_LIST (10, struct all, list, 3, &inner_record),
    F_TEXTS (11, struct all, texts, 2, 4),
    F_U32S (12, struct all, numbers, 100, 9),
    F_F64S (13, struct all, reals, 2),
    F_U64 (20, struct all, any, UINT64_MAX),
};
static const struct record all_record = RECORD ("all", struct all, all_fields);

struct row {
    const char *name, *hex;
    const char *says; /* in the error; NULL: accepted */
};

#define A32 "6161616161616161616161616161616161616161616161616161616161616161"

static const struct row rows[] = {
    /* what is in order */
    { "empty", "80", NULL },
    { "truth", "8101c3", NULL },
    { "numbers at their bounds", "8402cd03e8 03cf0000010000000000 04d1fc18 14cfffffffffffffffff", NULL },
    { "list of records, one zero", "810a92808101 09", NULL },
    { "zero, infinity and NaN in a list", "810d92cb0000000000000000cb7ff8000000000000", NULL },
    { "text of 32 bytes", "8107d920" A32, NULL },
    { "text with letters of 2, 3 and 4 bytes", "8107a9c3a9e6bca2f09f9a80", NULL },
    { "unknown keys of every type", "871501 16ff 17c2 18cb3ff0000000000000 19a161 1ac40100 1b9281010292c3cc80", NULL },
    { "unknown keys between known ones", "8301c30e011407", NULL },
    { "unknown key, then a known one", "820e93a161c401ff82010203901407", NULL },
    { "a record with only unknown fields", "810981 0501", NULL },

    /* containers */
    { "nothing", "", "1 bytes or items are announced, but 0 bytes remain" },
    { "array32 of 268 million in 5 bytes", "dd10000000", "bytes remain" },
    { "map32 of 4 billion", "dfffffffff", "bytes remain" },
    { "map of 15 in 2 bytes", "8f01", "bytes remain" },
    { "map of 2 with 3 bytes", "820102 03", "bytes remain" },
    { "list longer than its bound", "810a9480808080", "items is 4, expected at most 3" },
    { "list of texts longer than its bound", "810b93a161a162a163", "items is 3, expected at most 2" },
    { "list32 in an unknown key", "810edd7fffffff", "bytes remain" },
    { "array instead of map", "90", "list, expected map" },
    { "number instead of map", "05", "integer, expected map" },
    { "map instead of list", "810a8101c3", "map, expected list" },
    { "list instead of record", "810990", "list, expected map" },
    { "list instead of text", "810790", "list, expected text" },
    { "trailing byte", "8000", "1 extra bytes after the value" },
    { "two values", "8080", "1 extra bytes after the value" },

    /* keys */
    { "key twice", "8202010202", "keys of a map are not ascending integers" },
    { "keys that fall", "8203010201", "keys of a map are not ascending integers" },
    { "unknown key twice", "820e010e01", "keys of a map are not ascending integers" },
    { "key twice in an unknown map", "810e8201010101", "keys of a map are not ascending integers" },
    { "text as key", "81a16101", "keys of a map are not ascending integers" },
    { "negative key", "81ff01", "keys of a map are not ascending integers" },
    { "key beyond 32 bits", "81cf000000010000000001", "keys of a map are not ascending integers" },
    { "list as key", "819001", "keys of a map are not ascending integers" },

    /* types that do not exist here */
    { "c1", "8101c1", "format c1" },
    { "nil", "8101c0", "format c0" },
    { "nil in an unknown key", "810ec0", "format c0" },
    { "fixext1", "8108d40100", "format d4" },
    { "ext8 of length 0", "8108c70001", "format c7" },
    { "ext32 of 4 GB", "8108c9ffffffff01", "format c9" },
    { "ext in an unknown key", "810ed40100", "format d4" },
    { "float32", "8105ca3f800000", "format ca" },

    /* texts and bytes */
    { "str32 of 4 GB", "8107dbffffffff", "bytes remain" },
    { "bin32 of 4 GB", "8108c6ffffffff", "bytes remain" },
    { "str32 of 4 GB in an unknown key", "810edbffffffff", "bytes remain" },
    { "text longer than its bound", "8107d929" A32 "616161616161616161", "bytes is 41, expected at most 40" },
    { "text for list", "810ba161", "text, expected list" },
    { "item longer than its bound", "810b91a56162636465", "bytes is 5, expected at most 4" },
    { "bytes longer than their bound", "8108c4050102030405", "bytes is 5, expected at most 4" },
    { "bytes for text", "8107c40161", "bytes, expected text" },
    { "text for bytes", "8108a161", "text, expected bytes" },
    { "NUL in text", "8107a3610062", "has a NUL or is not UTF-8" },
    { "NUL in long text", "8107af616161616161616161616100616161", "has a NUL or is not UTF-8" },
    { "invalid UTF-8", "8107a1ff", "has a NUL or is not UTF-8" },
    { "invalid UTF-8 at the end of long text", "8107af6161616161616161616161616161ff", "has a NUL or is not UTF-8" },
    { "overlong UTF-8", "8107a2c0af", "has a NUL or is not UTF-8" },
    { "surrogate", "8107a3eda080", "has a NUL or is not UTF-8" },
    { "cut letter", "8107a2e6bc", "has a NUL or is not UTF-8" },
    { "invalid UTF-8 in an unknown key", "810ea1ff", "has a NUL or is not UTF-8" },

    /* numbers */
    { "number above its bound", "8102cd03e9", "number is 1001, expected at most 1000" },
    { "64 bits into 32", "8102cf0000000100000001", "number is 4294967297, expected at most 1000" },
    { "number above its 64 bit bound", "8103cf0000010000000001", "at most 1099511627776" },
    { "negative for unsigned", "8102ff", "negative integer, expected integer from 0" },
    { "float for integer", "8102cb3ff0000000000000", "float, expected integer" },
    { "integer for float", "810501", "integer, expected float" },
    { "truth for integer", "8102c3", "truth value, expected integer" },
    { "integer for truth", "810101", "integer, expected truth value" },
    { "choice beyond the names", "810604", "number is 4, expected at most 3" },
    { "negative choice", "8106ff", "negative integer" },
    { "number in a list above its bound", "810c92090a", "numbers[1]: byte 5: the number is 10, expected at most 9" },
    { "minus zero", "8105cb8000000000000000", "not in its canonical form" },
    { "minus zero in a list", "810d91cb8000000000000000", "not in its canonical form" },
    { "NaN with payload", "8105cb7ff8000000000001", "not in its canonical form" },
    { "negative NaN", "8105cbfff8000000000000", "not in its canonical form" },
    { "signalling NaN", "8105cb7ff0000000000001", "not in its canonical form" },

    /* one form for each value */
    { "uint8 for 5", "8102cc05", "not in its shortest form" },
    { "uint16 for 255", "8102cd00ff", "not in its shortest form" },
    { "uint32 for 65535", "8114ce0000ffff", "not in its shortest form" },
    { "uint64 for 2^32 - 1", "8114cf00000000ffffffff", "not in its shortest form" },
    { "int8 for 5", "8104d005", "not in its shortest form" },
    { "int8 for -32", "8104d0e0", "not in its shortest form" },
    { "int16 for -128", "8104d1ff80", "not in its shortest form" },
    { "int16 for 500", "8104d101f4", "not in its shortest form" },
    { "int32 for -32768", "8104d2ffff8000", "not in its shortest form" },
    { "int64 for -1", "8104d3ffffffffffffffff", "not in its shortest form" },
    { "str8 for 3 letters", "8107d903616263", "not in its shortest form" },
    { "str16 for 3 letters", "8107da0003616263", "not in its shortest form" },
    { "str32 for 3 letters", "8107db00000003616263", "not in its shortest form" },
    { "bin16 for 1 byte", "8108c5000161", "not in its shortest form" },
    { "bin32 for 1 byte", "8108c60000000161", "not in its shortest form" },
    { "array16 for 1", "810cdc000101", "not in its shortest form" },
    { "array32 for 1", "810cdd0000000101", "not in its shortest form" },
    { "map16 for 1", "de00010101", "not in its shortest form" },
    { "map32 for 1", "df000000010101", "not in its shortest form" },
    { "longer key", "81cc01c3", "not in its shortest form" },
    { "longer form in an unknown key", "810ecc01", "not in its shortest form" },
    { "false written", "8101c2", "found a zero or empty value" },
    { "zero written", "810200", "found a zero or empty value" },
    { "zero choice written", "810600", "found a zero or empty value" },
    { "zero float written", "8105cb0000000000000000", "found a zero or empty value" },
    { "empty text written", "8107a0", "found a zero or empty value" },
    { "empty bytes written", "8108c400", "found a zero or empty value" },
    { "empty list written", "810a90", "found a zero or empty value" },
    { "empty record written", "810980", "found a zero or empty value" },
    { "zero inside a record", "810a91810100", "found a zero or empty value" },
};

static size_t from_hex (const char *hex, uint8_t *out)
{
    size_t n = 0;
    for (uint32_t digits = 0; *hex; hex++) {
        if (*hex == ' ')
            continue;
        uint32_t value = *hex <= '9' ? (uint32_t) (*hex - '0') : (uint32_t) (*hex - 'a' + 10);
        out[n] = (uint8_t) (digits % 2 ? out[n] << 4 | value : value);
        n += digits++ % 2;
    }
    return n;
}

/* From memory of exactly that size. */
static int get_all (const uint8_t *bytes, size_t len, struct all *all, struct arena *arena, struct err *err)
{
    char *copy = malloc (len ? len : 1);
    memcpy (copy, bytes, len);
    int rc = wire_get_record ((struct text){ copy, (uint32_t) len }, &all_record, all, arena, err);
    free (copy);
    return rc;
}

static int get_aliasing (const uint8_t *bytes, size_t len, struct all *all, struct arena *arena)
{
    struct text text = { (const char *) bytes, (uint32_t) len };
    return wire_get_record (text, &all_record, all, arena, NULL);
}

TEST (each_row_is_answered_as_it_says)
{
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint8_t bytes[256];
        struct arena arena = { 0 };
        struct all all;
        struct err err = { 0 };
        size_t len = from_hex (rows[i].hex, bytes);
        int rc = get_all (bytes, len, &all, &arena, &err);
        if ((rc == 0) != (rows[i].says == NULL) || (rows[i].says && !strstr (err.text, rows[i].says)))
            fail_msg ("row \"%s\": answered %d \"%s\"", rows[i].name, rc, err.text);
        assert_true (rc == 0 || err.code == ERR_PARSE || err.code == ERR_LIMIT);
        arena_release (&arena);
    }
}

TEST (accepted_values_are_what_the_bytes_say)
{
    uint8_t bytes[256];
    struct all all;
    size_t len = from_hex ("8502cd03e8 03cf0000010000000000 04d1fc18 0a9280810109 14cfffffffffffffffff", bytes);
    assert_int_equal (get_aliasing (bytes, len, &all, &t->arena), 0);
    assert_int_equal (all.small, 1000);
    assert_true (all.large == 1ull << 40 && all.any == UINT64_MAX);
    assert_true (all.list.n == 2 && all.list.items[0].a == 0 && all.list.items[1].a == 9);
    assert_true (all.words.ptr == NULL && all.words.len == 0 && all.texts.items == NULL);
    len = from_hex ("820e93a161c401ff82010203901407", bytes);
    assert_int_equal (get_aliasing (bytes, len, &all, &t->arena), 0);
    assert_true (all.any == 7);
}

/* `n` heads that each open one more level below unknown key 14 of the record. */
static int get_nested (const char *head, uint32_t n, struct err *err)
{
    uint8_t bytes[256], one[8];
    size_t one_bytes = from_hex (head, one), len = from_hex ("810e", bytes);
    struct arena arena = { 0 };
    struct all all;
    for (uint32_t i = 0; i < n; i++, len += one_bytes)
        memcpy (bytes + len, one, one_bytes);
    bytes[len++] = 1;
    int rc = get_all (bytes, len, &all, &arena, err);
    arena_release (&arena);
    return rc;
}

TEST (nesting_ends_at_the_depth_allowed)
{
    static const char *const heads[] = { "91", "8101" };
    for (uint32_t i = 0; i < 2; i++) {
        struct err err = { 0 };
        assert_int_equal (get_nested (heads[i], WIRE_DEPTH_MAX - 1, &err), 0);
        assert_int_equal (get_nested (heads[i], WIRE_DEPTH_MAX, &err), -1);
        assert_int_equal (err.code, ERR_LIMIT);
        assert_has (err.text, "nested too deeply");
        assert_int_equal (get_nested (heads[i], 100, &err), -1);
    }
}

TEST (nested_arrays_of_64_million_cost_nothing)
{
    uint8_t bytes[2 + 155];
    struct all all;
    from_hex ("810a", bytes); /* the list of records, which is allocated */
    for (uint32_t i = 2; i < sizeof bytes; i += 5)
        from_hex ("dd04000000", bytes + i);
    assert_int_equal (get_all (bytes, sizeof bytes, &all, &t->arena, &t->err), -1);
    assert_int_equal (t->arena.used_bytes, 0);
}

/* A list of `items` empty maps or zeros under unknown key 14; heads of the right form. */
static int get_crowd (uint32_t items, uint8_t item, struct arena *arena, struct err *err)
{
    struct all all;
    struct buf bytes;
    buf_init (&bytes, 16 << 20);
    buf_add (&bytes, "\x81\x0e\xdd", 3);
    for (int shift = 24; shift >= 0; shift -= 8)
        buf_byte (&bytes, (uint8_t) (items >> shift));
    for (uint32_t i = 0; i < items; i++)
        buf_byte (&bytes, item);
    int rc = get_all (bytes.ptr, bytes.len, &all, arena, err);
    buf_release (&bytes);
    return rc;
}

TEST (a_crowd_of_items_is_refused_before_it_costs)
{
    assert_int_equal (get_crowd (WIRE_RECORD_ITEMS_MAX - 3, 0x80, &t->arena, &t->err), 0);
    assert_int_equal (get_crowd (WIRE_RECORD_ITEMS_MAX - 2, 0x80, &t->arena, &t->err), -1);
    assert_int_equal (t->err.code, ERR_LIMIT);
    assert_int_equal (get_crowd (1 << 23, 0x80, &t->arena, &t->err), -1);
    assert_has (t->err.text, "8388608 more items are announced, expected at most 4194301");
    assert_int_equal (t->arena.used_bytes, 0);
}

#define RUN_ID "c410000102030405060708090a0b0c0d0e0f"

static const struct row envelopes[] = {
    { "in order", "99010022" RUN_ID "0102030480", NULL },
    { "a later minor version", "99010722" RUN_ID "0102030481cd03e801", NULL },
    { "hello of another major version", "99020001" RUN_ID "0000010081 01a161", NULL },
    { "refuse of another major version", "99630021" RUN_ID "0000010080", NULL },
    { "nothing", "", "envelope" },
    { "8 items", "98010022" RUN_ID "01020304", "expected a list of 9 items" },
    { "10 items", "9a010022" RUN_ID "010203048000", "expected a list of 9 items" },
    { "a map", "81010022", "expected a list of 9 items" },
    { "another major version", "99020022" RUN_ID "0102030480", "protocol version 2.0, expected 1.0" },
    { "major version 0", "99000022" RUN_ID "0102030480", "protocol version 0.0" },
    { "kind 0", "99010000" RUN_ID "0102030480", "unknown kind 0" },
    { "kind 7", "99010007" RUN_ID "0102030480", "unknown kind 7" },
    { "kind 2^32 + 1", "990100cf0000000100000001" RUN_ID "0102030480", "kind: byte" },
    { "negative kind", "990100ff" RUN_ID "0102030480", "kind: byte" },
    { "run id as text",
      "99010022b030303030303030303030303030303030"
      "0102030480",
      "expected 16 bytes" },
    { "run id of 15 bytes",
      "99010022c40f000102030405060708090a0b0c0d0e"
      "0102030480",
      "expected 16 bytes" },
    { "run id of 17 bytes",
      "99010022c411000102030405060708090a0b0c0d0e0f10"
      "0102030480",
      "expected 16 bytes" },
    { "negative epoch", "99010022" RUN_ID "ff02030480", "epoch" },
    { "session as text", "99010022" RUN_ID "01a161030480", "session" },
    { "seq as float", "99010022" RUN_ID "0102cb3ff00000000000000480", "seq" },
    { "ack in a longer form", "99010022" RUN_ID "010203cc0480", "ack" },
    { "body as list", "99010022" RUN_ID "0102030490", "list, expected map" },
    { "body as nil", "99010022" RUN_ID "01020304c0", "format c0" },
    { "trailing byte", "99010022" RUN_ID "010203048000", "1 extra bytes after the value" },
};

TEST (envelopes_are_answered_as_their_rows_say)
{
    for (uint32_t i = 0; i < sizeof envelopes / sizeof envelopes[0]; i++) {
        uint8_t bytes[256];
        struct arena arena = { 0 };
        struct msg msg;
        struct err err = { 0 };
        size_t len = from_hex (envelopes[i].hex, bytes);
        int rc = wire_get_msg ((struct text){ (char *) bytes, (uint32_t) len }, &msg, &arena, &err);
        const char *says = envelopes[i].says;
        if ((rc == 0) != (says == NULL) || (says && !strstr (err.text, says)))
            fail_msg ("row \"%s\": answered %d \"%s\"", envelopes[i].name, rc, err.text);
        arena_release (&arena);
    }
}

TEST (envelope_numbers_arrive_in_their_places)
{
    uint8_t bytes[256];
    struct msg msg;
    size_t len = from_hex ("99010722" RUN_ID "0102030480", bytes);
    assert_int_equal (wire_get_msg ((struct text){ (char *) bytes, (uint32_t) len }, &msg, &t->arena, NULL), 0);
    assert_true (msg.major == 1 && msg.minor == 7 && msg.kind == MSG_REHELLO && msg.run_id.len == RUN_ID_BYTES);
    assert_memory_equal (msg.run_id.ptr, bytes + 6, RUN_ID_BYTES);
    assert_true (msg.epoch == 1 && msg.session == 2 && msg.seq == 3 && msg.ack == 4);
}

TEST (a_message_longer_than_allowed_is_not_looked_at)
{
    char *bytes = calloc (1, MSG_MAX_BYTES + 1);
    struct msg msg;
    assert_int_equal (wire_get_msg ((struct text){ bytes, MSG_MAX_BYTES + 1 }, &msg, &t->arena, &t->err), -1);
    assert_int_equal (t->err.code, ERR_LIMIT);
    assert_has (t->err.text, "65537 bytes, expected at most 65536");
    free (bytes);
}

static const struct row facts[] = {
    { "in order", "950f010203810101", NULL },
    { "4 items", "940f010203", "expected a list of 5 items" },
    { "kind 0", "950001020380", "unknown kind 0" },
    { "kind 63", "953f01020380", "unknown kind 63" },
    { "negative index", "950fff020380", "index" },
    { "level above its bound", "950f010203810104", "cancel-asked: level: byte 8: the number is 4, expected at most 3" },
    { "trailing byte", "950f01020381010100", "1 extra bytes after the value" },
};

TEST (facts_are_answered_as_their_rows_say)
{
    for (uint32_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        uint8_t bytes[64];
        struct arena arena = { 0 };
        struct fact fact;
        struct err err = { 0 };
        size_t len = from_hex (facts[i].hex, bytes);
        int rc = wire_get_fact ((struct text){ (char *) bytes, (uint32_t) len }, &fact, &arena, &err);
        if ((rc == 0) != (facts[i].says == NULL) || (facts[i].says && !strstr (err.text, facts[i].says)))
            fail_msg ("row \"%s\": answered %d \"%s\"", facts[i].name, rc, err.text);
        arena_release (&arena);
    }
}

/* Items in a message: under unknown key 126 of a body, a list16 of zeros. */
static int get_busy_msg (uint32_t items, struct err *err)
{
    static uint8_t bytes[MSG_MAX_BYTES];
    struct msg msg;
    struct arena arena = { 0 };
    memset (bytes, 0, sizeof bytes);
    size_t len = from_hex ("99010022" RUN_ID "01020304817edc", bytes);
    bytes[len++] = (uint8_t) (items >> 8);
    bytes[len++] = (uint8_t) items;
    int rc = wire_get_msg ((struct text){ (char *) bytes, (uint32_t) (len + items) }, &msg, &arena, err);
    arena_release (&arena);
    return rc;
}

TEST (a_message_has_a_bound_on_items)
{
    enum { AROUND = 12 }; /* the envelope, its nine values with the body's map, the key and the list */
    assert_int_equal (get_busy_msg (WIRE_ITEMS_MAX - AROUND, &t->err), 0);
    assert_int_equal (get_busy_msg (WIRE_ITEMS_MAX - AROUND + 1, &t->err), -1);
    assert_int_equal (t->err.code, ERR_LIMIT);
}

/* A list in a list: each is within the bound when its head is read, both together are not. */
TEST (items_are_counted_over_all_lists)
{
    enum { HALF = WIRE_RECORD_ITEMS_MAX / 2 };
    struct buf *bytes = test_buf (t);
    struct all all;
    buf_add (bytes, "\x81\x0e\xdd\0\x20\0\0\xdd\0\x20\0\0", 12);
    for (uint32_t i = 0; i < HALF + HALF - 1; i++)
        buf_byte (bytes, 0);
    assert_int_equal (get_all (bytes->ptr, bytes->len, &all, &t->arena, &t->err), -1);
    assert_int_equal (t->err.code, ERR_LIMIT);
    assert_has (t->err.text, "there are more items than a message may have");
}
