/* links: simulated */
/* The climb between a pass that fell for a transient reason and the one that follows it: over deaths of the
 * coordinator, cancellations and lost hosts. */
#include "coordinator/core/steps.h"
#include "retry_fixture.h"
#include "test.h"

TEST_FIXTURE (struct bench, TEST_NOTHING, bench_close)

TEST_ON (bench, the_second_attempt_begins_when_its_moment_has_come)
{
    bench_open (bench);
    fall_for_a_while (bench);
    const struct fact *planned = last_fact (bench, FACT_RETRY_PLANNED);
    assert_non_null (planned);
    assert_int_equal (planned->of.retry_planned.due_ms, planned->at_ms + WAIT_MS);
    assert_int_equal (planned->of.retry_planned.left, 0);
    assert_text (planned->of.retry_planned.why, "metadata on host0");
    uint64_t due_ms = planned->of.retry_planned.due_ms + 1000;
    assert_int_equal (coord_deadline_ms (bench->coord), due_ms);
    tick_at (bench, due_ms - 1);
    assert_int_equal (count (bench, FACT_PASS_BEGAN), 1);
    tick_at (bench, due_ms);
    const struct fact_pass_began *began = &last_fact (bench, FACT_PASS_BEGAN)->of.pass_began;
    assert_int_equal (began->key.attempt, 2);
    assert_int_equal (began->purpose, PURPOSE_RETRY);
    assert_int_equal (bench->said[MSG_RUN], 2 * HOSTS);
    fall_for_a_while (bench); /* the budget is spent */
    assert_int_equal (count (bench, FACT_RETRY_PLANNED), 1);
    assert_int_equal (last_fact (bench, FACT_RUN_ENDED)->of.run_ended.outcome, OUTCOME_FAILED);
}

TEST (a_death_before_or_after_it_is_planned_changes_nothing)
{
    static const enum fact_kind moments[] = { FACT_ATTEMPT_ENDED, FACT_PASS_ENDED, FACT_RETRY_PLANNED };
    for (size_t i = 0; i < 3; i++) {
        struct bench bench;
        bench_open (&bench);
        fall_for_a_while (&bench);
        die_after (&bench, moments[i]);
        assert_int_equal (count (&bench, FACT_PASS_ENDED), 1);
        assert_int_equal (count (&bench, FACT_RETRY_PLANNED), 1);
        assert_int_equal (count (&bench, FACT_PASS_BEGAN), 1);
        tick_at (&bench, bench.now_ms + WAIT_MS);
        assert_int_equal (count (&bench, FACT_PASS_BEGAN), 2);
        assert_int_equal (last_fact (&bench, FACT_PASS_BEGAN)->of.pass_began.purpose, PURPOSE_RETRY);
        bench_close (&bench);
    }
}

TEST_ON (bench, a_cancellation_while_it_waits_ends_the_run)
{
    bench_open (bench);
    fall_for_a_while (bench);
    cancel (bench);
    assert_int_equal (last_fact (bench, FACT_RUN_ENDED)->of.run_ended.exit_status, 130);
    assert_int_equal (count (bench, FACT_PASS_BEGAN), 1);
}

/* What was planned is not due then: a moment that has passed would make every silence start anew, without end. */
TEST_ON (bench, a_cancellation_after_a_restart_waits_for_nobody_for_good)
{
    bench_open (bench);
    fall_for_a_while (bench);
    die_unheard (bench, FACT_RETRY_PLANNED);
    cancel (bench);
    assert_false (coord_ended (bench->coord, NULL));
    for (uint32_t i = 0; i < 200 && !coord_ended (bench->coord, NULL); i++)
        tick_at (bench, bench->now_ms + 500);
    assert_true (coord_ended (bench->coord, NULL));
    assert_int_equal (count (bench, FACT_HOST_LOST), HOSTS);
}

TEST_ON (bench, what_the_user_cancelled_is_not_run_again)
{
    bench_open (bench);
    cancel (bench);
    fall_for_a_while (bench);
    assert_int_equal (count (bench, FACT_RETRY_PLANNED), 0);
    assert_true (coord_ended (bench->coord, NULL));
}

