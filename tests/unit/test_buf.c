/* links: base */
#include "common/base/utf8.h"
#include "test.h"

TEST (bytes_are_appended_in_order)
{
    struct buf buf;
    buf_init (&buf, 100000);
    buf_puts (&buf, "a");
    buf_byte (&buf, 'b');
    buf_add_text (&buf, TEXT_LIT ("c\0d"));
    buf_add (&buf, NULL, 0);
    buf_printf (&buf, "%d-%s", 7, "x");
    assert_text (&buf, TEXT_LIT ("abc\0d7-x"));
    assert_false (buf.overflow);
    buf_release (&buf);
}

TEST (an_empty_buffer_is_an_empty_text_and_string)
{
    struct buf buf;
    buf_init (&buf, 0);
    assert_int_equal (buf_as_text (&buf).len, 0);
    assert_non_null (buf_as_text (&buf).ptr);
    assert_string_equal (buf_c (&buf), "");
    buf_add (&buf, "x", 0);
    buf_printf (&buf, "%s", "");
    assert_false (buf.overflow);
    buf_byte (&buf, 'x');
    assert_true (buf.overflow);
    buf_release (&buf);
}

TEST (a_long_text_is_printed_whole_at_every_fill)
{
    for (uint32_t front = 0; front < 600; front++) {
        struct buf buf;
        buf_init (&buf, 5000);
        for (uint32_t i = 0; i < front; i++)
            buf_byte (&buf, '.');
        buf_printf (&buf, "%0300d", 1);
        assert_int_equal (buf.len, front + 300);
        assert_int_equal (buf_c (&buf)[front + 299], '1');
        assert_int_equal (strlen (buf_c (&buf)), front + 300);
        buf_release (&buf);
    }
}

TEST (the_maximum_is_reached_exactly)
{
    struct buf buf;
    buf_init (&buf, 1000);
    for (int i = 0; i < 100; i++)
        buf_printf (&buf, "%s", "0123456789");
    assert_int_equal (buf.len, 1000);
    assert_false (buf.overflow);
    assert_true (buf.capacity <= buf.max);
    assert_int_equal (strlen (buf_c (&buf)), 1000);
    buf_release (&buf);
}

TEST (past_the_maximum_nothing_is_appended_and_it_sticks)
{
    for (int writer = 0; writer < 3; writer++) {
        struct buf buf;
        buf_init (&buf, 4);
        buf_puts (&buf, "abc");
        if (writer == 0)
            buf_puts (&buf, "de");
        else if (writer == 1)
            buf_printf (&buf, "%s", "de");
        else
            buf_escaped (&buf, text_of ("d\n"), 0); /* the part that fits goes as well */
        assert_true (buf.overflow);
        buf_byte (&buf, 'x');
        buf_printf (&buf, "y");
        assert_string_equal (buf_c (&buf), "abc");
        buf_clear (&buf);
        assert_false (buf.overflow);
        buf_puts (&buf, "wxyz");
        assert_string_equal (buf_c (&buf), "wxyz");
        assert_false (buf.overflow);
        buf_release (&buf);
    }
}

TEST (clearing_keeps_the_memory_and_releasing_the_maximum)
{
    struct buf buf;
    buf_init (&buf, 50);
    buf_puts (&buf, "abc");
    uint8_t *ptr = buf.ptr;
    buf_clear (&buf);
    assert_ptr_equal (buf.ptr, ptr);
    assert_int_equal (buf.len, 0);
    buf_release (&buf);
    assert_null (buf.ptr);
    assert_int_equal (buf.max, 50);
    buf_release (&buf);
}

static void expect_escaped (struct text text, uint32_t columns, const char *expected)
{
    struct buf buf;
    buf_init (&buf, 4096);
    buf_escaped (&buf, text, columns);
    assert_string_equal (buf_c (&buf), expected);
    assert_true (columns == 0 || text_columns (buf_as_text (&buf)) <= columns);
    buf_release (&buf);
}

