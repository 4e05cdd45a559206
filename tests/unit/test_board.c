/* links: simulated view */
#include "test.h"
#include "view_fixture.h"

#include "coordinator/view/plain.h"

static const struct board_pass *pass_at (const struct show *show, uint32_t rung, enum pass pass)
{
    return &show->board->rungs[rung].passes[pass];
}

TEST_FIXTURE (struct show, TEST_NOTHING, show_release)

TEST_ON (show, a_pass_counts_its_hosts)
{
    show_gathered (show, 4);
    show_began (show, FACTS, PASS_ONCE, 1, 4);
    show_ended (show, 0, ENDING_EXITED, 0);
    show_ended (show, 0, ENDING_EXITED, 0); /* said twice: counted once */
    show_ended (show, 1, ENDING_SIGNALLED, 9);
    assert_ptr_equal (board_running_pass (show->board), pass_at (show, FACTS, PASS_ONCE));
    assert_int_equal (board_running_pass (show->board)->hosts_n, 4);
    assert_int_equal (board_running_pass (show->board)->ended_n, 2);
    assert_int_equal (board_running_pass (show->board)->failed_n, 1);
    assert_int_equal (board_rung_outcome (show->board, FACTS), OUTCOME_NONE);
}

TEST_ON (show, causes_with_an_owner_come_first)
{
    struct verdict verdicts[] = {
        { .host = 0, .outcome = OUTCOME_CASCADE, .owner = OWNER_PEER, .cause = TEXT_LIT ("a peer failed") },
        { .host = 1, .outcome = OUTCOME_TIMED_OUT, .owner = OWNER_UNKNOWN, .cause = TEXT_LIT ("still there") },
        { .host = 2,
          .outcome = OUTCOME_FAILED,
          .owner = OWNER_PROGRAM,
          .likely = true,
          .cause = TEXT_LIT ("it raised") },
        { .host = 3, .outcome = OUTCOME_FAILED, .owner = OWNER_DEVICE, .cause = TEXT_LIT ("no chip") },
    };
    show_gathered (show, 4);
    show_began (show, FACTS, PASS_ONCE, 1, 4);
    show_pass_ended (show, OUTCOME_FAILED, 900, verdicts, 4);
    const struct board_pass *pass = pass_at (show, FACTS, PASS_ONCE);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal (pass->groups.items[i].hosts.items[0], 3 - i);
}

TEST_ON (show, verdicts_with_the_same_cause_fold)
{
    struct verdict verdicts[] = {
        { .host = 1, .outcome = OUTCOME_FAILED, .owner = OWNER_HOST, .cause = TEXT_LIT ("no space") },
        { .host = 2, .outcome = OUTCOME_CASCADE, .owner = OWNER_PEER, .cause = TEXT_LIT ("a peer failed") },
        { .host = 3, .outcome = OUTCOME_FAILED, .owner = OWNER_HOST, .cause = TEXT_LIT ("no space") },
    };
    show_gathered (show, 4);
    show_began (show, FACTS, PASS_ONCE, 1, 4);
    show_pass_ended (show, OUTCOME_FAILED, 900, verdicts, 3);
    const struct board_pass *pass = pass_at (show, FACTS, PASS_ONCE);
    assert_null (board_running_pass (show->board));
    assert_int_equal (pass->groups.n, 2);
    assert_int_equal (pass->groups.items[0].hosts.n, 2);
    assert_int_equal (pass->groups.items[0].hosts.items[1], 3);
    assert_int_equal (pass->counts[OUTCOME_PASSED], 1);
    assert_int_equal (pass->counts[OUTCOME_FAILED], 2);
    assert_int_equal (pass->counts[OUTCOME_CASCADE], 1);
    assert_int_equal (show->board->hosts[0].rungs_passed, 1);
    assert_int_equal (show->board->hosts[3].rungs_passed, 0);
    assert_int_equal (show->board->hosts[3].outcome, OUTCOME_FAILED);
    assert_int_equal (board_rung_outcome (show->board, FACTS), OUTCOME_FAILED);
}

