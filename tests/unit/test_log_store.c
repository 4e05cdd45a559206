/* links: simulated coordinator_run */
/* What of a host's output is not in its file here is told, once, by whoever finds that out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/io/atomic_file.h"
#include "coordinator/run/log_store.h"
#include "sample.h"

enum { HOST = 1 };
struct bench {
    struct run_dir dir;
    struct plan plan;
    struct arena arena;
    struct loop *loop;
    struct workqueue *workqueue;
    struct log_store *store;
    uint32_t told_n;
    char why[2048], path[RUN_PATH_BYTES];
};
static const struct attempt_key key = { 0, PASS_ONCE, 1 };

static void take_lost (void *owner, uint32_t host, const struct attempt_key *of, struct text why)
{
    struct bench *bench = owner;
    assert_true (host == HOST && attempt_key_equal (of, &key));
    bench->told_n++;
    snprintf (bench->why, sizeof bench->why, "%.*s", TEXT_ARG (why));
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

static void add (struct bench *bench, uint64_t offset, const char *bytes)
{
    struct msg_log log = { .key = key, .offset = offset, .bytes = text_of (bytes) };
    log_store_add (bench->store, HOST, &log);
}

static off_t length (const struct bench *bench)
{
    struct stat at;
    return stat (bench->path, &at) == 0 ? at.st_size : -1;
}

static int setup (void **state)
{
    char home[] = "/tmp/test_log_store.XXXXXX";
    struct bench *bench = mem_alloc (sizeof *bench);
    assert_non_null (mkdtemp (home));
    assert_int_equal (run_dir_create (&bench->dir, home, NULL), 0);
    sample_plan (&bench->plan, 2, &bench->arena);
    run_dir_log_path (&bench->dir, &bench->plan, HOST, &key, bench->path);
    *state = bench;
    return 0;
}

static int teardown (void **state)
{
    struct bench *bench = *state;
    assert_int_equal (folder_remove (bench->dir.home, NULL), 0);
    arena_release (&bench->arena);
    mem_free (bench);
    return 0;
}

static void what_comes_in_order_or_again_is_whole (void **state)
{
    struct bench *bench = *state;
    begin (bench);
    add (bench, 0, "first ");
    add (bench, 6, "second");
    add (bench, 0, "first ");
    end (bench);
    assert_int_equal (length (bench), 12);
    assert_int_equal (bench->told_n, 0);
}

/* Its coordinator ended before it could say so: its disk was full. */
static void a_gap_that_another_coordinator_left_is_told (void **state)
{
    struct bench *bench = *state;
    begin (bench);
    add (bench, 0, "first ");
    end (bench);
    begin (bench);
    add (bench, 100, "third");
    add (bench, 105, "fourth");
    end (bench);
    assert_int_equal (bench->told_n, 1);
    assert_non_null (strstr (bench->why, "94 bytes before byte 100 of "));
    assert_non_null (strstr (bench->why, " are not here"));
    assert_int_equal (length (bench), 111);
}

/* A log that is too short is counted; behind a hole nothing would show what is missing. */
static void nothing_is_written_behind_what_could_not_be (void **state)
{
    struct bench *bench = *state;
    begin (bench);
    add (bench, 0, "first ");
    add (bench, 100, "third"); /* one between them failed, or never came */
    end (bench);
    assert_int_equal (length (bench), 6);
    assert_int_equal (bench->told_n, 1);
    assert_non_null (strstr (bench->why, "94 bytes before byte 100 of "));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown (name, setup, teardown)
        T (what_comes_in_order_or_again_is_whole),
        T (a_gap_that_another_coordinator_left_is_told),
        T (nothing_is_written_behind_what_could_not_be),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