TEST_ON (bench, a_host_that_is_lost_while_it_waits_ends_the_run)
{
    bench_open (bench);
    fall_for_a_while (bench);
    lose (bench, 2);
    assert_int_equal (last_fact (bench, FACT_RUN_ENDED)->of.run_ended.outcome, OUTCOME_LOST);
    assert_int_equal (count (bench, FACT_PASS_BEGAN), 1);
}

TEST_ON (bench, nothing_is_run_again_when_a_host_is_gone)
{
    bench_open (bench);
    end (bench, 0, ENDING_EXITED, 1, "metadata server: 503");
    end (bench, 3, ENDING_CANCELLED, 0, "");
    lose (bench, 3); /* its part had ended: what fell is transient all the same */
    for (uint32_t host = 1; host < 3; host++)
        end (bench, host, ENDING_CANCELLED, 0, "");
    assert_int_equal (count (bench, FACT_PASS_ENDED), 1);
    assert_int_equal (count (bench, FACT_RETRY_PLANNED), 0);
    assert_int_equal (last_fact (bench, FACT_RUN_ENDED)->of.run_ended.outcome, OUTCOME_FAILED);
}

static void at_gate (struct bench *bench, uint32_t host, const char *value)
{
    struct holding held = { .key = bench->runs[host].key,
                            .state = ATTEMPT_AT_GATE,
                            .gate = TEXT_LIT ("program"),
                            .gate_mode = GATE_AGREE,
                            .gate_value = text_of (value) };
    struct msg msg = { .kind = MSG_HEARTBEAT, .of.heartbeat.holdings = { &held, 1 } };
    tell (bench, host, &msg);
}

/* Whatever the one that differs printed as it was stopped. */
TEST_ON (bench, hosts_that_differ_at_a_gate_are_not_run_again)
{
    bench_open (bench);
    for (uint32_t host = 0; host < HOSTS; host++)
        at_gate (bench, host, host == 2 ? "other" : "same");
    assert_int_equal (count (bench, FACT_PASS_STOPPED), 1);
    end_all (bench, ENDING_EXITED, 1, "metadata server: 503");
    assert_int_equal (count (bench, FACT_RETRY_PLANNED), 0);
    assert_int_equal (last_fact (bench, FACT_RUN_ENDED)->of.run_ended.outcome, OUTCOME_FAILED);
}

/* It speaks of its peers, or of what passes by itself, as it is stopped; the gate said why it was. */
TEST (who_differs_at_a_gate_is_the_cause_whatever_it_printed)
{
    static const char *const printed[] = { "Connection closed by peer", "metadata server: 503", "" };
    for (size_t i = 0; i < 3; i++) {
        struct bench bench;
        bench_open (&bench);
        for (uint32_t host = 0; host < HOSTS; host++)
            at_gate (&bench, host, host == 2 ? "other" : "same");
        end_all (&bench, ENDING_EXITED, 1, printed[i]);
        const struct fact_pass_ended *ended = &last_fact (&bench, FACT_PASS_ENDED)->of.pass_ended;
        const struct verdict *verdict = &ended->verdicts.items[2];
        assert_int_equal (verdict->host, 2);
        assert_int_equal (verdict->outcome, OUTCOME_FAILED);
        assert_int_equal (verdict->owner, OWNER_PROGRAM);
        assert_true (text_starts (verdict->cause, "at gate program its program or flags differ from those of"));
        assert_int_equal (verdict->signature.len, 0);
        assert_false (verdict->transient);
        for (uint32_t host = 0; i == 0 && host < HOSTS; host++)
            assert_int_equal (ended->verdicts.items[host].outcome, host == 2 ? OUTCOME_FAILED : OUTCOME_CASCADE);
        bench_close (&bench);
    }
}

/* Of two of four nobody can say that their program is the right one. */
TEST_ON (bench, without_a_majority_at_a_gate_no_host_is_blamed_for_the_others)
{
    bench_open (bench);
    for (uint32_t host = 0; host < HOSTS; host++)
        at_gate (bench, host, host < HOSTS / 2 ? "one" : host == HOSTS / 2 ? "two" : "three");
    assert_int_equal (last_fact (bench, FACT_PASS_STOPPED)->of.pass_stopped.culprits.n, HOSTS);
    end_all (bench, ENDING_CANCELLED, 0, "");
    const struct fact_pass_ended *ended = &last_fact (bench, FACT_PASS_ENDED)->of.pass_ended;
    assert_int_equal (ended->verdicts.n, HOSTS);
    for (uint32_t host = 0; host < HOSTS; host++) {
        assert_int_equal (ended->verdicts.items[host].outcome, OUTCOME_FAILED);
        assert_has (ended->verdicts.items[host].cause, "most hosts share none");
    }
}

