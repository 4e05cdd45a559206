/* links: base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/err.h"
#include "common/base/text.h"
#include <errno.h>
#include <string.h>

static void setting_returns_minus_one_and_explains (void **state)
{
    (void) state;
    struct err err = { 0 };
    assert_int_equal (err_set (&err, ERR_CONFIG, "%s:%d: odd", "slice.yaml", 7), -1);
    assert_int_equal (err.code, ERR_CONFIG);
    assert_string_equal (err.text, "slice.yaml:7: odd");
}

static void nobody_listening_is_allowed (void **state)
{
    (void) state;
    assert_int_equal (err_set (NULL, ERR_IO, "x"), -1);
    assert_int_equal (err_errno (NULL, ERR_IO, "x"), -1);
    assert_int_equal (err_prefix (NULL, "x"), -1);
}

static void errno_gives_the_reason (void **state)
{
    (void) state;
    struct err err = { 0 };
    errno = ENOENT;
    assert_int_equal (err_errno (&err, ERR_IO, "cannot open %s", "a"), -1);
    assert_string_equal (err.text, "cannot open a: No such file or directory");
    assert_int_equal (err.code, ERR_IO);
}

static void the_reason_survives_a_sentence_that_is_too_long (void **state)
{
    (void) state;
    char path[2000];
    memset (path, 'p', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    struct err err = { 0 };
    errno = EACCES;
    err_errno (&err, ERR_IO, "cannot open %s", path);
    assert_int_equal (strlen (err.text), ERR_TEXT_BYTES - 1);
    assert_non_null (strstr (err.text, "pp: Permission denied"));
}

static void a_prefix_keeps_code_and_text (void **state)
{
    (void) state;
    struct err err = { 0 };
    err_set (&err, ERR_PARSE, "no colon");
    assert_int_equal (err_prefix (&err, "line %d", 3), -1);
    assert_int_equal (err.code, ERR_PARSE);
    assert_string_equal (err.text, "line 3: no colon");
}

static void an_error_may_be_told_in_terms_of_itself (void **state)
{
    (void) state;
    struct err err = { 0 };
    err_set (&err, ERR_PARSE, "inner");
    err_set (&err, ERR_IO, "outer (%s)", err.text);
    assert_string_equal (err.text, "outer (inner)");
    err_prefix (&err, "again %s", err.text);
    assert_string_equal (err.text, "again outer (inner): outer (inner)");
}

static void text_stays_one_line (void **state)
{
    (void) state;
    struct err err = { 0 };
    err_set (&err, ERR_PARSE, "a\nb\r%s", "c\n");
    assert_string_equal (err.text, "a b c ");
    err_prefix (&err, "x\ny");
    assert_null (strchr (err.text, '\n'));
}

/* Every length around the limit, so that each possible cut of a four-byte character comes up. */
static void a_cut_leaves_whole_characters (void **state)
{
    (void) state;
    static const char *const characters[] = { "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x8D\x8E" };
    for (size_t c = 0; c < 3; c++)
        for (size_t front = ERR_TEXT_BYTES - 12; front < ERR_TEXT_BYTES; front++) {
            char text[ERR_TEXT_BYTES + 32];
            memset (text, 'a', front);
            text[front] = '\0';
            for (int i = 0; i < 5; i++)
                strcat (text, characters[c]);
            struct err set = { 0 }, prefixed = { 0 };
            err_set (&set, ERR_IO, "%s", text);
            assert_true (text_is_utf8 (text_of (set.text)));
            assert_true (strlen (set.text) + 4 >= ERR_TEXT_BYTES - 1);
            err_set (&prefixed, ERR_IO, "%s", text + 8);
            err_prefix (&prefixed, "prefix");
            assert_true (text_is_utf8 (text_of (prefixed.text)));
        }
}

static void a_whole_character_at_the_limit_stays (void **state)
{
    (void) state;
    char text[ERR_TEXT_BYTES + 8];
    memset (text, 'a', sizeof text);
    strcpy (text + ERR_TEXT_BYTES - 3, "\xC3\xA9");
    struct err err = { 0 };
    err_set (&err, ERR_IO, "%s...", text);
    assert_string_equal (err.text + ERR_TEXT_BYTES - 3, "\xC3\xA9");
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (setting_returns_minus_one_and_explains),
        cmocka_unit_test (nobody_listening_is_allowed),
        cmocka_unit_test (errno_gives_the_reason),
        cmocka_unit_test (the_reason_survives_a_sentence_that_is_too_long),
        cmocka_unit_test (a_prefix_keeps_code_and_text),
        cmocka_unit_test (an_error_may_be_told_in_terms_of_itself),
        cmocka_unit_test (text_stays_one_line),
        cmocka_unit_test (a_cut_leaves_whole_characters),
        cmocka_unit_test (a_whole_character_at_the_limit_stays),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
