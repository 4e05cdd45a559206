/* links: simulated view */
#include "coordinator/view/line.h"
#include "test.h"
#include "view_fixture.h"

static void assert_lines (struct show *show, const char *expected)
{
    assert_string_equal (buf_c (&show->lines), expected);
    buf_clear (&show->lines);
}

static struct show gathered (uint32_t hosts)
{
    struct show show;
    show_gathered (&show, hosts);
    buf_clear (&show.lines);
    return show;
}

TEST_FIXTURE (struct show, TEST_NOTHING, show_release)

TEST_ON (show, a_climb_reads_like_a_diary)
{
    struct fact granted = { .kind = FACT_WRITER_GRANTED, .of.writer_granted = { .token = 9, .host = 0 } };
    struct fact published = { .kind = FACT_GENERATION_PUBLISHED };
    published.of.generation = (struct fact_generation){ .token = 9, .entries = 3, .bytes = 3355443, .writer = 0 };
    show_gathered (show, 4);
    show->at_ms = 12345;
    show_fact (show, granted);
    show_began (show, TINY, PASS_COLD, 1, 1);
    show_ended (show, 0, ENDING_EXITED, 0);
    show->at_ms = 15000;
    show_pass_ended (show, OUTCOME_PASSED, 2655, NULL, 0);
    show_fact (show, published);
    show_began (show, TINY, PASS_RESTORED, 1, 4);
    show->at_ms = 18200;
    show_pass_ended (show, OUTCOME_PASSED, 3200, NULL, 0);
    show_run_ended (show, OUTCOME_PASSED, 0, TEXT_LIT ("slice sample: climbed"));
    assert_lines (show, "[     0.0 s] slice sample: 4 hosts, 3 rungs\n"
                        "[     0.2 s] 4 hosts joined\n"
                        "[    12.3 s] host0 may write cache generation 9\n"
                        "[    12.3 s] tiny cold attempt 1 began on host0 (1 host)\n"
                        "[    15.0 s] tiny cold: 1 passed in 2.6 s\n"
                        "[    15.0 s] cache generation 9 (3 entries, 3.1 MiB) published, written by host0\n"
                        "[    15.0 s] tiny restored attempt 1 began on host[0-3] (4 hosts)\n"
                        "[    18.2 s] tiny restored: 4 passed in 3.2 s\n"
                        "[    18.2 s] ended: passed (exit status 0)\n");
}

TEST (what_befalls_the_cache_is_told)
{
    struct show show = gathered (2);
    struct fact lost = { .kind = FACT_LEASE_LOST, .of.lease_lost = { 7, 1, TEXT_LIT ("silent for 16 s") } };
    struct fact dropped = { .kind = FACT_GENERATION_DROPPED,
                            .of.generation_dropped = { 7, TEXT_LIT ("it was violated") } };
    struct fact violated = { .kind = FACT_CACHE_VIOLATED };
    violated.of.cache_violated = (struct fact_cache_violated){
        .host = 1,
        .rung = TINY,
        .finding = { FINDING_CHANGED, 7, TEXT_LIT ("a-cache"), TEXT_LIT ("other bytes") },
    };
    show_fact (&show, lost);
    show_fact (&show, violated);
    violated.of.cache_violated = (struct fact_cache_violated){
        .host = UINT32_MAX,
        .finding = { .kind = FINDING_NOT_SAME_STORAGE, .path = HOSTILE },
    };
    show_fact (&show, violated);
    show_fact (&show, dropped);
    assert_safe (&show.lines);
    assert_has (&show.lines, "[     0.2 s] host1 may not write cache generation 7 any more: silent for 16 s\n");
    assert_has (&show.lines,
                "[     0.2 s] cache violated: changed in generation 7: a-cache: other bytes, seen by host1\n");
    assert_has (&show.lines, "[     0.2 s] cache: not-same-storage: ");
    assert_has (&show.lines, "[     0.2 s] cache generation 7 is quarantined: it was violated\n");
    show_run_ended (&show, OUTCOME_PASSED, 4, TEXT_LIT ("climbed"));
    assert_has (&show.lines, "[     0.2 s] ended: passed (exit status 4: the cache was violated)\n");
    show_release (&show);
}

