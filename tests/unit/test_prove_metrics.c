/* links: simulated */
/* What a rung requires and was not proved nobody has passed: who failed for it, and who fell with them. */
#include "retry_fixture.h"
#include "test.h"

/* What one host says that did everything right; `mend` makes it say something else. */
static void end_well (struct bench *bench, uint32_t host, void (*mend) (struct result *result, struct arena *arena))
{
    struct arena arena = { 0 };
    uint64_t secrets[HOSTS] = { 0 };
    struct msg msg = { .kind = MSG_RESULT };
    bench_deal (bench, secrets);
    sample_result (&bench->runs[host], secrets, &msg.of.result, &arena);
    if (mend)
        mend (&msg.of.result, &arena);
    tell (bench, host, &msg);
    arena_release (&arena);
}

static void others_end_well (struct bench *bench, uint32_t but)
{
    for (uint32_t host = 0; host < HOSTS; host++)
        if (host != but)
            end_well (bench, host, NULL);
}

static void wrong_value (struct result *result, struct arena *arena)
{
    (void) arena;
    result->checks.items[0].observed++;
}

static void no_metric (struct result *result, struct arena *arena)
{
    (void) arena;
    result->metrics.n = 0;
}

static void broken_rule (struct result *result, struct arena *arena)
{
    (void) arena;
    result->bad_lines = 1;
    result->bad_line = TEXT_LIT ("unknown type");
}

static void local_value (struct result *result, struct arena *arena)
{
    struct metric *metric = &result->metrics.items[0];
    (void) arena;
    for (uint32_t i = 0; i < metric->shards.n; i++) {
        metric->shards.items[i].value = metric->shards.items[i].local;
        metric->shards.items[i].proof = 1; /* no sum of anything: secrets are multiples of the devices, from 2 */
    }
    metric->value = metric->shards.items[0].value;
}

static void one_more (struct result *result, struct arena *arena)
{
    struct metric *metrics = arena_array (arena, 2, sizeof *metrics);
    metrics[0] = result->metrics.items[0];
    metrics[1] = result->metrics.items[0];
    metrics[1].name = TEXT_LIT ("tokens");
    result->metrics.items = metrics;
    result->metrics.n = 2;
}

static void said_before (struct result *result, struct arena *arena)
{
    (void) arena;
    result->metrics.items[0].earlier = (struct metric_history){ .count = 5, .first = 9, .last = 8, .alike = 3 };
}

static const struct fact_pass_ended *ended (const struct bench *bench)
{
    return &last_fact (bench, FACT_PASS_ENDED)->of.pass_ended;
}

/* NULL: it passed. */
static const struct verdict *verdict_on (const struct bench *bench, uint32_t host)
{
    const struct fact_pass_ended *of = ended (bench);
    for (uint32_t i = 0; i < of->verdicts.n; i++)
        if (of->verdicts.items[i].host == host)
            return &of->verdicts.items[i];
    return NULL;
}

static void stands (const struct bench *bench, uint32_t host, enum outcome outcome, const char *words)
{
    const struct verdict *verdict = verdict_on (bench, host);
    if (outcome == OUTCOME_PASSED) {
        assert_null (verdict);
        return;
    }
    assert_non_null (verdict);
    if (verdict->outcome != outcome || !text_find (verdict->cause, text_of (words), NULL))
        fail_msg ("host%u: %s, %.*s", host, enum_name_of (&outcome_names, verdict->outcome), TEXT_ARG (verdict->cause));
}

static void others_stand (const struct bench *bench, uint32_t but, enum outcome outcome, const char *words)
{
    for (uint32_t host = 0; host < HOSTS; host++)
        if (host != but)
            stands (bench, host, outcome, words);
}

static const struct fact_metric_judged *judged (const struct bench *bench, const char *name)
{
    const struct fact_metric_judged *found = NULL;
    for (uint32_t i = 0; i < bench->facts_n; i++)
        if (bench->facts[i].kind == FACT_METRIC_JUDGED && text_is (bench->facts[i].of.metric_judged.metric, name))
            found = &bench->facts[i].of.metric_judged;
    return found;
}

static void without_metrics (struct plan *plan)
{
    plan->rungs.items[0].metrics.n = 0;
}

/* ---- one host fell ---- */

TEST_FIXTURE (struct bench, TEST_NOTHING, bench_close)

TEST_ON (bench, who_ended_well_beside_one_that_failed_has_not_passed)
{
    bench_open (bench);
    end (bench, 2, ENDING_EXITED, 3, "something odd");
    others_end_well (bench, 2);
    stands (bench, 2, OUTCOME_FAILED, "exited with status 3");
    others_stand (bench, 2, OUTCOME_CASCADE, "metric loss is not proved, because host2 did not pass");
    assert_int_equal (ended (bench)->outcome, OUTCOME_FAILED);
    const struct fact_metric_judged *loss = judged (bench, "loss");
    assert_non_null (loss);
    assert_int_equal (loss->proof, PROOF_UNPROVED);
    assert_true (loss->missing.n == 1 && loss->missing.items[0] == 2 && loss->culprits.n == 1);
    assert_int_equal (last_fact (bench, FACT_RUN_ENDED)->of.run_ended.exit_status, 1);
    struct text sentence = last_fact (bench, FACT_RUN_ENDED)->of.run_ended.sentence;
    assert_has (sentence, "host2 failed: something odd; exited with status 3");
    assert_has_not (sentence, "cascade");
}

