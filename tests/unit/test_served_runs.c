/* alone: web journal */
#include <poll.h>
#include <sqlite3.h>
#include <sys/inotify.h>
#include <sys/resource.h>

#include "common/io/atomic_file.h"
#include "common/wire/wire.h"
#include "coordinator/journal/journal.h"
#include "coordinator/journal/run_begun.h"
#include "coordinator/web/server.h"
#include "test.h"

/* A home with real journals, and a clock that is set by hand. */
enum { RUNS = SERVED_FEEDS_MAX + 2, HOSTS = 3, WAIT_MS = 20 * 1000 };

struct lab {
    char home[64];
    struct run_dir dirs[RUNS]; /* the oldest first */
    struct journal *held;      /* of the newest, which runs */
    struct served_runs *runs;
    uint64_t now_ms;
};

static void record (struct journal *journal, uint64_t index, struct fact *fact)
{
    struct buf bytes;
    buf_init (&bytes, FACT_MAX_BYTES);
    fact->index = index;
    fact->wall_ms = 1700000000000 + index;
    wire_put_fact (&bytes, fact);
    journal_append (journal, index, fact->kind, 0, fact->wall_ms, buf_as_text (&bytes));
    buf_release (&bytes);
}

static void record_opened (struct journal *journal, const char *id)
{
    static struct plan_host hosts[HOSTS] = { { .name = { "h0", 2 }, .address = { "127.0.0.1", 9 } },
                                             { .name = { "h1", 2 }, .address = { "127.0.0.1", 9 } },
                                             { .name = { "h2", 2 }, .address = { "127.0.0.1", 9 } } };
    static struct rung rung = { .id = { "facts", 5 }, .builtin = { "facts", 5 }, .kind = PROGRAM_BUILTIN };
    struct fact opened = { .kind = FACT_RUN_OPENED };
    struct plan *plan = &opened.of.run_opened.plan;
    opened.of.run_opened.run = text_of (id);
    *plan = (struct plan){ .slice = TEXT_LIT ("made"), .launcher = LAUNCHER_JOIN, .ladder = TEXT_LIT ("made") };
    plan->hosts.items = hosts;
    plan->hosts.n = HOSTS;
    plan->rungs.items = &rung;
    plan->rungs.n = 1;
    record (journal, 1, &opened);
}

static void record_ended (struct journal *journal, uint64_t index)
{
    struct fact ended = { .kind = FACT_RUN_ENDED };
    ended.of.run_ended = (struct fact_run_ended){ OUTCOME_PASSED, 0, TEXT_LIT ("climbed \x1b[2J to the top") };
    record (journal, index, &ended);
}

static void await_durable (struct journal *journal, uint64_t index)
{
    while (journal_durable_index (journal) < index) {
        assert_true (poll (&(struct pollfd){ .fd = journal_fd (journal), .events = POLLIN }, 1, WAIT_MS) > 0);
        journal_clear_wakeup (journal);
    }
}

static struct journal *begin (const struct run_dir *dir)
{
    char path[RUN_PATH_BYTES];
    struct journal *journal = journal_create (run_dir_path (dir, "journal.db", path), dir->id, NULL);
    assert_non_null (journal);
    record_opened (journal, dir->id);
    await_durable (journal, 1);
    assert_int_equal (run_begun_record (dir, NULL), 0);
    return journal;
}

static void lab_open (struct lab *lab)
{
    *lab = (struct lab){ .now_ms = 1000 };
    snprintf (lab->home, sizeof lab->home, "/tmp/served-runs-test-XXXXXX");
    assert_true (mkdtemp (lab->home));
    for (uint32_t i = 0; i < RUNS; i++) {
        assert_int_equal (run_dir_create (&lab->dirs[i], lab->home, NULL), 0);
        struct journal *journal = begin (&lab->dirs[i]);
        if (i + 1 == RUNS)
            lab->held = journal;
        else {
            if (i > 0)
                record_ended (journal, 2); /* the first was interrupted */
            journal_close (journal);
        }
    }
    lab->runs = served_runs_open (lab->home, NULL);
}

static void lab_close (struct lab *lab)
{
    served_runs_close (lab->runs);
    journal_close (lab->held);
    assert_int_equal (folder_remove (lab->home, NULL), 0);
}

