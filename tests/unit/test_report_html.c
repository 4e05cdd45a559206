/* links: report */
/* The page as one file: its policy, that no text ends the data, who is in it, and that it stays small. */
#include "coordinator/report/report.h"
#include "test.h"

enum { HOSTS = 4096, RUNGS = 12, ATTEMPTS = 64 };

struct world {
    struct scene scene;
    struct scene_tile tiles[HOSTS];
    struct scene_host hosts[HOSTS];
    struct scene_attempt attempts[HOSTS][ATTEMPTS];
    struct board board;
    struct board_rung rungs[RUNGS];
    struct rung plan_rungs[RUNGS];
    struct plan_host plan_hosts[HOSTS];
    uint8_t cells[HOSTS][RUNGS];
    struct slice_receipt receipt;
    struct report report;
    struct arena arena;
};

/* Host 7 failed at the last rung, and all others passed it. */
static struct world *world_open (uint32_t hosts)
{
    struct world *world = mem_alloc (sizeof (*world));
    for (uint32_t i = 0; i < RUNGS; i++)
        world->plan_rungs[i].id = text_format (&world->arena, "rung%u", i);
    for (uint32_t i = 0; i < hosts; i++) {
        struct text name = text_format (&world->arena, "v6e-%u", i);
        for (uint32_t k = 0; k < RUNGS; k++) {
            world->cells[i][k] = i == 7 && k == RUNGS - 1 ? MARK_FAILED : MARK_PASSED;
            world->attempts[i][k] = (struct scene_attempt){ .key = { k, PASS_ONCE, 1 },
                                                            .purpose = PURPOSE_CLIMB,
                                                            .mark = world->cells[i][k],
                                                            .began_ms = 60000 * k,
                                                            .ms = 50000 + i,
                                                            .ms_known = true };
        }
        world->tiles[i] =
            (struct scene_tile){ .rank = i, .cells = world->cells[i], .spent_ms = i, .group = SCENE_NOBODY };
        world->plan_hosts[i].name = name;
        world->hosts[i] =
            (struct scene_host){ .rank = i, .name = name, .attempts = world->attempts[i], .attempts_n = RUNGS };
    }
    world->board = (struct board){ .ended = true, .rungs = world->rungs, .sentence = TEXT_LIT ("a</script><b>") };
    world->board.plan.hosts.items = world->plan_hosts;
    world->board.plan.hosts.n = hosts;
    world->board.plan.rungs.items = world->plan_rungs;
    world->board.plan.rungs.n = RUNGS;
    world->scene = (struct scene){ .board = &world->board,
                                   .arena = &world->arena,
                                   .hosts_n = hosts,
                                   .tiles = world->tiles,
                                   .tiles_n = hosts,
                                   .rungs_n = RUNGS,
                                   .columns = 64 };
    world->report = (struct report){
        .plan = &world->board.plan, .receipt = &world->receipt, .scene = &world->scene, .hosts = world->hosts
    };
    return world;
}

static void world_close (struct world *world, struct buf *out)
{
    arena_release (&world->arena);
    mem_free (world);
    buf_release (out);
}

static uint32_t count (const char *text, const char *words)
{
    uint32_t n = 0;
    for (const char *at = strstr (text, words); at; at = strstr (at + 1, words))
        n++;
    return n;
}

TEST (test_no_text_ends_the_data)
{
    struct world *world = world_open (8);
    struct buf out;
    buf_init (&out, 8 << 20);
    html_page (&world->report, &out);
    assert_int_equal (count (buf_c (&out), "</script>"), 2);
    assert_int_equal (count (buf_c (&out), "\\u003c/script>"), 1);
    assert_int_equal (count (buf_c (&out), "href=\"page.css\""), 0);
    world_close (world, &out);
}