/* It lacks its value because another host fell: that is nothing of its own. */
TEST_ON (bench, who_was_stopped_for_another_lacks_it_and_is_not_at_fault)
{
    bench_open (bench);
    end_well (bench, 0, NULL);
    end_well (bench, 1, NULL);
    end (bench, 2, ENDING_EXITED, 3, "something odd");
    end (bench, 3, ENDING_CANCELLED, 0, "");
    stands (bench, 2, OUTCOME_FAILED, "exited with status 3");
    stands (bench, 3, OUTCOME_CASCADE, "host2");
    const struct fact_metric_judged *loss = judged (bench, "loss");
    assert_int_equal (loss->missing.n, 2);
    assert_true (loss->culprits.n == 1 && loss->culprits.items[0] == 2);
}

TEST_ON (bench, what_is_proved_is_passed_though_another_failed)
{
    bench_open (bench);
    end_well (bench, 2, wrong_value);
    others_end_well (bench, 2);
    stands (bench, 2, OUTCOME_FAILED, "check sum of the program: expected 285, got 286");
    others_stand (bench, 2, OUTCOME_PASSED, "");
    assert_int_equal (judged (bench, "loss")->proof, PROOF_PROVED);
}

TEST_ON (bench, what_is_not_required_keeps_nobody_from_passing)
{
    bench_open_with (bench, without_metrics);
    end (bench, 2, ENDING_EXITED, 3, "something odd");
    others_end_well (bench, 2);
    others_stand (bench, 2, OUTCOME_PASSED, "");
    assert_null (judged (bench, "loss"));
}

TEST_ON (bench, who_broke_a_rule_proves_nothing_for_the_others)
{
    bench_open (bench);
    end_well (bench, 1, broken_rule);
    others_end_well (bench, 1);
    stands (bench, 1, OUTCOME_FAILED, "broke the canary protocol with 1 line: unknown type");
    others_stand (bench, 1, OUTCOME_CASCADE, "metric loss is not proved, because host1 did not pass");
}

TEST_ON (bench, where_nobody_came_to_the_end_nothing_is_judged)
{
    bench_open (bench);
    for (uint32_t host = 0; host < HOSTS; host++)
        end (bench, host, ENDING_EXITED, 3, "No space left on device");
    assert_null (judged (bench, "loss"));
    others_stand (bench, HOSTS, OUTCOME_FAILED, "exited with status 3");
}

TEST_ON (bench, a_worker_that_was_lost_is_named_too)
{
    bench_open (bench);
    end (bench, 0, ENDING_EXITED, 3, "No space left on device");
    end_well (bench, 1, NULL);
    end_well (bench, 3, NULL);
    lose (bench, 2);
    stands (bench, 0, OUTCOME_FAILED, "exited with status 3");
    stands (bench, 1, OUTCOME_CASCADE, "because host[0,2] did not pass");
    stands (bench, 3, OUTCOME_CASCADE, "because host[0,2] did not pass");
    assert_true (verdict_on (bench, 2) && verdict_on (bench, 2)->outcome != OUTCOME_CASCADE);
}

/* ---- who is at fault ---- */

TEST_ON (bench, who_alone_reports_a_local_value_fails_alone)
{
    bench_open (bench);
    end_well (bench, 1, local_value);
    others_end_well (bench, 1);
    const struct fact_metric_judged *loss = judged (bench, "loss");
    assert_true (loss->culprits.n == 1 && loss->culprits.items[0] == 1);
    stands (bench, 1, OUTCOME_FAILED, "metric loss is ");
    stands (bench, 1, OUTCOME_FAILED, "not proved over data, model (");
    others_stand (bench, 1, OUTCOME_CASCADE, "metric loss is not proved, because host1 did not pass");
}

TEST_ON (bench, when_all_report_the_same_wrong_thing_all_fail)
{
    bench_open (bench);
    for (uint32_t host = 0; host < HOSTS; host++)
        end_well (bench, host, local_value);
    assert_int_equal (judged (bench, "loss")->culprits.n, 0);
    others_stand (bench, HOSTS, OUTCOME_FAILED, "not proved over data, model (");
}

TEST_ON (bench, who_does_not_report_what_is_required_fails_alone)
{
    bench_open (bench);
    end_well (bench, 0, no_metric);
    others_end_well (bench, 0);
    stands (bench, 0, OUTCOME_FAILED,
            "metric loss is not proved over data, model (proof: unproved): this host did not report the metric");
    assert_has (verdict_on (bench, 0)->next, "see why it reported none: sliceup logs ");
    others_stand (bench, 0, OUTCOME_CASCADE, "metric loss is not proved, because host0 did not pass");
}