TEST_ON (show, numbers_of_the_first_host_are_told_as_its_own)
{
    struct buf *words = test_buf (t);
    struct verdict verdicts[] = {
        { .host = 1, .outcome = OUTCOME_FAILED, .owner = OWNER_UNKNOWN, .cause = TEXT_LIT ("rank 1 lost its mesh") },
        { .host = 2, .outcome = OUTCOME_FAILED, .owner = OWNER_UNKNOWN, .cause = TEXT_LIT ("rank 2 lost its mesh") },
    };
    show_gathered (show, 4);
    show_began (show, FACTS, PASS_ONCE, 1, 4);
    show_pass_ended (show, OUTCOME_FAILED, 900, verdicts, 2);
    const struct board_pass *pass = pass_at (show, FACTS, PASS_ONCE);
    assert_int_equal (pass->groups.n, 1);
    group_text (show->board, &pass->groups.items[0], words);
    assert_has (words, "host[1-2] failed: host1: rank 1 lost its mesh");
    assert_has (&show->lines, "host[1-2] failed: host1: rank 1 lost its mesh");
}

TEST_ON (show, more_different_causes_than_places_are_counted)
{
    struct verdict verdicts[20];
    char causes[20][16];
    show_gathered (show, 20);
    for (uint32_t i = 0; i < 20; i++) {
        snprintf (causes[i], sizeof (causes[i]), "cause %u", i);
        verdicts[i] = (struct verdict){ .host = i, .outcome = OUTCOME_FAILED, .cause = text_of (causes[i]) };
    }
    show_began (show, FACTS, PASS_ONCE, 1, 20);
    show_pass_ended (show, OUTCOME_FAILED, 1, verdicts, 20);
    assert_int_equal (pass_at (show, FACTS, PASS_ONCE)->groups.n, BOARD_GROUPS_MAX);
    assert_int_equal (pass_at (show, FACTS, PASS_ONCE)->ungrouped_n, 20 - BOARD_GROUPS_MAX);
    assert_int_equal (pass_at (show, FACTS, PASS_ONCE)->counts[OUTCOME_FAILED], 20);
}

TEST_ON (show, a_known_cause_takes_the_place_of_an_unknown_one)
{
    struct verdict verdicts[20];
    char causes[20][16];
    bool found = false;
    show_gathered (show, 20);
    for (uint32_t i = 0; i < 20; i++) {
        snprintf (causes[i], sizeof (causes[i]), "cause %u", i);
        verdicts[i] = (struct verdict){ .host = i,
                                        .outcome = OUTCOME_FAILED,
                                        .owner = i == 19 ? OWNER_HOST : OWNER_UNKNOWN,
                                        .cause = text_of (causes[i]) };
    }
    show_began (show, FACTS, PASS_ONCE, 1, 20);
    show_pass_ended (show, OUTCOME_FAILED, 1, verdicts, 20);
    const struct board_pass *pass = pass_at (show, FACTS, PASS_ONCE);
    for (uint32_t i = 0; i < pass->groups.n; i++)
        found |= pass->groups.items[i].owner == OWNER_HOST;
    assert_true (found);
    assert_int_equal (pass->ungrouped_n, 20 - BOARD_GROUPS_MAX);
}

TEST_ON (show, a_cold_pass_does_not_pass_the_rung)
{
    show_gathered (show, 2);
    show_began (show, TINY, PASS_COLD, 1, 1);
    show_pass_ended (show, OUTCOME_PASSED, 3000, NULL, 0);
    assert_int_equal (board_rung_outcome (show->board, TINY), OUTCOME_NONE);
    assert_int_equal (show->board->hosts[0].rungs_passed, 0);
    show->at_ms = 4000;
    show_began (show, TINY, PASS_RESTORED, 1, 2);
    assert_int_equal (board_rung_ms (show->board, TINY, 4500), 3500);
    show_pass_ended (show, OUTCOME_PASSED, 1000, NULL, 0);
    assert_int_equal (board_rung_outcome (show->board, TINY), OUTCOME_PASSED);
    assert_int_equal (board_rung_ms (show->board, TINY, 99999), 4000);
    assert_int_equal (board_rung_outcome (show->board, ALL), OUTCOME_NONE);
    show_run_ended (show, OUTCOME_FAILED, 1, TEXT_LIT ("over"));
    assert_int_equal (board_rung_outcome (show->board, ALL), OUTCOME_NOT_REACHED);
}