TEST (a_run_that_a_rung_stopped_ends_with_a_card_and_others_with_their_sentence)
{
    struct show show = gathered (4);
    struct buf card;
    struct verdict verdicts[] = {
        { .host = 0, .outcome = OUTCOME_CASCADE, .owner = OWNER_PEER, .cause = TEXT_LIT ("aborted") },
        { .host = 1,
          .outcome = OUTCOME_FAILED,
          .owner = OWNER_PROGRAM,
          .likely = true,
          .cause = TEXT_LIT ("exited with status 1 in phase run, as it says"),
          .evidence = TEXT_LIT ("ValueError: 3 is not 4"),
          .next = TEXT_LIT ("sliceup logs --rung all") },
        { .host = 3, .outcome = OUTCOME_CANCELLED, .cause = TEXT_LIT ("stopped") },
    };
    buf_init (&card, 1 << 16);
    show_began (&show, ALL, PASS_RESTORED, 1, 4);
    for (uint32_t host = 0; host < 4; host++)
        show_ended (&show, host, ENDING_EXITED, host == 1);
    show_pass_ended (&show, OUTCOME_FAILED, 900, verdicts, 3);
    assert_false (card_print (show.board, &card)); /* it has not ended */
    show_run_ended (&show, OUTCOME_FAILED, 1, TEXT_LIT ("slice sample: stopped at rung all (3 of 3): ..."));
    assert_true (card_print (show.board, &card));
    assert_text (&card, "slice sample: failed at rung all (3 of 3)\n"
                        "  host1 failed (1 of 4)\n"
                        "    ValueError: 3 is not 4\n"
                        "    exited with status 1 in phase run, as it says\n"
                        "    whose: your program (likely)\n"
                        "    next: sliceup logs --rung all\n"
                        "  1 other fell with it: host0\n");
    buf_release (&card);
    show_release (&show);
}

TEST (failures_are_told_at_once_and_judged_in_groups)
{
    struct show show = gathered (4);
    struct verdict verdicts[] = {
        { .host = 2,
          .outcome = OUTCOME_FAILED,
          .owner = OWNER_HOST,
          .cause = TEXT_LIT ("no space"),
          .next = TEXT_LIT ("free some") },
        { .host = 3, .outcome = OUTCOME_CASCADE, .owner = OWNER_PEER, .cause = TEXT_LIT ("a peer failed") },
    };
    show_began (&show, ALL, PASS_RESTORED, 2, 4);
    show_ended (&show, 2, ENDING_EXITED, 3);
    show_ended (&show, 3, ENDING_SIGNALLED, 15);
    show_pass_ended (&show, OUTCOME_FAILED, 900, verdicts, 2);
    assert_lines (
        &show,
        "[     0.2 s] all restored attempt 2 began on host[0-3] (4 hosts)\n"
        "[     0.2 s] all restored: host2 failed: exited with status 3 in phase run; whose: not known so far\n"
        "[     0.2 s] all restored: host3 failed: killed by signal 15 (Terminated) in phase run; nothing in "
        "its log says by whom; whose: not known so far\n"
        "[     0.2 s] all restored: 2 passed, 1 failed, 1 cascade in 900 ms\n"
        "[     0.2 s]   host2 failed: no space; whose: the host (certain); next: free some\n"
        "[     0.2 s]   host3 cascade: a peer failed\n"
        "[     0.2 s]   corrected: host2: whose: the host, so far told as not known\n"
        "[     0.2 s]   corrected: host3 cascade (whose: another host), so far told as failed (whose: not known)\n");
    show_release (&show);
}

TEST (many_that_fall_are_not_told_one_by_one)
{
    struct show show = gathered (64);
    show_began (&show, FACTS, PASS_ONCE, 1, 64);
    buf_clear (&show.lines);
    show.bursts = true;
    for (uint32_t i = 0; i < 64; i++)
        show_ended (&show, i, ENDING_TIMEOUT, 0);
    assert_int_equal (show.lines.len, 0);
    burst_tell (show.burst, show.board, show.at_ms + BURST_WAIT_MS, &show.style, &show.lines);
    assert_int_equal (assert_fits (&show.lines, 0, 1), 1);
    assert_has (&show.lines, "facts: host[0-63] (64 hosts) timed-out: still in phase run after ");
    show_release (&show);
}

TEST (hosts_come_and_go)
{
    struct show show = gathered (3);
    struct fact epoch = { .kind = FACT_EPOCH_BEGAN, .of.epoch_began = { 2, 78, 0 } };
    show.at_ms = 44000;
    show_suspected (&show, 2, 7000);
    show_lost (&show, 2, TEXT_LIT ("silent for 30 s"));
    show_joined (&show, 2);
    show_fact (&show, epoch);
    for (uint32_t i = 0; i < 3; i++)
        show_joined (&show, i);
    show_joined (&show, 1); /* a new process, before the old one was missed */
    assert_lines (&show, "[    44.0 s] host2 silent for 7 s\n"
                         "[    44.0 s] host2 lost: silent for 30 s\n"
                         "[    44.0 s] host2 joined again\n"
                         "[    44.0 s] another coordinator took over the run (epoch 2)\n"
                         "[    44.0 s] 3 hosts came back\n"
                         "[    44.0 s] host1 joined again\n");
    show_release (&show);
}