/* That a metric is not proved makes no program fall. */
TEST_ON (bench, a_metric_that_lacks_is_not_why_another_crashed)
{
    bench_open (bench);
    end_well (bench, 0, no_metric);
    end_well (bench, 1, NULL);
    end_well (bench, 3, NULL);
    end (bench, 2, ENDING_SIGNALLED, 11, "nobody knows this");
    stands (bench, 2, OUTCOME_FAILED, "killed by signal 11");
    stands (bench, 0, OUTCOME_FAILED, "this host did not report the metric");
    stands (bench, 1, OUTCOME_CASCADE, "because host[0,2] did not pass");
}

/* ---- what only some say, and what was said before ---- */

TEST_ON (bench, a_metric_that_only_other_ranks_report_is_unproved_and_says_who_lacks_it)
{
    bench_open (bench);
    end_well (bench, 2, one_more);
    others_end_well (bench, 2);
    others_stand (bench, HOSTS, OUTCOME_PASSED, "");
    const struct fact_metric_judged *tokens = judged (bench, "tokens");
    assert_non_null (tokens);
    assert_int_equal (tokens->proof, PROOF_UNPROVED);
    assert_int_equal (tokens->missing.n, 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal (tokens->missing.items[i], i + (i == 2));
}

TEST_ON (bench, names_of_liars_do_not_fill_the_journal)
{
    bench_open (bench);
    for (uint32_t host = 0; host < HOSTS; host++) {
        struct arena arena = { 0 };
        uint64_t secrets[HOSTS] = { 0 };
        struct msg msg = { .kind = MSG_RESULT };
        bench_deal (bench, secrets);
        sample_result (&bench->runs[host], secrets, &msg.of.result, &arena);
        struct metric *metrics = arena_array (&arena, RESULT_METRICS_MAX, sizeof *metrics);
        for (uint32_t i = 0; i < RESULT_METRICS_MAX; i++) {
            metrics[i] = msg.of.result.metrics.items[0];
            metrics[i].name = i ? text_format (&arena, "m%u-%u", host, i) : metrics[i].name;
        }
        msg.of.result.metrics.items = metrics;
        msg.of.result.metrics.n = RESULT_METRICS_MAX;
        tell (bench, host, &msg);
        arena_release (&arena);
    }
    others_stand (bench, HOSTS, OUTCOME_PASSED, "");
    assert_int_equal (count (bench, FACT_METRIC_JUDGED), 1 + 64);
}

TEST_ON (bench, earlier_values_that_are_contradicted_are_told_and_fail_nobody)
{
    bench_open (bench);
    end_well (bench, 1, said_before);
    others_end_well (bench, 1);
    others_stand (bench, HOSTS, OUTCOME_PASSED, "");
    const struct fact_metric_judged *loss = judged (bench, "loss");
    assert_int_equal (loss->proof, PROOF_PROVED);
    assert_int_equal (loss->contradicted.n, 1);
    assert_true (loss->contradicted.items[0].host == 1 && loss->contradicted.items[0].count == 2);
}

/* ---- what comes after ---- */

TEST_ON (bench, a_transient_cause_is_tried_again_though_others_ended_well)
{
    bench_open (bench);
    end (bench, 0, ENDING_EXITED, 1, "metadata server: 503");
    others_end_well (bench, 0);
    others_stand (bench, 0, OUTCOME_CASCADE, "because host0 did not pass");
    assert_int_equal (count (bench, FACT_RETRY_PLANNED), 1);
    tick_at (bench, bench->now_ms + WAIT_MS);
    pass (bench);
    assert_int_equal (last_fact (bench, FACT_RUN_ENDED)->of.run_ended.outcome, OUTCOME_PASSED);
}

TEST_ON (bench, who_came_to_its_end_points_at_the_others_and_nothing_is_isolated)
{
    bench_open (bench);
    end_well (bench, 0, NULL);
    for (uint32_t host = 1; host < HOSTS; host++)
        end (bench, host, ENDING_TIMEOUT, 0, "");
    stands (bench, 0, OUTCOME_CASCADE, "metric loss is not proved, because host[1-3] did not pass");
    assert_int_equal (count (bench, FACT_PASS_BEGAN), 1);
    assert_int_equal (count (bench, FACT_RUN_ENDED), 1);
}

TEST (a_coordinator_that_takes_over_comes_to_the_same_verdicts)
{
    static const enum fact_kind moments[] = { FACT_ATTEMPT_ENDED, FACT_METRIC_JUDGED, FACT_PASS_ENDED };
    for (size_t i = 0; i < sizeof moments / sizeof moments[0]; i++) {
        struct bench bench;
        bench_open (&bench);
        end (&bench, 2, ENDING_EXITED, 3, "something odd");
        others_end_well (&bench, 2);
        die_after (&bench, moments[i]);
        tick_at (&bench, bench.now_ms + 10);
        stands (&bench, 2, OUTCOME_FAILED, "exited with status 3");
        others_stand (&bench, 2, OUTCOME_CASCADE, "metric loss is not proved, because host2 did not pass");
        assert_int_equal (count (&bench, FACT_PASS_ENDED), 1);
        bench_close (&bench);
    }
}
