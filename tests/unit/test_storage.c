/* links: cache */
/* The mark that tells storages apart, whoever comes first, and what a path is mounted from. */
#include "cache_fixture.h"

#include <sys/wait.h>
#include "common/cache/storage.h"

enum { COMERS = 16 };

static int id_of (struct yard *yard, bool make, char id[STORAGE_ID_BYTES])
{
    return storage_id (yard->root, make, id, &yard->err);
}

static void the_first_makes_it_and_all_read_the_same (void **state)
{
    struct yard *yard = *state;
    char one[STORAGE_ID_BYTES], other[STORAGE_ID_BYTES], path[128];
    struct stat st;
    assert_int_equal (id_of (yard, false, one), -1);
    assert_int_equal (yard->err.code, ERR_STATE);
    assert_int_equal (id_of (yard, true, one), 0);
    assert_int_equal (strlen (one), 16);
    assert_int_equal (strspn (one, "0123456789abcdef"), 16);
    assert_int_equal (id_of (yard, true, other), 0);
    assert_string_equal (one, other);
    assert_int_equal (id_of (yard, false, other), 0);
    assert_string_equal (one, other);
    snprintf (path, sizeof path, "%s/storage", yard->root);
    assert_int_equal (stat (path, &st), 0);
    assert_int_equal (st.st_mode & 07777, 0444);
    assert_int_equal (st.st_nlink, 1); /* the name it was made under is gone */
}

static void a_root_without_a_mark_says_what_that_means (void **state)
{
    struct yard *yard = *state;
    char id[STORAGE_ID_BYTES];
    assert_int_equal (folder_make (yard->root, 0755, &yard->err), 0);
    assert_int_equal (id_of (yard, false, id), -1);
    assert_int_equal (yard->err.code, ERR_STATE);
    says (yard, "no run has used this cache yet");
}

/* Each child writes what it read into its own end; all must be one. */
static void of_many_that_come_at_once_one_makes_it (void **state)
{
    struct yard *yard = *state;
    char ids[COMERS][STORAGE_ID_BYTES];
    int pipe_fds[2], go[2], status, failed = 0;
    assert_int_equal (pipe (pipe_fds), 0);
    assert_int_equal (pipe (go), 0);
    for (int i = 0; i < COMERS; i++) {
        pid_t pid = fork ();
        assert_true (pid >= 0);
        if (pid == 0) {
            char id[STORAGE_ID_BYTES] = { 0 }, byte;
            close (go[1]);
            (void) !read (go[0], &byte, 1); /* the end of the pipe starts all of them */
            int rc = id_of (yard, true, id);
            _exit (rc || write (pipe_fds[1], id, sizeof id) != sizeof id);
        }
    }
    close (go[0]);
    close (go[1]);
    for (int i = 0; i < COMERS; i++) /* all of them, before anything can fail and the folder goes */
        failed += wait (&status) < 0 || status != 0;
    assert_int_equal (failed, 0);
    for (int i = 0; i < COMERS; i++) {
        assert_int_equal (read (pipe_fds[0], ids[i], sizeof ids[i]), sizeof ids[i]);
        assert_string_equal (ids[i], ids[0]);
    }
    close (pipe_fds[0]);
    close (pipe_fds[1]);
}

static void plant (struct yard *yard, const char *content, const char *link_to)
{
    char path[128];
    assert_int_equal (folder_make (yard->root, 0755, &yard->err), 0);
    snprintf (path, sizeof path, "%s/storage", yard->root);
    if (unlink (path))
        assert_int_equal (errno, ENOENT);
    if (link_to)
        assert_int_equal (symlink (link_to, path), 0);
    else
        write_file (yard->root, "storage", content, strlen (content));
}

static void a_mark_that_is_none_is_refused_with_what_to_do (void **state)
{
    static const char *const contents[] = { "0123456789ABCDEF\n", "0123456789abcdef\nmore", "0123456789abcdefg",
                                            "xxxxxxxxxxxxxxxx\n" };
    struct yard *yard = *state;
    char id[STORAGE_ID_BYTES] = "untouched";
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++) {
        plant (yard, contents[i], NULL);
        assert_int_equal (id_of (yard, true, id), -1);
        assert_int_equal (yard->err.code, ERR_DAMAGE);
        says (yard, "remove it while no run uses the cache");
    }
    plant (yard, "half", NULL);
    assert_int_equal (id_of (yard, true, id), -1);
    says (yard, "was begun and never finished");
    plant (yard, NULL, "/dev/zero");
    assert_int_equal (id_of (yard, true, id), -1);
    plant (yard, NULL, "elsewhere");
    assert_int_equal (id_of (yard, true, id), -1);
    assert_false (exists (yard->root, "elsewhere"));
    assert_string_equal (id, "untouched");
}

static void a_root_that_is_a_file_is_said_in_words (void **state)
{
    struct yard *yard = *state;
    char id[STORAGE_ID_BYTES];
    write_file (yard->base, "cache", "x", 1);
    assert_int_equal (id_of (yard, true, id), -1);
    says (yard, "cache root");
    assert_int_equal (id_of (yard, false, id), -1);
    assert_int_not_equal (yard->err.code, ERR_STATE);
}

static void a_mount_is_told_by_type_options_and_source (void **state)
{
    struct yard *yard = *state;
    char out[256], small[8];
    assert_int_equal (storage_mount ("/proc", out, sizeof out, &yard->err), 0);
    assert_int_equal (strncmp (out, "proc rw", 7), 0);
    assert_int_equal (storage_mount (yard->base, out, sizeof out, &yard->err), 0);
    assert_true (strchr (out, ' ') && strrchr (out, ' ') != strchr (out, ' '));
    assert_int_equal (storage_mount ("/proc", small, sizeof small, &yard->err), 0);
    assert_string_equal (small, "proc rw");
    assert_int_equal (storage_mount ("/no such place", out, sizeof out, &yard->err), -1);
    says (yard, "/no such place");
}

#define YARD_TEST(name) cmocka_unit_test_setup_teardown (name, yard_setup, yard_teardown)

int main (void)
{
    const struct CMUnitTest tests[] = {
        YARD_TEST (the_first_makes_it_and_all_read_the_same),
        YARD_TEST (a_root_without_a_mark_says_what_that_means),
        YARD_TEST (of_many_that_come_at_once_one_makes_it),
        YARD_TEST (a_mark_that_is_none_is_refused_with_what_to_do),
        YARD_TEST (a_root_that_is_a_file_is_said_in_words),
        YARD_TEST (a_mount_is_told_by_type_options_and_source),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
