/* links: coordinator_run */
#include "coordinator/run/driver_private.h"
#include "test.h"

enum { HOSTS = 64, LOG_BYTES = 1 << 20 };

struct bench {
    struct output_watch *watch;
    struct attempt_key key;
    struct arena arena;
    struct fact_output_awaited told;
    uint64_t now_ms, offset[HOSTS + 8];
};

static struct bench bench_make (bool resumed)
{
    return (struct bench){ .watch = output_watch_create (HOSTS, LOG_BYTES, resumed), .key = { 0, PASS_ONCE, 1 } };
}

static void bench_release (struct bench *bench)
{
    output_watch_destroy (bench->watch);
    arena_release (&bench->arena);
}

static void print_at (struct bench *bench, uint32_t host, uint64_t offset, struct text bytes)
{
    struct msg_log piece = { .key = bench->key, .offset = offset, .bytes = bytes };
    output_watch_add (bench->watch, host, &piece, bench->now_ms);
    bench->offset[host] = offset + bytes.len;
}

static void print (struct bench *bench, uint32_t host, struct text bytes)
{
    print_at (bench, host, bench->offset[host], bytes);
}

/* Of the first `n` hosts. */
static uint32_t tell (struct bench *bench, uint32_t n)
{
    uint32_t hosts[HOSTS];
    for (uint32_t i = 0; i < n; i++)
        hosts[i] = i;
    bench->told = (struct fact_output_awaited){ .key = bench->key };
    output_watch_tell (bench->watch, hosts, n, bench->now_ms, &bench->arena, &bench->told);
    return bench->told.groups.n;
}

static const struct last_output *told (const struct bench *bench, uint32_t at)
{
    assert_true (at < bench->told.groups.n);
    return &bench->told.groups.items[at];
}

static void assert_line (const struct last_output *group, const char *line)
{
    char shown[OUTPUT_LINE_BYTES + 1] = "";
    memcpy (shown, group->line.ptr ? group->line.ptr : "", group->line.len);
    assert_string_equal (shown, line);
}

TEST (the_last_line_is_kept_with_its_age)
{
    struct bench bench = bench_make (false);
    bench.now_ms = 1000;
    assert_int_equal (tell (&bench, 1), 0);
    bench.now_ms = 7000;
    assert_int_equal (tell (&bench, 1), 1);
    assert_line (told (&bench, 0), "");
    assert_int_equal (told (&bench, 0)->quiet_ms, 6000);
    print (&bench, 0, TEXT_LIT ("begin\nload"));
    print (&bench, 0, TEXT_LIT ("ing\r\n  \n"));
    bench.now_ms = 12700;
    tell (&bench, 1);
    assert_line (told (&bench, 0), "loading");
    assert_int_equal (told (&bench, 0)->quiet_ms, 5700);
    print (&bench, 0, TEXT_LIT ("step 1\rstep 2\r  step 3"));
    bench.now_ms += 5000;
    tell (&bench, 1);
    assert_line (told (&bench, 0), "step 3");
    bench_release (&bench);
}

TEST (what_is_repeated_or_lost_changes_no_line)
{
    struct bench bench = bench_make (false);
    print (&bench, 0, TEXT_LIT ("first\nsecond"));
    bench.now_ms = 5500;
    print_at (&bench, 0, 0, TEXT_LIT ("first\nsecond"));
    tell (&bench, 1);
    assert_line (told (&bench, 0), "second");
    assert_int_equal (told (&bench, 0)->quiet_ms, 5500);
    print_at (&bench, 0, 4000, TEXT_LIT ("behind a hole"));
    bench.now_ms += 5000;
    tell (&bench, 1);
    assert_line (told (&bench, 0), "behind a hole");
    print_at (&bench, 0, UINT64_MAX, TEXT_LIT ("nowhere"));
    print_at (&bench, HOSTS + 3, 0, TEXT_LIT ("nobody"));
    tell (&bench, 1);
    assert_line (told (&bench, 0), "behind a hole");
    bench_release (&bench);
}

TEST (hosts_with_the_same_line_are_one_group)
{
    struct bench bench = bench_make (false);
    print (&bench, 0, TEXT_LIT ("shard 1 of pid 77\n"));
    print (&bench, 1, TEXT_LIT ("shard 2 of pid 78\n"));
    print (&bench, 2, TEXT_LIT ("waiting for a lock\n"));
    bench.now_ms = 9000;
    print (&bench, 3, TEXT_LIT ("shard 2 of pid 79\n"));
    bench.now_ms = 15000;
    assert_int_equal (tell (&bench, 4), 3); /* that one is not one of those that stopped long ago */
    assert_int_equal (told (&bench, 0)->hosts.n, 2);
    assert_line (told (&bench, 0), "shard 1 of pid 77");
    assert_line (told (&bench, 1), "waiting for a lock");
    assert_int_equal (told (&bench, 2)->hosts.items[0], 3);
    assert_int_equal (told (&bench, 2)->quiet_ms, 6000);
    bench_release (&bench);
}

TEST (only_the_quiet_are_told_and_never_many_groups)
{
    struct bench bench = bench_make (false);
    for (uint32_t i = 0; i < HOSTS; i++)
        print (&bench, i, text_format (&bench.arena, "line of kind %c\n", (char) ('a' + i % 26)));
    bench.now_ms = 4000;
    assert_int_equal (tell (&bench, HOSTS), 0);
    assert_int_equal (tell (&bench, 1), 0); /* few are no exception */
    bench.now_ms = 6000;
    assert_int_equal (tell (&bench, HOSTS), OUTPUT_GROUPS_MAX);
    bench_release (&bench);
}

TEST (silence_that_is_not_known_is_not_told)
{
    struct bench bench = bench_make (true);
    bench.now_ms = 20000;
    assert_int_equal (tell (&bench, 2), 0); /* another process heard the beginning */
    print_at (&bench, 0, 700, TEXT_LIT ("still here\n"));
    bench.now_ms = 25000;
    assert_int_equal (tell (&bench, 2), 1);
    print_at (&bench, 0, LOG_BYTES - 4, TEXT_LIT ("full\n"));
    assert_int_equal (tell (&bench, 2), 0); /* no more of this log comes */
    bench.key.attempt = 2;
    tell (&bench, 2);
    bench.now_ms = 30000;
    assert_int_equal (tell (&bench, 2), 1); /* both have printed nothing of the next attempt */
    assert_int_equal (told (&bench, 0)->hosts.n, 2);
    bench_release (&bench);
}
