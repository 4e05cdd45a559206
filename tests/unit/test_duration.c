/* links: base */
#include "common/base/duration.h"
#include "test.h"

TEST (numbers_with_one_unit_are_read_exactly)
{
    static const struct {
        const char *text;
        uint64_t ms;
    } cases[] = {
        { "0s", 0 },
        { "250ms", 250 },
        { "30s", 30000 },
        { "1.5s", 1500 },
        { "2m", 120000 },
        { "2min", 120000 },
        { "1h", 3600000 },
        { "0.5h", 1800000 },
        { "1d", 86400000 },
        { "365d", UINT64_C (31536000000) },
        { "0.001s", 1 },
        { "2.0ms", 2 },
        { "1.000000000s", 1000 },
        { "31536000000ms", UINT64_C (31536000000) },
        { "007s", 7000 },
        { "0.1m", 6000 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t ms = 77;
        if (!duration_parse (text_of (cases[i].text), &ms) || ms != cases[i].ms)
            fail_msg ("%s read as %llu", cases[i].text, (unsigned long long) ms);
    }
}

TEST (everything_else_is_refused_and_changes_nothing)
{
    static const char *const cases[] = {
        "",
        "30",
        "s",
        "ms",
        ".5s",
        "1.s",
        "1.5",
        "-1s",
        "+1s",
        " 1s",
        "1s ",
        "1 s",
        "1S",
        "1sec",
        "1mi",
        "1mins",
        "1m30s",
        "1e3s",
        "1,5s",
        "366d",
        "213503982335d" /* 2^64 ms and a little */,
        "365.1d",
        "31536000001ms",
        "9000h",
        "18446744073709551616ms",
        "99999999999999999999999d",
        "0.0001s",
        "1.5ms",
        "1.0000000000s",
        "1..5s",
        "1.5.5s",
        "0x1s",
        "infs",
        "nans",
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t ms = 77;
        if (duration_parse (text_of (cases[i]), &ms) || ms != 77)
            fail_msg ("%s was accepted or left %llu behind", cases[i], (unsigned long long) ms);
    }
    uint64_t ms;
    assert_false (duration_parse (TEXT_LIT ("1s\0"), &ms));
    assert_true (duration_parse ((struct text){ "1sx", 2 }, &ms));
}

TEST (people_see_two_units_at_most)
{
    static const struct {
        uint64_t ms;
        const char *text;
    } cases[] = {
        { 0, "0 ms" },
        { 340, "340 ms" },
        { 999, "999 ms" },
        { 1000, "1 s" },
        { 1500, "1.5 s" },
        { 1999, "1.9 s" },
        { 9999, "9.9 s" },
        { 12000, "12 s" },
        { 12999, "12 s" },
        { 59999, "59 s" },
        { 60000, "1 min" },
        { 200000, "3 min 20 s" },
        { 3599999, "59 min 59 s" },
        { 3600000, "1 h" },
        { 7500000, "2 h 5 min" },
        { 86399999, "23 h 59 min" },
        { 86400000, "1 d" },
        { 273600000, "3 d 4 h" },
        { UINT64_MAX, "213503982334 d 14 h" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char out[DURATION_TEXT_BYTES];
        assert_ptr_equal (duration_print (cases[i].ms, out), out);
        assert_string_equal (out, cases[i].text);
    }
}

TEST (an_offset_is_rounded_and_says_which_way)
{
    static const struct {
        int64_t ms;
        const char *text;
    } cases[] = {
        { -3599996, "1 h behind" }, { 3600004, "1 h ahead" },
        { -1449, "1.4 s behind" },  { -1450, "1.5 s behind" },
        { 59600, "1 min ahead" },   { 86400000, "1 d ahead" },
        { 0, "0 ms ahead" },        { INT64_MIN, "106751991167 d 7 h behind" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char out[OFFSET_TEXT_BYTES];
        assert_ptr_equal (offset_print (cases[i].ms, out), out);
        assert_string_equal (out, cases[i].text);
    }
}
