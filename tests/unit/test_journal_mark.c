/* alone: journal */
/* What was acknowledged and is not in the journal any more is damage by name; what was not may vanish, and nothing else
 * is ever called damage. */
#include "tests/unit/journal_fixture.h"

#include "common/wire/wire.h"
#include "coordinator/journal/journal_private.h"
#include "test.h"
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum { FACTS = 12, FILE_MAX_BYTES = 4 << 20, PATH_BYTES = 128 };

/* ---- a disk on which only the mark hangs, or fails: the linker takes this before libc's ---- */

static _Atomic bool mark_hangs, mark_fails;
static _Atomic int mark_syncs;

int fdatasync (int fd)
{
    if (fd_is_mark (fd)) {
        atomic_fetch_add (&mark_syncs, 1);
        while (mark_hangs)
            usleep (1000);
        if (mark_fails) {
            errno = EIO;
            return -1;
        }
    }
    return (int) syscall (SYS_fdatasync, fd);
}

/* ---- a process that is killed when it has written to the mark so many times; the same way ---- */

static _Atomic int mark_writes_left;

ssize_t pwrite (int fd, const void *bytes, size_t len, off_t at)
{
    ssize_t n = syscall (SYS_pwrite64, fd, bytes, len, at);
    if (mark_writes_left > 0 && fd_is_mark (fd) && atomic_fetch_sub (&mark_writes_left, 1) == 1)
        raise (SIGKILL);
    return n;
}

/* Opens it as resume does. Was it killed on the way? */
static bool killed_while_opening (const char *path, int mark_writes)
{
    int status = 0;
    pid_t pid = fork ();
    if (pid == 0) {
        prctl (PR_SET_PDEATHSIG, SIGKILL);
        mark_writes_left = mark_writes;
        _exit (journal_open (path, NULL) ? 0 : 1);
    }
    assert_int_equal (waitpid (pid, &status, 0), pid);
    assert_true (WIFSIGNALED (status) || WEXITSTATUS (status) == 0);
    return WIFSIGNALED (status);
}

/* ---- journals of coordinators that were killed ---- */

static pid_t start_committing (const char *path, uint64_t first, uint64_t last)
{
    pid_t pid = fork ();
    if (pid != 0)
        return pid;
    prctl (PR_SET_PDEATHSIG, SIGKILL);
    struct journal *journal = first == 1 ? journal_create (path, RUN_ID, NULL) : journal_open (path, NULL);
    for (uint64_t index = first; journal && index <= last; index++) {
        append_until (journal, index, index);
        wait_durable (journal, index);
    }
    raise (SIGKILL);
    _exit (1);
}

/* A commit for each fact; killed when all were acknowledged, so nothing is checkpointed. */
static void make_killed (const char *path, uint64_t first, uint64_t last)
{
    int status = 0;
    pid_t pid = start_committing (path, first, last);
    assert_int_equal (waitpid (pid, &status, 0), pid);
    assert_true (WIFSIGNALED (status) && WTERMSIG (status) == SIGKILL);
}

/* ---- files ---- */

static const char *const endings[] = { "", "-wal", "-shm", ".mark" };
enum { ENDINGS = sizeof endings / sizeof endings[0], DB = 0, WAL, SHM, MARK };
struct copy {
    struct buf file[ENDINGS];
};

static const char *path_of (const struct place *place, int ending)
{
    static char path[PATH_BYTES];
    snprintf (path, sizeof path, "%s%s", place->path, endings[ending]);
    return path;
}

static void take_copy (const struct place *place, struct copy *copy)
{
    for (int i = 0; i < ENDINGS; i++) {
        buf_init (&copy->file[i], FILE_MAX_BYTES);
        if (access (path_of (place, i), F_OK) == 0)
            assert_int_equal (file_read (path_of (place, i), &copy->file[i], NULL), 0);
    }
}

