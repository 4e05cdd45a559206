/* links: simulated */
/* A climb that goes on: without hosts that are absent, past rungs that did not pass; or that stops the sooner. */
#include "retry_fixture.h"
#include "test.h"

enum { FACTS, TINY, ALL };

/* The whole ladder of the sample: facts and tiny on each host, then all. */
static void whole_ladder (struct plan *plan)
{
    plan->rungs.items -= 2;
    plan->rungs.n = 3;
    plan->rungs.items[TINY].warm = WARM_NONE;
    plan->limits.retries = 0;
}

static void at_least_3 (struct plan *plan)
{
    whole_ladder (plan);
    plan->climb.min_hosts = 3;
}

static void keeps_going (struct plan *plan)
{
    whole_ladder (plan);
    plan->climb.keep_going = true;
}

static void fails_fast (struct plan *plan)
{
    whole_ladder (plan);
    plan->climb.fail_fast = true;
}

/* As keeps_going, with the slice-wide rung in the middle. */
static void keeps_going_in_the_middle (struct plan *plan)
{
    keeps_going (plan);
    struct rung tiny = plan->rungs.items[TINY];
    plan->rungs.items[TINY] = plan->rungs.items[ALL];
    plan->rungs.items[ALL] = tiny;
}

/* Those before `n` join, and the time for the others passes; until then nothing is begun. */
static void open_some (struct bench *bench, uint32_t n, void (*with) (struct plan *plan))
{
    bench_open_alone (bench, with);
    for (uint32_t host = 0; host < n; host++)
        join (bench, host);
    for (uint32_t second = 1; second <= 30; second++) {
        assert_int_equal (count (bench, FACT_PASS_BEGAN), 0);
        tick_at (bench, 1001 + second * 1000);
        for (uint32_t host = 0; host < n; host++)
            tell (bench, host, &(struct msg){ .kind = MSG_HEARTBEAT });
    }
}

static void assert_hosts (const struct bench *bench, uint32_t rung, const char *hosts)
{
    const struct fact_pass_began *began = &last_fact (bench, FACT_PASS_BEGAN)->of.pass_began;
    char text[HOSTS + 1] = "";
    for (uint32_t i = 0; i < began->hosts.n; i++)
        text[i] = (char) ('0' + began->hosts.items[i]);
    assert_int_equal (began->key.rung, rung);
    assert_string_equal (text, hosts);
}

static const struct fact_run_ended *ended (const struct bench *bench)
{
    const struct fact *fact = last_fact (bench, FACT_RUN_ENDED);
    assert_non_null (fact);
    return &fact->of.run_ended;
}

static void assert_said (struct text text, const char *words)
{
    assert_has (text, words);
}

/* The rung was blocked for `n` hosts, and never began. */
static void assert_blocked (const struct bench *bench, uint32_t rung, uint32_t n, const char *cause)
{
    const struct fact_pass_ended *blocked = &last_fact (bench, FACT_PASS_ENDED)->of.pass_ended;
    assert_int_equal (blocked->key.rung, rung);
    assert_int_equal (blocked->key.attempt, 0);
    assert_int_equal (blocked->outcome, OUTCOME_BLOCKED);
    assert_int_equal (blocked->verdicts.n, n);
    assert_said (blocked->verdicts.items[0].cause, cause);
}

static void fail_one (struct bench *bench, uint32_t host)
{
    end (bench, host, ENDING_EXITED, 3, "");
}

static void pass_one (struct bench *bench, uint32_t host)
{
    struct arena arena = { 0 };
    uint64_t secrets[HOSTS] = { 0 };
    struct msg msg = { .kind = MSG_RESULT };
    sample_result (&bench->runs[host], secrets, &msg.of.result, &arena);
    tell (bench, host, &msg);
    arena_release (&arena);
}

/* ---- absent hosts ---- */

static void with_command (struct plan *plan)
{
    static struct text words[] = { TEXT_LIT ("sliceup"),     TEXT_LIT ("run"),   TEXT_LIT ("my slice's.yaml"),
                                   TEXT_LIT ("--min-hosts"), TEXT_LIT ("4"),     TEXT_LIT ("--min-hosts=4"),
                                   TEXT_LIT ("--exclude"),   TEXT_LIT ("v[1-2]") };
    whole_ladder (plan);
    plan->origin.command.items = words;
    plan->origin.command.n = sizeof (words) / sizeof (words[0]);
}