/* All are stopped, and the first to end is not at fault. */
TEST_ON (bench, who_differs_at_a_gate_is_told_by_what_and_the_others_failed_with_it)
{
    struct var flags[] = { { TEXT_LIT ("XLA_FLAGS"), TEXT_LIT ("--a") }, { TEXT_LIT ("XLA_FLAGS"), TEXT_LIT ("--b") } };
    bench_open (bench);
    for (uint32_t host = 0; host < HOSTS; host++)
        at_gate (bench, host, host == 2 ? "other" : "same");
    for (uint32_t host = 0; host < HOSTS; host++) {
        struct msg msg = { .kind = MSG_RESULT,
                           .of.result = { .key = bench->runs[host].key, .ending = ENDING_CANCELLED } };
        msg.of.result.policy.items = &flags[host == 2];
        msg.of.result.policy.n = 1;
        tell (bench, host, &msg);
    }
    const struct verdict *verdicts = last_fact (bench, FACT_PASS_ENDED)->of.pass_ended.verdicts.items;
    for (uint32_t host = 0; host < HOSTS; host++)
        assert_int_equal (verdicts[host].outcome, host == 2 ? OUTCOME_FAILED : OUTCOME_CASCADE);
    assert_has (verdicts[2].cause, "XLA_FLAGS has --b, the other hosts do not have it");
}

TEST_ON (bench, what_was_dropped_from_the_cache_is_not_run_again)
{
    bench_open (bench);
    engine_of (bench->coord)->state.pass.dropped = true;
    fall_for_a_while (bench);
    assert_int_equal (count (bench, FACT_RETRY_PLANNED), 0);
    assert_non_null (last_fact (bench, FACT_RUN_ENDED));
}

/* As many as there is room for are told, and how many are not. */
TEST (causes_that_are_not_told_are_counted)
{
    struct verdict verdicts[HOSTS];
    struct plan plan = { 0 };
    static const char *const causes[HOSTS] = { "a", "b", "c", "d" };
    sample_plan (&plan, HOSTS, &t->arena);
    for (uint32_t i = 0; i < HOSTS; i++)
        verdicts[i] = (struct verdict){
            .host = i, .outcome = OUTCOME_FAILED, .owner = OWNER_UNKNOWN, .cause = text_of (causes[i])
        };
    struct fact_pass_ended ended = { .verdicts = { verdicts, HOSTS } };
    assert_has (status_sentence_of_verdicts (&plan, &ended, &t->arena), " | and 1 more cause: see the receipt");
    ended.verdicts.n = HOSTS - 1;
    assert_has_not (status_sentence_of_verdicts (&plan, &ended, &t->arena), " more ");
}

/* A journal of a version that knew neither retries nor parts. */
static void of_older (struct plan *plan)
{
    plan->limits.retries = 0;
    plan->limits.retry_wait_ms = 0;
    plan->profile.splits = false;
}

static void never_silent (struct plan *plan)
{
    plan->limits.suspect_ms = 5000000;
    plan->limits.lost_ms = 6000000;
    plan->limits.retries = 0;
}

static void end_as (struct bench *bench, uint32_t host, struct result result)
{
    struct msg msg = { .kind = MSG_RESULT };
    msg.of.result = result;
    msg.of.result.key = bench->runs[host].key;
    tell (bench, host, &msg);
}

TEST_ON (bench, what_its_worker_did_not_end_is_timed_out)
{
    bench_open_with (bench, never_silent);
    uint64_t longest_ms = bench->plan.rungs.items[0].timeout_ms + 2 * bench->plan.limits.stop_ms;
    tick_at (bench, bench->now_ms + longest_ms + LATE_MS + 10);
    assert_int_equal (bench->said[MSG_CANCEL], HOSTS);
    for (uint32_t host = 0; host < HOSTS; host++)
        end_as (bench, host, (struct result){ .ending = ENDING_CANCELLED, .duration_ms = longest_ms + LATE_MS });
    const struct fact_pass_ended *ended = &last_fact (bench, FACT_PASS_ENDED)->of.pass_ended;
    assert_int_equal (ended->outcome, OUTCOME_TIMED_OUT);
    assert_int_equal (ended->verdicts.items[0].outcome, OUTCOME_TIMED_OUT);
    assert_int_equal (ended->verdicts.items[0].owner, OWNER_UNKNOWN);
}

