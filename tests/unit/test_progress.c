/* links: simulated view */
#include "coordinator/view/status.h"
#include "test.h"
#include "view_fixture.h"

static struct buf progress (const struct show *show)
{
    struct buf out;
    buf_init (&out, 1 << 20);
    progress_append_lines (show->board, show->at_ms, 0, &out);
    return out;
}

static void assert_progress (const struct show *show, const char *expected)
{
    struct buf out = progress (show);
    assert_string_equal (buf_c (&out), expected);
    buf_release (&out);
}

static void show_output (struct show *show, uint32_t from, uint32_t n, struct text line, uint64_t quiet_ms)
{
    struct fact fact = { .kind = FACT_OUTPUT_AWAITED, .of.output_awaited.key = show->board->key };
    uint32_t *hosts = arena_array (&show->arena, n, sizeof (*hosts));
    struct last_output group = { .line = line, .quiet_ms = quiet_ms };
    for (uint32_t i = 0; i < n; i++)
        hosts[i] = from + i;
    group.hosts.items = hosts;
    group.hosts.n = n;
    fact.of.output_awaited.groups.items = &group;
    fact.of.output_awaited.groups.n = 1;
    show_fact (show, fact);
}

TEST_FIXTURE (struct show, TEST_NOTHING, show_release)

TEST_ON (show, who_is_waited_for_shows_its_last_line)
{
    show_gathered (show, 4);
    show_began (show, FACTS, PASS_ONCE, 1, 4);
    show_output (show, 2, 2, TEXT_LIT ("loading shard 3"), 12000);
    assert_progress (show, "host[2-3] printed nothing for 12 s since: loading shard 3\n");
    show->at_ms += 1000;
    show_ended (show, 3, ENDING_EXITED, 0);
    assert_progress (show, "host2 printed nothing for 13 s since: loading shard 3\n");
    show_at_gate (show, 1, "rendezvous");
    show_output (show, 1, 2, (struct text){ 0 }, 14000); /* one of them waits for others */
    assert_progress (show, "host2 printed nothing for 14 s\n");
    show_output (show, 2, 1, HOSTILE, 14000);
    struct buf out = progress (show);
    assert_safe (&out);
    buf_release (&out);
    show->at_ms += 4000; /* it was not told again: it holds no more */
    assert_progress (show, "");
}

static void show_stand (struct show *show, uint32_t host, const char *stand)
{
    show_received (show, host,
                   (struct holding){ .state = ATTEMPT_RUNNING, .phase = TEXT_LIT ("run"), .stand = text_of (stand) });
}

static void assert_troubles (const struct show *show, const uint8_t expected[4])
{
    LOCAL_ARENA arena = { 0 };
    uint8_t troubles[4] = { 0 };
    progress_mark_troubles (show->board, show->at_ms, &arena, troubles);
    assert_memory_equal (troubles, expected, 4);
}

/* Where most are quiet nobody is to be looked at for that. */
TEST_ON (show, who_is_to_be_looked_at_is_marked)
{
    const char *waits = "main thread: File \"/e/site-packages/jax/a.py\", line 3 in wait";
    static const uint8_t nobody[4], quiet[4] = { [2] = TROUBLE_QUIET, [3] = TROUBLE_QUIET },
                                    holds[4] = { [2] = TROUBLE_HOLDS };
    show_gathered (show, 4);
    show_began (show, FACTS, PASS_ONCE, 1, 4);
    show_output (show, 2, 2, TEXT_LIT ("step 4"), 9000);
    assert_troubles (show, nobody); /* not for long */
    show_output (show, 2, 2, TEXT_LIT ("step 4"), 12000);
    assert_troubles (show, quiet);
    show_output (show, 0, 4, TEXT_LIT ("step 4"), 12000);
    assert_troubles (show, nobody);
    for (uint32_t i = 0; i < 4; i++)
        show_stand (show, i, i == 2 ? "main thread: File \"/k/fault.py\", line 4 in maybe" : waits);
    assert_troubles (show, holds);
}

