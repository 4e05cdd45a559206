/* alone: journal */
#include "test.h"
#include "tests/unit/journal_fixture.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

/* ---- the machine, made to fail: the linker takes these before libc's ---- */

static _Atomic long pretended_fs; /* 0: the real one */
static _Atomic int syncs, syncs_begun, failing_syncs;
static pthread_mutex_t sync_gate = PTHREAD_MUTEX_INITIALIZER;

int statfs (const char *path, struct statfs *out)
{
    int rc = (int) syscall (SYS_statfs, path, out);
    if (rc == 0 && pretended_fs)
        out->f_type = pretended_fs;
    return rc;
}

int fdatasync (int fd)
{
    if (fd_is_mark (fd))
        return (int) syscall (SYS_fdatasync, fd);
    atomic_fetch_add (&syncs_begun, 1);
    pthread_mutex_lock (&sync_gate);
    pthread_mutex_unlock (&sync_gate);
    atomic_fetch_add (&syncs, 1);
    if (failing_syncs) {
        errno = EIO;
        return -1;
    }
    return (int) syscall (SYS_fdatasync, fd);
}

/* ---- damage ---- */

static void change (const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    char *why = NULL;
    assert_int_equal (sqlite3_open (path, &db), SQLITE_OK);
    if (sqlite3_exec (db, sql, NULL, NULL, &why) != SQLITE_OK)
        fail_msg ("%s: %s", sql, why);
    assert_int_equal (sqlite3_close (db), SQLITE_OK);
}

static int count (void *owner, uint64_t index, struct text bytes, struct err *err)
{
    uint64_t *last = owner;
    (void) bytes, (void) err;
    *last = index;
    return 0;
}

static void remove_journal (const struct place *place)
{
    char mark[112];
    snprintf (mark, sizeof mark, "%s.mark", place->path);
    assert_int_equal (unlink (place->path), 0);
    assert_int_equal (unlink (mark), 0);
}

/* Both ways of coming by a journal refuse it and name the index, 0: none; `handed_out` facts were passed on before. */
static void expect_damage (const char *path, const char *what, uint64_t index, uint64_t handed_out)
{
    struct err read = { 0 }, opened = { 0 };
    char named[32];
    uint64_t last = 0;
    snprintf (named, sizeof named, index ? "fact %" PRIu64 : "is damaged", index);
    int rc = journal_read (path, count, &last, &read);
    if (rc != -1 || read.code != ERR_DAMAGE || !strstr (read.text, named) || last != handed_out)
        fail_msg ("reading after '%s': %d, code %d, came to %d: %s", what, rc, read.code, (int) last, read.text);
    if (journal_open (path, &opened) || opened.code != ERR_DAMAGE || !strstr (opened.text, named))
        fail_msg ("opening after '%s': code %d: %s", what, opened.code, opened.text);
    assert_int_equal (journal_is_locked (path, NULL, NULL), 0);
}

