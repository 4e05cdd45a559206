/* links: simulated view */
#include "coordinator/view/status.h"
#include "test.h"
#include "view_fixture.h"

static void assert_waiting (struct show *show, const char *expected)
{
    struct buf out;
    buf_init (&out, 1 << 20);
    waiting_append_lines (show->board, show->at_ms, WAITING_LINES, 0, &out);
    assert_string_equal (buf_c (&out), expected);
    assert_safe (&out);
    buf_release (&out);
}

TEST_FIXTURE (struct show, TEST_NOTHING, show_release)

TEST_ON (show, hosts_that_have_not_joined_fold_into_one_line)
{
    show_make (show, 4);
    show_open (show);
    show_joined (show, 1);
    show->at_ms = 3500;
    assert_waiting (show, "waiting for host[0,2-3] to join (3.5 s of 30 s)\n");
}

TEST_ON (show, what_no_host_of_the_run_has_to_do_is_waited_for_by_name)
{
    struct fact awaited = { .kind = FACT_CACHE_AWAITED };
    awaited.of.cache_awaited.what = TEXT_LIT ("the audit of the cache root");
    show_gathered (show, 2);
    show->at_ms = 1000;
    show_fact (show, awaited);
    show->at_ms = 4000;
    show_fact (show, awaited);
    assert_waiting (show, "waiting for the audit of the cache root (3 s)\n");
    awaited.of.cache_awaited.what = (struct text){ 0 };
    show_fact (show, awaited);
    assert_waiting (show, "");
}

TEST_ON (show, phases_are_told_apart_the_longest_first)
{
    show_gathered (show, 4);
    show_began (show, FACTS, PASS_ONCE, 1, 4);
    show->at_ms = 12200;
    show_phase (show, 0, "init", 11900);
    show_phase (show, 1, "compile", 2000);
    show_phase (show, 2, "init", 11000);
    assert_waiting (show, "waiting for host3 to start (12 s of 30 s)\n"
                          "waiting for host[0,2] in phase init (12 s of 30 s)\n"
                          "waiting for host1 in phase compile (12 s of 30 s)\n");
}

TEST (what_a_worker_does_with_the_cache_has_words)
{
    static const struct {
        const char *phase, *words;
    } cases[] = {
        { "lease", "waiting for host0 to get the lease of the cache (2 s of 30 s)\n" },
        { "cache", "waiting for host0 to prepare the cache (2 s of 30 s)\n" },
        { "confine", "waiting for host0 to test what its sandbox refuses (2 s of 30 s)\n" },
        { "audit", "waiting for host0 to audit the cache (2 s of 30 s)\n" },
        { "seal", "waiting for host0 to seal the cache (2 s of 30 s)\n" },
        { "sealing", "waiting for host0 in phase sealing (2 s of 30 s)\n" },
    };
    for (size_t i = 0; i < sizeof (cases) / sizeof (cases[0]); i++) {
        struct show show;
        show_gathered (&show, 1);
        show_began (&show, FACTS, PASS_ONCE, 1, 1);
        show.at_ms = 2200;
        show_phase (&show, 0, cases[i].phase, 1000);
        assert_waiting (&show, cases[i].words);
        show_release (&show);
    }
}

TEST_ON (show, a_gate_names_who_is_missing)
{
    show_gathered (show, 4);
    show_began (show, ALL, PASS_RESTORED, 1, 4);
    show->at_ms = 5200;
    show_at_gate (show, 0, "rendezvous");
    show_at_gate (show, 1, "rendezvous");
    show_at_gate (show, 2, "rendezvous");
    show_phase (show, 3, "init", 1000);
    assert_waiting (show, "host[0-2] at gate rendezvous, waiting for host3 (5 s of 1 min)\n"
                          "waiting for host3 in phase init (5 s of 1 min)\n");
}

TEST_ON (show, an_open_gate_is_not_waited_at)
{
    struct fact opened = { .kind = FACT_GATE_OPENED };
    show_gathered (show, 2);
    opened.of.gate_opened.key = show_began (show, ALL, PASS_RESTORED, 1, 2);
    opened.of.gate_opened.gate = TEXT_LIT ("rendezvous");
    show_at_gate (show, 0, "rendezvous");
    show_at_gate (show, 1, "rendezvous");
    show_fact (show, opened);
    assert_waiting (show, "waiting for host[0-1] in phase init (0 ms of 1 min)\n");
}

TEST_ON (show, silence_counts_from_the_last_word)
{
    show_gathered (show, 2);
    show_began (show, FACTS, PASS_ONCE, 1, 2);
    show->at_ms = 5200;
    show_suspected (show, 1, 5000);
    show->at_ms = 7200;
    show_phase (show, 0, "run", 1000);
    assert_waiting (show, "host1 silent for 7 s\nwaiting for host0 (7 s of 30 s)\n");
    show_phase (show, 1, "run", 1000);
    assert_waiting (show, "waiting for host[0-1] (7 s of 30 s)\n");
}

