/* links: wire unpacker */
/* The bounded walker beside msgpack-c's unpacker: each reason why it is stricter once, bytes that would cost the
 * unpacker gigabytes, and the bytes of the past with every bit turned and at every length. tests/fuzz/fuzz_walker.c
 * goes further. */
#include "test.h"
#include "tests/wire/compare.h"
#include "tests/wire/generate.h"

enum { BYTES_MAX = 1 << 20, LENGTH_STEP = 3, RANDOM_INPUTS = 200 * 1000, RANDOM_MAX_BYTES = 40 };

struct row {
    const char *hex, *reason;
};

static const struct row rows[] = {
    { "00", NULL },
    { "ff", NULL },
    { "cc80", NULL },
    { "cfffffffffffffffff", NULL },
    { "d38000000000000000", NULL },
    { "c2", NULL },
    { "cb7ff8000000000000", NULL },
    { "a0", NULL },
    { "a2c3a9", NULL },
    { "c400", NULL },
    { "90", NULL },
    { "80", NULL },
    { "82000101920203", NULL },
    { "05c1", NULL }, /* what trails is the caller's concern; both stop before it */
    { "", "incomplete" },
    { "8201", "incomplete" },
    { "cd01", "incomplete" },
    { "dbffffffff", "incomplete" },
    { "c6ffffffff00", "incomplete" },
    { "dc0fff", "incomplete" },
    { "dc1fff", "incomplete, and dear to unpack" },
    { "dd10000000", "incomplete, and dear to unpack" },
    { "dfffffffff", "incomplete, and dear to unpack" },
    { "c1", "no MessagePack to the unpacker either" },
    { "9201c1", "no MessagePack to the unpacker either" },
    { "c0", "nil, ext and float32 are no part of it" },
    { "d40100", "nil, ext and float32 are no part of it" },
    { "c70001", "nil, ext and float32 are no part of it" },
    { "ca3f800000", "nil, ext and float32 are no part of it" },
    { "8101c0", "nil, ext and float32 are no part of it" },
    { "cb8000000000000000", "zero and NaN have one form" },
    { "cb7ff8000000000001", "zero and NaN have one form" },
    { "a1ff", "a text is not UTF-8 without NUL" },
    { "a100", "a text is not UTF-8 without NUL" },
    { "8201010102", "a key is no integer of 32 bits, is there twice or falls" },
    { "8202010102", "a key is no integer of 32 bits, is there twice or falls" },
    { "81ff01", "a key is no integer of 32 bits, is there twice or falls" },
    { "81a16101", "a key is no integer of 32 bits, is there twice or falls" },
    { "819001", "a key is no integer of 32 bits, is there twice or falls" },
    { "81cf000000010000000001", "a key is no integer of 32 bits, is there twice or falls" },
    { "cc7f", "a longer form than needed" },
    { "ce0000ffff", "a longer form than needed" },
    { "d005", "a longer form than needed" },
    { "d0e0", "a longer form than needed" },
    { "d90161", "a longer form than needed" },
    { "c5000161", "a longer form than needed" },
    { "dc0000", "a longer form than needed" },
    { "df00000000", "a longer form than needed" },
    { "91919191919191919191919101", NULL },
    { "9191919191919191919191919101", "nested too deeply" },
    { "9191919191919191919191919190", "nested too deeply" },
};

static struct text read_hex (const char *hex, char *bytes)
{
    struct text text = { bytes, 0 };
    unsigned byte;
    for (; sscanf (hex, "%2x", &byte) == 1; hex += 2)
        bytes[text.len++] = (char) byte;
    return text;
}

/* Both accept, or both refuse: whether they accept. */
static bool agree (struct text input, uint32_t items_max)
{
    char *tight = malloc (input.len ? input.len : 1); /* reading past the end is seen by the sanitizer */
    memcpy (tight, input.ptr, input.len);
    struct compared found = compare_readers ((struct text){ tight, input.len }, items_max);
    if (found.differs)
        fail_msg ("%s; unpacker: %s", found.differs, found.reason ? found.reason : "accepted");
    free (tight);
    return !found.reason;
}

TEST (each_reason_is_given_where_it_holds)
{
    char bytes[64];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct text input = read_hex (rows[i].hex, bytes);
        const char *reason = compare_readers (input, WIRE_ITEMS_MAX).reason;
        agree (input, WIRE_ITEMS_MAX);
        if (strcmp (reason ? reason : "accepted", rows[i].reason ? rows[i].reason : "accepted") != 0)
            fail_msg ("%s: %s", rows[i].hex, reason ? reason : "accepted");
    }
}

TEST (items_are_counted_alike)
{
    struct text input = { "\x93\x82\x01\x05\x02\x06\x90\x07", 8 };
    assert_true (agree (input, 8));
    assert_false (agree (input, 7));
    assert_string_equal (compare_readers (input, 7).reason, "more items than allowed");
}

static void write_head (struct buf *out, uint8_t format, uint32_t number_bytes, uint32_t number)
{
    buf_byte (out, format);
    for (uint32_t i = number_bytes; i-- > 0;)
        buf_byte (out, (uint8_t) (number >> (8 * i)));
}

static void write_key (struct buf *out, uint32_t key)
{
    if (key < 0x80)
        buf_byte (out, (uint8_t) key);
    else if (key <= UINT8_MAX)
        write_head (out, 0xcc, 1, key);
    else if (key <= UINT16_MAX)
        write_head (out, 0xcd, 2, key);
    else
        write_head (out, 0xce, 4, key);
}