TEST_FIXTURE (struct lab, lab_open, lab_close)

static void pass (struct lab *lab, uint64_t ms)
{
    lab->now_ms += ms;
    assert_true (served_runs_tick (lab->runs, lab->now_ms, 1700000000000 + lab->now_ms) > 0);
}

static struct served_run *run_of (struct lab *lab, uint32_t at)
{
    struct served_run *run = served_runs_find (lab->runs, lab->dirs[at].id, NULL);
    assert_non_null (run);
    return run;
}

/* Its feed is whole, or the test fails. */
static struct served_run *wanted (struct lab *lab, uint32_t at)
{
    struct err err = { 0 };
    for (int i = 0; i < 100; i++) {
        int whole = served_run_want (lab->runs, run_of (lab, at), lab->now_ms, &err);
        assert_true (whole >= 0);
        if (whole)
            return run_of (lab, at);
        pass (lab, 10);
    }
    fail_msg ("never whole");
    return NULL;
}

TEST_ON (lab, each_stands_as_its_journal_tells)
{
    pass (lab, 1);
    assert_string_equal (served_runs_find (lab->runs, "last", NULL)->dir.id, lab->dirs[RUNS - 1].id);
    assert_null (served_runs_find (lab->runs, "ffffffffffffffffffffffffffffffff", &t->err));
    assert_int_equal (t->err.code, ERR_USAGE);
    assert_int_equal (run_of (lab, RUNS - 1)->state, SERVED_RUNNING);
    assert_int_equal (run_of (lab, 0)->state, SERVED_INTERRUPTED);
    const struct served_run *ended = run_of (lab, 5);
    assert_int_equal (ended->state, SERVED_ENDED);
    assert_int_equal (ended->outcome, OUTCOME_PASSED);
    assert_string_equal (ended->slice, "made");
    assert_string_equal (ended->sentence, "climbed \\x1b[2J to the top");
    assert_int_equal (ended->hosts_n, HOSTS);
    assert_int_equal (ended->ended_wall_ms, 1700000000002);
    json_t *json = served_runs_json (lab->runs, lab->now_ms);
    assert_int_equal (json_array_size (json_object_get (json, "runs")), RUNS);
    json_decref (json);
    /* One that is no run any more. */
    assert_int_equal (run_dir_create (&(struct run_dir){ 0 }, lab->home, NULL), 0);
    pass (lab, 5000);
    assert_int_equal (served_runs_find (lab->runs, "last", NULL)->state, SERVED_UNBEGUN);
}

TEST_ON (lab, last_is_the_one_that_was_taken_over)
{
    struct run_dir found;
    char path[RUN_PATH_BYTES];
    pass (lab, 1);
    assert_int_equal (run_dir_note_taken_over (&lab->dirs[0], NULL), 0);
    struct journal *resumed = journal_open (run_dir_path (&lab->dirs[0], "journal.db", path), NULL);
    assert_non_null (resumed);
    record_ended (resumed, 2);
    await_durable (resumed, 2);
    journal_close (resumed);
    pass (lab, 5000);
    assert_int_equal (run_dir_find (&found, lab->home, "last", NULL), 0);
    assert_string_equal (served_runs_find (lab->runs, "last", NULL)->dir.id, found.id);
    assert_string_equal (found.id, lab->dirs[0].id);
}

static uint32_t feeds_of (struct lab *lab)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < RUNS; i++)
        n += run_of (lab, i)->feed != NULL;
    return n;
}

TEST_ON (lab, those_asked_about_have_feeds_and_the_oldest_gives_its_place_away)
{
    pass (lab, 1);
    assert_int_equal (feeds_of (lab), 0);
    for (uint32_t i = 0; i < SERVED_FEEDS_MAX; i++) {
        assert_true (feed_board (wanted (lab, i)->feed)->opened);
        assert_int_equal (feed_board (run_of (lab, i)->feed)->ended, i > 0);
    }
    /* All were asked about just now. */
    assert_int_equal (served_run_want (lab->runs, run_of (lab, 8), lab->now_ms, &t->err), -1);
    assert_int_equal (t->err.code, ERR_STATE);
    lab->now_ms += 10000;
    for (uint32_t i = 0; i < SERVED_FEEDS_MAX; i++)
        if (i != 3)
            (void) wanted (lab, i);
    lab->now_ms += 3500;
    assert_true (feed_board (wanted (lab, 8)->feed)->ended);
    assert_int_equal (feeds_of (lab), SERVED_FEEDS_MAX);
    assert_null (run_of (lab, 3)->feed);
    assert_int_equal (run_of (lab, 0)->feeds_n, 1);
    lab->now_ms += 10000;
    assert_int_equal (wanted (lab, 3)->feeds_n, 2); /* its revisions are counted anew */
}

