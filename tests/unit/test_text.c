/* alone: base */
#include "common/base/path.h"
#include "common/base/text.h"
#include "common/base/utf8.h"
#include "test.h"
#include <limits.h>

TEST (slices_borrow_and_nothing_is_empty)
{
    const char *string = "abc";
    assert_ptr_equal (text_of (string).ptr, string);
    assert_int_equal (text_of (string).len, 3);
    assert_int_equal (text_of (NULL).len, 0);
    assert_text (NULL, ((struct text){ 0 }));
    assert_int_equal (TEXT_LIT ("a\0b").len, 3);
}

TEST (a_nul_inside_does_not_cut_a_slice)
{
    assert_false (text_is (TEXT_LIT ("a\0b"), "a"));
    assert_text (TEXT_LIT ("a\0b"), TEXT_LIT ("a\0b"));
    assert_false (text_equal (TEXT_LIT ("a\0b"), TEXT_LIT ("a\0c")));
}

TEST (comparison_is_a_total_order)
{
    static const char *const ascending[] = { "", "a", "aa", "ab", "b", "ba", "\x7F", "\x80", "\xFF" };
    enum { N = sizeof ascending / sizeof ascending[0] };
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            assert_int_equal (text_compare (text_of (ascending[i]), text_of (ascending[j])), (i > j) - (i < j));
}

TEST (a_span_is_of_ascii_letters_digits_and_what_is_named)
{
    assert_int_equal (text_span (text_of ("azAZ09_-."), "_-"), 8);
    assert_int_equal (text_span (TEXT_LIT ("a\0b"), ""), 1);
    assert_int_equal (text_span (text_of ("\xC3\xA9"), ""), 0);
    assert_int_equal (text_span (text_of (NULL), "x"), 0);
    assert_int_equal (text_span ((struct text){ "ab", 1 }, ""), 1); /* not past the end of the slice */
    assert_int_equal (text_digits_end (text_of ("a12b"), 1), 3);
    assert_int_equal (text_digits_end ((struct text){ "12", 1 }, 0), 1);
    assert_int_equal (text_digits_end (text_of ("1"), 5), 5);
    assert_true (text_ends (text_of ("a.py"), ".py") && text_ends (text_of (".py"), ".py") &&
                 text_ends (text_of (NULL), ""));
    assert_false (text_ends (text_of ("py"), ".py") || text_ends ((struct text){ "a.py", 3 }, ".py"));
    assert_text (text_trimmed (text_of (" \t a b\r\n")), "a b");
    assert_int_equal (text_trimmed (text_of (" \n")).len, 0);
    assert_int_equal (text_trimmed (text_of (NULL)).len, 0);
    assert_int_equal (text_trimmed (TEXT_LIT ("\0a\0")).len, 3); /* no blank */
}

TEST (finding_gives_the_first_place)
{
    uint32_t at = 99;
    assert_true (text_find (text_of ("xabcabc"), text_of ("abc"), &at));
    assert_int_equal (at, 1);
    assert_true (text_find (text_of ("ab"), text_of (""), &at));
    assert_int_equal (at, 0);
    assert_has (NULL, ((struct text){ 0 }));
    at = 99;
    assert_false (text_find (text_of ("ab"), text_of ("abc"), &at));
    assert_false (text_find ((struct text){ "abc", 2 }, text_of ("c"), &at)); /* not past the end of the slice */
    assert_int_equal (at, 99);
}

TEST (starts_looks_at_the_front_only)
{
    assert_true (text_starts (text_of ("gen-7"), "gen-"));
    assert_true (text_starts (text_of ("gen-7"), ""));
    assert_false (text_starts (text_of ("agen-7"), "gen-"));
    assert_false (text_starts ((struct text){ "gen-7", 3 }, "gen-"));
}

TEST (copies_are_terminated)
{
    struct text copy = text_copy (&t->arena, (struct text){ "abcdef", 3 });
    assert_int_equal (copy.len, 3);
    assert_string_equal (copy.ptr, "abc");
    assert_string_equal (text_copy (&t->arena, (struct text){ 0 }).ptr, "");
}

TEST (formatting_takes_any_length)
{
    struct text text = text_format (&t->arena, "%s-%05d-%.*s", "x", 42, TEXT_ARG (TEXT_LIT ("yz")));
    assert_text (text, "x-00042-yz");
    assert_int_equal (text_format (&t->arena, "%*s", 100000, "a").len, 100000);
}