TEST (every_lone_byte_is_printable_ascii_or_escaped)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        char raw = (char) byte, expected[8];
        if (byte >= 0x20 && byte < 0x7F)
            snprintf (expected, sizeof expected, "%c", byte);
        else
            snprintf (expected, sizeof expected, "\\x%02x", byte);
        expect_escaped ((struct text){ &raw, 1 }, 0, expected);
    }
}

static uint32_t encode (uint32_t character, char out[4])
{
    uint32_t bytes = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = { 0, 0, 0xC0, 0xE0, 0xF0 };
    for (uint32_t i = bytes; i-- > 1; character >>= 6)
        out[i] = (char) (0x80 | (character & 0x3F));
    out[0] = (char) (lead[bytes] | character);
    return bytes;
}

static void expect_character_escaped (uint32_t character)
{
    char bytes[4], expected[16];
    uint32_t len = encode (character, bytes);
    snprintf (expected, sizeof expected, character < 0x80 ? "\\x%02x" : "\\u{%x}", character);
    expect_escaped ((struct text){ bytes, len }, 0, expected);
}

TEST (no_character_that_acts_on_a_terminal_or_hides_gets_through)
{
    static const uint32_t ranges[][2] = {
        { 0x00, 0x1F },       { 0x7F, 0x9F },                                                 /* C0, DEL, C1 as UTF-8 */
        { 0x200E, 0x200F },   { 0x202A, 0x202E },   { 0x2066, 0x2069 },     { 0x61C, 0x61C }, /* bidi */
        { 0x200B, 0x200D },   { 0xFEFF, 0xFEFF },   { 0x2060, 0x2064 },                       /* zero width */
        { 0x2028, 0x2029 }, /* line and paragraph ends */
        { 0xAD, 0xAD },       { 0x300, 0x36F },     { 0x20D0, 0x20FF },     { 0xFE00, 0xFE0F },
        { 0x3164, 0x3164 },   { 0xE000, 0xE0FF },   { 0xFDD0, 0xFDEF },     { 0xFFFE, 0xFFFF },
        { 0x1FFFE, 0x1FFFF }, { 0xE0000, 0xE01EF }, { 0x10FFFE, 0x10FFFF },
    };
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        for (uint32_t character = ranges[i][0]; character <= ranges[i][1]; character++)
            expect_character_escaped (character);
}

