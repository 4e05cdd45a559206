#include "test.h"

#include <fnmatch.h>
#include <ftw.h>

/* The tests of one file. */
struct group {
    const char *file;
    struct CMUnitTest *tests;
    uint32_t n, capacity;
    CMFixtureFunction set_up, tear_down;
};

static struct group *groups;
static uint32_t groups_n, groups_capacity;

static struct group *group_of (const char *file)
{
    if (groups_n == 0 || strcmp (groups[groups_n - 1].file, file) != 0) {
        groups = mem_room (groups, groups_n, &groups_capacity, 64, sizeof (*groups));
        groups[groups_n++] = (struct group){ .file = file };
    }
    return &groups[groups_n - 1];
}

void test_add (const char *file, struct CMUnitTest test)
{
    struct group *group = group_of (file);
    group->tests = mem_room (group->tests, group->n, &group->capacity, 16, sizeof (*group->tests));
    group->tests[group->n++] = test;
}

void test_group (const char *file, CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    group_of (file)->set_up = set_up;
    group_of (file)->tear_down = tear_down;
}

static uint32_t run_n;

static void keep_matching (struct group *group, const char *name, const char *pattern)
{
    uint32_t kept = 0;
    if (fnmatch (pattern, name, 0) == 0)
        return;
    for (uint32_t i = 0; i < group->n; i++)
        if (fnmatch (pattern, group->tests[i].name, 0) == 0)
            group->tests[kept++] = group->tests[i];
    group->n = kept;
}

static int group_run (struct group *group, const char *pattern)
{
    char name[64];
    snprintf (name, sizeof (name), "%s", strrchr (group->file, '/') + 1);
    name[strlen (name) - strlen (".c")] = '\0';
    keep_matching (group, name, pattern);
    run_n += group->n;
    int failed = group->n ? _cmocka_run_group_tests (name, group->tests, group->n, group->set_up, group->tear_down) : 0;
    mem_free (group->tests);
    return failed;
}

int test_run (int argc, char **argv)
{
    int failed = 0;
    for (uint32_t i = 0; i < groups_n; i++)
        failed += group_run (&groups[i], argc > 1 ? argv[1] : "*");
    mem_free (groups);
    if (run_n == 0)
        print_error ("no file and no test is called %s\n", argc > 1 ? argv[1] : "");
    return run_n == 0 ? 2 : failed != 0;
}

__attribute__ ((weak)) int main (int argc, char **argv)
{
    return test_run (argc, argv);
}

int test_set_up (void **state)
{
    *state = mem_alloc (sizeof (struct test));
    return 0;
}

static int remove_one (const char *path, const struct stat *stat, int kind, struct FTW *at)
{
    (void) stat, (void) kind, (void) at;
    return remove (path);
}

int test_tear_down (void **state)
{
    struct test *t = *state;
    if (t->folder[0])
        nftw (t->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    for (uint32_t i = 0; i < t->bufs_n; i++)
        buf_release (&t->bufs[i]);
    arena_release (&t->arena);
    mem_free (t->fixture);
    mem_free (t);
    return 0;
}

struct buf *test_buf (struct test *t)
{
    assert_true (t->bufs_n < sizeof (t->bufs) / sizeof (t->bufs[0]));
    struct buf *buf = &t->bufs[t->bufs_n++];
    buf_init (buf, 64 << 20);
    return buf;
}

const char *test_folder (struct test *t)
{
    if (t->folder[0] == '\0') {
        snprintf (t->folder, sizeof (t->folder), "/tmp/sliceup-test-XXXXXX");
        assert_non_null (mkdtemp (t->folder));
    }
    return t->folder;
}

const char *test_path (struct test *t, const char *name)
{
    return text_format (&t->arena, "%s/%s", test_folder (t), name).ptr;
}

void test_text (struct text got, struct text want, const char *file, int line)
{
    if (text_equal (got, want))
        return;
    print_error ("found:  %.*s\nwanted: %.*s\n", TEXT_ARG (got), TEXT_ARG (want));
    _fail (file, line);
}

void test_has (struct text got, struct text part, bool wanted, const char *file, int line)
{
    if (text_find (got, part, NULL) == wanted)
        return;
    print_error ("found:  %.*s\nwanted %s: %.*s\n", TEXT_ARG (got), wanted ? "in it" : "not in it", TEXT_ARG (part));
    _fail (file, line);
}