/* Which formats hold a length or count, of how many bytes: the short ones hold it in themselves. */
static const struct family {
    enum value_kind kind;
    uint8_t formats[4], count_bytes[4], short_max;
} families[] = {
    { VALUE_TEXT, { 0xa0, 0xd9, 0xda, 0xdb }, { 0, 1, 2, 4 }, 31 },
    { VALUE_BYTES, { 0xc4, 0xc5, 0xc6 }, { 1, 2, 4 }, 0 },
    { VALUE_LIST, { 0x90, 0xdc, 0xdd }, { 0, 2, 4 }, 15 },
    { VALUE_MAP, { 0x80, 0xde, 0xdf }, { 0, 2, 4 }, 15 },
};

static void write_family (struct buf *out, const struct family *family, uint32_t form, uint32_t n)
{
    uint32_t count_bytes = family->count_bytes[form];
    buf_clear (out);
    write_head (out, (uint8_t) (family->formats[form] | (count_bytes ? 0 : n)), count_bytes, n);
    for (uint32_t i = 0; i < n; i++) {
        if (family->kind == VALUE_MAP)
            write_key (out, i);
        buf_byte (out, 'a');
    }
    assert_false (out->overflow);
}

static bool holds (const struct family *family, uint32_t form, uint32_t n)
{
    return family->formats[form] &&
           (family->count_bytes[form] ? (uint64_t) n >> (8 * family->count_bytes[form]) == 0 : n <= family->short_max);
}

TEST (each_length_and_count_has_one_form)
{
    static const uint32_t sizes[] = { 0, 1, 15, 16, 31, 32, 255, 256, 65535, 65536 };
    struct buf bytes;
    buf_init (&bytes, BYTES_MAX);
    for (uint32_t f = 0; f < 4 * sizeof sizes / sizeof sizes[0]; f++) {
        const struct family *family = &families[f % 4];
        uint32_t n = sizes[f / 4], accepted = 0;
        for (uint32_t form = 0; form < 4; form++) {
            if (!holds (family, form, n))
                continue;
            write_family (&bytes, family, form, n);
            accepted += agree (buf_as_text (&bytes), WIRE_RECORD_ITEMS_MAX);
        }
        assert_int_equal (accepted, 1);
    }
    buf_release (&bytes);
}

/* 31 lists of 64 million, one in the other: 155 bytes for which the unpacker reserves 63 GB. */
TEST (what_would_cost_gigabytes_is_not_unpacked)
{
    char bytes[31 * 5];
    for (size_t at = 0; at < sizeof bytes; at += 5)
        memcpy (bytes + at, "\xdd\x04\x00\x00\x00", 5);
    struct text input = { bytes, sizeof bytes };
    assert_true (compare_announced (input) > 31ull * (64 << 20));
    assert_string_equal (compare_readers (input, WIRE_ITEMS_MAX).reason, "incomplete, and dear to unpack");
    agree (input, WIRE_ITEMS_MAX);
}

static void agree_on_what_is_near (struct buf *bytes)
{
    struct text input = buf_as_text (bytes);
    assert_true (agree (input, WIRE_ITEMS_MAX));
    for (uint32_t len = 0; len < input.len; len += LENGTH_STEP)
        agree ((struct text){ input.ptr, len }, WIRE_ITEMS_MAX);
    for (size_t bit = 0; bit < 8 * bytes->len; bit++) {
        bytes->ptr[bit / 8] ^= (uint8_t) (1 << bit % 8);
        agree (input, WIRE_ITEMS_MAX);
        bytes->ptr[bit / 8] ^= (uint8_t) (1 << bit % 8);
    }
}

TEST (they_agree_on_every_message_and_what_is_near_it)
{
    for (enum msg_kind kind = next_msg_kind (0); kind; kind = next_msg_kind (kind)) {
        struct arena arena = { 0 };
        struct generator g = generator_of (GENERATE_SPARSE, kind, &arena);
        struct msg msg;
        struct buf bytes;
        buf_init (&bytes, BYTES_MAX);
        generate_msg (&g, kind, &msg);
        wire_put_msg (&bytes, &msg);
        agree_on_what_is_near (&bytes);
        buf_release (&bytes);
        arena_release (&arena);
    }
}

/* Mostly heads: what is random all over is refused at once. */
TEST (they_agree_on_random_bytes)
{
    static const uint8_t heads[] = { 0x80, 0x81, 0x82, 0x90, 0x91, 0x93, 0xa0, 0xa1, 0xa3, 0xc0,
                                     0xc1, 0xc2, 0xc4, 0xc5, 0xc7, 0xca, 0xcb, 0xcc, 0xcd, 0xcf,
                                     0xd0, 0xd1, 0xd3, 0xd4, 0xd9, 0xda, 0xdc, 0xdd, 0xde, 0xff };
    struct rng rng = rng_seed (20260);
    char bytes[RANDOM_MAX_BYTES];
    uint32_t accepted = 0;
    for (uint32_t i = 0; i < RANDOM_INPUTS; i++) {
        uint32_t len = (uint32_t) rng_below (&rng, sizeof bytes);
        for (uint32_t at = 0; at < len; at++)
            bytes[at] = (char) (rng_below (&rng, 2) ? heads[rng_below (&rng, sizeof heads)] : rng_below (&rng, 6));
        accepted += agree ((struct text){ bytes, len }, (uint32_t) (1 + rng_below (&rng, 12)));
    }
    assert_in_range (accepted, RANDOM_INPUTS / 10, RANDOM_INPUTS * 9 / 10);
}
