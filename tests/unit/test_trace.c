/* links: report */
/* Which failure each cascade followed. What a whole trace says: test_report.py. */
#include "coordinator/report/report.h"
#include "test.h"
#include <jansson.h>

/* ---- cascades ---- */

enum { HOSTS = 5 };
struct world {
    struct board board;
    struct scene scene;
    struct scene_host hosts[HOSTS];
    struct scene_attempt attempts[HOSTS][2];
    struct slice_receipt receipt;
    struct run_header header;
    struct host_receipt receipts[HOSTS];
    struct rung_receipt rungs[HOSTS], *places[HOSTS];
    struct text rung;
    struct report report;
    struct arena arena;
};

TEST_FIXTURE (struct world, TEST_NOTHING, TEST_ARENA)

static void world_open (struct world *world, const enum scene_mark marks[HOSTS], const char *sentence)
{
    static const char *const names[HOSTS] = { "h0", "h1", "h2", "h20", "h3" };
    *world = (struct world){ .rung = TEXT_LIT ("low") };
    world->header.rungs.items = &world->rung;
    world->header.rungs.n = 1;
    world->receipt.headers.items = &world->header;
    world->receipt.headers.n = 1;
    world->receipt.hosts.items = world->receipts;
    world->receipt.hosts.n = HOSTS;
    world->scene = (struct scene){ .board = &world->board, .hosts_n = HOSTS };
    for (uint32_t i = 0; i < HOSTS; i++) {
        world->attempts[i][0] =
            (struct scene_attempt){ .key = { 0, PASS_ONCE, 1 }, .mark = marks[i], .began_ms = 100, .ms = 50 - i };
        world->attempts[i][0].ended_ms = 150 - i;
        world->hosts[i] = (struct scene_host){
            .rank = i, .name = text_of (names[i]), .attempts = world->attempts[i], .attempts_n = 1
        };
        world->rungs[i] = (struct rung_receipt){ .rung = TEXT_LIT ("low"), .pass = PASS_ONCE, .attempt = 1 };
        if (marks[i] == MARK_CASCADE)
            world->rungs[i].cause.text = text_of (sentence);
        world->places[i] = &world->rungs[i];
        world->receipts[i] = (struct host_receipt){ .rank = i, .rungs = { &world->places[i], 1 } };
    }
    world->report = (struct report){ .receipt = &world->receipt, .scene = &world->scene, .hosts = world->hosts };
}

static void world_open_again (struct world *world, const enum scene_mark marks[HOSTS], const char *sentence)
{
    arena_release (&world->arena);
    world_open (world, marks, sentence);
}

static uint32_t cause_of (struct world *world, uint32_t attempt)
{
    return report_attempts_of (&world->report, &world->arena).items[attempt].cause;
}

TEST_ON (world, test_a_cascade_follows_the_host_that_its_sentence_names)
{
    static const enum scene_mark marks[HOSTS] = { MARK_CASCADE, MARK_PASSED, MARK_FAILED, MARK_LOST, MARK_CASCADE };
    world_open (world, marks, "aborted because h2 failed");
    assert_int_equal (cause_of (world, 0), 2);
    assert_int_equal (cause_of (world, 4), 2);
    assert_int_equal (cause_of (world, 2), SCENE_NOBODY);
    world_open_again (world, marks, "aborted because h20 failed");
    assert_int_equal (cause_of (world, 0), 3);
    world_open_again (world, marks, "aborted because of h1 failed"); /* it passed: the one that ended first is taken */
    assert_int_equal (cause_of (world, 0), 3);
}

TEST_ON (world, test_without_a_failure_the_run_is_the_cause)
{
    static const enum scene_mark marks[HOSTS] = { MARK_CASCADE, MARK_CASCADE, MARK_PASSED, MARK_PASSED, MARK_PASSED };
    static const enum scene_mark told[HOSTS] = { MARK_CASCADE, MARK_CASCADE, MARK_CANCELLED, MARK_PASSED, MARK_PASSED };
    world_open (world, marks, "the user cancelled the run");
    struct report_attempts all = report_attempts_of (&world->report, &world->arena);
    assert_int_equal (all.items[0].cause, HOSTS);
    assert_int_equal (all.items[HOSTS].follower, 0);
    assert_int_equal (all.items[0].next, 1);
    assert_int_equal (all.items[1].next, SCENE_NOBODY);
    assert_int_equal (all.items[HOSTS].followed_ms, 149); /* the first end of those that followed */
    world_open_again (world, told, "the user cancelled the run");
    assert_int_equal (cause_of (world, 0), 2);
}

/* A host whose clock counted more than passed on the run's. */
TEST_ON (world, test_attempts_of_a_host_never_overlap)
{
    static const enum scene_mark marks[HOSTS] = { MARK_PASSED, MARK_PASSED, MARK_PASSED, MARK_PASSED, MARK_PASSED };
    world_open (world, marks, "");
    world->attempts[0][1] = world->attempts[0][0];
    world->attempts[0][1].key.attempt = 2;
    world->attempts[0][1].began_ms = 120;
    world->hosts[0].attempts_n = 2;
    struct report_attempts all = report_attempts_of (&world->report, &world->arena);
    assert_int_equal (all.items[1].began_ms, 150);
    assert_int_equal (all.items[1].ended_ms, 200);
}

TEST (test_same_report_same_bytes)
{
    static const enum scene_mark marks[HOSTS] = { MARK_CASCADE, MARK_PASSED, MARK_FAILED, MARK_PASSED, MARK_CASCADE };
    struct world world;
    struct buf one, two;
    world_open (&world, marks, "aborted because h2 failed");
    buf_init (&one, 1 << 20);
    buf_init (&two, 1 << 20);
    trace_perfetto (&world.report, &one);
    trace_perfetto (&world.report, &two);
    assert_true (one.len > 500 && one.len == two.len && memcmp (one.ptr, two.ptr, one.len) == 0);
    json_t *events = json_loadb ((const char *) one.ptr, one.len, 0, NULL);
    assert_true (json_array_size (events) > HOSTS);
    json_decref (events);
    buf_release (&one);
    buf_release (&two);
}

TEST (test_one_host_alone_on_its_mesh_has_a_trace)
{
    static const enum scene_mark marks[HOSTS] = { MARK_PASSED, MARK_PASSED, MARK_PASSED, MARK_PASSED, MARK_PASSED };
    static struct axis axis = { TEXT_LIT ("data"), 4 };
    struct world world;
    struct buf *out = test_buf (t);
    world_open (&world, marks, "");
    world.scene.hosts_n = world.receipt.hosts.n = 1;
    world.header.mesh.items = &axis;
    world.header.mesh.n = 1;
    trace_perfetto (&world.report, out);
    assert_true (out->len > 100);
}
