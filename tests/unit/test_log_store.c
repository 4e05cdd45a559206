/* links: simulated coordinator_run */
/* What of a host's output is not in its file here is told, once, by whoever finds that out. */

#include "common/io/atomic_file.h"
#include "coordinator/run/driver_private.h"
#include "sample.h"
#include "test.h"

enum { HOST = 1 };
struct bench {
    struct run_dir dir;
    struct plan plan;
    struct arena arena;
    struct loop *loop;
    struct workqueue *workqueue;
    struct log_store *store;
    uint32_t told_n;
    bool over; /* nothing is recorded any more */
    char why[2048], path[RUN_PATH_BYTES];
};
static const struct attempt_key key = { 0, PASS_ONCE, 1 };

static bool take_lost (void *owner, uint32_t host, const struct attempt_key *of, struct text why)
{
    struct bench *bench = owner;
    assert_true (host == HOST && of->rung == key.rung);
    bench->told_n++;
    snprintf (bench->why, sizeof bench->why, "%.*s", TEXT_ARG (why));
    return !bench->over;
}

static void begin (struct bench *bench)
{
    bench->loop = loop_open (NULL);
    bench->workqueue = workqueue_open (bench->loop, NULL);
    bench->store = log_store_open (&bench->dir, &bench->plan, bench->workqueue, take_lost, bench);
}

static void end (struct bench *bench)
{
    workqueue_close (bench->workqueue); /* all that was added is written, or told */
    log_store_close (bench->store);
    loop_close (bench->loop);
}

static void stop_when_done (void *owner)
{
    struct bench *bench = owner;
    if (workqueue_length (bench->workqueue) == 0)
        loop_stop (bench->loop);
}

/* As a coordinator, which hands out losses while more is to come. */
static void settle (struct bench *bench)
{
    loop_set_iteration_fn (bench->loop, stop_when_done, bench);
    assert_int_equal (loop_run (bench->loop, NULL), 0);
}

static void add_of (struct bench *bench, uint32_t attempt, uint64_t offset, const char *bytes)
{
    struct msg_log log = { .key = { key.rung, key.pass, attempt }, .offset = offset, .bytes = text_of (bytes) };
    log_store_add (bench->store, HOST, &log);
}

static void add (struct bench *bench, uint64_t offset, const char *bytes)
{
    add_of (bench, key.attempt, offset, bytes);
}

static off_t length (const struct bench *bench)
{
    struct stat at;
    return stat (bench->path, &at) == 0 ? at.st_size : -1;
}

static void bench_open (struct bench *bench)
{
    char home[] = "/tmp/test_log_store.XXXXXX";
    assert_non_null (mkdtemp (home));
    assert_int_equal (run_dir_create (&bench->dir, home, NULL), 0);
    sample_plan (&bench->plan, 2, &bench->arena);
    run_dir_log_path (&bench->dir, &bench->plan, HOST, &key, bench->path);
}

static void bench_close (struct bench *bench)
{
    assert_int_equal (folder_remove (bench->dir.home, NULL), 0);
    arena_release (&bench->arena);
}

TEST_FIXTURE (struct bench, bench_open, bench_close)

TEST_ON (bench, what_comes_in_order_or_again_is_whole)
{
    begin (bench);
    add (bench, 0, "first ");
    add (bench, 6, "second");
    add (bench, 0, "first ");
    end (bench);
    assert_int_equal (length (bench), 12);
    assert_int_equal (bench->told_n, 0);
}

/* Its coordinator ended before it could say so: its disk was full. */
TEST_ON (bench, a_gap_that_another_coordinator_left_is_told)
{
    begin (bench);
    add (bench, 0, "first ");
    end (bench);
    begin (bench);
    add (bench, 100, "third");
    add (bench, 105, "fourth");
    settle (bench);
    end (bench);
    assert_int_equal (bench->told_n, 1);
    assert_string_equal (bench->why, "94 bytes before byte 100 of the coordinator's log are not here");
    assert_int_equal (length (bench), 111);
}

TEST_ON (bench, what_follows_a_lost_chunk_is_kept_and_the_gap_is_told_once)
{
    struct buf log;
    begin (bench);
    add (bench, 0, "first ");
    add (bench, 100, "third "); /* one between them failed, or never came */
    add (bench, 106, "fourth ");
    settle (bench);
    add (bench, 113, "the cause");
    settle (bench);
    end (bench);
    assert_int_equal (bench->told_n, 1);
    buf_init (&log, 1024);
    assert_int_equal (file_read (bench->path, &log, NULL), 0);
    assert_int_equal (log.len, 122);
    assert_memory_equal (log.ptr, "first \0", 7);
    assert_memory_equal (log.ptr + 99, "\0third fourth the cause", 23);
    buf_release (&log);
}

/* Its coordinator ends before it can say so: bytes of zero would be taken for what was printed. */
TEST_ON (bench, nothing_is_written_behind_a_gap_that_is_not_told)
{
    begin (bench);
    add (bench, 0, "first ");
    settle (bench);
    bench->over = true;
    add (bench, 100, "third");
    settle (bench);
    bench->over = false;
    add (bench, 105, "fourth");
    end (bench); /* before it can be told */
    assert_int_equal (length (bench), 6);
}

TEST_ON (bench, a_host_that_alternates_attempts_makes_no_loss_for_each_chunk)
{
    begin (bench);
    for (uint32_t i = 1; i <= 1000; i++) {
        add_of (bench, 1 + i % 2, 1000 * i, "x");
        settle (bench);
    }
    end (bench);
    assert_int_equal (bench->told_n, 64);
}