TEST (a_metric_says_what_is_wrong_with_it)
{
    struct show show = gathered (1);
    struct fact fact = { .kind = FACT_METRIC_JUDGED };
    struct text axis = TEXT_LIT ("data");
    fact.of.metric_judged = (struct fact_metric_judged){ .key = { ALL, PASS_COLD, 1 },
                                                         .metric = TEXT_LIT ("loss"),
                                                         .value = 28,
                                                         .proof = PROOF_PROVED,
                                                         .why = TEXT_LIT ("sums agree") };
    fact.of.metric_judged.axes.items = &axis;
    fact.of.metric_judged.axes.n = 1;
    show_fact (&show, fact);
    fact.of.metric_judged.proof = PROOF_LOCAL;
    show_fact (&show, fact);
    struct contradicted_count earlier = { 0, 4 };
    fact.of.metric_judged.value = 0.0 / 0.0;
    fact.of.metric_judged.contradicted.items = &earlier;
    fact.of.metric_judged.contradicted.n = 1;
    fact.of.metric_judged.culprits.items = &earlier.host;
    fact.of.metric_judged.culprits.n = 1;
    show_fact (&show, fact);
    assert_lines (&show, "[     0.2 s] metric loss = 28: proved over data\n[     0.2 s] metric loss = 28: local over "
                         "data: sums agree\n[     0.2 s] metric loss: local over data: sums agree, on host0; the same "
                         "proof fails for "
                         "4 earlier values of the metric\n");
    show_release (&show);
}

TEST (what_a_host_says_stays_on_its_line)
{
    struct show show = gathered (2);
    struct verdict verdict = { .host = 1, .outcome = OUTCOME_FAILED, .cause = HOSTILE, .next = HOSTILE };
    struct fact ended = { .kind = FACT_ATTEMPT_ENDED };
    struct fact stopped = { .kind = FACT_PASS_STOPPED };
    show_lost (&show, 0, HOSTILE);
    ended.of.attempt_ended.result.key = stopped.of.pass_stopped.key = show_began (&show, FACTS, PASS_ONCE, 1, 2);
    ended.of.attempt_ended.result.ending = ENDING_NOT_STARTED;
    ended.of.attempt_ended.result.phase = ended.of.attempt_ended.result.problem = HOSTILE;
    stopped.of.pass_stopped.cause = HOSTILE;
    show_fact (&show, ended);
    show_fact (&show, stopped);
    show_pass_ended (&show, OUTCOME_FAILED, 1, &verdict, 1);
    assert_safe (&show.lines);
    assert_int_equal (assert_fits (&show.lines, 0, 7), 7);
    assert_has (&show.lines, "\\x1b[2J");
    show_release (&show);
}

TEST_ON (show, hostile_names_in_the_plan_are_no_better)
{
    show_make (show, 2);
    show->plan.slice = show->plan.hosts.items[1].name = show->plan.rungs.items[FACTS].id = HOSTILE;
    show_open (show);
    show_joined (show, 0);
    show_joined (show, 1);
    show_began (show, FACTS, PASS_ONCE, 1, 2);
    show_lost (show, 1, TEXT_LIT ("gone"));
    assert_safe (&show->lines);
    assert_int_equal (assert_fits (&show->lines, 0, 4), 4);
}

TEST_ON (show, without_utf8_everything_is_ascii)
{
    show_make (show, 2);
    show->style.unicode = false;
    show_open (show);
    show_lost (show, 1, TEXT_LIT ("r\xc3\xa9seau perdu"));
    assert_ascii (&show->lines);
    assert_has (&show->lines, "host1 lost: r\\u{e9}seau perdu\n");
}

TEST (what_is_waited_for_has_the_same_form)
{
    struct show show = gathered (2);
    show_began (&show, FACTS, PASS_ONCE, 1, 2);
    buf_clear (&show.lines);
    plain_waiting (show.board, 10200, &show.style, &show.lines);
    assert_lines (&show, "[    10.2 s] waiting for host[0-1] to start (10 s of 30 s)\n");
    show_release (&show);
}

TEST (sizes_are_cut_not_rounded)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {
        { 0, "0 B" },           { 1023, "1023 B" },         { 1024, "1.0 KiB" }, { 1024 * 1024 - 1, "1023 KiB" },
        { 3355443, "3.1 MiB" }, { UINT64_MAX, "15.9 EiB" },
    };
    for (size_t i = 0; i < sizeof (cases) / sizeof (cases[0]); i++) {
        char text[SIZE_TEXT_BYTES];
        assert_string_equal (size_print (cases[i].bytes, text), cases[i].text);
    }
}
