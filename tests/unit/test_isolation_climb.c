/* links: simulated */
/* The climb through parts of the slice that are run by themselves: over deaths of the coordinator at every point,
 * cancellations and lost hosts. */
#include "coordinator/core/steps.h"
#include "retry_fixture.h"
#include "state_record.h"
#include "test.h"

TEST_FIXTURE (struct bench, TEST_NOTHING, bench_close)

TEST_ON (bench, a_part_has_ranks_a_mesh_and_a_key_of_its_own_and_no_cache)
{
    bench_open (bench);
    hang (bench);
    hang (bench); /* the first part, hosts 0 and 1 */
    const struct fact_pass_began *began = &last_fact (bench, FACT_PASS_BEGAN)->of.pass_began;
    assert_int_equal (began->purpose, PURPOSE_ISOLATION);
    assert_int_equal (began->key.attempt, 3);
    assert_int_equal (began->hosts.n, 2);
    assert_int_equal (began->mesh.items[0].size, 2);
    for (uint32_t i = 0; i < began->hosts.n; i++) {
        const struct msg_run *run = &bench->runs[began->hosts.items[i]];
        assert_int_equal (began->hosts.items[i], 2 + i);
        assert_int_equal (run->rank, i);
        assert_int_equal (run->world, 2);
        assert_int_equal (mesh_devices (&run->mesh), 4);
        assert_int_equal (run->cache.role, CACHE_ROLE_NONE);
    }
}

/* By a coordinator that knows it from the journal alone. */
TEST_ON (bench, a_part_is_ordered_again_as_it_was)
{
    bench_open (bench);
    hang (bench);
    struct msg_run before = bench->runs[1];
    assert_int_equal (before.world, 2);
    die_unheard (bench, FACT_PASS_BEGAN);
    bench->runs[1] = (struct msg_run){ 0 };
    bench->now_ms += 10000; /* longer than an order may take to show */
    all_join (bench);
    assert_true (record_equal (msg_record_of_kind (MSG_RUN), &before, &bench->runs[1]));
}

/* Or what one part had been told would prove something of another. */
TEST_ON (bench, each_part_has_numbers_of_its_own)
{
    char nonces[3][40];
    bench_open (bench);
    for (uint32_t i = 0; i < 3; i++) {
        assert_true (text_to_c (bench->runs[last_fact (bench, FACT_PASS_BEGAN)->of.pass_began.hosts.items[0]].nonce,
                                nonces[i], 40));
        hang (bench);
    }
    assert_string_not_equal (nonces[0], nonces[1]);
    assert_string_not_equal (nonces[1], nonces[2]);
    assert_string_not_equal (nonces[0], nonces[2]);
}

TEST (a_death_at_any_point_of_it_changes_nothing)
{
    static const enum fact_kind moments[] = { FACT_ATTEMPT_ENDED, FACT_PASS_ENDED, FACT_PASS_BEGAN,
                                              FACT_SUSPECTS_NAMED };
    for (size_t i = 0; i < 4; i++) {
        struct bench bench;
        bench_open (&bench);
        hang (&bench);
        uint32_t passes = 0;
        for (; passes < 20 && !coord_ended (bench.coord, NULL); passes++) { /* every part fails */
            hang (&bench);
            bool over = coord_ended (bench.coord, NULL);
            if (moments[i] == FACT_SUSPECTS_NAMED ? over : moments[i] != FACT_PASS_BEGAN || !over)
                die_after (&bench, moments[i]);
        }
        assert_int_equal (passes, 6);
        assert_int_equal (count (&bench, FACT_SUSPECTS_NAMED), 1);
        assert_int_equal (last_fact (&bench, FACT_SUSPECTS_NAMED)->of.suspects_named.passes, 6);
        assert_int_equal (count (&bench, FACT_PASS_BEGAN), 7);
        assert_int_equal (last_fact (&bench, FACT_RUN_ENDED)->of.run_ended.outcome, OUTCOME_TIMED_OUT);
        assert_int_equal (last_fact (&bench, FACT_RUN_ENDED)->of.run_ended.exit_status, 1);
        bench_close (&bench);
    }
}

TEST (a_lost_host_or_a_cancellation_ends_it_and_the_verdict_stays)
{
    static const struct core_input ways[] = { { .kind = IN_WORKER_EXITED, .host = 3, .text = { "killed", 6 } },
                                              { .kind = IN_CANCEL, .level = 1 } };
    for (size_t i = 0; i < 2; i++) {
        struct bench bench;
        bench_open (&bench);
        hang (&bench);
        step (&bench, &ways[i]);
        hang (&bench);
        const struct fact *ended = last_fact (&bench, FACT_RUN_ENDED);
        assert_non_null (ended);
        assert_int_equal (ended->of.run_ended.outcome, i ? OUTCOME_CANCELLED : OUTCOME_TIMED_OUT);
        assert_int_equal (ended->of.run_ended.exit_status, i ? 130 : 1);
        assert_int_equal (count (&bench, FACT_SUSPECTS_NAMED), 0);
        assert_int_equal (count (&bench, FACT_PASS_BEGAN), 2);
        bench_close (&bench);
    }
}