TEST_ON (bench, a_kill_is_a_reason_whatever_the_program_said_before)
{
    bench_open_with (bench, never_silent);
    end_as (bench, 1, (struct result){ .ending = ENDING_EXITED, .code = 1 });
    end_as (
        bench, 0,
        (struct result){
            .ending = ENDING_SIGNALLED, .code = 9, .owner = OWNER_PEER, .failure = TEXT_LIT ("no answer of a peer") });
    for (uint32_t host = 2; host < HOSTS; host++)
        end_as (bench, host, (struct result){ .ending = ENDING_CANCELLED });
    const struct fact_pass_ended *ended = &last_fact (bench, FACT_PASS_ENDED)->of.pass_ended;
    assert_int_equal (ended->verdicts.items[0].outcome, OUTCOME_FAILED);
    assert_int_equal (ended->verdicts.items[2].outcome, OUTCOME_CASCADE);
    assert_int_equal (count (bench, FACT_PASS_BEGAN), 1); /* no parts by themselves: the cause is known */
}

TEST_ON (bench, a_plan_that_knows_no_budget_has_none)
{
    bench_open_with (bench, of_older);
    fall_for_a_while (bench);
    assert_int_equal (count (bench, FACT_RETRY_PLANNED), 0);
    assert_int_equal (last_fact (bench, FACT_RUN_ENDED)->of.run_ended.outcome, OUTCOME_FAILED);
}

static void at_once (struct plan *plan)
{
    plan->limits.retry_wait_ms = 0;
}

TEST_ON (bench, without_a_wait_it_begins_at_once)
{
    bench_open_with (bench, at_once);
    fall_for_a_while (bench);
    assert_int_equal (count (bench, FACT_RETRY_PLANNED), 1);
    assert_int_equal (last_fact (bench, FACT_PASS_BEGAN)->of.pass_began.purpose, PURPOSE_RETRY);
}

TEST_ON (bench, nothing_begins_before_everybody_is_back)
{
    bench_open (bench);
    fall_for_a_while (bench);
    die_unheard (bench, FACT_RETRY_PLANNED);
    tick_at (bench, bench->now_ms + WAIT_MS);
    assert_int_equal (count (bench, FACT_PASS_BEGAN), 1);
    all_join (bench);
    assert_int_equal (count (bench, FACT_PASS_BEGAN), 2);
}

static void long_names (struct plan *plan)
{
    static char names[HOSTS][HOST_NAME_MAX_BYTES];
    for (uint32_t i = 0; i < HOSTS; i++) {
        memset (names[i], 'p' + (int) i, HOST_NAME_MAX_BYTES);
        plan->hosts.items[i].name = (struct text){ names[i], HOST_NAME_MAX_BYTES };
    }
    plan->profile.splits = false;
}

/* Also where names do not fold: the sentence is about what happened. */
TEST (names_leave_room_for_what_is_said)
{
    for (int passes = 0; passes < 2; passes++) {
        struct bench bench;
        bench_open_with (&bench, long_names);
        if (passes)
            pass (&bench);
        else
            end_all (&bench, ENDING_EXITED, 1, "No space left on device");
        struct text sentence = last_fact (&bench, FACT_RUN_ENDED)->of.run_ended.sentence;
        assert_has (sentence, " 4 hosts, pppp");
        assert_has (sentence, passes ? TEXT_LIT ("ppp... in ")
                                     : TEXT_LIT ("ppp... failed: No space left on device; exited with status 1"));
        bench_close (&bench);
    }
}

TEST_ON (bench, one_that_passes_then_says_so)
{
    bench_open (bench);
    fall_for_a_while (bench);
    tick_at (bench, bench->now_ms + WAIT_MS);
    pass (bench);
    const struct fact_run_ended *ended = &last_fact (bench, FACT_RUN_ENDED)->of.run_ended;
    assert_int_equal (ended->outcome, OUTCOME_PASSED);
    assert_has (ended->sentence, "rung all passed after 1 retry (metadata on host0)");
    assert_int_equal (count (bench, FACT_METRIC_JUDGED), 1);
}
