/* alone: journal */
/* Something else lies where a file of the journal should: nobody waits for it, and the sentence names it. */
#include "test.h"
#include "tests/unit/journal_fixture.h"

#include <sys/prctl.h>

enum { FACTS = 5, PATH_BYTES = 128, HANG_S = 20, NOBODY = 65534 };

static const char *beside (const struct place *place, const char *ending)
{
    static char path[PATH_BYTES];
    snprintf (path, sizeof path, "%s%s", place->path, ending);
    return path;
}

/* With its log and its shared memory still there. */
static void make_killed (const struct place *place)
{
    int status = 0;
    pid_t pid = fork ();
    if (pid == 0) {
        prctl (PR_SET_PDEATHSIG, SIGKILL);
        struct journal *journal = journal_create (place->path, RUN_ID, NULL);
        if (journal) {
            append_until (journal, 1, FACTS);
            wait_durable (journal, FACTS);
        }
        raise (SIGKILL);
        _exit (1);
    }
    assert_int_equal (waitpid (pid, &status, 0), pid);
    assert_true (WIFSIGNALED (status));
    assert_int_equal (access (beside (place, "-wal"), F_OK), 0);
}

static void put_fifo (const char *path)
{
    assert_int_equal (mkfifo (path, 0600), 0);
}
static void put_folder (const char *path)
{
    assert_int_equal (mkdir (path, 0700), 0);
}

static void put_link (const char *path)
{
    char moved[PATH_BYTES + 8];
    snprintf (moved, sizeof moved, "%s.moved", path);
    assert_int_equal (symlink (moved, path), 0);
}

static void put_bytes (const char *path)
{
    int fd = open (path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true (fd >= 0);
    for (int i = 0; i < 1000; i++)
        assert_int_equal (write (fd, "garbage", 7), 7);
    close (fd);
}

/* The reader's answer, then the writer's; that of a lock is asked of both. */
static void refused (const struct place *place, const char *ending, enum err_code code, const char *words)
{
    struct err err = { 0 }, opened = { 0 };
    uint64_t last = 0;
    if (strcmp (ending, ".lock") == 0)
        assert_int_equal (journal_is_locked (place->path, NULL, &err), -1);
    else
        assert_int_equal (journal_read (place->path, expect_next, &last, &err), -1);
    if (err.code != code || !strstr (err.text, words) || !strstr (err.text, ending))
        fail_msg ("reading with another %s: code %d: %s", ending, err.code, err.text);
    assert_null (journal_open (place->path, &opened));
    if (opened.code != code || !strstr (opened.text, words))
        fail_msg ("opening with another %s: code %d: %s", ending, opened.code, opened.text);
}

static void in_place_of (const struct place *place, const char *ending, void (*put) (const char *), enum err_code code,
                         const char *words)
{
    char kept[PATH_BYTES + 8];
    snprintf (kept, sizeof kept, "%s.kept", beside (place, ending));
    bool was_there = rename (beside (place, ending), kept) == 0;
    put (beside (place, ending));
    alarm (HANG_S);
    refused (place, ending, code, words);
    alarm (0);
    if (unlink (beside (place, ending)) != 0)
        assert_int_equal (rmdir (beside (place, ending)), 0);
    if (was_there)
        assert_int_equal (rename (kept, beside (place, ending)), 0);
}

TEST_ON (place, a_link_is_called_one)
{
    static const char *const endings[] = { "", "-wal", "-shm", ".mark", ".lock" };
    make_killed (place);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        in_place_of (place, endings[i], put_link, ERR_STATE, "is a symbolic link, expected a regular file");
}

TEST_ON (place, a_fifo_or_a_folder_holds_nobody)
{
    static const char *const endings[] = { ".lock", ".mark", "-shm", "" };
    make_killed (place);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        in_place_of (place, endings[i], put_fifo, ERR_STATE, "is a FIFO, expected a regular file");
        in_place_of (place, endings[i], put_folder, ERR_STATE, "is a folder, expected a regular file");
    }
}

TEST_ON (place, a_log_that_something_else_replaced_is_gone)
{
    make_killed (place);
    in_place_of (place, "-wal", put_fifo, ERR_DAMAGE, "journal.db-wal is a FIFO, expected a regular file");
    in_place_of (place, "-wal", put_folder, ERR_DAMAGE, "journal.db-wal is a folder, expected a regular file");
}

TEST_ON (place, a_rollback_journal_is_in_the_way)
{
    make_killed (place);
    in_place_of (place, "-journal", put_bytes, ERR_STATE, "journal.db-journal is a rollback file of SQLite");
    in_place_of (place, "-journal", put_folder, ERR_STATE, "is a folder, expected a regular file");
}

/* ---- a folder that may only be read ---- */

static void give_away (const struct place *place)
{
    static const char *const endings[] = { "", "-wal", "-shm", ".mark", ".lock" };
    for (size_t i = 0; geteuid () == 0 && i < sizeof endings / sizeof endings[0]; i++)
        if (access (beside (place, endings[i]), F_OK) == 0)
            assert_int_equal (chown (beside (place, endings[i]), NOBODY, NOBODY), 0);
    if (geteuid () == 0)
        assert_int_equal (chown (place->folder, NOBODY, NOBODY), 0);
}

/* In a process that no mode of a file lets pass. 0: read; else the sentence has the words. */
static int read_as_nobody (const struct place *place, const char *words)
{
    struct err err = { 0 };
    uint64_t last = 0;
    int status = 0;
    pid_t pid = fork ();
    if (pid == 0) {
        bool may = geteuid () != 0 ||
                   (setresgid (NOBODY, NOBODY, NOBODY) == 0 && setresuid (NOBODY, NOBODY, NOBODY) == 0);
        int rc = may ? journal_read (place->path, expect_next, &last, &err) : 0;
        if (words ? rc == 0 || err.code != ERR_IO || !strstr (err.text, words) : rc != 0)
            fprintf (stderr, "%d, code %d: %s\n", rc, err.code, err.text);
        else
            _exit (0);
        _exit (1);
    }
    assert_int_equal (waitpid (pid, &status, 0), pid);
    return status;
}

TEST_ON (place, a_folder_that_may_only_be_read_needs_the_shared_memory)
{
    make_killed (place);
    give_away (place);
    assert_int_equal (chmod (place->folder, 0500), 0);
    assert_int_equal (read_as_nobody (place, NULL), 0);
    assert_int_equal (chmod (place->folder, 0700), 0);
    assert_int_equal (unlink (beside (place, "-shm")), 0);
    assert_int_equal (chmod (place->folder, 0500), 0);
    assert_int_equal (read_as_nobody (place, "journal.db-shm, which does not exist"), 0);
    assert_int_equal (chmod (place->folder, 0700), 0);
}

TEST_ON (place, so_does_a_journal_that_was_closed)
{
    struct journal *journal = journal_create (place->path, RUN_ID, NULL);
    assert_non_null (journal);
    append_until (journal, 1, FACTS);
    journal_close (journal);
    give_away (place);
    assert_int_equal (chmod (place->folder, 0500), 0);
    assert_int_equal (read_as_nobody (place, "journal.db-shm, which does not exist"), 0);
    assert_int_equal (chmod (place->folder, 0700), 0);
}