/* The receipt's head as rows, the whole as text, and the numbers that hosts told, the least first. */
TEST (test_the_receipt_and_its_numbers_are_in_it)
{
    enum { TOLD = 100 };
    struct world *world = world_open (8);
    struct buf out;
    struct host_receipt hosts[TOLD] = { 0 };
    struct var facts[TOLD][2];
    struct run_header header = { .run = TEXT_LIT ("0123456789"),
                                 .slice = TEXT_LIT ("pod"),
                                 .cache_mode = TEXT_LIT ("off"),
                                 .launch = TEXT_LIT ("ssh to <h0>"),
                                 .ended_wall_ms = 1 };
    buf_init (&out, 8 << 20);
    for (uint32_t i = 0; i < TOLD; i++) {
        facts[i][0] = (struct var){ TEXT_LIT ("number.speed.memory_gbs"),
                                    text_format (&world->arena, "%u.5 GB/s", TOLD - i) };
        facts[i][1] = (struct var){ TEXT_LIT ("number.link.3_gbs"), TEXT_LIT ("1") };
        hosts[i] = (struct host_receipt){ .host = text_format (&world->arena, "h%u", i), .rank = i };
        hosts[i].facts.items = facts[i];
        hosts[i].facts.n = 2;
    }
    world->receipt.headers.items = &header;
    world->receipt.headers.n = 1;
    world->receipt.hosts.items = hosts;
    world->receipt.hosts.n = TOLD;
    html_page (&world->report, &out);
    assert_int_equal (count (buf_c (&out), ",\"head\":[[\"slice\",\"pod   run 01234567"), 1);
    assert_int_equal (count (buf_c (&out), "[\"launch\",\"ssh to \\u003ch0>\"]"), 1);
    assert_int_equal (count (buf_c (&out), "[\"cache\",\"off: no cache: every rung runs once\"]"), 1);
    assert_int_equal (count (buf_c (&out), ",\"text\":\"slice    pod   run 01234567"), 1);
    assert_int_equal (count (buf_c (&out), "\"name\":\"number.speed.memory_gbs\",\"hosts\":100,\"values\":[1.5,2.5,"),
                      1);
    assert_int_equal (count (buf_c (&out), ",98.5,100.5],\"least\":\"h99\",\"most\":\"h0\"}"), 1);
    assert_int_equal (count (buf_c (&out), "{\"name\":\"number.link"), 0);
    world->receipt.recoveries.n = 4096; /* what is too large for it is said */
    world->receipt.recoveries.items = arena_array (&world->arena, 4096, sizeof (struct recovery_receipt));
    for (uint32_t i = 0; i < 4096; i++)
        world->receipt.recoveries.items[i].what = text_format (&world->arena, "%300u", i);
    buf_clear (&out);
    html_page (&world->report, &out);
    assert_int_equal (count (buf_c (&out), ",\"text\":null\n"), 1);
    assert_int_equal (count (buf_c (&out), "stays small: the receipt as text. All of it"), 1);
    world_close (world, &out);
}

TEST (test_it_stays_small_and_holds_those_that_stand_out)
{
    struct world *world = world_open (HOSTS);
    struct buf out;
    buf_init (&out, 8 << 20);
    html_page (&world->report, &out);
    assert_false (out.overflow);
    assert_in_range (out.len, 300000, HTML_MAX_BYTES);
    assert_int_equal (count (buf_c (&out), "\"host\":\"v6e-7\","), 1);
    assert_int_equal (count (buf_c (&out), "\"host\":\"v6e-4095\","), 1); /* the slowest */
    assert_int_equal (count (buf_c (&out), "\"host\":\""), 17);
    /* Of two that tell much there is room for one; the others stay. */
    struct text much = { arena_alloc (&world->arena, HTML_MAX_BYTES / 2), HTML_MAX_BYTES / 2 };
    memset ((char *) much.ptr, 'x', much.len);
    world->hosts[7].facts = &(struct scene_fact){ TEXT_LIT ("much"), much };
    world->hosts[4090].facts = world->hosts[7].facts;
    world->hosts[7].facts_n = world->hosts[4090].facts_n = 1;
    buf_clear (&out);
    html_page (&world->report, &out);
    assert_true (!out.overflow && out.len <= HTML_MAX_BYTES);
    assert_int_equal (count (buf_c (&out), "\"host\":\""), 16);
    assert_int_equal (count (buf_c (&out), "\"host\":\"v6e-4095\","), 1);
    world_close (world, &out);
}

/* The first rung was run again and again, and each of its passes took twenty minutes. */
static void run_again (struct world *world)
{
    for (uint32_t i = 0; i < HOSTS; i++) {
        world->hosts[i].attempts_n = ATTEMPTS;
        for (uint32_t k = 0; k < ATTEMPTS; k++) {
            uint32_t rung = k < ATTEMPTS - RUNGS ? 0 : k - (ATTEMPTS - RUNGS);
            world->attempts[i][k] = (struct scene_attempt){ .key = { rung, PASS_ONCE, rung ? 1 : k + 1 },
                                                            .purpose = PURPOSE_CLIMB,
                                                            .mark = world->cells[i][rung],
                                                            .began_ms = (uint64_t) 1300000 * k,
                                                            .ms = 1200000 + i };
        }
    }
}

static void holds (struct buf *page, const char *words, uint32_t n)
{
    if (count (buf_c (page), words) != n)
        fail_msg ("'%s' is there %u times, and not %u", words, count (buf_c (page), words), n);
}

static void holds_pass (struct buf *page, uint32_t rung, uint32_t attempt, uint32_t n)
{
    char words[128];
    snprintf (words, sizeof words,
              "{\"rung\":%u,\"pass\":\"once\",\"attempt\":%u,\"purpose\":\"climb\",\"began_ms\":", rung, attempt);
    holds (page, words, n);
}

