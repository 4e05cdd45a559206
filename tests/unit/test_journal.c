/* alone: journal */
#include "tests/unit/journal_fixture.h"

#include "coordinator/journal/journal_private.h"
#include "test.h"

#include <pthread.h>
#include <sqlite3.h>
#include <sys/prctl.h>

static const uint32_t sizes[] = { 1, 7, 8, 9, 4096, 100000, 1024 * 1024 };
enum { SIZES = sizeof sizes / sizeof sizes[0], BIGGEST = 1024 * 1024 };

static int expect_size (void *owner, uint64_t index, struct text bytes, struct err *err)
{
    uint32_t *seen = owner;
    (void) err;
    assert_int_equal (index, *seen + 1);
    assert_int_equal (bytes.len, sizes[*seen]);
    for (uint32_t i = 0; i < bytes.len; i++)
        if ((unsigned char) bytes.ptr[i] != 0xA5)
            fail_msg ("byte %u of fact %u", (unsigned) i, (unsigned) index);
    (*seen)++;
    return 0;
}

TEST_ON (place, facts_come_back_in_order_and_in_every_size)
{
    uint32_t seen = 0;
    char *bytes = malloc (BIGGEST);
    memset (bytes, 0xA5, BIGGEST);
    struct journal *journal = journal_create (place->path, RUN_ID, &t->err);
    assert_non_null (journal);
    for (uint32_t i = 0; i < SIZES; i++)
        journal_append (journal, i + 1, 3, i, i, (struct text){ .ptr = bytes, .len = sizes[i] });
    journal_close (journal);
    assert_int_equal (journal_read (place->path, expect_size, &seen, &t->err), 0);
    assert_int_equal (seen, SIZES);
    free (bytes);
}

TEST_ON (place, the_descriptor_wakes_when_more_is_durable)
{
    struct journal *journal = journal_create (place->path, RUN_ID, NULL);
    struct pollfd woken = { .fd = journal_fd (journal), .events = POLLIN };
    assert_int_equal (journal_durable_index (journal), 0);
    assert_int_equal (poll (&woken, 1, 0), 0);
    append_until (journal, 1, 1);
    assert_int_equal (poll (&woken, 1, WAIT_MS), 1);
    assert_int_equal (journal_durable_index (journal), 1);
    journal_clear_wakeup (journal);
    assert_int_equal (poll (&woken, 1, 0), 0);
    journal_clear_wakeup (journal); /* with nothing to read away: does not block */
    append_until (journal, 2, 500);
    wait_durable (journal, 500);
    assert_int_equal (journal_durable_index (journal), 500);
    assert_false (journal_problem (journal, NULL));
    journal_close (journal);
}

TEST_ON (place, appending_goes_on_after_reopening)
{
    uint64_t last = 0;
    make_journal (place->path, 40);
    struct journal *journal = journal_open (place->path, &t->err);
    assert_non_null (journal);
    assert_int_equal (journal_durable_index (journal), 40);
    append_until (journal, 41, 50);
    journal_close (journal);
    assert_int_equal (journal_read (place->path, expect_next, &last, &t->err), 0);
    assert_int_equal (last, 50);
}

TEST_ON (place, an_existing_journal_is_never_written_over)
{
    uint64_t last = 0;
    make_journal (place->path, 5);
    assert_null (journal_create (place->path, RUN_ID, &t->err));
    assert_int_equal (t->err.code, ERR_STATE);
    assert_has (t->err.text, place->path);
    assert_int_equal (journal_read (place->path, expect_next, &last, NULL), 0);
    assert_int_equal (last, 5);
    assert_int_equal (unlink (place->path), 0); /* what vouches for it is not written over either */
    assert_null (journal_create (place->path, RUN_ID, &t->err));
    assert_int_equal (t->err.code, ERR_STATE);
    assert_int_equal (journal_read (place->path, expect_next, &last, &t->err), -1);
    assert_int_equal (t->err.code, ERR_DAMAGE);
}

static void write_beside (const struct place *place, const char *ending, const char *words)
{
    char path[128];
    snprintf (path, sizeof path, "%s%s", place->path, ending);
    assert_int_equal (atomic_file_write (path, words, strlen (words), 0600, NULL), 0);
}

TEST_ON (place, what_a_killed_creation_left_is_no_journal_and_in_nobodys_way)
{
    bool any = true;
    write_beside (place, ".new", "half");
    write_beside (place, ".new-wal", "a part of it");
    assert_int_equal (journal_has_facts (place->path, &any, &t->err), 0);
    assert_false (any);
    struct journal *journal = journal_create (place->path, RUN_ID, &t->err);
    if (!journal)
        fail_msg ("%s", t->err.text);
    assert_int_equal (journal_has_facts (place->path, &any, &t->err), 0);
    assert_false (any);
    append_until (journal, 1, 1);
    wait_durable (journal, 1);
    assert_int_equal (journal_has_facts (place->path, &any, &t->err), 0);
    assert_true (any);
    journal_close (journal);
}