static const struct damage {
    const char *sql;
    uint64_t index, handed_out;
} damages[] = {
    { "UPDATE fact SET bytes = CAST ('g' || substr (CAST (bytes AS TEXT), 2) AS BLOB) WHERE idx = 5", 5,
      4 }, /* one bit: f ^ 1 */
    { "UPDATE fact SET bytes = substr (bytes, 1, 699) WHERE idx = 9", 9, 8 },
    { "UPDATE fact SET bytes = CAST (bytes AS TEXT) WHERE idx = 2", 2, 1 },
    { "UPDATE fact SET bytes = zeroblob (0) WHERE idx = 2", 2, 1 },
    { "UPDATE fact SET bytes = zeroblob (17000000) WHERE idx = 3", 3, 2 },
    { "UPDATE fact SET chain = zeroblob (32) WHERE idx = 7", 7, 6 },
    { "UPDATE fact SET chain = zeroblob (31) WHERE idx = 7", 7, 6 },
    { "DELETE FROM fact WHERE idx = 1", 1, 0 },
    { "DELETE FROM fact WHERE idx = 6", 6, 5 },
    { "DELETE FROM fact WHERE idx = 10", 10, 9 },
    { "DELETE FROM fact WHERE idx > 3", 4, 3 },
    { "DELETE FROM fact", 1, 0 },
    { "UPDATE fact SET idx = -4 WHERE idx = 4; UPDATE fact SET idx = 4 WHERE idx = 5;"
      "UPDATE fact SET idx = 5 WHERE idx = -4",
      4, 3 },
    { "UPDATE fact SET idx = 11 WHERE idx = 10", 10, 9 },
    { "UPDATE fact SET idx = 0 WHERE idx = 1", 1, 0 },
    { "INSERT INTO fact SELECT 11, kind, at_ms, wall_ms, bytes, chain FROM fact WHERE idx = 10", 11, 10 },
    { "DELETE FROM meta WHERE name = 'last'", 10, 10 },
    { "UPDATE meta SET value = 12 WHERE name = 'last'", 11, 10 },
    { "UPDATE meta SET value = 9 WHERE name = 'last'", 10, 10 },
    { "UPDATE meta SET value = 'ten' WHERE name = 'last'", 10, 10 },
    { "UPDATE meta SET value = '0123456789abcdef0123456789abcdee' WHERE name = 'run'", 1, 0 },
    { "DELETE FROM meta WHERE name = 'run'", 0, 0 },
    { "UPDATE meta SET value = 0 WHERE name = 'format'", 0, 0 },
    { "UPDATE meta SET value = NULL WHERE name = 'format'", 0, 0 },
    { "DROP TABLE meta", 1, 0 },
    { "DROP TABLE fact", 1, 0 },
    { "ALTER TABLE fact RENAME TO old; CREATE VIEW fact AS SELECT * FROM old", 1, 0 },
};

/* A size is judged before the bytes are looked at. */
TEST_ON (place, a_fact_of_no_sane_size_is_called_that)
{
    static const char *const sizes[] = { "0", "16777217" };
    for (int i = 0; i < 2; i++) {
        struct err err = { 0 };
        char sql[96];
        uint64_t last = 0;
        make_journal (place->path, 3);
        snprintf (sql, sizeof sql, "UPDATE fact SET bytes = zeroblob (%s) WHERE idx = 2", sizes[i]);
        change (place->path, sql);
        assert_int_equal (journal_read (place->path, count, &last, &err), -1);
        assert_has (err.text, "its bytes cannot be a fact");
        remove_journal (place);
    }
}

TEST_ON (place, another_format_is_no_damage)
{
    for (int format = 1; format <= 3; format += 2) {
        struct err read = { 0 }, opened = { 0 };
        char sql[96];
        uint64_t last = 0;
        make_journal (place->path, 3);
        snprintf (sql, sizeof sql, "UPDATE meta SET value = %d WHERE name = 'format'", format);
        change (place->path, sql);
        assert_int_equal (journal_read (place->path, count, &last, &read), -1);
        assert_null (journal_open (place->path, &opened));
        assert_true (read.code == ERR_STATE && opened.code == ERR_STATE);
        snprintf (sql, sizeof sql, "has format %d, but this sliceup reads format 2", format);
        assert_has (read.text, sql);
        remove_journal (place);
    }
}

TEST_ON (place, what_was_changed_is_found_and_named)
{
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        make_journal (place->path, 10);
        change (place->path, damages[i].sql);
        expect_damage (place->path, damages[i].sql, damages[i].index, damages[i].handed_out);
        remove_journal (place);
    }
}

static void write_file (const char *path, const void *bytes, size_t len)
{
    struct err err = { 0 };
    if (atomic_file_write (path, bytes, len, 0600, &err) != 0)
        fail_msg ("%s", err.text);
}

TEST_ON (place, what_is_no_journal_is_damage)
{
    char noise[20000];
    memset (noise, 0x5A, sizeof noise);
    write_file (place->path, noise, sizeof noise);
    expect_damage (place->path, "noise", 1, 0);
    write_file (place->path, "", 0);
    expect_damage (place->path, "an empty file", 0, 0);
    assert_int_equal (unlink (place->path), 0);
    make_journal (place->path, 100);
    assert_int_equal (truncate (place->path, 3 * 8192), 0);
    uint64_t last = 0;
    assert_int_equal (journal_read (place->path, expect_next, &last, &t->err), -1);
    assert_int_equal (t->err.code, ERR_DAMAGE);
}