TEST (test_what_is_old_is_left_out_first_and_is_told)
{
    struct world *world = world_open (HOSTS);
    struct buf out;
    buf_init (&out, 8 << 20);
    html_page (&world->report, &out);
    holds (&out, "<p id=\"left-out\" hidden></p>", 1);
    world->board.run = TEXT_LIT ("3fa9<1d2ffff");
    run_again (world);
    buf_clear (&out);
    html_page (&world->report, &out);
    assert_false (out.overflow);
    assert_in_range (out.len, HTML_MAX_BYTES * 9 / 10, HTML_MAX_BYTES);
    for (uint32_t i = 1; i < RUNGS; i++)
        holds_pass (&out, i, 1, 1);
    holds_pass (&out, 0, ATTEMPTS - RUNGS + 1, 1);
    holds_pass (&out, 0, ATTEMPTS - RUNGS, 1);
    holds_pass (&out, 0, 1, 0);
    holds (&out, "\"host\":\"v6e-7\",", 1);
    holds (&out, "\"host\":\"", 17);
    holds (&out, " passes that were run again", 1);
    holds (&out, "sliceup report 3fa9&lt;1d2 --print json", 1);
    world_close (world, &out);
}

/* Each of them tells what a host may tell at most of its facts. */
TEST (test_hosts_that_failed_stay_whole_as_far_as_the_last_passes_leave_room)
{
    enum { BAD = 60, TELLS = 40000 };
    struct world *world = world_open (HOSTS);
    struct buf out;
    char *much = arena_alloc (&world->arena, TELLS);
    struct scene_fact fact = { TEXT_LIT ("much"), { much, TELLS } };
    memset (much, 'x', TELLS);
    run_again (world);
    for (uint32_t i = 100; i < 100 + BAD; i++) {
        world->cells[i][3] = MARK_FAILED;
        world->hosts[i].facts = &fact;
        world->hosts[i].facts_n = 1;
    }
    buf_init (&out, 8 << 20);
    html_page (&world->report, &out);
    assert_false (out.overflow);
    assert_in_range (out.len, HTML_MAX_BYTES * 9 / 10, HTML_MAX_BYTES);
    for (uint32_t i = 0; i < RUNGS; i++)
        holds_pass (&out, i, i ? 1 : ATTEMPTS - RUNGS + 1, 1);
    assert_in_range (count (buf_c (&out), "\"much\":"), 25, BAD - 1);
    holds (&out, "\"host\":\"v6e-7\",", 1);
    holds (&out, "52 passes that were run again; ", 1);
    holds (&out, " hosts that failed", 1);
    world_close (world, &out);
}

TEST (test_passes_have_a_letter_and_a_time_for_each_host_that_took_part)
{
    struct world *world = world_open (10);
    struct buf out;
    buf_init (&out, 1 << 20);
    world->hosts[2].attempts_n = world->hosts[3].attempts_n = RUNGS - 1;
    world->attempts[4][RUNGS - 2].key.rung = RUNGS -
                                             1; /* begun twice, as a damaged journal may have it: it counts once */
    world->attempts[4][RUNGS - 2].began_ms = 660000;
    struct passes passes = passes_of (&world->report, &world->arena);
    passes_take (&passes, false, 1 << 20);
    passes_json (&passes, &out);
    const char *last = strstr (buf_c (&out), "{\"rung\":11,");
    assert_string_equal (
        last, "{\"rung\":11,\"pass\":\"once\",\"attempt\":1,\"purpose\":\"climb\",\"began_ms\":660000,"
              "\"marks\":\"PP..PPPFPP\",\"ms\":[50000,50001,50004,50005,50006,50007,50008,50009],\"ended_ms\":[]}]");
    assert_int_equal (count (buf_c (&out), "\"rung\":"), RUNGS);
    world_close (world, &out);
}

TEST (test_attempts_that_are_not_kept_are_counted)
{
    struct world *world = world_open (3);
    struct buf out;
    buf_init (&out, HTML_MAX_BYTES);
    world->hosts[0].attempts_left_out = 5;
    world->hosts[2].attempts_left_out = 2;
    html_page (&world->report, &out);
    holds (&out, "Left out, so that this file stays small: 7 early attempts of hosts. All of it: ", 1);
    world_close (world, &out);
}

TEST (test_a_time_that_nobody_knows_is_null)
{
    struct world *world = world_open (3);
    struct buf out;
    buf_init (&out, 1 << 20);
    world->attempts[1][0] = (struct scene_attempt){
        .key = { 0, PASS_ONCE, 1 }, .purpose = PURPOSE_CLIMB, .mark = MARK_LOST, .ended_ms = 58121
    };
    for (uint32_t i = 0; i < 3; i++) {
        world->hosts[i].attempts_n = 2;
        world->attempts[i][1].key.attempt = 0; /* a verdict on what was never begun */
    }
    struct passes passes = passes_of (&world->report, &world->arena);
    passes_take (&passes, false, 1 << 20);
    passes_json (&passes, &out);
    assert_string_equal (buf_c (&out),
                         "[{\"rung\":0,\"pass\":\"once\",\"attempt\":1,\"purpose\":\"climb\",\"began_ms\":0,"
                         "\"marks\":\"PLP\",\"ms\":[50000,null,50002],\"ended_ms\":[58121]},\n"
                         "{\"rung\":1,\"pass\":\"once\",\"attempt\":null,\"purpose\":\"climb\",\"began_ms\":60000,"
                         "\"marks\":\"PPP\",\"ms\":[50000,50001,50002],\"ended_ms\":[]}]");
    world_close (world, &out);
}