TEST_ON (show, a_second_attempt_starts_from_nothing)
{
    struct verdict stale = {
        .host = 0, .outcome = OUTCOME_FAILED, .owner = OWNER_CACHE, .cause = TEXT_LIT ("compiled again")
    };
    show_gathered (show, 2);
    show_began (show, TINY, PASS_RESTORED, 1, 2);
    show_pass_ended (show, OUTCOME_FAILED, 100, &stale, 1);
    show_began (show, TINY, PASS_RESTORED, 2, 2);
    assert_int_equal (board_rung_outcome (show->board, TINY), OUTCOME_NONE);
    assert_int_equal (pass_at (show, TINY, PASS_RESTORED)->groups.n, 0);
    assert_int_equal (pass_at (show, TINY, PASS_RESTORED)->ended_n, 0);
    assert_int_equal (pass_at (show, TINY, PASS_RESTORED)->attempt, 2);
}

TEST_ON (show, a_heartbeat_about_another_attempt_says_nothing_of_this_one)
{
    show_gathered (show, 2);
    show_began (show, FACTS, PASS_ONCE, 2, 2);
    show_received (
        show, 0,
        (struct holding){ .key = { FACTS, PASS_ONCE, 1 }, .state = ATTEMPT_RUNNING, .phase = TEXT_LIT ("old") });
    assert_int_equal (show->board->hosts[0].state, ATTEMPT_NONE);
    show->at_ms = 5000;
    show_phase (show, 0, "new", 1200);
    assert_int_equal (show->board->hosts[0].state, ATTEMPT_RUNNING);
    assert_int_equal (show->board->hosts[0].phase_since_ms, 3800);
    show_pass_ended (show, OUTCOME_PASSED, 4800, NULL, 0);
    show_phase (show, 0, "late", 1300);
    assert_int_equal (show->board->hosts[0].state, ATTEMPT_NONE);
}

TEST_ON (show, joining_and_losing_keep_count)
{
    show_gathered (show, 3);
    assert_true (show->board->gathered);
    show_joined (show, 1);
    assert_int_equal (show->board->joined_n, 3);
    assert_true (show->board->hosts[1].returned); /* a new process under the same coordinator */
    show_lost (show, 1, TEXT_LIT ("gone"));
    show_lost (show, 1, TEXT_LIT ("gone"));
    assert_int_equal (show->board->joined_n, 2);
    assert_text (show->board->hosts[1].why, "gone");
    show_joined (show, 1);
    assert_int_equal (show->board->joined_n, 3);
    assert_true (show->board->hosts[1].returned);
    assert_int_equal (show->board->hosts[1].why.len, 0);
}

TEST_ON (show, the_clock_runs_on_between_facts_and_stops_at_the_end)
{
    show_gathered (show, 1);
    assert_int_equal (board_now_ms (show->board, SHOW_WALL_MS + 200), 200);
    assert_int_equal (board_now_ms (show->board, SHOW_WALL_MS + 1700), 1700);
    assert_int_equal (board_now_ms (show->board, 5), 200); /* the wall clock was set back */
    show_run_ended (show, OUTCOME_PASSED, 0, TEXT_LIT ("done"));
    assert_int_equal (board_now_ms (show->board, SHOW_WALL_MS + 99999), 200);
}

