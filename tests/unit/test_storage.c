/* alone: cache */
/* The mark that tells storages apart, whoever comes first, and what a path is mounted from. */
#include "cache_fixture.h"
#include "test.h"

#include "common/cache/storage.h"

enum { COMERS = 16 };

static int id_of (struct fixture *fixture, bool make, char id[STORAGE_ID_BYTES])
{
    return storage_id (fixture->root, make, id, &fixture->err);
}

TEST_ON (fixture, the_first_makes_it_and_all_read_the_same)
{
    char one[STORAGE_ID_BYTES], other[STORAGE_ID_BYTES], path[128];
    struct stat st;
    assert_int_equal (id_of (fixture, false, one), -1);
    assert_int_equal (fixture->err.code, ERR_STATE);
    assert_int_equal (id_of (fixture, true, one), 0);
    assert_int_equal (strlen (one), 16);
    assert_int_equal (strspn (one, "0123456789abcdef"), 16);
    assert_int_equal (id_of (fixture, true, other), 0);
    assert_string_equal (one, other);
    assert_int_equal (id_of (fixture, false, other), 0);
    assert_string_equal (one, other);
    snprintf (path, sizeof path, "%s/storage", fixture->root);
    assert_int_equal (stat (path, &st), 0);
    assert_int_equal (st.st_mode & 07777, 0444);
    assert_int_equal (st.st_nlink, 1); /* the name it was made under is gone */
}

TEST_ON (fixture, a_root_without_a_mark_says_what_that_means)
{
    char id[STORAGE_ID_BYTES];
    assert_int_equal (folder_make (fixture->root, 0755, &fixture->err), 0);
    assert_int_equal (id_of (fixture, false, id), -1);
    assert_int_equal (fixture->err.code, ERR_STATE);
    says (fixture, "no run has used this cache yet");
}

/* Each child writes what it read into its own end; all must be one. */
TEST_ON (fixture, of_many_that_come_at_once_one_makes_it)
{
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
            int rc = id_of (fixture, true, id);
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

static void plant (struct fixture *fixture, const char *content, const char *link_to)
{
    char path[128];
    assert_int_equal (folder_make (fixture->root, 0755, &fixture->err), 0);
    snprintf (path, sizeof path, "%s/storage", fixture->root);
    if (unlink (path))
        assert_int_equal (errno, ENOENT);
    if (link_to)
        assert_int_equal (symlink (link_to, path), 0);
    else
        write_file (fixture->root, "storage", content, strlen (content));
}

TEST_ON (fixture, a_mark_that_is_none_is_refused_with_what_to_do)
{
    static const char *const contents[] = { "0123456789ABCDEF\n", "0123456789abcdef\nmore", "0123456789abcdefg",
                                            "xxxxxxxxxxxxxxxx\n" };
    char id[STORAGE_ID_BYTES] = "untouched";
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++) {
        plant (fixture, contents[i], NULL);
        assert_int_equal (id_of (fixture, true, id), -1);
        assert_int_equal (fixture->err.code, ERR_DAMAGE);
        says (fixture, "remove it while no run uses the cache");
    }
    plant (fixture, "half", NULL);
    assert_int_equal (id_of (fixture, true, id), -1);
    says (fixture, "is incomplete");
    plant (fixture, NULL, "/dev/zero");
    assert_int_equal (id_of (fixture, true, id), -1);
    plant (fixture, NULL, "elsewhere");
    assert_int_equal (id_of (fixture, true, id), -1);
    assert_false (exists (fixture->root, "elsewhere"));
    assert_string_equal (id, "untouched");
}

TEST_ON (fixture, a_root_that_is_a_file_is_said_in_words)
{
    char id[STORAGE_ID_BYTES];
    write_file (fixture->base, "cache", "x", 1);
    assert_int_equal (id_of (fixture, true, id), -1);
    says (fixture, "cache root");
    assert_int_equal (id_of (fixture, false, id), -1);
    assert_int_not_equal (fixture->err.code, ERR_STATE);
}

TEST_ON (fixture, a_mount_is_told_by_type_options_and_source)
{
    char out[256], small[8];
    assert_int_equal (storage_describe_mount ("/proc", out, sizeof out, &fixture->err), 0);
    assert_int_equal (strncmp (out, "proc rw", 7), 0);
    assert_int_equal (storage_describe_mount (fixture->base, out, sizeof out, &fixture->err), 0);
    assert_true (strchr (out, ' ') && strrchr (out, ' ') != strchr (out, ' '));
    assert_int_equal (storage_describe_mount ("/proc", small, sizeof small, &fixture->err), 0);
    assert_string_equal (small, "proc rw");
    assert_int_equal (storage_describe_mount ("/no such place", out, sizeof out, &fixture->err), -1);
    says (fixture, "/no such place");
}
