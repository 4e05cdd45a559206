/* links: cache */
#include "common/cache/generation.h"
#include "test.h"

#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"
#define DIGEST "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
#define FILE_LINE(size, mode, path) DIGEST " " size " " mode " " path "\n"

/* '.' sorts before '/', and "b" before both. */
#define GOOD                                                                                                           \
    FILE_LINE ("4", "0444", "a") "- 0 0555 b/\n" FILE_LINE ("12", "0444", "b.x") FILE_LINE ("0", "0555", "b/c d")
#define UNSORTED FILE_LINE ("0", "0555", "b/c d") FILE_LINE ("12", "0444", "b.x")

TEST (a_manifest_is_printed_as_it_was_parsed)
{
    struct manifest manifest;
    struct buf *out = test_buf (t);
    assert_int_equal (manifest_parse (TEXT_LIT (GOOD), &t->arena, &manifest, &t->err), 0);
    assert_int_equal (manifest.n, 4);
    assert_int_equal (manifest.files, 3);
    assert_int_equal (manifest.bytes, 16);
    assert_int_equal (manifest.items[1].at.kind, TREE_FOLDER);
    assert_text (manifest.items[3].at.path, "b/c d");
    assert_int_equal (manifest.items[3].at.mode, 0555);
    manifest_print (&manifest, out);
    assert_text (out, TEXT_LIT (GOOD));
}

TEST (an_empty_manifest_is_a_manifest)
{
    struct manifest manifest;
    assert_int_equal (manifest_parse (TEXT_LIT (""), &t->arena, &manifest, NULL), 0);
    assert_int_equal (manifest.n, 0);
}

struct refusal {
    struct text bytes;
    const char *says;
};

TEST (everything_that_would_not_have_been_printed_is_refused)
{
    static const struct refusal refusals[] = {
        { TEXT_LIT (UNSORTED), "line 2 is not sorted" },
        { TEXT_LIT (DIGEST " 4 0444 a"), "ends in the middle" },
        { TEXT_LIT ("\n"), "line 1" },
        { TEXT_LIT (FILE_LINE ("4", "0444", "a") FILE_LINE ("4", "0444", "a")), "line 2 is not sorted" },
        { TEXT_LIT (FILE_LINE ("04", "0444", "a")), "line 1" },
        { TEXT_LIT (FILE_LINE ("-4", "0444", "a")), "line 1" },
        { TEXT_LIT (FILE_LINE ("99999999999999999999", "0444", "a")), "line 1" },
        { TEXT_LIT (FILE_LINE ("9223372036854775808", "0444", "a")), "line 1" },
        { TEXT_LIT (FILE_LINE ("4", "444", "a")), "line 1" },
        { TEXT_LIT (FILE_LINE ("4", "4444", "a")), "line 1" },
        { TEXT_LIT (FILE_LINE ("4", "0844", "a")), "line 1" },
        { TEXT_LIT (FILE_LINE ("4", "0444", "")), "line 1" },
        { TEXT_LIT (FILE_LINE ("4", "0444", "/a")), "line 1" },
        { TEXT_LIT (FILE_LINE ("4", "0444", "a//b")), "line 1" },
        { TEXT_LIT (FILE_LINE ("4", "0444", "../a")), "line 1" },
        { TEXT_LIT (FILE_LINE ("4", "0444", "a/..")), "line 1" },
        { TEXT_LIT (FILE_LINE ("4", "0444", "./a")), "line 1" },
        { TEXT_LIT (FILE_LINE ("4", "0444", "-a")), "line 1" },
        { TEXT_LIT (FILE_LINE ("4", "0444", "a\tb")), "line 1" },
        { TEXT_LIT (FILE_LINE ("4", "0444", "a\0b")), "line 1" },
        { TEXT_LIT (FILE_LINE ("4", "0444", "a\xff")), "line 1" },
        { TEXT_LIT (FILE_LINE ("4", "0444", "MANIFEST")), "line 1" },
        { TEXT_LIT (FILE_LINE ("4", "0444", "1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17")), "line 1" },
        { TEXT_LIT ("9F86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 4 0444 a\n"), "line 1" },
        { TEXT_LIT ("9f86 4 0444 a\n"), "line 1" },
        { TEXT_LIT ("- 4 0444 a\n"), "line 1" },
        { TEXT_LIT ("- 4 0555 a/\n"), "line 1" },
        { TEXT_LIT (ZEROS " 0 0555 a/\n"), "line 1" },
        { TEXT_LIT (DIGEST "  4 0444 a\n"), "line 1" },
        { TEXT_LIT (FILE_LINE ("9223372036854775807", "0444", "a") FILE_LINE ("9223372036854775807", "0444", "b")
                        FILE_LINE ("2", "0444", "c")),
          "line 3" },
    };
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        struct arena arena = { 0 };
        struct manifest manifest = { .n = 77 };
        struct err err = { 0 };
        assert_int_equal (manifest_parse (refusals[i].bytes, &arena, &manifest, &err), -1);
        assert_int_equal (err.code, ERR_DAMAGE);
        assert_has (err.text, refusals[i].says);
        assert_int_equal (manifest.n, 77);
        arena_release (&arena);
    }
}

