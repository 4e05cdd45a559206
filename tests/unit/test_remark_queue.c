/* links: simulated coordinator_run */
#include "coordinator/run/driver_private.h"
#include "sample.h"
#include "test.h"

struct bench {
    struct arena arena;
    struct plan plan;
    struct log log;
    char *told;
    size_t told_bytes;
    struct remark_queue *queue;
};

static void bench_open (struct bench *bench)
{
    sample_plan (&bench->plan, 2048, &bench->arena);
    bench->log = (struct log){ .to = open_memstream (&bench->told, &bench->told_bytes), .program = "sliceup" };
    bench->queue = remark_queue_create (&bench->plan, &bench->log);
}

static void bench_close (struct bench *bench)
{
    remark_queue_destroy (bench->queue);
    fclose (bench->log.to);
    free (bench->told);
    arena_release (&bench->arena);
}

TEST_FIXTURE (struct bench, bench_open, bench_close)

static uint32_t lines (struct bench *bench)
{
    uint32_t n = 0;
    fflush (bench->log.to);
    for (size_t i = 0; i < bench->told_bytes; i++)
        n += bench->told[i] == '\n';
    return n;
}

TEST_ON (bench, many_with_one_remark_are_one_line)
{
    assert_true (remark_queue_due_ms (bench->queue) == UINT64_MAX);
    for (uint32_t i = 0; i < 2048; i += 2)
        remark_queue_add (bench->queue, i, text_format (&bench->arena, "key missing in file %u", i), 5000 + i);
    remark_queue_add (bench->queue, 3, TEXT_LIT ("took a new worker"), 6000);
    assert_true (remark_queue_due_ms (bench->queue) == 5000 + REMARK_WAIT_MS);
    remark_queue_tell (bench->queue, 5000 + REMARK_WAIT_MS - 1);
    assert_int_equal (lines (bench), 0);
    remark_queue_tell (bench->queue, 5000 + REMARK_WAIT_MS);
    assert_int_equal (lines (bench), 2);
    assert_has (bench->told, "sliceup: host[0,2,4,6,8,");
    assert_has (bench->told, ": key missing in file 0\n");
    assert_has (bench->told, "host3: took a new worker\n");
    remark_queue_tell (bench->queue, UINT64_MAX);
    assert_int_equal (lines (bench), 2);
}

TEST_ON (bench, none_is_dropped)
{
    for (uint32_t i = 0; i < 40; i++)
        remark_queue_add (bench->queue, i,
                          text_format (&bench->arena, "remark %c%c", (char) ('a' + i % 26), (char) ('a' + i / 26)), 1);
    remark_queue_add (bench->queue, 4096, TEXT_LIT ("of nobody"), 1);
    remark_queue_tell (bench->queue, UINT64_MAX);
    assert_int_equal (lines (bench), 40);
}