TEST_ON (show, who_holds_up_the_others_is_named_while_a_host_is_silent)
{
    const char *waits = "main thread: File \"/e/site-packages/jax/a.py\", line 3 in wait";
    show_gathered (show, 3);
    show_began (show, FACTS, PASS_ONCE, 1, 3);
    show_output (show, 0, 3, TEXT_LIT ("step 4"), 9000);
    show_stand (show, 0, waits);
    assert_progress (show, "host[0-2] printed nothing for 9 s since: step 4\n"); /* nobody else is known */
    show_stand (show, 1, waits);
    show_stand (show, 2, "main thread: File \"/k/fault.py\", line 4 in maybe");
    assert_progress (show, "suspect: host2 stands in fault.py:4 maybe (); host[0-1] wait for it in jax\n"
                           "host[0-2] printed nothing for 9 s since: step 4\n");
    show->at_ms += 1000;
    show_output (show, 0, 3, TEXT_LIT ("step 5"), 500); /* it went on: that is old */
    assert_progress (show, "");
}

TEST_ON (show, a_line_of_another_attempt_is_not_shown)
{
    show_gathered (show, 2);
    show_began (show, FACTS, PASS_ONCE, 1, 2);
    show_output (show, 0, 1, TEXT_LIT ("of attempt 1"), 9000);
    show_began (show, FACTS, PASS_ONCE, 2, 2);
    assert_progress (show, "");
}

/* `n` hosts leave phase compile after 2 s, the others stay in it. */
static struct show compiling (uint32_t n)
{
    struct show show;
    show_gathered (&show, 8);
    show_began (&show, FACTS, PASS_ONCE, 1, 8);
    for (uint32_t i = 0; i < 8; i++)
        show_phase (&show, i, "compile", 0);
    show.at_ms += 2000;
    for (uint32_t i = 0; i < n; i++)
        show_phase (&show, i, "run", 0);
    return show;
}

TEST (who_stands_out_is_named)
{
    struct show show = compiling (6);
    show.at_ms += 4000; /* 6 s: less than twice the median and 3 s more */
    assert_progress (&show, "");
    show.at_ms += 2000;
    assert_progress (&show,
                     "host[6-7] in phase compile for 8 s, clearly longer than the others: median 2 s of 6 hosts\n");
    show_release (&show);
}

/* Whose program failed has left its phase, and measures nothing. */
TEST (who_failed_is_no_measure)
{
    struct show show = compiling (4);
    show_ended (&show, 0, ENDING_EXITED, 1);
    show_ended (&show, 1, ENDING_SIGNALLED, 6);
    show.at_ms += 60000;
    assert_progress (&show, "");
    show_release (&show);
}

TEST (a_majority_does_not_stand_out)
{
    struct show show = compiling (3);
    show.at_ms += 60000;
    assert_progress (&show, "");
    show_release (&show);
    show = compiling (4);
    show.at_ms += 60000;
    assert_progress (
        &show, "host[4-7] in phase compile for 1 min 2 s, clearly longer than the others: median 2 s of 4 hosts\n");
    show_release (&show);
}

TEST (two_others_are_no_measure)
{
    struct show show = compiling (2);
    show.at_ms += 60000;
    assert_progress (&show, "");
    show_release (&show);
}

TEST_ON (show, the_time_left_is_an_estimate_from_earlier_runs)
{
    struct usual_time usual = { PASS_ONCE, 70000, 5 };
    show_make (show, 2);
    show->plan.rungs.items[FACTS].usual.items = &usual;
    show->plan.rungs.items[FACTS].usual.n = 1;
    show_open (show);
    show_joined (show, 0);
    show_joined (show, 1);
    show_began (show, FACTS, PASS_ONCE, 1, 2);
    show->at_ms += 30500;
    assert_progress (show, "about 40 s left, from 5 earlier runs, which took about 1 min 10 s\n");
    show->at_ms += 60000;
    assert_progress (show, "this pass takes longer than 5 earlier runs, which took about 1 min 10 s\n");
    show_began (show, TINY, PASS_COLD, 1, 1);
    assert_progress (show, "");
}