TEST (more_lines_than_a_generation_may_hold_are_refused_before_they_are_read)
{
    struct manifest manifest;
    struct buf lines;
    buf_init (&lines, TREE_ENTRIES_MAX + 1);
    for (int i = 0; i < TREE_ENTRIES_MAX + 1; i++)
        buf_byte (&lines, '\n');
    assert_int_equal (manifest_parse (buf_as_text (&lines), &t->arena, &manifest, &t->err), -1);
    assert_int_equal (t->err.code, ERR_LIMIT);
    buf_release (&lines);
}

struct difference {
    struct tree_entry found[5];
    uint32_t n;
    const char *says;
};

#define IN_A                                                                                                           \
    {                                                                                                                  \
        TEXT_LIT ("a"), 4, TREE_FILE, 0444                                                                             \
    }
#define IN_B                                                                                                           \
    {                                                                                                                  \
        TEXT_LIT ("b"), 0, TREE_FOLDER, 0555                                                                           \
    }
#define IN_BX                                                                                                          \
    {                                                                                                                  \
        TEXT_LIT ("b.x"), 12, TREE_FILE, 0444                                                                          \
    }
#define IN_BC                                                                                                          \
    {                                                                                                                  \
        TEXT_LIT ("b/c d"), 0, TREE_FILE, 0555                                                                         \
    }

TEST (every_difference_is_named)
{
    static struct difference differences[] = {
        { { IN_A, IN_B, IN_BX, IN_BC }, 4, NULL },
        { { IN_B, IN_BX, IN_BC }, 3, "\"a\" was sealed, but is missing" },
        { { IN_A, IN_B, IN_BX }, 3, "\"b/c d\" was sealed, but is missing" },
        { { IN_A, { TEXT_LIT ("aa"), 4, TREE_FILE, 0444 }, IN_B, IN_BX, IN_BC },
          5,
          "\"aa\" exists, but was never sealed" },
        { { IN_A, IN_B, IN_BX, IN_BC, { TEXT_LIT ("z"), 0, TREE_FOLDER, 0555 } },
          5,
          "\"z\" exists, but was never sealed" },
        { { { TEXT_LIT ("a"), 5, TREE_FILE, 0444 }, IN_B, IN_BX, IN_BC },
          4,
          "\"a\" has 5 bytes, but was sealed with 4" },
        { { { TEXT_LIT ("a"), 4, TREE_FILE, 0644 }, IN_B, IN_BX, IN_BC },
          4,
          "\"a\" has mode 0644, but was sealed with 0444" },
        { { { TEXT_LIT ("a"), 0, TREE_FOLDER, 0555 }, IN_B, IN_BX, IN_BC },
          4,
          "\"a\" is a folder, but was sealed as a file" },
    };
    struct manifest manifest;
    assert_int_equal (manifest_parse (TEXT_LIT (GOOD), &t->arena, &manifest, NULL), 0);
    for (size_t i = 0; i < sizeof differences / sizeof *differences; i++) {
        struct tree tree = { differences[i].found, differences[i].n };
        struct err err = { 0 };
        assert_int_equal (manifest_check_tree (&manifest, &tree, &err), differences[i].says ? -1 : 0);
        if (differences[i].says)
            assert_string_equal (err.text, differences[i].says);
    }
}