TEST (invalid_sequences_are_shown_byte_by_byte)
{
    static const struct {
        const char *bytes, *expected;
    } cases[] = {
        { "\xC0\x9B[0m", "\\xc0\\x9b[0m" }, /* overlong ESC */
        { "\xE0\x80\x9B", "\\xe0\\x80\\x9b" },
        { "\xF0\x80\x80\x9B", "\\xf0\\x80\\x80\\x9b" },
        { "\xED\xA0\x80", "\\xed\\xa0\\x80" },          /* a surrogate */
        { "\xF4\x90\x80\x80", "\\xf4\\x90\\x80\\x80" }, /* above U+10FFFF */
        { "\xE2\x82", "\\xe2\\x82" },
        { "\xE2\x82"
          "a",
          "\\xe2\\x82a" },
        { "a\xFF", "a\\xff" },
        { "\xC3\xC3\xA9", "\\xc3\xC3\xA9" }, /* a good one behind a bad one stays */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_escaped (text_of (cases[i].bytes), 0, cases[i].expected);
}

TEST (known_attacks_are_harmless)
{
    expect_escaped (text_of ("\x1b]52;c;Zm9v\x07"), 0, "\\x1b]52;c;Zm9v\\x07");
    expect_escaped (text_of ("\x1b]8;;http://a\x1b\\b"), 0, "\\x1b]8;;http://a\\x1b\\b");
    expect_escaped (text_of ("\x1bP$q\x1b\\"), 0, "\\x1bP$q\\x1b\\");
    expect_escaped (text_of ("\x9b"
                             "31m"),
                    0, "\\x9b31m");
    expect_escaped (text_of ("\xC2\x9B"
                             "31m"),
                    0, "\\u{9b}31m");
    expect_escaped (text_of ("ok\r\x1b[2Kfailed\n"), 0, "ok\\x0d\\x1b[2Kfailed\\x0a");
}

/* Whatever comes in, what goes out is valid UTF-8 of printable characters, within the columns asked for. */
TEST (random_bytes_come_out_printable_and_within_the_columns)
{
    struct rng rng = rng_seed (4);
    for (int round = 0; round < 20000; round++) {
        char bytes[40];
        uint32_t len = (uint32_t) rng_below (&rng, sizeof bytes);
        uint32_t columns = (uint32_t) rng_below (&rng, 50);
        for (uint32_t i = 0; i < len; i++)
            bytes[i] = (char) (rng_below (&rng, 3) ? 0x80 + rng_below (&rng, 128) : rng_below (&rng, 128));
        struct buf buf;
        buf_init (&buf, 4096);
        buf_escaped (&buf, (struct text){ bytes, len }, columns);
        struct text out = buf_as_text (&buf);
        assert_true (text_is_utf8 (out));
        assert_true (columns == 0 || text_columns (out) <= columns);
        for (uint32_t at = 0, character = 0; at < out.len;) {
            at += utf8_next (out, at, &character);
            assert_true (utf8_is_printable (character));
        }
        buf_release (&buf);
    }
}

TEST (printable_text_of_any_script_stays)
{
    static const char *const texts[] = { "plain ~!\\",       "h\xC3\xA9llo",     "\xE6\x97\xA5\xE6\x9C\xAC",
                                         "\xF0\x9F\x8D\x8E", "\xD0\xBF\xD1\x80", "\xE2\x80\xA6\xE2\x94\x82",
                                         "\xC2\xA0\xC2\xA9" };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        expect_escaped (text_of (texts[i]), 0, texts[i]);
}

TEST (columns_count_wide_characters_twice)
{
    static const struct {
        const char *text;
        uint32_t columns;
    } cases[] = {
        { "", 0 },
        { "abc", 3 },
        { "h\xC3\xA9", 2 },
        { "\xE6\x97\xA5\xE6\x9C\xAC", 4 },
        { "\xF0\x9F\x8D\x8E", 2 },
        { "\xED\x95\x9C", 2 },
        { "\xEF\xBC\xA1", 2 },
        { "\xEF\xBD\xB1", 1 } /* halfwidth */,
        { "\xE2\x80\xA6", 1 },
        { "\xF0\xA0\x80\x80", 2 },
        { "\xE1\x84\x80", 2 },
        { "\xFF", 1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal (text_columns (text_of (cases[i].text)), cases[i].columns);
}

#define ELLIPSIS "\xE2\x80\xA6"
TEST (a_text_is_cut_only_when_it_must_be)
{
    static const struct {
        const char *text;
        uint32_t columns;
        const char *expected;
    } cases[] = {
        { "abcd", 4, "abcd" },
        { "abcde", 4, "abc" ELLIPSIS },
        { "abcde", 1, ELLIPSIS },
        { "a", 1, "a" },
        { "", 1, "" },
        { "a\nb", 3, "a" ELLIPSIS }, /* never inside an escape */
        { "a\nb", 6, "a\\x0ab" },
        { "a\nbc", 6, "a\\x0a" ELLIPSIS },
        { "\n\n", 7, "\\x0a" ELLIPSIS },
        { "\xE6\x97\xA5\xE6\x9C\xAC", 4, "\xE6\x97\xA5\xE6\x9C\xAC" },
        { "\xE6\x97\xA5\xE6\x9C\xAC", 3, "\xE6\x97\xA5" ELLIPSIS },
        { "\xE6\x97\xA5\xE6\x9C\xAC", 2, ELLIPSIS },
        { "\xE6\x97\xA5\xE6\x9C\xAC", 1, ELLIPSIS },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_escaped (text_of (cases[i].text), cases[i].columns, cases[i].expected);
}

TEST (escaping_appends_and_cuts_only_its_own_part)
{
    struct buf buf;
    buf_init (&buf, 100);
    buf_puts (&buf, "head ");
    buf_escaped (&buf, text_of ("abcdef"), 3);
    assert_string_equal (buf_c (&buf), "head ab" ELLIPSIS);
    buf_release (&buf);
}