TEST_ON (bench, a_part_of_another_size_than_its_mesh_is_not_followed)
{
    struct state before;
    struct axis axes[] = { { TEXT_LIT ("data"), 9 } };
    uint32_t hosts[] = { 0, 1 };
    bench_open (bench);
    record_copy (&state_record, &before, bench->coord->state, &t->arena);
    struct fact fact = { .kind = FACT_PASS_BEGAN,
                         .index = bench->facts_n,
                         .of.pass_began = { .key = { 0, PASS_ONCE, 9 },
                                            .purpose = PURPOSE_ISOLATION,
                                            .hosts = { hosts, 2 },
                                            .mesh = { axes, 1 } } };
    coord_apply (bench->coord, &fact);
    engine_of (bench->coord)->state.next_index = before.next_index; /* it is counted all the same */
    assert_true (record_equal (&state_record, &before, bench->coord->state));
}

/* A part of the hosts cannot form a group, or the coordinator was told to leave it, or what fell was no group. */
static void whole_only (struct plan *plan)
{
    plan->profile.splits = false;
}

static void hosts_alone (struct plan *plan)
{
    plan->rungs.items[0].scope = SCOPE_HOST;
}

static void one_group (struct plan *plan)
{
    plan->mesh.items[0].size = 1;
    plan->mesh.items[1].size = 2 * HOSTS;
}

TEST (what_cannot_be_split_is_not)
{
    void (*const plans[]) (struct plan *) = { whole_only, hosts_alone, one_group };
    for (size_t i = 0; i < 3; i++) {
        struct bench bench;
        bench_open_with (&bench, plans[i]);
        hang (&bench);
        assert_int_equal (count (&bench, FACT_PASS_BEGAN), 1);
        assert_int_equal (count (&bench, FACT_SUSPECTS_NAMED), 0);
        assert_int_equal (last_fact (&bench, FACT_RUN_ENDED)->of.run_ended.outcome, OUTCOME_TIMED_OUT);
        bench_close (&bench);
    }
}

/* What the coordinator stopped, or dropped, is explained. */
TEST (what_is_explained_is_not_looked_into)
{
    for (size_t i = 0; i < 2; i++) {
        struct bench bench;
        bench_open (&bench);
        engine_of (bench.coord)->state.pass.stopped = i == 0; /* before anybody had come to a gate */
        engine_of (bench.coord)->state.pass.dropped = i == 1;
        hang (&bench);
        assert_int_equal (count (&bench, FACT_PASS_BEGAN), 1);
        assert_non_null (last_fact (&bench, FACT_RUN_ENDED));
        bench_close (&bench);
    }
}

TEST_ON (bench, after_a_cancellation_nothing_is_begun_and_nothing_else_is_told)
{
    bench_open (bench);
    cancel (bench);
    hang (bench);
    assert_int_equal (count (bench, FACT_PASS_BEGAN), 1);
    const struct fact_run_ended *ended = &last_fact (bench, FACT_RUN_ENDED)->of.run_ended;
    assert_int_equal (ended->exit_status, 130);
    assert_has_not (ended->sentence, "by themselves");
}

/* Not even by a coordinator that finds the host back. */
TEST_ON (bench, after_a_lost_host_nothing_is_begun)
{
    bench_open (bench);
    end (bench, 3, ENDING_TIMEOUT, 0, "");
    lose (bench, 3); /* its part had ended */
    for (uint32_t host = 0; host < 3; host++)
        end (bench, host, ENDING_TIMEOUT, 0, "");
    die_after (bench, FACT_PASS_ENDED);
    assert_int_equal (count (bench, FACT_PASS_BEGAN), 1);
    assert_non_null (last_fact (bench, FACT_RUN_ENDED));
}

TEST_ON (bench, nothing_begins_before_everybody_is_back)
{
    struct msg msg = { .kind = MSG_HELLO, .of.hello = { .version = TEXT_LIT ("t"), .pid = 100, .pid_start = 1 } };
    bench_open (bench);
    hang (bench);
    die_unheard (bench, FACT_PASS_ENDED);
    tick_at (bench, bench->now_ms + 100);
    tell (bench, 0, &msg);
    assert_int_equal (count (bench, FACT_PASS_BEGAN), 1);
    all_join (bench);
    assert_int_equal (count (bench, FACT_PASS_BEGAN), 2);
}

