/* alone: journal */
/* Which run is the last one, whatever became of the note of when each was made. */
#include <poll.h>

#include "common/io/atomic_file.h"
#include "coordinator/journal/run_begun.h"
#include "coordinator/journal/run_dir.h"
#include "test.h"

enum { APART_MS = 50 };

struct home {
    char path[64];
    struct run_dir older, newer;
};

static void home_open (struct home *home)
{
    snprintf (home->path, sizeof home->path, "/tmp/run-dir-test-XXXXXX");
    assert_true (mkdtemp (home->path) && run_dir_create (&home->older, home->path, NULL) == 0);
    poll (NULL, 0, APART_MS);
    assert_int_equal (run_dir_create (&home->newer, home->path, NULL), 0);
}

static void home_close (struct home *home)
{
    assert_int_equal (folder_remove (home->path, NULL), 0);
}

TEST_FIXTURE (struct home, home_open, home_close)

static void last_is_the_newer (const struct home *home, const char *what)
{
    struct run_dir found;
    assert_int_equal (run_dir_find (&found, home->path, "last", NULL), 0);
    if (strcmp (found.id, home->newer.id) != 0)
        fail_msg ("%s: another run is the last", what);
}

/* Without touching the folder, as a disk would. */
static void put_created (const struct run_dir *dir, const void *bytes, size_t len)
{
    char path[RUN_PATH_BYTES];
    int fd = open (run_dir_path (dir, "created", path), O_WRONLY | O_TRUNC);
    assert_true (fd >= 0);
    assert_int_equal (write (fd, bytes, len), len);
    assert_int_equal (close (fd), 0);
}

static void each_wrong_digit (const struct home *home, const struct run_dir *dir, uint8_t digit)
{
    char path[RUN_PATH_BYTES], what[64];
    struct buf whole;
    buf_init (&whole, 128);
    assert_int_equal (file_read (run_dir_path (dir, "created", path), &whole, NULL), 0);
    for (size_t i = 0; i < whole.len; i++) {
        uint8_t was = whole.ptr[i];
        whole.ptr[i] = digit;
        put_created (dir, whole.ptr, whole.len);
        snprintf (what, sizeof what, "byte %zu of created is %c", i, digit);
        last_is_the_newer (home, what);
        whole.ptr[i] = was;
    }
    for (size_t len = 0; len <= whole.len; len++) {
        put_created (dir, whole.ptr, len);
        snprintf (what, sizeof what, "created has %zu bytes", len);
        last_is_the_newer (home, what);
    }
    buf_release (&whole);
}

/* As whoever reads its journal does. */
static void look_at (const struct run_dir *dir)
{
    char path[RUN_PATH_BYTES];
    assert_int_equal (atomic_file_write (run_dir_path (dir, "journal.db-shm", path), "", 0, 0600, NULL), 0);
    assert_int_equal (unlink (path), 0);
}

TEST_ON (home, a_wrong_digit_in_created_makes_no_other_run_the_last)
{
    last_is_the_newer (home, "as they were made");
    each_wrong_digit (home, &home->newer, '0');
    look_at (&home->older);
    each_wrong_digit (home, &home->older, '9');
}

TEST_ON (home, a_run_that_was_removed_meanwhile_is_no_damage)
{
    char path[RUN_PATH_BYTES];
    assert_int_equal (folder_remove (run_dir_path (&home->newer, "", path), NULL), 0);
    assert_int_equal (unlink (run_dir_unbegun_path (&home->newer, path)), 0);
    assert_int_equal (run_begun_check (&home->newer, &t->err), -1);
    assert_int_equal (t->err.code, ERR_USAGE);
    assert_has (t->err.text, "no longer exists");
    t->err = (struct err){ 0 };
    assert_int_equal (run_begun_check_or_remove (&home->newer, &t->err), -1);
    assert_int_equal (t->err.code, ERR_USAGE);
}