TEST_FIXTURE (struct bench, TEST_NOTHING, bench_close)

TEST_ON (bench, a_host_that_never_joins_ends_the_run_with_the_command_to_go_on)
{
    open_some (bench, 3, with_command);
    assert_int_equal (count (bench, FACT_HOSTS_LEFT_BEHIND), 0);
    assert_int_equal (ended (bench)->exit_status, 3);
    assert_said (ended (bench)->sentence, "; to go on with the 3 that are up: sliceup run 'my slice'\\''s.yaml' "
                                          "--exclude 'v[1-2]' --min-hosts 3");
}

TEST_ON (bench, who_is_up_climbs_alone_and_slice_wide_rungs_are_blocked)
{
    open_some (bench, 3, at_least_3);
    const struct fact_hosts_left_behind *left = &last_fact (bench, FACT_HOSTS_LEFT_BEHIND)->of.hosts_left_behind;
    assert_int_equal (left->rung, FACTS);
    assert_int_equal (left->verdicts.n, 1);
    assert_int_equal (left->verdicts.items[0].host, 3);
    assert_int_equal (left->verdicts.items[0].outcome, OUTCOME_BLOCKED);
    assert_hosts (bench, FACTS, "012");
    pass (bench);
    assert_hosts (bench, TINY, "012");
    pass (bench);
    assert_blocked (bench, ALL, 3, "went on without host3");
    assert_int_equal (ended (bench)->exit_status, 1);
    assert_int_equal (ended (bench)->outcome, OUTCOME_BLOCKED);
    assert_said (ended (bench)->sentence, ": 3 of 4 hosts went on to the last rung: 2 of 3 rungs passed on host[0-2]");
    assert_said (ended (bench)->sentence,
                 "; not a full slice, without host3 (host3: its worker did not join within 30 s)");
    assert_said (ended (bench)->sentence, "; not passed: all (blocked); rung all (3 of 3): host[0-2] blocked");
}

TEST_ON (bench, fewer_than_asked_for_stop_and_both_numbers_are_told)
{
    open_some (bench, 2, at_least_3);
    assert_int_equal (count (bench, FACT_PASS_BEGAN), 0);
    assert_int_equal (ended (bench)->exit_status, 3);
    assert_said (ended (bench)->sentence, "; to go on with the 2 that are up (--min-hosts asks for 3): ");
}

TEST_ON (bench, all_hosts_need_no_policy)
{
    bench_open_with (bench, at_least_3);
    for (uint32_t rung = FACTS; rung <= ALL; rung++) {
        assert_hosts (bench, rung, "0123");
        pass (bench);
    }
    assert_int_equal (ended (bench)->exit_status, 0);
}

TEST_ON (bench, a_host_lost_in_a_rung_is_absent_from_then_on)
{
    bench_open_with (bench, at_least_3);
    lose (bench, 2);
    pass (bench);
    const struct fact_pass_ended *facts = &last_fact (bench, FACT_PASS_ENDED)->of.pass_ended;
    assert_int_equal (facts->verdicts.n, 1);
    assert_int_equal (facts->verdicts.items[0].host, 2);
    assert_int_equal (facts->verdicts.items[0].outcome, OUTCOME_LOST);
    assert_hosts (bench, TINY, "013");
    pass (bench);
    assert_blocked (bench, ALL, 3, "went on without host2");
    assert_int_equal (ended (bench)->outcome, OUTCOME_LOST);
    assert_int_equal (ended (bench)->exit_status, 1);
}

TEST_ON (bench, the_climb_ends_when_too_few_are_left)
{
    open_some (bench, 3, at_least_3);
    lose (bench, 0);
    pass (bench);
    assert_int_equal (ended (bench)->outcome, OUTCOME_LOST);
    assert_said (ended (bench)->sentence, " that are up (--min-hosts asks for 3): ");
}

TEST_ON (bench, a_host_that_fails_is_not_absent)
{
    bench_open_with (bench, at_least_3);
    fail_one (bench, 1);
    pass (bench);
    assert_int_equal (ended (bench)->outcome, OUTCOME_FAILED);
    assert_has_not (ended (bench)->sentence, "not passed");
    assert_int_equal (count (bench, FACT_PASS_BEGAN), 1);
}