TEST_ON (show, a_metric_is_kept_once_per_rung)
{
    struct text axes[] = { TEXT_LIT ("data"), TEXT_LIT ("model") };
    struct fact fact = { .kind = FACT_METRIC_JUDGED };
    show_gathered (show, 1);
    fact.of.metric_judged = (struct fact_metric_judged){
        .key = { ALL, PASS_COLD, 1 }, .metric = TEXT_LIT ("loss"), .value = 1, .proof = PROOF_LOCAL
    };
    fact.of.metric_judged.axes.items = axes;
    fact.of.metric_judged.axes.n = 2;
    show_fact (show, fact);
    fact.of.metric_judged.proof = PROOF_PROVED;
    fact.of.metric_judged.key.pass = PASS_RESTORED;
    show_fact (show, fact);
    assert_int_equal (show->board->metrics.n, 1);
    assert_int_equal (show->board->metrics.items[0].proof, PROOF_PROVED);
    assert_text (show->board->metrics.items[0].axes, "data, model");
    uint32_t culprit = 0;
    struct contradicted_count earlier = { 0, 4 };
    fact.of.metric_judged.culprits.items = &culprit;
    fact.of.metric_judged.contradicted.items = &earlier;
    fact.of.metric_judged.culprits.n = fact.of.metric_judged.contradicted.n = 1;
    show_fact (show, fact);
    assert_true (text_is (show->board->metrics.items[0].culprits, "host0") &&
                 show->board->metrics.items[0].contradicted == 4);
    fact.of.metric_judged.key.rung = TINY;
    show_fact (show, fact);
    assert_int_equal (show->board->metrics.n, 2);
}

TEST_ON (show, texts_are_bounded_at_a_character)
{
    char long_why[3000];
    for (size_t i = 0; i + 3 <= sizeof (long_why); i += 3)
        memcpy (long_why + i, "\xe2\x82\xac", 3);
    show_gathered (show, 1);
    show_lost (show, 0, (struct text){ long_why, sizeof (long_why) });
    assert_in_range (show->board->hosts[0].why.len, BOARD_CAUSE_MAX_BYTES - 3, BOARD_CAUSE_MAX_BYTES);
    assert_true (text_is_utf8 (show->board->hosts[0].why));
}

TEST (facts_before_the_run_was_opened_are_ignored)
{
    struct board *board = board_create (BOARD_JUDGED_STATE);
    struct fact fact = { .kind = FACT_PASS_BEGAN, .index = 1 };
    board_apply (board, &fact);
    assert_false (board->opened);
    assert_int_equal (board->index, 1);
    fact = (struct fact){ .kind = FACT_EPOCH_BEGAN, .index = 2, .of.epoch_began = { 3, 4, 0 } };
    board_apply (board, &fact);
    assert_int_equal (board->epoch, 0);
    board_destroy (board);
}

TEST_ON (show, only_hosts_of_the_plan_are_folded)
{
    struct buf out;
    uint32_t hosts[] = { 2, 0, 3, UINT32_MAX };
    show_gathered (show, 3);
    buf_init (&out, 256);
    board_print_hosts (show->board, hosts, 4, &out);
    assert_string_equal (buf_c (&out), "host[0,2]");
    assert_text (board_host_name (show->board, 3), "?");
    assert_text (board_rung_id (show->board, 3), "?");
    buf_release (&out);
}

TEST (any_facts_in_any_order_are_survived)
{
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct rng rng = rng_seed (seed);
        struct show show;
        show_gathered (&show, 5);
        for (uint32_t i = 0; i < 400; i++) {
            struct arena arena = { 0 };
            show.at_ms += rng_below (&rng, 500);
            show_fact (&show, chaos_fact (&rng, &arena));
            arena_release (&arena); /* the board keeps nothing of a fact */
            assert_true (show.board->joined_n <= 5);
            if (board_running_pass (show.board))
                assert_true (board_running_pass (show.board)->ended_n <= board_running_pass (show.board)->hosts_n);
        }
        assert_safe (&show.lines);
        show_release (&show);
    }
}