static void write_file (const char *path, const void *bytes, size_t len)
{
    int fd = open (path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true (fd >= 0);
    assert_int_equal (write (fd, bytes, len), len);
    assert_int_equal (close (fd), 0);
}

/* Files that the copy lacks, or that are empty in it, are removed. */
static void put_file (const struct place *place, const struct copy *copy, int ending)
{
    const struct buf *file = &copy->file[ending];
    if (file->len > 0)
        write_file (path_of (place, ending), file->ptr, file->len);
    else
        (void) unlink (path_of (place, ending));
}

static void put_copy (const struct place *place, const struct copy *copy)
{
    for (int i = 0; i < ENDINGS; i++)
        put_file (place, copy, i);
}

static void copy_release (struct copy *copy)
{
    for (int i = 0; i < ENDINGS; i++)
        buf_release (&copy->file[i]);
}

static void put_byte (const struct place *place, int ending, size_t at, uint8_t byte)
{
    int fd = open (path_of (place, ending), O_WRONLY);
    assert_int_equal (pwrite (fd, &byte, 1, (off_t) at), 1);
    assert_int_equal (close (fd), 0);
}

/* ---- what a reader says ---- */

enum said { SAID_ALL, SAID_DAMAGED, SAID_LESS, SAID_OTHER };

static enum said read_again (const struct place *place, uint64_t all, struct err *err)
{
    uint64_t last = 0;
    *err = (struct err){ 0 };
    if (journal_read (place->path, expect_next, &last, err) == 0)
        return last == all ? SAID_ALL : SAID_LESS;
    return err->code == ERR_DAMAGE ? SAID_DAMAGED : SAID_OTHER;
}

static void never_quietly (const struct place *place, uint64_t all, const char *what, size_t at)
{
    struct err err;
    enum said said = read_again (place, all, &err);
    if (said != SAID_ALL && said != SAID_DAMAGED)
        fail_msg ("%s at byte %zu: %s %s", what, at, said == SAID_LESS ? "an earlier state" : "not by name:", err.text);
}

static void refused (const struct place *place, const char *what, const char *words)
{
    struct err read, opened = { 0 };
    if (read_again (place, FACTS, &read) != SAID_DAMAGED || !strstr (read.text, words))
        fail_msg ("reading after '%s': code %d: %s", what, read.code, read.text);
    if (journal_open (place->path, &opened) || opened.code != ERR_DAMAGE || !strstr (opened.text, words))
        fail_msg ("opening after '%s': code %d: %s", what, opened.code, opened.text);
}

static void whole (const struct place *place, uint64_t all, const char *what)
{
    struct err err;
    if (read_again (place, all, &err) != SAID_ALL)
        fail_msg ("reading after '%s': code %d: %s", what, err.code, err.text);
}

static void change (const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    assert_int_equal (sqlite3_open (path, &db), SQLITE_OK);
    if (sqlite3_exec (db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg ("%s: %s", sql, sqlite3_errmsg (db));
    assert_int_equal (sqlite3_close (db), SQLITE_OK);
}

/* ---- damage ---- */

TEST_ON (place, no_flipped_bit_gives_an_earlier_state)
{
    struct copy sound;
    make_killed (place->path, 1, FACTS);
    take_copy (place, &sound);
    for (int i = 0; i < ENDINGS; i++) {
        for (size_t at = (size_t) i; at < sound.file[i].len; at += i == WAL ? 397 : 131) {
            put_byte (place, i, at, sound.file[i].ptr[at] ^ (uint8_t) (1 << at % 8));
            never_quietly (place, FACTS, endings[i], at);
            if (i != SHM) /* it was made anew */
                put_byte (place, i, at, sound.file[i].ptr[at]);
        }
    }
    copy_release (&sound);
}

TEST_ON (place, no_cut_gives_an_earlier_state)
{
    struct copy sound;
    make_killed (place->path, 1, FACTS);
    take_copy (place, &sound);
    for (int i = 0; i < ENDINGS; i++) {
        for (size_t at = sound.file[i].len; at > 1; at -= at > 601 ? 601 : 1) {
            assert_int_equal (truncate (path_of (place, i), (off_t) at - 1), 0);
            never_quietly (place, FACTS, endings[i], at - 1);
        }
        put_copy (place, &sound);
    }
    copy_release (&sound);
}

TEST_ON (place, what_is_missing_is_named_with_what_was_acknowledged)
{
    struct copy sound;
    make_killed (place->path, 1, FACTS);
    take_copy (place, &sound);
    sound.file[WAL].ptr[sound.file[WAL].len - 100] ^= 1; /* of the last commit */
    put_copy (place, &sound);
    refused (place, "a bit of the last commit",
             "at fact 12: this fact is missing, but facts up to 12 were acknowledged");
    sound.file[WAL].ptr[sound.file[WAL].len / 2] ^= 1;
    put_copy (place, &sound);
    refused (place, "a bit in the middle", "facts up to 12");
    copy_release (&sound);
}

TEST_ON (place, a_mark_that_is_gone_or_not_whole_vouches_for_nothing)
{
    struct copy sound;
    make_killed (place->path, 1, FACTS);
    take_copy (place, &sound);
    struct buf *mark = &sound.file[MARK];
    assert_int_equal (unlink (path_of (place, MARK)), 0);
    refused (place, "no mark", "journal.db.mark, is missing");
    write_file (path_of (place, MARK), "", 0);
    refused (place, "an empty mark", "journal.db.mark, is damaged");
    for (int slot = 0; slot < MARK_SLOTS; slot++) {
        mark->ptr[slot * MARK_SLOT_BYTES + 100] ^= 4;
        put_copy (place, &sound);
        refused (place, "a bit of a slot", "is damaged");
        mark->ptr[slot * MARK_SLOT_BYTES + 100] ^= 4;
    }
    write_file (path_of (place, MARK), mark->ptr, 2 * MARK_SLOT_BYTES + MARK_NOTE_BYTES - 1);
    refused (place, "a mark that was cut", "is damaged");
    put_copy (place, &sound);
    whole (place, FACTS, "everything was put back");
    copy_release (&sound);
}

/* Of a run that was never begun, as who is killed while making its journal leaves it. */
TEST_ON (place, a_mark_alone_tells_of_a_journal_only_when_it_names_facts)
{
    bool any = true;
    journal_close (journal_create (place->path, RUN_ID, &t->err));
    assert_int_equal (journal_has_facts (place->path, &any, &t->err), 0);
    assert_false (any);
    assert_int_equal (unlink (place->path), 0);
    assert_false (journal_exists (place->path));
    assert_int_equal (journal_has_facts (place->path, &any, &t->err), 0);
    assert_false (any);
    assert_int_equal (unlink (path_of (place, MARK)), 0);
    make_killed (place->path, 1, FACTS);
    assert_int_equal (unlink (place->path), 0);
    assert_true (journal_exists (place->path));
    assert_int_equal (journal_has_facts (place->path, &any, &t->err), -1);
    assert_int_equal (t->err.code, ERR_DAMAGE);
}

static void emptied (const struct place *place)
{
    change (place->path, "DELETE FROM fact");
    change (place->path, "UPDATE meta SET value = 0 WHERE name = 'last'");
}

TEST_ON (place, a_journal_that_was_emptied_is_not_one_that_was_never_begun)
{
    bool any = false;
    make_killed (place->path, 1, FACTS);
    emptied (place);
    assert_int_equal (journal_has_facts (place->path, &any, &t->err), -1);
    assert_int_equal (t->err.code, ERR_DAMAGE);
    assert_has (t->err.text, "facts up to 12");
}

static void put_mark (const struct place *place, int slot, const char *run, const char *boot, uint64_t index,
                      const struct digest *chain)
{
    uint8_t note[MARK_NOTE_BYTES];
    int fd = open (path_of (place, MARK), O_WRONLY);
    journal_mark_encode (note, run, boot, index, chain);
    assert_int_equal (pwrite (fd, note, sizeof note, (off_t) slot * MARK_SLOT_BYTES), sizeof note);
    assert_int_equal (close (fd), 0);
}

static void put_marks (const struct place *place, const char *boot, uint64_t index, const struct digest *chain)
{
    for (int slot = 0; slot < MARK_SLOTS; slot++)
        put_mark (place, slot, RUN_ID, boot, index, chain);
}

TEST_ON (place, a_mark_of_another_run_or_history_is_told)
{
    struct copy sound;
    struct journal_mark mark;
    char boot[MARK_BOOT_BYTES + 1];
    make_killed (place->path, 1, FACTS);
    take_copy (place, &sound);
    journal_mark_current_boot (boot);
    assert_int_equal (journal_mark_read (place->path, RUN_ID, &mark, NULL), 0);
    assert_int_equal (mark.index, FACTS);
    for (int slot = 0; slot < MARK_SLOTS; slot++)
        put_mark (place, slot, "fedcba9876543210fedcba9876543210", boot, FACTS, &mark.chain);
    refused (place, "the mark of another run", "is damaged");
    mark.chain.bytes[7] ^= 1;
    put_marks (place, boot, FACTS, &mark.chain);
    refused (place, "the mark of another history",
             "at fact 12: this fact or an earlier one was changed after it was acknowledged");
    put_marks (place, boot, 5, &mark.chain);
    refused (place, "another history from fact 5 on", "at fact 5:");
    copy_release (&sound);
}

/* A watcher that outlives the coordinator keeps SQLite from recovering: what it mapped is believed. */
TEST_ON (place, damage_beside_a_watcher_is_named_too)
{
    struct copy sound;
    uint64_t last = 0;
    make_killed (place->path, 1, FACTS);
    struct journal_reader *watcher = journal_reader_open (place->path, &t->err);
    assert_int_equal (journal_reader_read_rest (watcher, expect_next, &last, &t->err), 0);
    take_copy (place, &sound);
    for (size_t at = 0; at < sound.file[SHM].len; at += at < 256 ? 1 : 61) {
        put_byte (place, SHM, at, sound.file[SHM].ptr[at] ^ 1);
        never_quietly (place, FACTS, "a bit of the shared memory", at);
        put_byte (place, SHM, at, sound.file[SHM].ptr[at]);
    }
    assert_int_equal (truncate (path_of (place, WAL), (off_t) sound.file[WAL].len - 8192), 0);
    assert_int_equal (read_again (place, FACTS, &t->err), SAID_DAMAGED);
    if (!strstr (t->err.text, "it cannot be read from fact 11 on, but facts up to 12 were acknowledged: ") ||
        !strstr (t->err.text, "was cut short"))
        fail_msg ("a log that was cut beside a watcher: %s", t->err.text);
    assert_int_equal (truncate (path_of (place, WAL), 8192), 0); /* the tables, too */
    assert_int_equal (read_again (place, FACTS, &t->err), SAID_DAMAGED);
    assert_has (t->err.text, "from fact 1 on, but facts up to 12 were acknowledged: ");
    journal_reader_close (watcher);
    copy_release (&sound);
}

/* ---- no damage ---- */

/* Killed between a commit and its mark, or before that commit was durable: nobody was told of the last fact. */
TEST_ON (place, what_nobody_was_told_of_may_vanish)
{
    struct copy before, after;
    make_killed (place->path, 1, FACTS - 1);
    take_copy (place, &before);
    make_killed (place->path, FACTS, FACTS);
    take_copy (place, &after);
    put_file (place, &before, MARK);
    whole (place, FACTS, "a mark that is one commit behind");
    after.file[WAL].ptr[after.file[WAL].len - 100] ^= 1;
    put_file (place, &after, WAL);
    (void) unlink (path_of (place, SHM));
    if (read_again (place, FACTS - 1, &t->err) != SAID_ALL)
        fail_msg ("a torn tail that nobody was told of: code %d: %s", t->err.code, t->err.text);
    struct journal *journal = journal_open (place->path, &t->err);
    if (!journal)
        fail_msg ("%s", t->err.text);
    assert_int_equal (journal_durable_index (journal), FACTS - 1);
    append_until (journal, FACTS, FACTS);
    journal_close (journal);
    whole (place, FACTS, "going on after a torn tail");
    copy_release (&before);
    copy_release (&after);
}

/* A power loss may leave any earlier mark beside the journal, or any prefix of an unsynced log beside any mark that is
 * not newer. A mark that is newer than its journal is no accident of ours. */
TEST_ON (place, a_mark_may_be_behind_and_never_ahead)
{
    struct copy at[FACTS + 1];
    for (uint64_t i = 1; i <= FACTS; i++) {
        make_killed (place->path, i, i);
        take_copy (place, &at[i]);
    }
    for (uint64_t journal = 1; journal <= FACTS; journal++)
        for (uint64_t mark = 1; mark <= FACTS; mark++) {
            put_copy (place, &at[journal]);
            put_file (place, &at[mark], MARK);
            enum said said = read_again (place, journal, &t->err), wanted = mark <= journal ? SAID_ALL : SAID_DAMAGED;
            if (said != wanted)
                fail_msg ("journal %d with mark %d: %d: %s", (int) journal, (int) mark, said, t->err.text);
        }
    for (uint64_t i = 1; i <= FACTS; i++)
        copy_release (&at[i]);
}

static void tear_slot (const struct place *place, int slot)
{
    static const char torn[MARK_NOTE_BYTES / 2] = { 0x5A };
    int fd = open (path_of (place, MARK), O_WRONLY);
    assert_int_equal (pwrite (fd, torn, sizeof torn, (off_t) slot * MARK_SLOT_BYTES + 40), sizeof torn);
    assert_int_equal (close (fd), 0);
}

/* The power went while slots were written: this boot is another one, and the slot that was safe still tells. */
TEST_ON (place, slots_torn_by_a_power_loss_are_no_damage)
{
    struct journal_mark mark;
    make_killed (place->path, 1, FACTS);
    assert_int_equal (journal_mark_read (place->path, RUN_ID, &mark, NULL), 0);
    for (int slot = 0; slot < MARK_SLOTS; slot++) {
        struct err err = { 0 };
        put_marks (place, "00000000-1111-2222-3333-444444444444", FACTS, &mark.chain);
        tear_slot (place, slot);
        tear_slot (place, (slot + 1) % MARK_SLOTS);
        whole (place, FACTS, "two torn slots");
        struct journal *journal = journal_open (place->path, &err);
        if (!journal)
            fail_msg ("%s", err.text);
        journal_close (journal);
        whole (place, FACTS, "all three made whole");
        tear_slot (place, slot); /* they are of this boot again, in which no power was lost */
        refused (place, "a torn slot without a power loss", "is damaged");
    }
}

enum { CUTS_MAX = 32 };

/* As a power loss may leave it: the slot `safe` tells, the others are torn or behind. */
static void lose_power (const struct place *place, const struct journal_mark *mark, int safe, int torn)
{
    static const char another[] = "00000000-1111-2222-3333-444444444444";
    put_marks (place, another, mark->index - 1, &mark->chain);
    put_mark (place, safe, RUN_ID, another, mark->index, &mark->chain);
    for (int slot = 0; slot < MARK_SLOTS; slot++)
        if (slot != safe && torn & 1 << slot)
            tear_slot (place, slot);
}

static void cut_the_repair (const struct place *place, const struct journal_mark *mark, int safe, int torn)
{
    char what[96];
    int cut = 1;
    for (bool killed = true; killed; cut++) {
        assert_true (cut < CUTS_MAX);
        lose_power (place, mark, safe, torn);
        for (int again = 0; again < 2; again++) {
            killed = killed_while_opening (place->path, cut);
            snprintf (what, sizeof what, "slot %d is safe, torn are %x, killed at write %d", safe, torn, cut);
            whole (place, FACTS, what);
        }
    }
    assert_true (cut > MARK_SLOTS);
    tear_slot (place, safe); /* whoever comes to the end of it leaves slots of this boot */
    refused (place, "a torn slot without a power loss", "is damaged");
}

TEST_ON (place, a_repair_may_be_killed_at_each_write)
{
    struct journal_mark mark;
    make_killed (place->path, 1, FACTS);
    assert_int_equal (journal_mark_read (place->path, RUN_ID, &mark, NULL), 0);
    for (int safe = 0; safe < MARK_SLOTS; safe++)
        for (int torn = 0; torn < 1 << MARK_SLOTS; torn++)
            if (!(torn & 1 << safe))
                cut_the_repair (place, &mark, safe, torn);
}

/* Which boot wrote them is not known, so neither is whether the power was lost since. */
TEST_ON (place, a_torn_slot_of_no_boot_is_damage)
{
    struct journal_mark mark;
    make_killed (place->path, 1, FACTS);
    assert_int_equal (journal_mark_read (place->path, RUN_ID, &mark, NULL), 0);
    put_marks (place, "", FACTS, &mark.chain);
    whole (place, FACTS, "three slots of no boot");
    tear_slot (place, 1);
    refused (place, "a torn slot of no boot", "is damaged");
}

TEST_ON (place, a_journal_of_an_earlier_version_is_read_and_gets_a_mark)
{
    make_killed (place->path, 1, FACTS);
    change (place->path, "DELETE FROM meta WHERE name = 'mark'");
    assert_int_equal (unlink (path_of (place, MARK)), 0);
    whole (place, FACTS, "no mark, as an earlier sliceup left it");
    write_file (path_of (place, MARK), "half", 4); /* killed while it got one */
    whole (place, FACTS, "a mark that the journal does not speak of yet");
    struct journal *journal = journal_open (place->path, &t->err);
    if (!journal)
        fail_msg ("%s", t->err.text);
    journal_close (journal);
    assert_int_equal (unlink (path_of (place, MARK)), 0);
    refused (place, "the mark that it got is gone", "is missing");
}

static void append_end (struct journal *journal, uint64_t index)
{
    struct fact end = { .kind = FACT_RUN_ENDED, .index = index, .of.run_ended = { .sentence = TEXT_LIT ("over") } };
    struct buf bytes;
    buf_init (&bytes, 4096);
    wire_put_fact (&bytes, &end);
    journal_append (journal, index, FACT_RUN_ENDED, 1, 1, buf_as_text (&bytes));
    buf_release (&bytes);
}

static int count (void *owner, uint64_t index, struct text bytes, struct err *err)
{
    (void) bytes, (void) err;
    *(uint64_t *) owner = index;
    return 0;
}

TEST_ON (place, a_run_that_ended_needs_no_mark_but_is_held_to_one)
{
    uint64_t last = 0;
    struct journal *journal = journal_create (place->path, RUN_ID, NULL);
    append_until (journal, 1, FACTS - 1);
    append_end (journal, FACTS);
    journal_close (journal);
    write_file (path_of (place, MARK), "x", 1);
    assert_int_equal (journal_read (place->path, count, &last, &t->err), 0);
    assert_int_equal (unlink (path_of (place, MARK)), 0);
    assert_int_equal (journal_read (place->path, count, &last, &t->err), 0);
    assert_int_equal (last, FACTS);
    assert_non_null (journal = journal_open (place->path, &t->err));
    journal_close (journal);
    assert_int_equal (access (path_of (place, MARK), F_OK), 0);
    change (place->path, "DELETE FROM fact WHERE idx = 12; UPDATE meta SET value = 11 WHERE name = 'last'");
    refused (place, "the end was taken out", "at fact 12");
}

/* ---- the live journal ---- */

TEST_ON (place, a_follower_of_a_fast_writer_hears_of_no_damage)
{
    uint64_t seen = 0, end = now_ms () + 700;
    struct journal *journal = journal_create (place->path, RUN_ID, NULL);
    append_until (journal, 1, 1);
    journal_close (journal);
    pid_t pid = start_committing (place->path, 2, 1000000);
    struct journal_reader *reader = journal_reader_open (place->path, &t->err);
    while (now_ms () < end || (seen <= 100 && now_ms () < end + WAIT_MS))
        if (journal_reader_read_rest (reader, expect_next, &seen, &t->err) != 0)
            fail_msg ("after fact %d: %s", (int) seen, t->err.text);
    assert_int_equal (kill (pid, SIGKILL), 0);
    assert_int_equal (waitpid (pid, NULL, 0), pid);
    if (journal_reader_read_rest (reader, expect_next, &seen, &t->err) != 0)
        fail_msg ("at the end, after fact %d: %s", (int) seen, t->err.text);
    journal_reader_close (reader);
    assert_true (seen > 100);
}

static void wait_for_syncs (int n)
{
    uint64_t end = now_ms () + WAIT_MS;
    while (mark_syncs < n) {
        assert_true (now_ms () < end);
        usleep (1000);
    }
}

TEST_ON (place, no_commit_waits_for_the_mark_s_disk)
{
    struct journal *journal = journal_create (place->path, RUN_ID, NULL);
    mark_syncs = 0;
    mark_hangs = true;
    for (uint64_t index = 1; index <= 50; index++) {
        append_until (journal, index, index);
        wait_durable (journal, index);
        assert_int_equal (journal_durable_index (journal), index);
        if (index == 1)
            wait_for_syncs (1);
    }
    whole (place, 50, "a mark whose disk hangs"); /* and it is set all the same */
    mark_hangs = false;
    assert_int_equal (mark_syncs, 1);
    journal_close (journal);
}

TEST_ON (place, the_mark_reaches_the_disk_within_its_pace_and_not_more_often)
{
    struct journal *journal = journal_create (place->path, RUN_ID, NULL);
    mark_syncs = 0;
    uint64_t began = now_ms (), index = 0;
    while (mark_syncs < 2) {
        assert_true (now_ms () < began + WAIT_MS);
        append_until (journal, index + 1, index + 1);
        wait_durable (journal, ++index);
    }
    assert_true (now_ms () >= began + MARK_PACE_MS);
    assert_true (index > 10);
    int before = mark_syncs;
    journal_close (journal);
    assert_int_equal (mark_syncs, before + 1); /* a clean end leaves nothing behind */
}

TEST_ON (place, a_mark_that_its_disk_refuses_is_a_problem_of_the_journal)
{
    struct journal *journal = journal_create (place->path, RUN_ID, NULL);
    mark_syncs = 0;
    mark_fails = true;
    append_until (journal, 1, 1);
    wait_durable (journal, 1);
    wait_for_syncs (1);
    for (uint64_t index = 2, end = now_ms () + WAIT_MS; !journal_problem (journal, &t->err); index++) {
        assert_true (now_ms () < end);
        append_until (journal, index, index);
        wait_durable (journal, index);
    }
    mark_fails = false;
    assert_int_equal (t->err.code, ERR_IO);
    assert_has (t->err.text, "journal.db.mark to disk");
    journal_close (journal);
}