/* Whatever bit of the file is flipped: the facts handed out are those that were written, and when some are missing,
 * that is damage. (A bit of a free byte, or of a column that is for people, changes nothing.) */
TEST_ON (place, no_flipped_bit_changes_a_fact)
{
    struct buf *file = test_buf (t);
    int found = 0;
    make_journal (place->path, 60);
    assert_int_equal (file_read (place->path, file, NULL), 0);
    for (size_t at = 0; at < file->len; at += at < 120 ? 1 : 61) {
        struct err err = { 0 };
        uint64_t last = 0;
        file->ptr[at] ^= (uint8_t) (1 << at % 8);
        write_file (place->path, file->ptr, file->len);
        int rc = journal_read (place->path, expect_next, &last, &err);
        if (rc == 0 ? last != 60 : err.code != ERR_DAMAGE)
            fail_msg ("byte %d: %d, came to %d: %s", (int) at, rc, (int) last, err.text);
        found += rc != 0;
        file->ptr[at] ^= (uint8_t) (1 << at % 8);
    }
    assert_true (found > 500); /* most of the file is facts */
}

/* ---- places ---- */

TEST_ON (place, a_journal_is_not_put_on_a_remote_file_system)
{
    static const struct {
        long magic;
        const char *name;
    } remotes[] = {
        { 0x6969, "NFS" },    { 0x65735546, "FUSE" }, { (long) 0xfe534d42, "SMB2" }, { (int) 0xff534d42, "CIFS" },
        { 0x01021997, "9P" }, { 0x00c36400, "Ceph" }, { 0x0bd00bd0, "Lustre" },
    };
    for (size_t i = 0; i < sizeof remotes / sizeof remotes[0]; i++) {
        struct err err = { 0 };
        pretended_fs = remotes[i].magic;
        struct journal *journal = journal_create (place->path, RUN_ID, &err);
        pretended_fs = 0;
        assert_null (journal);
        assert_int_equal (err.code, ERR_STATE);
        if (!strstr (err.text, remotes[i].name) || !strstr (err.text, "--home"))
            fail_msg ("%s: %s", remotes[i].name, err.text);
        assert_int_equal (access (place->path, F_OK), -1);
    }
}

/* ---- disks ---- */

static void expect_kept (const struct place *place, uint64_t durable)
{
    struct err err = { 0 };
    uint64_t last = 0;
    struct journal *journal = journal_open (place->path, &err);
    if (!journal)
        fail_msg ("%s", err.text);
    assert_true (journal_durable_index (journal) >= durable);
    journal_close (journal);
    assert_int_equal (journal_read (place->path, expect_next, &last, &err), 0);
    assert_true (last >= durable);
}

TEST_ON (place, a_failed_sync_is_final)
{
    struct journal *journal = journal_create (place->path, RUN_ID, NULL);
    append_until (journal, 1, 50);
    wait_durable (journal, 50);
    failing_syncs = 1;
    append_until (journal, 51, 60);
    wait_durable (journal, 60);
    failing_syncs = 0;
    assert_true (journal_problem (journal, &t->err));
    assert_int_equal (t->err.code, ERR_IO);
    assert_int_equal (journal_durable_index (journal), 50);
    append_until (journal, 61, 70); /* dropped: that the disk works again is no reason to trust it */
    assert_int_equal (journal_durable_index (journal), 50);
    journal_close (journal);
    expect_kept (place, 50);
}