static bool same_hosts (const struct fact_pass_began *a, const struct fact_pass_began *b)
{
    return a->hosts.n == b->hosts.n && memcmp (a->hosts.items, b->hosts.items, a->hosts.n * sizeof (uint32_t)) == 0;
}

TEST_ON (bench, a_part_that_failed_for_what_is_transient_is_run_once_more)
{
    bench_open (bench);
    hang (bench);
    struct fact_pass_began first = last_fact (bench, FACT_PASS_BEGAN)->of.pass_began;
    end_all (bench, ENDING_EXITED, 1, "metadata server: 503");
    struct fact_pass_began second = last_fact (bench, FACT_PASS_BEGAN)->of.pass_began;
    assert_true (same_hosts (&first, &second));
    assert_int_equal (second.key.attempt, first.key.attempt + 1);
    assert_int_equal (count (bench, FACT_RETRY_PLANNED), 0);
    hang (bench);
    struct fact_pass_began third = last_fact (bench, FACT_PASS_BEGAN)->of.pass_began;
    assert_false (same_hosts (&second, &third));
}

/* Its worker was killed in a part; the coordinator died before it said that this is the end. */
TEST_ON (bench, a_part_that_lost_a_host_says_nothing_of_the_program)
{
    bench_open (bench);
    hang (bench);
    struct fact_pass_began first = last_fact (bench, FACT_PASS_BEGAN)->of.pass_began;
    end (bench, 0, ENDING_TIMEOUT, 0, "");
    lose (bench, 1);
    assert_int_equal (count (bench, FACT_PASS_ENDED), 2);
    die_after (bench, FACT_PASS_ENDED);
    struct fact_pass_began second = last_fact (bench, FACT_PASS_BEGAN)->of.pass_began;
    assert_int_equal (second.key.attempt, first.key.attempt + 1);
    assert_true (same_hosts (&first, &second));
}

static void late_peers (struct plan *plan)
{
    plan->limits.retries = 0;
    plan->signatures.items[0].transient = true;
}

/* The program could not be started, or one who had to wait complains that another is late: both may pass. */
TEST (a_part_that_was_hindered_says_nothing_of_the_program)
{
    for (int late = 0; late < 2; late++) {
        struct bench bench;
        bench_open_with (&bench, late_peers);
        hang (&bench);
        struct fact_pass_began first = last_fact (&bench, FACT_PASS_BEGAN)->of.pass_began;
        end (&bench, 0, late ? ENDING_EXITED : ENDING_NOT_STARTED, late, late ? "metadata server: 503" : "");
        end (&bench, 1, late ? ENDING_EXITED : ENDING_CANCELLED, late, late ? "Connection closed by peer" : "");
        assert_int_equal (count (&bench, FACT_PASS_ENDED), 2);
        struct fact_pass_began second = last_fact (&bench, FACT_PASS_BEGAN)->of.pass_began;
        assert_true (same_hosts (&first, &second));
        bench_close (&bench);
    }
}

/* Killed and started again, for want of memory say, before the part was over. */
TEST (a_part_whose_worker_was_started_again_says_nothing_of_the_program)
{
    for (int dies = 0; dies < 2; dies++) {
        struct bench bench;
        bench_open (&bench);
        hang (&bench);
        struct fact_pass_began first = last_fact (&bench, FACT_PASS_BEGAN)->of.pass_began;
        struct msg msg = { .kind = MSG_HELLO, .of.hello = { .version = TEXT_LIT ("t"), .pid = 999, .pid_start = 2 } };
        tell (&bench, 1, &msg);
        assert_int_equal (last_fact (&bench, FACT_ATTEMPT_ENDED)->of.attempt_ended.result.ending, ENDING_LOST);
        if (dies)
            die_after (&bench, FACT_ATTEMPT_ENDED);
        end (&bench, 0, ENDING_TIMEOUT, 0, "");
        assert_int_equal (count (&bench, FACT_PASS_ENDED), 2);
        struct fact_pass_began second = last_fact (&bench, FACT_PASS_BEGAN)->of.pass_began;
        assert_int_equal (second.key.attempt, first.key.attempt + 1);
        assert_true (same_hosts (&first, &second));
        bench_close (&bench);
    }
}