/* The clock was a century ahead, and was set back; or somebody wrote what no clock says. */
TEST_ON (home, the_last_is_the_last_that_was_made_whatever_the_clock_said)
{
    put_created (&home->newer, "4765132800000 4765132800000\n", 28);
    for (int i = 0; i < 3; i++) {
        assert_int_equal (run_dir_create (&home->newer, home->path, NULL), 0);
        last_is_the_newer (home, "the clock was set back");
    }
    put_created (&home->older, "18446744073709551615 18446744073709551615\n", 42);
    assert_int_equal (run_dir_create (&home->newer, home->path, NULL), 0);
    last_is_the_newer (home, "a number beyond all");
}

TEST_ON (home, the_last_is_the_one_that_was_taken_over)
{
    struct run_dir taken, newest, found;
    assert_int_equal (run_dir_note_taken_over (&home->older, &t->err), 0);
    assert_int_equal (run_dir_find (&taken, home->path, "last", &t->err), 0);
    assert_string_equal (taken.id, home->older.id);
    assert_int_equal (run_dir_create (&newest, home->path, &t->err), 0);
    assert_int_equal (run_dir_find (&found, home->path, "last", &t->err), 0);
    assert_string_equal (found.id, newest.id);
}

/* Of two who wait, each on a file of its own, both would have it. */
TEST_ON (home, a_turn_is_one_files_lock_whoever_holds_it_meanwhile)
{
    struct flock whole = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
    struct err err = { 0 };
    struct stat before, after;
    char path[RUN_PATH_BYTES];
    int fd = run_begun_take_turn (home->path, &err);
    assert_true (fd >= 0);
    close (fd);
    snprintf (path, sizeof path, "%s/runs/.beginning", home->path); /* in what sandboxes keep out of sight */
    int reading_fd = open (path, O_RDONLY);
    assert_int_equal (fcntl (reading_fd, F_OFD_SETLK, &whole), 0);
    assert_int_equal (fstat (reading_fd, &before), 0);
    pid_t holder = fork (); /* keeps it for a moment longer */
    if (holder == 0) {
        poll (NULL, 0, 200);
        _exit (0);
    }
    close (reading_fd);
    fd = run_begun_take_turn (home->path, &err);
    assert_true (fd >= 0);
    assert_int_equal (fstat (fd, &after), 0);
    assert_int_equal (after.st_ino, before.st_ino);
    close (fd);
    assert_int_equal (waitpid (holder, NULL, 0), holder);
}

TEST (only_an_id_becomes_a_path)
{
    static const char *const others[] = { "",
                                          "../../x",
                                          "ab",
                                          "0123456789ABCDEF0123456789ABCDEF",
                                          "../../../../../../tmp/elsewhere/",
                                          "0123456789abcdef0123456789abcdef0" };
    struct run_dir dir;
    struct text home = TEXT_LIT ("/home"), id = TEXT_LIT ("0123456789abcdef0123456789abcdef");
    assert_true (run_dir_name (&dir, home, id));
    assert_string_equal (dir.home, "/home");
    assert_string_equal (dir.id, "0123456789abcdef0123456789abcdef");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false (run_dir_name (&dir, home, text_of (others[i])));
    assert_false (run_dir_name (&dir, TEXT_LIT ("home"), id));
}

/* Of a journal that came from elsewhere, as an id. */
TEST (only_words_of_a_plan_become_parts_of_a_path)
{
    static const char *const others[] = { "", ".", "..", ".hidden", "a/b", "../x", "/x" };
    struct plan_host hosts[] = { { .name = TEXT_LIT ("h0") }, { .name = TEXT_LIT ("h1.b-c_d") } };
    struct rung rungs[] = { { .id = TEXT_LIT ("facts") }, { .id = TEXT_LIT ("tiny-1") } };
    struct plan plan = { .hosts = { hosts, 2 }, .rungs = { rungs, 2 } };
    assert_true (run_dir_names_path_safe (&plan));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct text word = hosts[1].name;
        hosts[1].name = text_of (others[i]);
        assert_false (run_dir_names_path_safe (&plan));
        hosts[1].name = word;
        word = rungs[1].id;
        rungs[1].id = text_of (others[i]);
        assert_false (run_dir_names_path_safe (&plan));
        rungs[1].id = word;
    }
    rungs[1].id = TEXT_LIT ("a\0b");
    assert_false (run_dir_names_path_safe (&plan));
}