TEST (c_strings_are_whole_or_refused)
{
    char out[4] = "zzz";
    assert_true (text_to_c (text_of ("abc"), out, sizeof out));
    assert_string_equal (out, "abc");
    assert_false (text_to_c (text_of ("abcd"), out, sizeof out));
    assert_string_equal (out, "");
    strcpy (out, "zzz");
    assert_false (text_to_c (TEXT_LIT ("a\0b"), out, sizeof out));
    assert_string_equal (out, "");
    assert_true (text_to_c (text_of (NULL), out, 1));
    assert_false (text_to_c (text_of ("a"), out, 0));
}

TEST (utf8_is_strict)
{
    static const struct {
        const char *bytes;
        bool valid;
    } cases[] = {
        { "", true },
        { "plain", true },
        { "h\xC3\xA9", true },
        { "\xE2\x82\xAC", true },
        { "\xF0\x9F\x8D\x8E", true },
        { "\xF4\x8F\xBF\xBF", true },
        { "\xED\x9F\xBF", true },
        { "\xEE\x80\x80", true },
        { "\xC2\x80", true },
        { "\x80", false },
        { "\xBF", false },
        { "a\xC3", false },
        { "\xC3"
          "a",
          false },
        { "\xE2\x82", false },
        { "\xE2\x28\xA1", false },
        { "\xF0\x9F\x8D", false },
        { "\xC0\x80", false },
        { "\xC1\xBF", false },
        { "\xE0\x80\x80", false },
        { "\xE0\x9F\xBF", false },
        { "\xF0\x80\x80\x80", false },
        { "\xF0\x8F\xBF\xBF", false }, /* overlong */
        { "\xED\xA0\x80", false },
        { "\xED\xBF\xBF", false }, /* surrogates */
        { "\xF4\x90\x80\x80", false },
        { "\xF5\x80\x80\x80", false },
        { "\xF8\x88\x80\x80\x80", false },
        { "\xFE", false },
        { "\xFF", false },
        { "twelve bytes and then \xFF", false },
        { "twelve bytes and \xC3\xA9 more", true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal (text_is_utf8 (text_of (cases[i].bytes)), cases[i].valid);
    assert_true (text_is_utf8 (TEXT_LIT ("a\0b")));
    assert_false (text_is_utf8 ((struct text){ "\xC3\xA9", 1 })); /* the rest lies outside the slice */
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

TEST (every_character_but_surrogates_is_read_back)
{
    for (uint32_t character = 0; character <= 0x10FFFF; character++) {
        char bytes[4];
        uint32_t len = encode (character, bytes), found = UINT32_MAX;
        bool surrogate = character >= 0xD800 && character <= 0xDFFF;
        uint32_t read = utf8_next ((struct text){ bytes, len }, 0, &found);
        if (read != (surrogate ? 0 : len) || (read && found != character))
            fail_msg ("U+%04X: %u bytes read as U+%04X", character, read, found);
    }
}

/* A second opinion on every sequence of up to three bytes that begins with a byte above ASCII: it is valid exactly if
 * decoding it naively and encoding the outcome again gives the same bytes. */
TEST (exactly_the_canonical_sequences_are_valid)
{
    for (uint32_t word = 0x800000; word <= 0xFFFFFF; word++) {
        unsigned char b[3] = { word >> 16, word >> 8 & 255, word & 255 };
        uint32_t naive = (b[0] & 0xF0) == 0xE0 ? (b[0] & 15u) << 12 | (b[1] & 63u) << 6 | (b[2] & 63u)
                                               : (b[0] & 31u) << 6 | (b[1] & 63u);
        char again[4];
        uint32_t len = encode (naive, again), found, want = 0;
        if (len > 1 && len < 4 && memcmp (again, b, len) == 0 && !(naive >= 0xD800 && naive <= 0xDFFF))
            want = len;
        if (utf8_next ((struct text){ (char *) b, 3 }, 0, &found) != want)
            fail_msg ("bytes %06X", word);
    }
}

TEST (numbers_are_whole_and_fit)
{
    static const struct {
        const char *text;
        bool valid;
        uint64_t value;
    } cases[] = {
        { "0", true, 0 },
        { "7", true, 7 },
        { "007", true, 7 },
        { "18446744073709551615", true, UINT64_MAX },
        { "18446744073709551616", false, 0 },
        { "99999999999999999999", false, 0 },
        { "", false, 0 },
        { "-1", false, 0 },
        { "+1", false, 0 },
        { " 1", false, 0 },
        { "1 ", false, 0 },
        { "1a", false, 0 },
        { "0x1", false, 0 },
        { "1.0", false, 0 },
        { "/", false, 0 },
        { ":", false, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t value = 12345;
        assert_int_equal (text_to_u64 (text_of (cases[i].text), &value), cases[i].valid);
        assert_int_equal (value, cases[i].valid ? cases[i].value : 12345);
    }
    uint64_t value;
    assert_false (text_to_u64 (TEXT_LIT ("1\0"), &value));
}

TEST (texts_are_alike_but_for_their_numbers)
{
    assert_true (
        text_equal_but_numbers (TEXT_LIT ("pid 17 at 0x7fAb, 3 of 4"), TEXT_LIT ("pid 4711 at 0x01, 33 of 40")));
    assert_true (text_equal_but_numbers (TEXT_LIT ("h1"), TEXT_LIT ("h12")));
    assert_false (
        text_equal_but_numbers (TEXT_LIT ("File \"a.py\", line 7, in f"), TEXT_LIT ("File \"a.py\", line 5, in f")));
    assert_false (text_equal_but_numbers (TEXT_LIT ("E1 tpu.cc:88] no"), TEXT_LIT ("E1 tpu.cc:89] no")));
    assert_true (text_equal_but_numbers (TEXT_LIT ("E1 tpu.cc:88] no"), TEXT_LIT ("E2 tpu.cc:88] no")));
    assert_true (text_equal_but_numbers (TEXT_LIT ("at node:8471"), TEXT_LIT ("at node:8476")));
    assert_true (text_equal_but_numbers (TEXT_LIT ("connect x.ns.svc:40123"), TEXT_LIT ("connect x.ns.svc:40777")));
    assert_true (text_equal_but_numbers (TEXT_LIT ("h.lan:1 h.net:1 h.com:1"), TEXT_LIT ("h.lan:2 h.net:2 h.com:2")));
    assert_false (text_equal_but_numbers (TEXT_LIT ("thread.rs:88 no"), TEXT_LIT ("thread.rs:89 no")));
    assert_true (text_equal_but_numbers ((struct text){ 0 }, (struct text){ 0 }));
    assert_false (text_equal_but_numbers (TEXT_LIT ("h1"), TEXT_LIT ("h")));
    assert_false (text_equal_but_numbers (TEXT_LIT ("h"), TEXT_LIT ("h1")));
    assert_false (text_equal_but_numbers (TEXT_LIT ("no chip 3"), TEXT_LIT ("no disk 3")));
    assert_false (text_equal_but_numbers (TEXT_LIT ("at 0x7f"), TEXT_LIT ("at 127")) &&
                  text_equal_but_numbers (TEXT_LIT ("0x"), TEXT_LIT ("0")));
}

TEST (an_arena_that_shares_texts_keeps_equal_ones_once)
{
    arena_share_texts (&t->arena);
    char said[] = "compile";
    struct text first = text_copy (&t->arena, text_of (said)), again = text_copy (&t->arena, TEXT_LIT ("compile"));
    assert_ptr_equal (first.ptr, again.ptr);
    said[0] = 'C';
    assert_true (text_is (first, "compile") && text_is (text_copy (&t->arena, text_of (said)), "Compile"));
    for (uint32_t i = 0; i < 20000; i++) { /* more than it remembers */
        struct text text = text_format (&t->arena, "%u", i);
        assert_true (text_equal (text_copy (&t->arena, text), text));
    }
    assert_int_equal (text_copy (&t->arena, (struct text){ 0 }).len, 0);
}

TEST (behind_a_relative_folder_of_path_an_absolute_one_is_searched)
{
    char folder[] = "/tmp/test_text.XXXXXX", before[PATH_MAX];
    assert_non_null (mkdtemp (folder));
    assert_non_null (getcwd (before, sizeof before));
    assert_int_equal (chdir (folder), 0);
    assert_int_equal (mkdir ("here", 0700), 0);
    assert_int_equal (close (open ("here/sh", O_CREAT | O_WRONLY, 0700)), 0);
    setenv ("PATH", "here:/bin", 1);
    assert_string_equal (path_find_program ("sh", false, &t->arena, NULL), "here/sh");
    assert_string_equal (path_find_program ("sh", true, &t->arena, NULL), "/bin/sh");
    assert_int_equal (unlink ("here/sh"), 0);
    assert_int_equal (rmdir ("here"), 0);
    assert_int_equal (chdir (before), 0);
    assert_int_equal (rmdir (folder), 0);
}