/* The next process knows who was left behind, awaits nobody else, and tells one that comes to leave. */
TEST (a_resumed_climb_stays_without_them)
{
    static const enum fact_kind moments[] = { FACT_HOSTS_LEFT_BEHIND, FACT_PASS_BEGAN, FACT_PASS_ENDED };
    for (uint32_t i = 0; i < 3; i++) {
        struct bench bench;
        open_some (&bench, 3, at_least_3);
        if (moments[i] == FACT_PASS_ENDED)
            pass (&bench);
        die_unheard (&bench, moments[i]);
        for (uint32_t k = 0; k < bench.effects_n; k++)
            assert_false (bench.effects[k].kind == FX_LAUNCH && bench.effects[k].host == 3);
        join (&bench, 3);
        assert_int_equal (bench.said[MSG_SHUTDOWN], 1);
        assert_int_equal (bench.said[MSG_WELCOME], 0);
        for (uint32_t host = 0; host < 3; host++)
            join (&bench, host);
        if (moments[i] != FACT_PASS_ENDED) {
            assert_hosts (&bench, FACTS, "012");
            for (uint32_t host = 0; host < 3; host++)
                bench.runs[host].key = last_fact (&bench, FACT_PASS_BEGAN)->of.pass_began.key;
            pass (&bench);
        }
        assert_hosts (&bench, TINY, "012");
        assert_int_equal (count (&bench, FACT_HOSTS_LEFT_BEHIND), 1);
        bench_close (&bench);
    }
}

/* ---- rungs that did not pass ---- */

TEST_ON (bench, a_failed_host_takes_no_further_part)
{
    bench_open_with (bench, keeps_going);
    fail_one (bench, 1);
    pass (bench);
    assert_hosts (bench, TINY, "023");
    fail_one (bench, 3);
    pass (bench);
    assert_blocked (bench, ALL, 2, "went on without host[1,3]");
    assert_int_equal (ended (bench)->outcome, OUTCOME_FAILED);
    assert_int_equal (ended (bench)->exit_status, 1);
    assert_said (ended (bench)->sentence, "2 of 3 rungs passed on host[0,2]");
    assert_said (ended (bench)->sentence, "not passed: facts (failed), tiny (failed), all (blocked)");
    assert_said (ended (bench)->sentence, "; rung facts (1 of 3): host1 failed: ");
}

/* One that is out need not come back to the next coordinator. */
TEST_ON (bench, a_failed_host_is_not_waited_for)
{
    bench_open_with (bench, keeps_going);
    fail_one (bench, 1);
    pass (bench);
    die_unheard (bench, FACT_PASS_ENDED);
    for (uint32_t host = 0; host < HOSTS; host++)
        if (host != 1)
            join (bench, host);
    assert_hosts (bench, TINY, "023");
}

TEST_ON (bench, nobody_left_ends_the_climb)
{
    bench_open_with (bench, keeps_going);
    end_all (bench, ENDING_EXITED, 3, "");
    assert_int_equal (count (bench, FACT_PASS_BEGAN), 1);
    assert_said (ended (bench)->sentence, "stopped at rung facts");
}

TEST_ON (bench, a_failed_slice_wide_rung_is_left_behind)
{
    bench_open_with (bench, keeps_going_in_the_middle);
    pass (bench);
    assert_hosts (bench, 1, "0123");
    end_all (bench, ENDING_EXITED, 3, "");
    assert_hosts (bench, 2, "0123");
    pass (bench);
    assert_int_equal (ended (bench)->exit_status, 1);
    assert_said (ended (bench)->sentence, "2 of 3 rungs passed on host[0-3]");
}

/* Without a cause: parts of the slice are run by themselves, and only when all rungs were tried. */
TEST_ON (bench, isolation_comes_last)
{
    bench_open_with (bench, keeps_going_in_the_middle);
    pass (bench);
    hang (bench);
    assert_hosts (bench, 2, "0123");
    assert_int_equal (last_fact (bench, FACT_PASS_BEGAN)->of.pass_began.purpose, PURPOSE_CLIMB);
    pass (bench);
    assert_int_equal (last_fact (bench, FACT_PASS_BEGAN)->of.pass_began.purpose, PURPOSE_ISOLATION);
    for (uint32_t i = 0; i < 20 && !last_fact (bench, FACT_RUN_ENDED); i++)
        pass (bench);
    assert_int_equal (count (bench, FACT_SUSPECTS_NAMED), 1);
    assert_int_equal (ended (bench)->exit_status, 1);
}