TEST_ON (place, a_full_disk_is_a_problem_and_loses_nothing_durable)
{
    struct rlimit before, small = { .rlim_cur = 400 * 1024 };
    uint64_t last = 0;
    struct journal *journal = journal_create (place->path, RUN_ID, NULL);
    assert_int_equal (getrlimit (RLIMIT_FSIZE, &before), 0);
    small.rlim_max = before.rlim_max;
    signal (SIGXFSZ, SIG_IGN);
    assert_int_equal (setrlimit (RLIMIT_FSIZE, &small), 0);
    for (last = 0; last < 2000 && !journal_problem (journal, &t->err); last += 20) {
        append_until (journal, last + 1, last + 20);
        wait_durable (journal, last + 20);
    }
    uint64_t durable = journal_durable_index (journal);
    journal_close (journal);
    assert_int_equal (setrlimit (RLIMIT_FSIZE, &before), 0);
    signal (SIGXFSZ, SIG_DFL);
    assert_int_equal (t->err.code, ERR_IO);
    assert_has (t->err.text, place->path);
    assert_true (durable > 0 && durable < last);
    expect_kept (place, durable);
}

/* ---- the queue ---- */

/* Until the writer's thread stands at the gate with all that was queued so far. */
static void stall (struct journal *journal, uint64_t index)
{
    uint64_t end = now_ms () + WAIT_MS;
    int begun = syncs_begun;
    pthread_mutex_lock (&sync_gate);
    append_until (journal, index, index);
    while (syncs_begun == begun) {
        assert_true (now_ms () < end);
        sched_yield ();
    }
}

TEST_ON (place, what_is_queued_becomes_durable_together)
{
    struct journal *journal = journal_create (place->path, RUN_ID, NULL);
    append_until (journal, 1, 1); /* the first commit also makes the log itself durable */
    wait_durable (journal, 1);
    stall (journal, 2);
    int before = syncs;
    append_until (journal, 3, 1026);
    assert_int_equal (journal_durable_index (journal), 1);
    pthread_mutex_unlock (&sync_gate);
    wait_durable (journal, 1026);
    assert_int_equal (syncs - before, 2); /* one for fact 2, one for all the others */
    journal_close (journal);
}

enum { BIG_BYTES = 1024 * 1024, BIG_LAST = 80 };
static _Atomic uint64_t appended;
static char big[BIG_BYTES];

static void *append_big (void *owner)
{
    for (uint64_t index = 2; index <= BIG_LAST; index++) {
        journal_append (owner, index, 1, 1, 1, (struct text){ .ptr = big, .len = BIG_BYTES });
        appended = index;
    }
    return NULL;
}

TEST_ON (place, appending_waits_only_above_64_mib)
{
    uint64_t end = now_ms () + WAIT_MS, last = 0;
    struct timespec until;
    pthread_t thread;
    struct journal *journal = journal_create (place->path, RUN_ID, NULL);
    memset (big, 'b', sizeof big);
    stall (journal, 1);
    assert_int_equal (pthread_create (&thread, NULL, append_big, journal), 0);
    while (appended < 65) {
        assert_true (now_ms () < end);
        sched_yield ();
    }
    clock_gettime (CLOCK_REALTIME, &until);
    until.tv_sec += (until.tv_nsec + 300000000) / 1000000000; /* 300 ms in which it must not end */
    until.tv_nsec = (until.tv_nsec + 300000000) % 1000000000;
    assert_int_equal (pthread_timedjoin_np (thread, NULL, &until), ETIMEDOUT);
    assert_int_equal (appended, 65);
    pthread_mutex_unlock (&sync_gate);
    assert_int_equal (pthread_join (thread, NULL), 0);
    journal_close (journal);
    assert_int_equal (journal_read (place->path, count, &last, NULL), 0);
    assert_int_equal (last, BIG_LAST);
}

TEST_ON (place, a_caller_that_waits_is_let_go_by_a_failure)
{
    pthread_t thread;
    struct journal *journal = journal_create (place->path, RUN_ID, NULL);
    stall (journal, 1);
    appended = 0;
    assert_int_equal (pthread_create (&thread, NULL, append_big, journal), 0);
    while (appended < 65)
        sched_yield ();
    failing_syncs = 1;
    pthread_mutex_unlock (&sync_gate);
    assert_int_equal (pthread_join (thread, NULL), 0);
    assert_true (journal_problem (journal, NULL));
    assert_int_equal (journal_durable_index (journal), 0);
    journal_close (journal);
    failing_syncs = 0;
}
