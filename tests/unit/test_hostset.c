/* links: model */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "common/base/rng.h"
#include "common/model/hostset.h"

static void names_are_bounded_and_plain (void **state)
{
    (void) state;
    char longest[HOST_NAME_MAX_BYTES + 2];
    memset (longest, 'a', sizeof longest);
    assert_true (host_name_valid ((struct text) { longest, HOST_NAME_MAX_BYTES }));
    assert_false (host_name_valid ((struct text) { longest, HOST_NAME_MAX_BYTES + 1 }));
    assert_true (host_name_valid (text_of ("t1v-n_0.example")));
    assert_false (host_name_valid (text_of ("")));
    assert_false (host_name_valid (text_of ("-oProxyCommand=x")));
    assert_false (host_name_valid (text_of ("..")));
    for (unsigned byte = 0; byte < 256; byte++) {
        char name[2] = { 'a', (char) byte };
        bool plain = byte && strchr ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-", (int) byte);
        assert_int_equal (host_name_valid ((struct text) { name, 2 }), plain);
    }
}

static char *joined (const struct name_list *names)
{
    struct buf out;
    buf_init (&out, 1 << 20);
    for (uint32_t i = 0; i < names->n; i++)
        buf_printf (&out, "%s%.*s", i ? " " : "", TEXT_ARG (names->items[i]));
    return buf_c (&out);
}