TEST_ON (place, a_journal_that_lost_all_its_facts_had_some)
{
    sqlite3 *db = NULL;
    bool any = false;
    make_journal (place->path, 3);
    assert_int_equal (sqlite3_open (place->path, &db), SQLITE_OK);
    assert_int_equal (sqlite3_exec (db, "DELETE FROM fact", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal (sqlite3_close (db), SQLITE_OK);
    assert_int_equal (journal_has_facts (place->path, &any, &t->err), -1);
    assert_int_equal (t->err.code, ERR_DAMAGE);
}

TEST_ON (place, a_missing_journal_is_said_to_be_missing)
{
    uint64_t last = 0;
    assert_null (journal_open (place->path, &t->err));
    assert_int_equal (t->err.code, ERR_STATE);
    assert_int_equal (journal_read (place->path, expect_next, &last, &t->err), -1);
    assert_int_equal (t->err.code, ERR_STATE);
    assert_int_equal (access (place->path, F_OK), -1);
}

static unsigned mode_of (const struct place *place, const char *ending)
{
    char path[128];
    struct stat st;
    snprintf (path, sizeof path, "%s%s", place->path, ending);
    assert_int_equal (stat (path, &st), 0);
    return st.st_mode & 07777;
}

TEST_ON (place, nobody_else_can_read_its_files)
{
    mode_t before = umask (0);
    struct journal *journal = journal_create (place->path, RUN_ID, NULL);
    umask (before);
    append_until (journal, 1, 1);
    wait_durable (journal, 1);
    assert_int_equal (mode_of (place, ""), 0600);
    assert_int_equal (mode_of (place, "-wal"), 0600);
    assert_int_equal (mode_of (place, "-shm"), 0600);
    assert_int_equal (mode_of (place, ".lock"), 0600);
    journal_close (journal);
}

TEST_ON (place, a_journal_that_others_could_change_is_not_opened)
{
    make_journal (place->path, 1);
    assert_int_equal (chmod (place->path, 0640), 0);
    assert_null (journal_open (place->path, &t->err));
    assert_int_equal (t->err.code, ERR_STATE);
    assert_has (t->err.text, "0600");
    assert_int_equal (chmod (place->path, 0600), 0);
    assert_int_equal (chmod (place->folder, 0770), 0);
    assert_null (journal_open (place->path, &t->err));
    assert_int_equal (t->err.code, ERR_REFUSED);
    assert_has (t->err.text, "mode 0770");
    assert_int_equal (chmod (place->folder, 0700), 0);
}

TEST_ON (place, a_link_is_not_followed)
{
    char link[128];
    uint64_t last = 0;
    make_journal (place->path, 1);
    snprintf (link, sizeof link, "%s/link.db", place->folder);
    assert_int_equal (symlink (place->path, link), 0);
    assert_null (journal_open (link, &t->err));
    assert_int_equal (t->err.code, ERR_STATE);
    assert_int_equal (journal_read (link, expect_next, &last, &t->err), -1);
    assert_int_equal (t->err.code, ERR_STATE);
}

/* A process that holds the journal until it is killed. */
static pid_t hold_elsewhere (const struct place *place)
{
    int ready[2];
    char byte;
    assert_int_equal (pipe2 (ready, O_CLOEXEC), 0);
    pid_t pid = fork ();
    if (pid == 0) {
        prctl (PR_SET_PDEATHSIG, SIGKILL);
        if (journal_open (place->path, NULL) && write (ready[1], "x", 1) == 1)
            pause ();
        _exit (1);
    }
    close (ready[1]);
    assert_int_equal (read (ready[0], &byte, 1), 1);
    close (ready[0]);
    return pid;
}

static void remove_lock_file (const struct place *place)
{
    char name[PATH_MAX];
    snprintf (name, sizeof name, "%s.lock", place->path);
    assert_int_equal (unlink (name), 0);
}

static void names_holder (const struct place *place, pid_t pid)
{
    struct err err = { 0 };
    int64_t holder = 0;
    int pidfd = journal_open_holder (place->path, &holder, &err);
    assert_true (pidfd >= 0);
    assert_int_equal (holder, pid);
    close (pidfd);
}

/* A number in a file is no proof. */
TEST_ON (place, a_process_without_the_lock_is_not_named)
{
    int64_t holder = 0;
    char name[PATH_MAX];
    make_journal (place->path, 3);
    pid_t pid = hold_elsewhere (place);
    snprintf (name, sizeof name, "%s.lock", place->path);
    FILE *lock = fopen (name, "r+");
    assert_true (fprintf (lock, "%d\n", (int) getpid ()) > 0);
    assert_int_equal (fclose (lock), 0);
    assert_int_equal (journal_open_holder (place->path, &holder, &t->err), -1);
    assert_int_equal (t->err.code, ERR_STATE);
    assert_has (t->err.text, "not by process");
    assert_int_equal (kill (pid, SIGKILL), 0);
    assert_int_equal (waitpid (pid, NULL, 0), pid);
}

TEST_ON (place, a_second_coordinator_hears_who_holds_it)
{
    int64_t holder = -1;
    char text[24];
    make_journal (place->path, 3);
    assert_int_equal (journal_is_locked (place->path, &holder, NULL), 0);
    pid_t pid = hold_elsewhere (place);
    assert_null (journal_open (place->path, &t->err));
    assert_int_equal (t->err.code, ERR_STATE);
    snprintf (text, sizeof text, "pid %d ", (int) pid);
    assert_has (t->err.text, text);
    assert_int_equal (journal_is_locked (place->path, &holder, NULL), 1);
    assert_int_equal (holder, pid);
    names_holder (place, pid);
    remove_lock_file (place);
    names_holder (place, pid); /* by the mark's lock */
    assert_int_equal (kill (pid, SIGKILL), 0);
    assert_int_equal (waitpid (pid, NULL, 0), pid);
    assert_int_equal (journal_is_locked (place->path, &holder, NULL), 0);
    assert_int_equal (journal_open_holder (place->path, &holder, &t->err), -1);
    struct journal *journal = journal_open (place->path, &t->err);
    assert_non_null (journal);
    journal_close (journal);
}

static void refused_by (const struct place *place, pid_t pid)
{
    struct err err = { 0 };
    int64_t holder = -1;
    char text[24];
    assert_int_equal (journal_is_locked (place->path, &holder, NULL), 1);
    assert_int_equal (holder, pid);
    assert_null (journal_open (place->path, &err));
    assert_int_equal (err.code, ERR_STATE);
    snprintf (text, sizeof text, "pid %d ", (int) pid);
    assert_has (err.text, text);
    assert_int_equal (journal_lock_take (place->path, &err), -1);
}

/* Whoever removes journal.db.lock, and whoever comes then and leaves one that nobody holds. */
TEST_ON (place, a_lock_file_that_is_gone_lets_no_second_coordinator_in)
{
    struct journal *journal = journal_create (place->path, RUN_ID, &t->err);
    remove_lock_file (place);
    refused_by (place, getpid ());
    refused_by (place, getpid ());
    append_until (journal, 1, 3);
    journal_close (journal);
    assert_int_equal (journal_is_locked (place->path, NULL, NULL), 0);
    pid_t pid = hold_elsewhere (place);
    remove_lock_file (place);
    refused_by (place, pid);
    assert_int_equal (kill (pid, SIGKILL), 0);
    assert_int_equal (waitpid (pid, NULL, 0), pid);
    assert_int_equal (journal_is_locked (place->path, NULL, NULL), 0);
    assert_non_null (journal = journal_open (place->path, &t->err));
    journal_close (journal);
}

/* A process with a read lock on a file beside the journal (`len` 0: to its end), as everybody may have who may read it. */
static pid_t read_lock_elsewhere (const struct place *place, const char *ending, off_t start, off_t len)
{
    struct flock whole = { .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = start, .l_len = len };
    char name[PATH_MAX], byte = 0;
    int ends[2];
    assert_int_equal (pipe (ends), 0);
    pid_t pid = fork ();
    if (pid == 0) {
        prctl (PR_SET_PDEATHSIG, SIGKILL);
        dup2 (ends[1], 3);
        close_range (4, ~0U, 0); /* locks go with the descriptors */
        ends[1] = 3;
        snprintf (name, sizeof name, "%s%s", place->path, ending);
        int fd = open (name, O_RDONLY);
        bool done = fd >= 0 && fcntl (fd, F_SETLK, &whole) == 0 && write (ends[1], &byte, 1) == 1;
        for (close (ends[1]); done;)
            pause ();
        _exit (1);
    }
    close (ends[1]);
    assert_int_equal (read (ends[0], &byte, 1), 1);
    close (ends[0]);
    return pid;
}

static void writes_until (struct journal *journal, const struct place *place, uint64_t first, uint64_t last)
{
    uint64_t seen = 0;
    struct err err = { 0 };
    append_until (journal, first, last);
    wait_durable (journal, last);
    if (journal_problem (journal, &err))
        fail_msg ("%s", err.text);
    struct journal_reader *reader = journal_reader_open (place->path, NULL);
    assert_int_equal (journal_reader_read_rest (reader, expect_next, &seen, NULL), 0);
    journal_reader_close (reader);
    assert_int_equal (seen, last);
}

TEST_ON (place, a_readers_lock_keeps_no_fact_from_being_durable)
{
    struct journal *journal = journal_create (place->path, RUN_ID, &t->err);
    writes_until (journal, place, 1, 3);
    pid_t pid = read_lock_elsewhere (place, "-shm", 0, 0);
    writes_until (journal, place, 4, 40);
    writes_until (journal, place, 41, 90);
    journal_close (journal);
    if (!(journal = journal_open (place->path, &t->err)))
        fail_msg ("%s", t->err.text);
    writes_until (journal, place, 91, 100);
    assert_int_equal (kill (pid, SIGKILL), 0);
    assert_int_equal (waitpid (pid, NULL, 0), pid);
    writes_until (journal, place, 101, 110);
    journal_close (journal);
}

static off_t size_beside (const struct place *place, const char *ending)
{
    char name[PATH_MAX];
    struct stat at;
    snprintf (name, sizeof name, "%s%s", place->path, ending);
    return stat (name, &at) == 0 ? at.st_size : 0;
}

/* A checkpoint is tried once at a commit, and left for the next one. */
TEST_ON (place, a_lock_that_was_refused_long_ago_is_not_passed_the_next_time)
{
    enum { CHECKPOINT_LOCK = 121, CHECKPOINT_BYTES = 1050 * (8192 + 24), STRANGER_MS = 5000 };
    uint64_t last = 0;
    struct journal *journal = journal_create (place->path, RUN_ID, NULL);
    pid_t pid = read_lock_elsewhere (place, "-shm", CHECKPOINT_LOCK, 1);
    for (; size_beside (place, "-wal") < CHECKPOINT_BYTES; last += 50) {
        append_until (journal, last + 1, last + 50);
        wait_durable (journal, last + 50);
    }
    off_t before = size_beside (place, "");
    for (int i = 0; i < 2; i++) {
        assert_int_equal (kill (pid, SIGKILL), 0);
        assert_int_equal (waitpid (pid, NULL, 0), pid);
        if (i == 0) {
            poll (NULL, 0, STRANGER_MS + 500);
            pid = read_lock_elsewhere (place, "-shm", CHECKPOINT_LOCK, 1);
        }
        append_until (journal, last + 1, last + 1);
        wait_durable (journal, ++last);
        assert_int_equal (size_beside (place, "") == before, i == 0);
    }
    journal_close (journal);
}

TEST_ON (place, a_readers_lock_is_no_coordinators)
{
    make_journal (place->path, 3);
    pid_t pid = read_lock_elsewhere (place, ".lock", 0, 0);
    assert_int_equal (journal_is_locked (place->path, NULL, &t->err), 0);
    struct journal *journal = journal_open (place->path, &t->err);
    assert_non_null (journal);
    refused_by (place, getpid ()); /* by the mark's lock */
    append_until (journal, 4, 5);
    journal_close (journal);
    assert_int_equal (kill (pid, SIGKILL), 0);
    assert_int_equal (waitpid (pid, NULL, 0), pid);
    pid = read_lock_elsewhere (place, ".mark", 0, 0);
    assert_int_equal (journal_is_locked (place->path, NULL, &t->err), 0);
    assert_null (journal_open (place->path, &t->err));
    assert_has (t->err.text, "see which with: fuser -v '");
    assert_int_equal (kill (pid, SIGKILL), 0);
    assert_int_equal (waitpid (pid, NULL, 0), pid);
}

/* Takes the lock and dies; what it forked a moment before has it for a second more, as one that has not executed yet.
 */
static void die_with_a_heir (const struct place *place)
{
    struct err err = { 0 };
    pid_t pid = fork ();
    if (pid == 0) {
        if (!journal_open (place->path, &err))
            _exit (1);
        if (fork () == 0) {
            alarm (1);
            for (;;)
                pause ();
        }
        _exit (0);
    }
    int status = -1;
    assert_int_equal (waitpid (pid, &status, 0), pid);
    assert_int_equal (status, 0);
}

static void open_beside_the_heir (const struct place *place)
{
    struct err err = { 0 };
    assert_int_equal (journal_is_locked (place->path, NULL, NULL), 1);
    struct journal *journal = journal_open (place->path, &err);
    if (!journal)
        fail_msg ("%s", err.text);
    journal_close (journal);
}

TEST_ON (place, the_lock_of_a_dead_coordinator_is_waited_for)
{
    make_journal (place->path, 3);
    die_with_a_heir (place);
    open_beside_the_heir (place);
    die_with_a_heir (place);
    remove_lock_file (place);
    open_beside_the_heir (place);
}

TEST_ON (place, a_reader_follows_while_facts_are_written)
{
    uint64_t seen = 0;
    struct journal *journal = journal_create (place->path, RUN_ID, NULL);
    struct journal_reader *reader = journal_reader_open (place->path, &t->err);
    assert_non_null (reader);
    assert_int_equal (journal_reader_read_rest (reader, expect_next, &seen, &t->err), 0);
    assert_int_equal (seen, 0);
    for (uint64_t last = 100; last <= 3000; last += 100) {
        append_until (journal, last - 99, last);
        uint64_t durable = journal_durable_index (journal);
        assert_int_equal (journal_reader_read_rest (reader, expect_next, &seen, &t->err), 0);
        assert_true (seen >= durable);
    }
    wait_durable (journal, 3000);
    assert_int_equal (journal_reader_read_rest (reader, expect_next, &seen, &t->err), 0);
    assert_int_equal (seen, 3000);
    journal_close (journal);
    assert_int_equal (journal_reader_read_rest (reader, expect_next, &seen, &t->err), 0);
    assert_int_equal (seen, 3000);
    journal_reader_close (reader);
}

struct stopper {
    uint64_t last, stop_at;
};

static int stop_at (void *owner, uint64_t index, struct text bytes, struct err *err)
{
    struct stopper *stopper = owner;
    if (index == stopper->stop_at)
        return err_set (err, ERR_REFUSED, "enough");
    return expect_next (&stopper->last, index, bytes, err);
}

TEST_ON (place, a_reader_that_was_stopped_goes_on_at_the_fact_it_refused)
{
    struct stopper stopper = { .stop_at = 4 };
    make_journal (place->path, 9);
    struct journal_reader *reader = journal_reader_open (place->path, NULL);
    assert_int_equal (journal_reader_read_rest (reader, stop_at, &stopper, &t->err), -1);
    assert_int_equal (t->err.code, ERR_REFUSED);
    assert_string_equal (t->err.text, "enough");
    assert_int_equal (stopper.last, 3);
    stopper.stop_at = 0;
    assert_int_equal (journal_reader_read_rest (reader, stop_at, &stopper, NULL), 0);
    assert_int_equal (stopper.last, 9);
    journal_reader_close (reader);
}

TEST_ON (place, a_reader_goes_to_any_fact_and_holds_the_next_against_it)
{
    uint64_t seen = 6;
    make_journal (place->path, 9);
    struct journal_reader *reader = journal_reader_open (place->path, &t->err);
    assert_int_equal (journal_reader_seek (reader, 6, &t->err), 0);
    assert_int_equal (journal_reader_read_rest (reader, expect_next, &seen, &t->err), 0);
    assert_int_equal (seen, 9);
    assert_int_equal (journal_reader_seek (reader, 10, &t->err), 1);
    assert_int_equal (journal_reader_seek (reader, UINT64_MAX, &t->err), 1);
    assert_int_equal (journal_reader_seek (reader, 9, &t->err), 0);
    assert_int_equal (journal_reader_read_rest (reader, expect_next, &seen, &t->err), 0);
    assert_int_equal (journal_reader_seek (reader, 0, &t->err), 0);
    seen = 0;
    assert_int_equal (journal_reader_read_rest (reader, expect_next, &seen, &t->err), 0);
    assert_int_equal (seen, 9);
    journal_reader_close (reader);

    sqlite3 *db = NULL;
    assert_int_equal (sqlite3_open (place->path, &db), SQLITE_OK);
    assert_int_equal (sqlite3_exec (db, "UPDATE fact SET chain = zeroblob (32) WHERE idx = 6", NULL, NULL, NULL),
                      SQLITE_OK);
    assert_int_equal (sqlite3_close (db), SQLITE_OK);
    assert_non_null (reader = journal_reader_open (place->path, &t->err));
    assert_int_equal (journal_reader_seek (reader, 6, &t->err), 0);
    assert_int_equal (journal_reader_read_rest (reader, expect_next, &seen, &t->err), -1);
    assert_int_equal (t->err.code, ERR_DAMAGE);
    assert_has (t->err.text, "fact 7");
    journal_reader_close (reader);
}
