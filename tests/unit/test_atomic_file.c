/* alone: io */
#include <dirent.h>
#include <limits.h>
#include <sys/resource.h>

#include "common/io/atomic_file.h"
#include "common/io/log.h"
#include "test.h"

static char top[64];

static int set_up (void **state)
{
    (void) state;
    strcpy (top, "/tmp/atomic_file.XXXXXX");
    assert_non_null (mkdtemp (top));
    return 0;
}

static int tear_down (void **state)
{
    (void) state;
    struct err err = { 0 };
    if (folder_remove (top, &err) != 0)
        fail_msg ("%s", err.text);
    assert_int_equal (access (top, F_OK), -1);
    return 0;
}

static const char *below (const char *name)
{
    static char paths[4][PATH_MAX];
    static int next;
    char *path = paths[next++ % 4];
    snprintf (path, PATH_MAX, "%s/%s", top, name);
    return path;
}

static void write_text (const char *name, const char *text)
{
    struct err err = { 0 };
    if (atomic_file_write (below (name), text, strlen (text), 0640, &err) != 0)
        fail_msg ("%s", err.text);
}

static int count_entries (const char *path)
{
    int n = -2; /* . and .. */
    DIR *folder = opendir (path);
    assert_non_null (folder);
    while (readdir (folder))
        n++;
    closedir (folder);
    return n;
}

static void assert_holds (const char *name, const char *text)
{
    struct buf buf;
    struct err err = { 0 };
    buf_init (&buf, 4096);
    if (file_read (below (name), &buf, &err) != 0)
        fail_msg ("%s", err.text);
    assert_text (&buf, text);
    buf_release (&buf);
}

/* ---- files ---- */

TEST_IN (a_file_is_made_and_replaced_with_its_mode, set_up, tear_down)
{
    struct stat at;
    mode_t before = umask (077); /* the mode asked for counts, not the umask */
    write_text ("file", "old");
    assert_holds ("file", "old");
    write_text ("file", "new and longer");
    umask (before);
    assert_holds ("file", "new and longer");
    assert_int_equal (stat (below ("file"), &at), 0);
    assert_int_equal (at.st_mode & 07777, 0640);
    assert_int_equal (count_entries (top), 1);
}

TEST_IN (a_failed_write_leaves_the_old_file_and_nothing_beside_it, set_up, tear_down)
{
    write_text ("file", "old");
    pid_t child = fork ();
    assert_true (child >= 0);
    if (child == 0) {
        struct rlimit limit = { .rlim_cur = 100, .rlim_max = 100 };
        char bytes[1000] = "";
        struct err err = { 0 };
        signal (SIGXFSZ, SIG_IGN);
        setrlimit (RLIMIT_FSIZE, &limit);
        int rc = atomic_file_write (below ("file"), bytes, sizeof bytes, 0600, &err);
        _exit (rc == -1 && err.code == ERR_IO && strstr (err.text, below ("file")) ? 0 : 1);
    }
    int status;
    assert_int_equal (waitpid (child, &status, 0), child);
    assert_true (WIFEXITED (status) && WEXITSTATUS (status) == 0);
    assert_holds ("file", "old");
    assert_int_equal (count_entries (top), 1);
}

TEST_IN (pieces_become_a_file_at_the_end_or_leave_what_was_there, set_up, tear_down)
{
    struct atomic_file file;
    struct err err = { 0 };
    write_text ("file", "old");
    for (int whole = 0; whole < 2; whole++) {
        assert_int_equal (atomic_file_begin (&file, below ("file"), &err), 0);
        struct buf bytes = { .max = 4 << 20, .drain = atomic_file_add, .to = &file };
        for (uint32_t i = 0; i < 3 << 20; i++)
            buf_byte (&bytes, 'x');
        buf_drain (&bytes);
        assert_true (bytes.len == 0 && !bytes.overflow);
        buf_puts (&bytes, "end");
        buf_drain (&bytes);
        assert_int_equal (bytes.len, 3); /* little is kept for later */
        assert_true (atomic_file_add (bytes.ptr, bytes.len, &file));
        assert_holds ("file", "old");
        assert_int_equal (atomic_file_end (&file, whole, 0640, &err), whole - 1);
        buf_release (&bytes);
        assert_int_equal (count_entries (top), 1);
    }
    struct stat at;
    assert_int_equal (stat (below ("file"), &at), 0);
    assert_int_equal (at.st_size, (3 << 20) + 3);
    assert_int_equal (err.code, 0);
}