static void sets_expand_in_their_order (void **state)
{
    (void) state;
    static const struct { const char *set, *names; } cases[] = {
        { "a", "a" }, { "b,a", "b a" }, { "v6e[0-3,7]", "v6e0 v6e1 v6e2 v6e3 v6e7" }, { "n[2,1]", "n2 n1" },
        { "rack[01-03]n", "rack01n rack02n rack03n" }, { "a[08-11]", "a08 a09 a10 a11" },
        { "a[8-11]", "a8 a9 a10 a11" }, { "a[098-101]", "a098 a099 a100 a101" }, { "[1-2]", "1 2" }, { "a[1]2", "a12" },
        { "a[1,01]", "a1 a01" }, { "a[0-1],b,c[5].x", "a0 a1 b c5.x" },
        { "a[12345678901234567890123]", "a12345678901234567890123" },
        { "a[999999999999999998-999999999999999999]", "a999999999999999998 a999999999999999999" },
        { "a[00-01]", "a00 a01" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena arena = { 0 };
        struct name_list names = { 0 };
        struct err err = { 0 };
        if (hostset_expand (text_of (cases[i].set), &arena, &names, &err) < 0)
            fail_msg ("%s: %s", cases[i].set, err.text);
        char *found = joined (&names);
        assert_string_equal (found, cases[i].names);
        mem_free (found);
        arena_release (&arena);
    }
}

static void departures_from_the_grammar_are_shown_with_their_place (void **state)
{
    (void) state;
    static const struct { const char *set; enum err_code code; const char *word; } cases[] = {
        { "", ERR_PARSE, "empty" }, { ",a", ERR_PARSE, "character 1 " }, { "a,", ERR_PARSE, "character 3 " },
        { "a,,b", ERR_PARSE, "character 3 " }, { "a b", ERR_PARSE, "character 2 " },
        { "a, b", ERR_PARSE, "character 3 " }, { "-a", ERR_PARSE, "character 1 " },
        { "b,-a", ERR_PARSE, "character 3 " }, { "-[1-2]", ERR_PARSE, "host name" },
        { "a[", ERR_PARSE, "never closed" }, { "a]", ERR_PARSE, "character 2 " },
        { "a[1-2", ERR_PARSE, "character 2 " }, { "a[]", ERR_PARSE, "character 3 " },
        { "a[1,]", ERR_PARSE, "character 5 " }, { "a[,1]", ERR_PARSE, "character 3 " }, { "a[1-]", ERR_PARSE, "range" },
        { "a[-1]", ERR_PARSE, "range" }, { "a[1--2]", ERR_PARSE, "range" }, { "a[1-2-3]", ERR_PARSE, "range" },
        { "a[x]", ERR_PARSE, "number" }, { "a[1,x]", ERR_PARSE, "character 5 " }, { "a[ 1]", ERR_PARSE, "number" },
        { "a[1[2]]", ERR_PARSE, "character 4 " }, { "a[1,b[2]", ERR_PARSE, "character 6 " },
        { "a[1]b[2]", ERR_PARSE, "one bracket" }, { "a[1][2]", ERR_PARSE, "one bracket" },
        { "a[3-1]", ERR_PARSE, "backwards" }, { "a[01-100]", ERR_PARSE, "widths" }, { "a[1-02]", ERR_PARSE, "widths" },
        { "a[1-1234567890123456789]", ERR_PARSE, "18 digits" }, { "a,a", ERR_PARSE, "twice" },
        { "a[1-3],a2", ERR_PARSE, "a2 is named twice" }, { "a[1,1]", ERR_PARSE, "twice" },
        { "a[0-4096]", ERR_LIMIT, "4096" }, { "a[0-999999999999]", ERR_LIMIT, "4096" },
        { "a[0-4094],b", ERR_LIMIT, "character 11 " }, { "a\x1b[2J", ERR_PARSE, "\\x1b" },
        { "a\nb", ERR_PARSE, "\\x0a" }, { "a;b", ERR_PARSE, "character 2 " }, { "\xC3\xA9", ERR_PARSE, "character 1 " },
        { "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", ERR_PARSE, "63" },
        { "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa[9-10]", ERR_PARSE, "63" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena arena = { 0 };
        struct text before[1] = { TEXT_LIT ("z") };
        struct name_list names = { before, 1 };
        struct err err = { 0 };
        if (hostset_expand (text_of (cases[i].set), &arena, &names, &err) != -1)
            fail_msg ("%s was accepted", cases[i].set);
        if (err.code != cases[i].code || !strstr (err.text, cases[i].word))
            fail_msg ("%s: %s", cases[i].set, err.text);
        assert_ptr_equal (names.items, before);
        assert_int_equal (names.n, 1);
        arena_release (&arena);
    }
}

static void a_nul_is_no_end (void **state)
{
    (void) state;
    struct arena arena = { 0 };
    struct name_list names = { 0 };
    assert_int_equal (hostset_expand (TEXT_LIT ("a\0b"), &arena, &names, NULL), -1);
    arena_release (&arena);
}

static void sets_are_appended_and_stay_without_duplicates (void **state)
{
    (void) state;
    struct arena arena = { 0 };
    struct name_list names = { 0 };
    struct err err = { 0 };
    assert_int_equal (hostset_expand (text_of ("a[1-2]"), &arena, &names, &err), 0);
    assert_int_equal (hostset_expand (text_of ("b"), &arena, &names, &err), 0);
    assert_int_equal (names.n, 3);
    assert_int_equal (hostset_expand (text_of ("c,a2"), &arena, &names, &err), -1);
    assert_int_equal (names.n, 3);
    assert_true (hostset_has (&names, text_of ("b")));
    assert_true (hostset_has (&names, text_of ("a2")));
    assert_false (hostset_has (&names, text_of ("c")));
    assert_false (hostset_has (&names, text_of ("a")));
    arena_release (&arena);
}

static void the_largest_set_is_allowed (void **state)
{
    (void) state;
    struct arena arena = { 0 };
    struct name_list names = { 0 };
    struct err err = { 0 };
    assert_int_equal (hostset_expand (text_of ("a[0-4095]"), &arena, &names, &err), 0);
    assert_int_equal (names.n, HOSTS_MAX);
    assert_int_equal (hostset_expand (text_of ("b"), &arena, &names, &err), -1);
    arena_release (&arena);
}

static void shuffle (struct rng *rng, struct text *names, uint32_t n)
{
    for (uint32_t i = n; i > 1; i--) {
        uint32_t other = (uint32_t) rng_below (rng, i);
        struct text kept = names[other];
        names[other] = names[i - 1];
        names[i - 1] = kept;
    }
}

static void expect_fold (struct rng *rng, const char *list, const char *expected)
{
    struct text names[64];
    uint32_t n = 0;
    char *words = mem_text (list), *rest = NULL;
    for (char *name = strtok_r (words, " ", &rest); name; name = strtok_r (NULL, " ", &rest))
        names[n++] = text_of (name);
    for (int round = 0; round < 20; round++) {
        struct buf out;
        buf_init (&out, 4096);
        shuffle (rng, names, n);
        hostset_fold (names, n, &out);
        assert_string_equal (buf_c (&out), expected);
        buf_release (&out);
    }
    mem_free (words);
}

static void names_fold_the_same_in_any_order (void **state)
{
    (void) state;
    static const struct { const char *names, *folded; } cases[] = {
        { "a", "a" }, { "v6e0 v6e1 v6e2 v6e3 v6e7", "v6e[0-3,7]" }, { "b a", "a,b" }, { "a1 b1", "a1,b1" },
        { "a9 a10 a11", "a[9-11]" }, { "n1 n2", "n[1-2]" }, { "n1 n3", "n[1,3]" }, { "n5", "n5" },
        { "rack01n rack02n rack16n", "rack[01-02,16]n" }, { "a08 a09 a10", "a[08-10]" },
        { "a098 a099 a100", "a[098-100]" }, { "a01 a02 a99 a100", "a[01-02,99-100]" },
        { "a1 a01 a2 a02", "a[01,1,02,2]" }, { "1 2 3", "[1-3]" },
        { "r1n2 r1n3", "r1n[2-3]" }, { "r1n2 r2n2", "r[1-2]n2" }, { "r1n1 r1n2 r2n1 r2n2", "r1n[1-2],r2n[1-2]" },
        { "r1n1 r1n2 r2n1 r3n1", "r1n[1-2],r[2-3]n1" },
        { "n1.dc2 n2.dc2 n3.dc2", "n[1-3].dc2" }, { "a1b2c3 a7b2c3 a8b2c3", "a[1,7-8]b2c3" },
        { "login n10 n9 admin", "admin,login,n[9-10]" }, { "x10 x9y x2z", "x2z,x9y,x10" }, { "a a1", "a,a1" },
        { "a1 a1 a2", "a[1-2]" },
        { "n99999999999999999998 n99999999999999999999", "n[99999999999999999998,99999999999999999999]" },
        { "n999999999999999998 n999999999999999999", "n[999999999999999998-999999999999999999]" },
        { "n1234567890123456788 n1234567890123456789", "n[1234567890123456788,1234567890123456789]" },
        { "n18446744073709551615 n0", "n[0,18446744073709551615]" }, { "n00 n01 n1", "n[00-01,1]" },
    };
    struct rng rng = rng_seed (1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_fold (&rng, cases[i].names, cases[i].folded);
}

static void nothing_folds_to_nothing (void **state)
{
    (void) state;
    struct buf out;
    buf_init (&out, 10);
    hostset_fold (NULL, 0, &out);
    assert_string_equal (buf_c (&out), "");
    buf_release (&out);
}

static int by_text (const void *a, const void *b)
{
    return text_compare (*(const struct text *) a, *(const struct text *) b);
}

static uint32_t sort_unique (struct text *names, uint32_t n)
{
    uint32_t kept = 0;
    qsort (names, n, sizeof *names, by_text);
    for (uint32_t i = 0; i < n; i++)
        if (kept == 0 || !text_equal (names[kept - 1], names[i]))
            names[kept++] = names[i];
    return kept;
}

/* Few letters and digits, so that prefixes, paddings and neighbours collide often. */
static struct text random_name (struct rng *rng, struct arena *arena)
{
    static const char letters[] = "ab-._0012359";
    char name[12];
    uint32_t len = 1 + (uint32_t) rng_below (rng, 8);
    for (uint32_t i = 0; i < len; i++)
        name[i] = letters[rng_below (rng, sizeof letters - 1)];
    if (name[0] == '-' || name[0] == '.')
        name[0] = 'r';
    return text_copy (arena, (struct text) { name, len });
}

static void expanding_what_was_folded_gives_the_same_set (void **state)
{
    (void) state;
    struct rng rng = rng_seed (7);
    for (int round = 0; round < 3000; round++) {
        struct arena arena = { 0 };
        struct text names[200];
        struct name_list again = { 0 };
        struct err err = { 0 };
        struct buf out, other;
        buf_init (&out, 1 << 16);
        buf_init (&other, 1 << 16);
        uint32_t n = 1 + (uint32_t) rng_below (&rng, 200);
        for (uint32_t i = 0; i < n; i++)
            names[i] = random_name (&rng, &arena);
        hostset_fold (names, n, &out);
        shuffle (&rng, names, n);
        hostset_fold (names, n, &other);
        assert_true (text_equal (buf_as_text (&out), buf_as_text (&other)));
        if (hostset_expand (buf_as_text (&out), &arena, &again, &err) < 0)
            fail_msg ("%s: %s", buf_c (&out), err.text);
        n = sort_unique (names, n);
        assert_int_equal (sort_unique (again.items, again.n), n);
        for (uint32_t i = 0; i < n; i++)
            assert_true (text_equal (names[i], again.items[i]));
        buf_release (&other);
        buf_release (&out);
        arena_release (&arena);
    }
}

static double cpu_seconds (void)
{
    struct timespec now;
    clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

/* Comparing all pairs of 10,000 names takes seconds; sorting them takes milliseconds, some tens under sanitizers. */
static void ten_thousand_names_fold_without_comparing_all_pairs (void **state)
{
    (void) state;
    enum { N = 10000 };
    struct arena arena = { 0 };
    struct rng rng = rng_seed (3);
    struct text *names = arena_array (&arena, N, sizeof *names);
    for (uint32_t i = 0; i < N; i++)
        names[i] = text_format (&arena, "rack%u-host%04u", i / 100, i % 2 ? i : i * 7);
    shuffle (&rng, names, N);
    struct buf out;
    buf_init (&out, 1 << 20);
    double start = cpu_seconds ();
    hostset_fold (names, N, &out);
    double took = cpu_seconds () - start;
    assert_false (out.overflow);
    assert_true (took < 0.5);
    buf_release (&out);
    arena_release (&arena);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (names_are_bounded_and_plain),
        cmocka_unit_test (sets_expand_in_their_order),
        cmocka_unit_test (departures_from_the_grammar_are_shown_with_their_place),
        cmocka_unit_test (a_nul_is_no_end),
        cmocka_unit_test (sets_are_appended_and_stay_without_duplicates),
        cmocka_unit_test (the_largest_set_is_allowed),
        cmocka_unit_test (names_fold_the_same_in_any_order),
        cmocka_unit_test (nothing_folds_to_nothing),
        cmocka_unit_test (expanding_what_was_folded_gives_the_same_set),
        cmocka_unit_test (ten_thousand_names_fold_without_comparing_all_pairs),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