/* Host 0 never comes to where the others wait, and says nothing else than they do. */
TEST_ON (bench, peers_that_are_late_in_each_part_are_found)
{
    bench_open_with (bench, late_peers);
    end_all (bench, ENDING_EXITED, 1, "Connection closed by peer");
    const struct verdict *verdict = &last_fact (bench, FACT_PASS_ENDED)->of.pass_ended.verdicts.items[0];
    assert_int_equal (verdict->host, 0);
    assert_true (verdict->transient);
    for (uint32_t i = 0; i < ISOLATE_TRIALS_MAX && !coord_ended (bench->coord, NULL); i++)
        if (last_fact (bench, FACT_PASS_BEGAN)->of.pass_began.hosts.items[0] == 0)
            end_all (bench, ENDING_EXITED, 1, "Connection closed by peer");
        else
            pass (bench);
    const struct fact_suspects_named *named = &last_fact (bench, FACT_SUSPECTS_NAMED)->of.suspects_named;
    assert_int_equal (named->suspects.n, 1);
    assert_int_equal (named->suspects.items[0], 0);
    assert_false (bench->coord->state->isolation.failed.verdicts.items[0].transient);
}

/* All live; `running` still has its program. */
static void beat_all (struct bench *bench, uint32_t running)
{
    struct holding held = { .key = bench->runs[running].key, .state = ATTEMPT_RUNNING };
    for (uint32_t host = 0; host < HOSTS; host++) {
        struct msg msg = { .kind = MSG_HEARTBEAT };
        msg.of.heartbeat.holdings.items = &held;
        msg.of.heartbeat.holdings.n = host == running;
        tell (bench, host, &msg);
    }
}

/* Its worker lives, and cannot end the program even by force: that is the program's doing. A coordinator that takes
 * over hears of the same worker. */
TEST (a_part_that_nobody_can_end_failed)
{
    for (int dies = 0; dies < 2; dies++) {
        struct bench bench;
        bench_open (&bench);
        hang (&bench);
        struct fact_pass_began first = last_fact (&bench, FACT_PASS_BEGAN)->of.pass_began;
        end (&bench, 0, ENDING_TIMEOUT, 0, "");
        if (dies)
            die_after (&bench, FACT_ATTEMPT_ENDED);
        for (uint32_t i = 0; i < 200 && count (&bench, FACT_PASS_ENDED) < 2; i++) {
            uint64_t next_ms = coord_deadline_ms (bench.coord);
            tick_at (&bench, next_ms > bench.now_ms ? next_ms : bench.now_ms + 1);
            beat_all (&bench, 1);
        }
        assert_int_equal (count (&bench, FACT_PASS_ENDED), 2);
        assert_int_equal (last_fact (&bench, FACT_ATTEMPT_ENDED)->of.attempt_ended.result.ending, ENDING_LOST);
        struct fact_pass_began second = last_fact (&bench, FACT_PASS_BEGAN)->of.pass_began;
        assert_false (same_hosts (&first, &second));
        bench_close (&bench);
    }
}

/* Its metrics are proved over its own mesh, count for nothing else, and its time is bounded by what worked. */
TEST_ON (bench, a_part_is_judged_by_its_own_mesh_and_time)
{
    char late[] = "still in phase start after 30 s; stopped";
    bench_open (bench);
    hang (bench);
    assert_int_equal (bench->runs[0].rung.timeout_ms, 60000);
    pass (bench);
    assert_int_equal (last_fact (bench, FACT_PASS_ENDED)->of.pass_ended.outcome, OUTCOME_PASSED);
    assert_int_equal (count (bench, FACT_METRIC_JUDGED), 0);
    uint64_t timeout_ms = bench->runs[2].rung.timeout_ms;
    assert_in_range (timeout_ms, 30000, 31000);
    hang (bench);
    struct text cause = last_fact (bench, FACT_PASS_ENDED)->of.pass_ended.verdicts.items[0].cause;
    assert_has (cause, text_clip (text_of (late), 29));
}

/* Host 3 is named; it alone keeps the failure. */
TEST_ON (bench, who_is_named_keeps_the_failure_in_the_closing_sentence)
{
    bench_open (bench);
    hang (bench);
    while (!coord_ended (bench->coord, NULL)) {
        const struct fact_pass_began *began = &last_fact (bench, FACT_PASS_BEGAN)->of.pass_began;
        if (began->hosts.items[began->hosts.n - 1] == 3)
            hang (bench);
        else
            pass (bench);
    }
    const struct fact_suspects_named *named = &last_fact (bench, FACT_SUSPECTS_NAMED)->of.suspects_named;
    assert_int_equal (named->suspects.n, 1);
    assert_int_equal (named->suspects.items[0], 3);
    assert_int_equal (named->passes, 4);
    struct text sentence = last_fact (bench, FACT_RUN_ENDED)->of.run_ended.sentence;
    assert_has (sentence, "(1 of 1): host3 timed-out: still in phase start");
    assert_has (sentence, "stopped; run by themselves, host[2-3], host[0,3] failed; host[0-1], host[0,2] "
                          "worked (4 passes); whose: not known");
}