TEST_IN (a_piece_that_cannot_be_written_is_told_at_the_end, set_up, tear_down)
{
    struct atomic_file file;
    struct err err = { 0 };
    char much[2 << 10] = "";
    write_text ("file", "old");
    assert_int_equal (atomic_file_begin (&file, below ("file"), &err), 0);
    int fd = file.fd, full = open ("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_int_equal (dup2 (full, fd), fd);
    close (full);
    assert_false (atomic_file_add (much, sizeof much, &file));
    assert_false (atomic_file_add (much, sizeof much, &file));
    assert_int_equal (atomic_file_end (&file, true, 0640, &err), -1);
    assert_has (err.text, "No space left");
    assert_holds ("file", "old");
    assert_int_equal (count_entries (top), 1);
}

TEST_IN (writing_where_nothing_can_be_is_explained, set_up, tear_down)
{
    char *name = malloc (2 * PATH_MAX);
    struct err err = { 0 };
    memset (name, 'x', 2 * PATH_MAX);
    name[2 * PATH_MAX - 1] = '\0';
    assert_int_equal (atomic_file_write (below ("no/such/file"), "x", 1, 0600, &err), -1);
    assert_has (err.text, "no/such/file");
    assert_int_equal (atomic_file_write (name, "x", 1, 0600, &err), -1);
    assert_int_equal (err.code, ERR_LIMIT);
    assert_int_equal (mkdir (below ("folder"), 0700), 0);
    assert_int_equal (atomic_file_write (below ("folder"), "x", 1, 0600, &err), -1);
    assert_int_equal (count_entries (top), 1);
    free (name);
}

TEST_IN (a_file_is_written_where_the_process_stands, set_up, tear_down)
{
    struct err err = { 0 };
    char *here = getcwd (NULL, 0);
    assert_int_equal (chdir (top), 0);
    assert_int_equal (atomic_file_write ("bare", "x", 1, 0600, &err), 0);
    assert_int_equal (chdir (here), 0);
    assert_holds ("bare", "x");
    free (here);
}

TEST_IN (reading_refuses_what_is_no_plain_file_or_too_large, set_up, tear_down)
{
    static const struct {
        const char *name;
        size_t max;
        enum err_code code;
    } cases[] = {
        { "missing", 100, ERR_IO },   { "link", 100, ERR_STATE }, { "fifo", 100, ERR_STATE },
        { "folder", 100, ERR_STATE }, { "file", 9, ERR_LIMIT },   { "file", 10, ERR_NONE },
        { "empty", 0, ERR_NONE },
    };
    write_text ("file", "0123456789");
    write_text ("empty", "");
    assert_int_equal (symlink ("file", below ("link")), 0);
    assert_int_equal (mkfifo (below ("fifo"), 0600), 0);
    assert_int_equal (mkdir (below ("folder"), 0700), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf buf;
        struct err err = { 0 };
        buf_init (&buf, cases[i].max);
        int rc = file_read (below (cases[i].name), &buf, &err);
        if (rc != (cases[i].code == ERR_NONE ? 0 : -1) || err.code != cases[i].code)
            fail_msg ("%s (%zu): rc %d, code %d, %s", cases[i].name, cases[i].max, rc, err.code, err.text);
        if (rc != 0)
            assert_int_equal (buf.len, 0);
        buf_release (&buf);
    }
}

TEST_IN (a_large_file_comes_back_whole, set_up, tear_down)
{
    enum { BYTES = 300000 };
    struct err err = { 0 };
    struct buf buf;
    uint8_t *bytes = malloc (BYTES);
    for (int i = 0; i < BYTES; i++)
        bytes[i] = (uint8_t) (i * 7 + i / 251);
    assert_int_equal (atomic_file_write (below ("large"), bytes, BYTES, 0600, &err), 0);
    buf_init (&buf, BYTES);
    assert_int_equal (file_read (below ("large"), &buf, &err), 0);
    assert_int_equal (buf.len, BYTES);
    assert_memory_equal (buf.ptr, bytes, BYTES);
    buf_release (&buf);
    buf_init (&buf, BYTES - 1); /* much was read before it turned out to be too large: none of it stays */
    assert_int_equal (file_read (below ("large"), &buf, &err), -1);
    assert_int_equal (buf.len, 0);
    buf_release (&buf);
    free (bytes);
}

/* ---- folders ---- */

TEST_IN (folders_are_made_with_their_parents_and_twice, set_up, tear_down)
{
    struct stat at;
    struct err err = { 0 };
    for (int i = 0; i < 2; i++)
        assert_int_equal (folder_make (below ("a//b/c/"), 0750, &err), 0);
    assert_int_equal (stat (below ("a/b/c"), &at), 0);
    assert_true (S_ISDIR (at.st_mode));
    write_text ("a/file", "x");
    assert_int_equal (folder_make (below ("a/file"), 0700, &err), -1);
    assert_int_equal (folder_make (below ("a/file/d"), 0700, &err), -1);
    assert_int_equal (folder_make ("", 0700, &err), -1);
    assert_int_equal (err.code, ERR_LIMIT);
    assert_int_equal (folder_sync (below ("a/b"), &err), 0);
    assert_int_equal (folder_sync (below ("a/file"), &err), -1);
}

TEST_IN (removing_follows_no_link_and_accepts_what_is_missing, set_up, tear_down)
{
    struct err err = { 0 };
    assert_int_equal (folder_make (below ("keep"), 0700, &err), 0);
    assert_int_equal (folder_make (below ("tree/sub"), 0700, &err), 0);
    write_text ("keep/file", "mine");
    write_text ("tree/sub/file", "x");
    assert_int_equal (symlink (below ("keep"), below ("tree/link")), 0);
    assert_int_equal (symlink (below ("keep"), below ("link")), 0);
    assert_int_equal (folder_remove (below ("tree"), &err), 0);
    assert_int_equal (folder_remove (below ("tree"), &err), 0);
    assert_int_equal (folder_remove (below ("link"), &err), 0);
    assert_int_equal (count_entries (top), 1);
    assert_holds ("keep/file", "mine");
}

TEST_IN (a_very_deep_tree_is_removed, set_up, tear_down)
{
    enum { DEPTH = 3000 }; /* far longer than PATH_MAX, far more than the descriptors below */
    struct rlimit before, few;
    struct err err = { 0 };
    char *here = getcwd (NULL, 0);
    assert_int_equal (mkdir (below ("deep"), 0700), 0);
    assert_int_equal (chdir (below ("deep")), 0);
    for (int i = 0; i < DEPTH; i++) {
        assert_int_equal (mkdir ("d", 0700), 0);
        assert_int_equal (chdir ("d"), 0);
        close (open ("file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    }
    assert_int_equal (chdir (here), 0);
    assert_int_equal (getrlimit (RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = 200;
    assert_int_equal (setrlimit (RLIMIT_NOFILE, &few), 0);
    int rc = folder_remove (below ("deep"), &err);
    assert_int_equal (setrlimit (RLIMIT_NOFILE, &before), 0);
    if (rc != 0)
        fail_msg ("%s", err.text);
    assert_int_equal (access (below ("deep"), F_OK), -1);
    free (here);
}

/* As somebody who is not root, for whom modes count. */
TEST_IN (a_sealed_tree_is_removed_by_its_owner, set_up, tear_down)
{
    assert_int_equal (chmod (top, 0777), 0);
    pid_t child = fork ();
    assert_true (child >= 0);
    if (child == 0) {
        if (geteuid () == 0 && (setgid (65534) != 0 || setuid (65534) != 0))
            _exit (2);
        if (mkdir (below ("sealed"), 0700) != 0 || mkdir (below ("sealed/sub"), 0700) != 0)
            _exit (3);
        write_text ("sealed/sub/file", "x");
        if (chmod (below ("sealed/sub"), 0) != 0 || chmod (below ("sealed"), 0555) != 0)
            _exit (4);
        _exit (folder_remove (below ("sealed"), NULL) == 0 && access (below ("sealed"), F_OK) != 0 ? 0 : 1);
    }
    int status;
    assert_int_equal (waitpid (child, &status, 0), child);
    assert_true (WIFEXITED (status));
    assert_int_equal (WEXITSTATUS (status), 0);
}

/* ---- the log ---- */

TEST_IN (one_event_is_one_line_that_cannot_drive_a_terminal, set_up, tear_down)
{
    FILE *to = fopen (below ("log"), "we");
    struct log log = { .to = to, .program = "sliceup" };
    log_print (&log, "host %d said %s", 3, "a\nb\033[2J");
    log_detail (&log, "not shown");
    log.verbose = 1;
    log_detail (&log, "shown");
    log.to = NULL;
    log_print (&log, "silent");
    fclose (to);
    assert_holds ("log", "sliceup: host 3 said a\\x0ab\\x1b[2J\nsliceup: shown\n");
}
