/* alone: io base */

#include "common/io/safe_path.h"
#include "test.h"

/* "<top>/a" and what follows it. */
struct tree {
    char top[64], said[1024];
};

static const char *path_of (const struct tree *tree, const char *name)
{
    static char paths[4][256];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf (path, sizeof paths[0], "%s/%s", tree->top, name);
    return path;
}

static void tree_open (struct tree *tree)
{
    char real[64];
    strcpy (tree->top, "/tmp/sliceup-links-XXXXXX");
    assert_true (mkdtemp (tree->top) && realpath (tree->top, real));
    strcpy (tree->top, real);
    assert_int_equal (mkdir (path_of (tree, "real"), 0755) || mkdir (path_of (tree, "real/deep"), 0755), 0);
}

static void tree_close (struct tree *tree)
{
    static const char *const names[] = { "real/deep/back", "real/deep", "real", "one", "two", "loop", "gone" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (unlink (path_of (tree, names[i])) != 0)
            (void) rmdir (path_of (tree, names[i]));
    assert_int_equal (rmdir (tree->top), 0);
}

TEST_FIXTURE (struct tree, tree_open, tree_close)

static int say (void *owner, const char *link, struct err *err)
{
    struct tree *tree = owner;
    size_t len = strlen (tree->said), top = strlen (tree->top);
    (void) err;
    snprintf (tree->said + len, sizeof tree->said - len, "%s ",
              strncmp (link, tree->top, top) == 0 ? link + top : link);
    return 0;
}

static void expect (struct tree *tree, const char *path, const char *said)
{
    struct err err = { 0 };
    tree->said[0] = '\0';
    assert_int_equal (path_links_each (path, say, tree, &err), 0);
    assert_string_equal (tree->said, said);
}

TEST_ON (tree, each_link_is_told_with_its_own_place)
{
    assert_int_equal (symlink ("real", path_of (tree, "one")), 0);
    assert_int_equal (symlink (path_of (tree, "one/deep"), path_of (tree, "two")), 0);
    assert_int_equal (symlink ("../..", path_of (tree, "real/deep/back")), 0);
    expect (tree, path_of (tree, "real/deep"), "");
    expect (tree, path_of (tree, "one"), "/one ");
    expect (tree, path_of (tree, "one//deep/"), "/one ");
    expect (tree, path_of (tree, "two/x"), "/two /one ");
    expect (tree, path_of (tree, "two/back/one/deep"), "/two /one /real/deep/back /one ");
    expect (tree, path_of (tree, "real/../one/."), "/one ");
}

TEST_ON (tree, what_is_not_there_ends_the_way)
{
    assert_int_equal (symlink ("nowhere/at/all", path_of (tree, "gone")), 0);
    expect (tree, path_of (tree, "gone/x"), "/gone ");
    expect (tree, path_of (tree, "never/x"), "");
    expect (tree, "/", "");
}

TEST_ON (tree, a_relative_path_begins_where_this_process_stands)
{
    char before[256];
    assert_non_null (getcwd (before, sizeof before));
    assert_int_equal (symlink ("real", path_of (tree, "one")), 0);
    assert_int_equal (chdir (tree->top), 0);
    expect (tree, "one/deep", "/one ");
    assert_int_equal (chdir (before), 0);
}

TEST_ON (tree, links_without_end_are_refused)
{
    assert_int_equal (symlink ("loop", path_of (tree, "loop")), 0);
    tree->said[0] = '\0';
    assert_int_equal (path_links_each (path_of (tree, "loop"), say, tree, &t->err), -1);
    assert_int_equal (t->err.code, ERR_LIMIT);
}