TEST_ON (lab, a_running_one_is_followed_to_its_end)
{
    pass (lab, 1);
    const struct served_run *run = wanted (lab, RUNS - 1);
    assert_false (feed_board (run->feed)->ended);
    uint64_t changed = run->changed;
    pass (lab, 2000);
    assert_int_equal (run->changed, changed);
    struct fact cancelled = { .kind = FACT_CANCEL_ASKED, .of.cancel_asked.level = 1 }; /* it changes no host */
    record (lab->held, 2, &cancelled);
    await_durable (lab->held, 2);
    pass (lab, 500);
    assert_true (run->changed > changed && run->changed == feed_board (run->feed)->revision);
    changed = run->changed;
    record_ended (lab->held, 3);
    journal_close (lab->held); /* waits until it is durable, and lets go */
    lab->held = NULL;
    pass (lab, 500); /* before the list is looked at again */
    assert_true (feed_board (run->feed)->ended);
    assert_true (run->changed > changed && run->changed == feed_board (run->feed)->revision);
    assert_int_equal (run->state, SERVED_ENDED);
    assert_null (run->follow);
}

TEST_ON (lab, in_one_that_was_interrupted_nobody_is_waited_for)
{
    pass (lab, 1);
    assert_true (feed_board (wanted (lab, 0)->feed)->interrupted);
    assert_false (feed_board (wanted (lab, 5)->feed)->interrupted);
    assert_false (feed_board (wanted (lab, RUNS - 1)->feed)->interrupted);
}

/* A state that is due then would else tell what was read long before. */
TEST_ON (lab, without_events_it_is_read_when_a_state_is_due)
{
    struct fact cancelled = { .kind = FACT_CANCEL_ASKED, .of.cancel_asked.level = 1 };
    pass (lab, 1);
    struct served_run *run = wanted (lab, RUNS - 1);
    pass (lab, 2000); /* just read */
    uint64_t changed = run->changed, due_ms = lab->now_ms + 20;
    record (lab->held, 2, &cancelled);
    await_durable (lab->held, 2);
    served_run_look_by (run, due_ms);
    served_run_look_by (run, due_ms + 20); /* later than it is read anyway */
    assert_int_equal (served_runs_tick (lab->runs, lab->now_ms, 1700000000000 + lab->now_ms), due_ms);
    assert_int_equal (run->changed, changed);
    pass (lab, 20);
    assert_true (run->changed > changed);
}

TEST_ON (lab, a_damaged_one_is_told)
{
    char path[RUN_PATH_BYTES];
    assert_int_equal (
        atomic_file_write (run_dir_path (&lab->dirs[4], "journal.db", path), "no journal", 10, 0600, NULL), 0);
    pass (lab, 1);
    assert_int_equal (run_of (lab, 4)->state, SERVED_DAMAGED);
    (void) served_run_want (lab->runs, run_of (lab, 4), lab->now_ms, &t->err);
    pass (lab, 10);
    assert_int_equal (served_run_want (lab->runs, run_of (lab, 4), lab->now_ms, &t->err), -1);
    assert_int_equal (t->err.code, ERR_DAMAGE);
}