TEST_ON (bench, one_that_never_came_is_not_done_without)
{
    open_some (bench, 3, keeps_going);
    assert_int_equal (ended (bench)->exit_status, 3);
}

TEST_ON (bench, one_that_is_lost_in_between_is)
{
    bench_open_with (bench, keeps_going);
    for (uint32_t host = 0; host < HOSTS - 1; host++)
        pass_one (bench, host);
    die_unheard (bench, FACT_ATTEMPT_ENDED);
    for (uint32_t host = 0; host < HOSTS; host++)
        if (host != 1)
            join (bench, host);
    pass_one (bench, 3);
    assert_int_equal (count (bench, FACT_PASS_BEGAN), 1);
    lose (bench, 1);
    assert_int_equal (count (bench, FACT_HOSTS_LEFT_BEHIND), 1);
    assert_int_equal (last_fact (bench, FACT_HOSTS_LEFT_BEHIND)->of.hosts_left_behind.verdicts.items[0].outcome,
                      OUTCOME_LOST);
    assert_hosts (bench, TINY, "023");
}

TEST_ON (bench, cancel_ends_it)
{
    bench_open_with (bench, keeps_going);
    for (uint32_t host = 0; host < HOSTS - 1; host++)
        pass_one (bench, host);
    cancel (bench);
    end (bench, HOSTS - 1, ENDING_CANCELLED, 0, "");
    assert_int_equal (ended (bench)->exit_status, 130);
    assert_said (ended (bench)->sentence, "before rung 1 of 3 had ended");
}

/* ---- the first failure stops the others ---- */

static uint32_t cancels_after_a_failure (void (*with) (struct plan *plan))
{
    struct bench bench;
    bench_open_with (&bench, with);
    bench.said[MSG_CANCEL] = 0;
    fail_one (&bench, 0);
    bool at_once = coord_deadline_ms (bench.coord) <= bench.now_ms;
    tick_at (&bench, bench.now_ms + 1);
    uint32_t cancels = bench.said[MSG_CANCEL];
    assert_true (at_once == (cancels > 0));
    for (uint32_t host = 1; host < HOSTS && cancels; host++)
        end (&bench, host, ENDING_CANCELLED, 0, "");
    if (cancels) {
        const struct fact_pass_ended *facts = &last_fact (&bench, FACT_PASS_ENDED)->of.pass_ended;
        assert_int_equal (facts->outcome, OUTCOME_FAILED);
        assert_int_equal (facts->verdicts.items[1].outcome, OUTCOME_CANCELLED);
        assert_said (ended (&bench)->sentence, "host0 failed");
    }
    bench_close (&bench);
    return cancels;
}

TEST (the_first_failure_stops_the_others)
{
    assert_int_equal (cancels_after_a_failure (whole_ladder), 0);
    assert_int_equal (cancels_after_a_failure (keeps_going), 0);
    assert_int_equal (cancels_after_a_failure (fails_fast), HOSTS - 1);
}

static void fails_fast_and_retries (struct plan *plan)
{
    fails_fast (plan);
    plan->limits.retries = 1;
}

TEST_ON (bench, who_was_stopped_does_not_keep_it_from_being_run_again)
{
    bench_open_with (bench, fails_fast_and_retries);
    fall_for_a_while (bench);
    assert_int_equal (count (bench, FACT_RETRY_PLANNED), 1);
}

static void at_least_3_and_fast (struct plan *plan)
{
    at_least_3 (plan);
    plan->climb.fail_fast = true;
}

TEST_ON (bench, a_lost_host_that_is_done_without_stops_nobody)
{
    bench_open_with (bench, at_least_3_and_fast);
    bench->said[MSG_CANCEL] = 0;
    lose (bench, 0);
    tick_at (bench, bench->now_ms + 2);
    assert_int_equal (bench->said[MSG_CANCEL], 0);
    pass (bench);
    assert_hosts (bench, TINY, "123");
    fail_one (bench, 1);
    tick_at (bench, bench->now_ms + 2);
    assert_int_equal (bench->said[MSG_CANCEL], 2);
}
