/* links: base */
#include "test.h"

TEST (setting_returns_minus_one_and_explains)
{
    assert_int_equal (err_set (&t->err, ERR_CONFIG, "%s:%d: odd", "slice.yaml", 7), -1);
    assert_int_equal (t->err.code, ERR_CONFIG);
    assert_string_equal (t->err.text, "slice.yaml:7: odd");
}

TEST (nobody_listening_is_allowed)
{
    assert_int_equal (err_set (NULL, ERR_IO, "x"), -1);
    assert_int_equal (err_errno (NULL, ERR_IO, "x"), -1);
    assert_int_equal (err_prefix (NULL, "x"), -1);
}

TEST (errno_gives_the_reason)
{
    errno = ENOENT;
    assert_int_equal (err_errno (&t->err, ERR_IO, "cannot open %s", "a"), -1);
    assert_string_equal (t->err.text, "cannot open a: No such file or directory");
    assert_int_equal (t->err.code, ERR_IO);
}

TEST (the_reason_survives_a_sentence_that_is_too_long)
{
    char path[2000];
    memset (path, 'p', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    errno = EACCES;
    err_errno (&t->err, ERR_IO, "cannot open %s", path);
    assert_int_equal (strlen (t->err.text), ERR_TEXT_BYTES - 1);
    assert_has (t->err.text, "pp: Permission denied");
}

TEST (a_prefix_keeps_code_and_text)
{
    err_set (&t->err, ERR_PARSE, "no colon");
    assert_int_equal (err_prefix (&t->err, "line %d", 3), -1);
    assert_int_equal (t->err.code, ERR_PARSE);
    assert_string_equal (t->err.text, "line 3: no colon");
}

TEST (an_error_may_be_told_in_terms_of_itself)
{
    err_set (&t->err, ERR_PARSE, "inner");
    err_set (&t->err, ERR_IO, "outer (%s)", t->err.text);
    assert_string_equal (t->err.text, "outer (inner)");
    err_prefix (&t->err, "again %s", t->err.text);
    assert_string_equal (t->err.text, "again outer (inner): outer (inner)");
}

TEST (text_stays_one_line)
{
    err_set (&t->err, ERR_PARSE, "a\nb\r%s", "c\n");
    assert_string_equal (t->err.text, "a b c ");
    err_prefix (&t->err, "x\ny");
    assert_null (strchr (t->err.text, '\n'));
}

/* Every length around the limit, so that each possible cut of a four-byte character comes up. */
TEST (a_cut_leaves_whole_characters)
{
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

TEST (a_whole_character_at_the_limit_stays)
{
    char text[ERR_TEXT_BYTES + 8];
    memset (text, 'a', sizeof text);
    strcpy (text + ERR_TEXT_BYTES - 3, "\xC3\xA9");
    err_set (&t->err, ERR_IO, "%s...", text);
    assert_string_equal (t->err.text + ERR_TEXT_BYTES - 3, "\xC3\xA9");
}