TEST_ON (show, after_a_takeover_hosts_are_waited_for_again)
{
    struct fact epoch = { .kind = FACT_EPOCH_BEGAN, .of.epoch_began = { 2, 78, 0 } };
    show_gathered (show, 2);
    show->at_ms = 1000;
    show_fact (show, epoch);
    show_joined (show, 0);
    show->at_ms = 3000;
    assert_waiting (show, "waiting for host1 to come back (2 s of 30 s)\n");
    show_joined (show, 1);
    assert_waiting (show, "");
}

TEST_ON (show, who_is_lost_or_done_is_not_waited_for)
{
    show_gathered (show, 3);
    show_began (show, FACTS, PASS_ONCE, 1, 3);
    show_ended (show, 0, ENDING_EXITED, 0);
    show_lost (show, 1, TEXT_LIT ("silent for 30 s"));
    show_ended (show, 1, ENDING_LOST, 0);
    show_received (show, 2, (struct holding){ .state = ATTEMPT_STOPPING });
    assert_waiting (show, "waiting for host2 to stop (0 ms of 30 s)\n");
    show_run_ended (show, OUTCOME_LOST, 1, TEXT_LIT ("over"));
    assert_waiting (show, "");
}

TEST_ON (show, five_lines_and_how_many_more)
{
    struct buf *out = test_buf (t);
    show_gathered (show, 9);
    show_began (show, FACTS, PASS_ONCE, 1, 9);
    show->at_ms = 10000;
    for (uint32_t i = 0; i < 9; i++) {
        char phase[] = "phase-0";
        phase[6] = (char) ('0' + i);
        show_phase (show, i, phase, 9000 - 1000 * i);
    }
    assert_int_equal (waiting_append_lines (show->board, show->at_ms, WAITING_LINES, 0, out), 6);
    assert_has (out, "host0 in phase phase-0");
    assert_has (out, "host4 in phase phase-4");
    assert_has_not (out, "phase-5");
    assert_has (out, "... waits not shown: 4\n");
}

TEST_ON (show, what_a_host_says_stays_on_its_line)
{
    struct buf *out = test_buf (t);
    show_make (show, 3);
    show->plan.hosts.items[2].name = HOSTILE;
    show_open (show);
    for (uint32_t i = 0; i < 3; i++)
        show_joined (show, i);
    show_began (show, ALL, PASS_RESTORED, 1, 3);
    show_phase (show, 0, hostile, 10);
    show_at_gate (show, 1, hostile);
    assert_int_equal (waiting_append_lines (show->board, show->at_ms, WAITING_LINES, 0, out), 3);
    assert_safe (out);
    assert_int_equal (assert_fits (out, 0, 3), 3);
    assert_has (out, "\\x1b[2J");
}

TEST (a_set_too_wide_is_counted)
{
    struct show show;
    struct buf out;
    show_gathered (&show, 9);
    show_began (&show, FACTS, PASS_ONCE, 1, 9);
    for (uint32_t i = 0; i < 9; i++)
        show_phase (&show, i, i % 2 ? "compile" : "init", 0);
    buf_init (&out, 1 << 20);
    waiting_append_lines (show.board, show.at_ms, WAITING_LINES, 13, &out);
    assert_string_equal (buf_c (&out), "waiting for host[1,3,5,7] in phase compile (0 ms of 30 s)\n"
                                       "waiting for 5 hosts in phase init (0 ms of 30 s)\n");
    buf_release (&out);
    show_release (&show);
    show_gathered (&show, 40);
    show_began (&show, FACTS, PASS_ONCE, 1, 40);
    for (uint32_t i = 0; i < 40; i += 2)
        show_ended (&show, i, ENDING_EXITED, 0);
    waiting_append_lines (show.board, show.at_ms, WAITING_LINES, 30, &out);
    assert_string_equal (buf_c (&out), "waiting for 20 hosts (host1 ...) to start (0 ms of 30 s)\n");
    buf_release (&out);
    show_release (&show);
}

TEST_ON (show, thousands_of_different_phases_stay_bounded)
{
    struct buf *out = test_buf (t);
    show_gathered (show, 1000);
    show_began (show, FACTS, PASS_ONCE, 1, 1000);
    for (uint32_t i = 0; i < 1000; i++) {
        char phase[16];
        snprintf (phase, sizeof (phase), "p%u", i);
        show_phase (show, i, phase, 0);
    }
    waiting_append_lines (show->board, show->at_ms, 1000, 0, out);
    assert_int_equal (assert_fits (out, 0, 129), 129);
    assert_has (out, "waiting for host[128-999] (");
}
