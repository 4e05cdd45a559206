/* links: sandbox */
/* The folder on which ways to write are tried, and those that somebody who was killed left behind. */

#include "common/io/atomic_file.h"
#include "test.h"
#include "worker/sandbox/confine_sandbox.h"

enum { HOUR_S = 3600 };

static int make_top (void **state)
{
    static char top[64];
    snprintf (top, sizeof top, "/tmp/test_confine_yard.XXXXXX");
    *state = mkdtemp (top);
    return *state ? 0 : -1;
}

/* Whoever is not root cannot empty folders that nobody may write. */
static int remove_top (void **state)
{
    static const char *const closed[] = { "probe-gone-abcdef", "probe-busy-abcdef", "jax", "kept" };
    char path[256];
    for (size_t i = 0; i < sizeof closed / sizeof closed[0]; i++) {
        snprintf (path, sizeof path, "%s/%s", (const char *) *state, closed[i]);
        (void) chmod (path, 0755); /* most of them are not there */
    }
    return folder_remove (*state, NULL);
}

static bool is_there (const char *top, const char *name)
{
    char path[256];
    snprintf (path, sizeof path, "%s/%s", top, name);
    return access (path, F_OK) == 0;
}

/* A folder that nobody may write, with a file in it, as a scratch folder is; dated `age_s` ago. */
static void leave (const char *top, const char *name, time_t age_s)
{
    char path[256];
    const struct timespec times[2] = { { .tv_sec = time (NULL) - age_s }, { .tv_sec = time (NULL) - age_s } };
    snprintf (path, sizeof path, "%s/%s", top, name);
    assert_int_equal (mkdir (path, 0755), 0);
    snprintf (path, sizeof path, "%s/%s/WITNESS", top, name);
    FILE *file = fopen (path, "w");
    assert_non_null (file);
    assert_int_equal (fclose (file), 0);
    snprintf (path, sizeof path, "%s/%s", top, name);
    assert_int_equal (chmod (path, 0555), 0);
    assert_int_equal (utimensat (AT_FDCWD, path, times, 0), 0);
}

TEST_IN (what_a_killed_one_left_behind_is_removed_and_nothing_else, make_top, remove_top)
{
    struct scratch_generation fixture;
    struct err err = { 0 };
    leave (*state, "probe-gone-abcdef", HOUR_S);
    leave (*state, "probe-busy-abcdef", 0);
    leave (*state, "jax", HOUR_S);
    assert_int_equal (scratch_generation_make (*state, &fixture, &err), 0);
    assert_false (is_there (*state, "probe-gone-abcdef"));
    assert_true (is_there (*state, "probe-busy-abcdef"));
    assert_true (is_there (*state, "jax"));
    assert_int_equal (access (fixture.path, F_OK), 0);
    assert_int_equal (scratch_generation_remove (&fixture, &err), 0);
    assert_int_equal (access (fixture.path, F_OK), -1);
}

TEST_IN (a_link_that_is_named_like_one_is_not_followed, make_top, remove_top)
{
    struct scratch_generation fixture;
    struct err err = { 0 };
    char link[256];
    leave (*state, "kept", HOUR_S);
    snprintf (link, sizeof link, "%s/probe-link-abcdef", (const char *) *state);
    assert_int_equal (symlink ("kept", link), 0);
    assert_int_equal (scratch_generation_make (*state, &fixture, &err), 0);
    assert_true (is_there (*state, "kept/WITNESS"));
    assert_int_equal (scratch_generation_remove (&fixture, &err), 0);
}