/* An earlier sliceup wrote it: there is no mark, whose time tells whether it has grown. */
static const char *forget_mark (const struct run_dir *dir, char path[RUN_PATH_BYTES])
{
    sqlite3 *db;
    assert_int_equal (unlink (run_dir_path (dir, "journal.db.mark", path)), 0);
    assert_int_equal (sqlite3_open (run_dir_path (dir, "journal.db", path), &db), SQLITE_OK);
    assert_int_equal (sqlite3_exec (db, "delete from meta where name = 'mark'", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal (sqlite3_close (db), SQLITE_OK);
    return path;
}

/* How often the file was opened in the folder since the last call. */
static uint32_t count_opened (int watch_fd, const char *name)
{
    _Alignas(struct inotify_event) char events[4096];
    uint32_t n = 0;
    ssize_t len;
    while ((len = read (watch_fd, events, sizeof events)) > 0)
        for (ssize_t at = 0; at < len;) {
            const struct inotify_event *event = (const void *) (events + at);
            n += event->len && strcmp (event->name, name) == 0;
            at += (ssize_t) (sizeof *event + event->len);
        }
    return n;
}

static void pass_wanted (struct lab *lab, uint64_t ms, bool want)
{
    for (uint64_t end_ms = lab->now_ms + ms; lab->now_ms < end_ms;) {
        if (want)
            assert_true (served_run_want (lab->runs, run_of (lab, 0), lab->now_ms, NULL) >= 0);
        pass (lab, 500);
    }
}

TEST_ON (lab, one_that_stands_still_is_hardly_looked_at_and_its_resuming_is_seen)
{
    char path[RUN_PATH_BYTES], folder[RUN_PATH_BYTES];
    struct journal *resumed;
    forget_mark (&lab->dirs[0], path);
    int watch_fd = inotify_init1 (IN_NONBLOCK | IN_CLOEXEC);
    pass_wanted (lab, 2500, false);
    assert_int_equal (run_of (lab, 0)->state, SERVED_INTERRUPTED);
    assert_true (inotify_add_watch (watch_fd, run_dir_path (&lab->dirs[0], "", folder), IN_OPEN) >= 0);
    pass_wanted (lab, 120 * 1000, false);
    assert_in_range (count_opened (watch_fd, "journal.db"), 1, 20);
    close (watch_fd);
    resumed = journal_open (path, NULL);
    assert_non_null (resumed);
    pass_wanted (lab, SERVED_REST_MS, false);
    assert_int_equal (run_of (lab, 0)->state, SERVED_RUNNING);
    journal_close (resumed);
    pass_wanted (lab, 2500, false);
    assert_int_equal (run_of (lab, 0)->state, SERVED_INTERRUPTED);
    /* Somebody looks at it. */
    pass_wanted (lab, 120 * 1000, true);
    resumed = journal_open (path, NULL);
    pass_wanted (lab, 2000, true);
    assert_int_equal (run_of (lab, 0)->state, SERVED_RUNNING);
    journal_close (resumed);
}

static rlim_t set_descriptors (rlim_t most)
{
    struct rlimit files;
    assert_int_equal (getrlimit (RLIMIT_NOFILE, &files), 0);
    rlim_t before = files.rlim_cur;
    files.rlim_cur = most;
    assert_int_equal (setrlimit (RLIMIT_NOFILE, &files), 0);
    return before;
}

TEST_ON (lab, what_cannot_be_read_is_told_and_tried_again)
{
    pass (lab, 1);
    int next_fd = dup (STDIN_FILENO);
    close (next_fd);
    rlim_t most = set_descriptors ((rlim_t) next_fd);
    assert_int_equal (served_run_want (lab->runs, run_of (lab, 0), lab->now_ms, &t->err), 0);
    pass (lab, 2500);
    set_descriptors (most);
    assert_int_equal (served_run_want (lab->runs, run_of (lab, 0), lab->now_ms, &t->err), -1);
    assert_has (t->err.text, "Too many open files");
    assert_int_equal (run_of (lab, 0)->state, SERVED_INTERRUPTED);
    assert_int_equal (run_of (lab, RUNS - 1)->state, SERVED_RUNNING);
    pass (lab, SERVED_RETRY_MS - 100);
    assert_int_equal (served_run_want (lab->runs, run_of (lab, 0), lab->now_ms, &t->err), -1);
    pass (lab, 200);
    assert_true (feed_board (wanted (lab, 0)->feed)->opened);
    assert_int_equal (run_of (lab, 0)->feeds_n, 2); /* whoever had seen something of it begins anew */
}

TEST_ON (lab, one_alone_is_served_where_one_was_named)
{
    served_runs_close (lab->runs);
    lab->runs = served_runs_open (lab->home, lab->dirs[2].id);
    pass (lab, 1);
    assert_string_equal (served_runs_find (lab->runs, "last", NULL)->dir.id, lab->dirs[2].id);
    assert_null (served_runs_find (lab->runs, lab->dirs[3].id, NULL));
}
