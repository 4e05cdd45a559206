/* links: simulated */
/* Who writes the cache when the climb goes on without hosts that might. The writers are host0 and host1. */
#include "test.h"
#include "write_lease_fixture.h"

static void lose (struct bench *bench, uint32_t host)
{
    struct core_input in = { .kind = IN_WORKER_EXITED, .host = host, .text = TEXT_LIT ("killed") };
    step (bench, &in);
}

static void open_asked (struct bench *bench, struct climb_policy policy)
{
    bench_climb = policy;
    bench_open (bench, CACHE_SINGLE_WRITER);
    found (bench, NULL);
    audited (bench, NULL);
    assert_int_equal (count_effects (bench, FX_TOKEN), 1);
}

static void assert_writes (const struct bench *bench, uint32_t host, uint64_t of)
{
    const struct fact_pass_began *began = &last_fact (bench, FACT_PASS_BEGAN)->of.pass_began;
    assert_int_equal (began->key.pass, PASS_COLD);
    assert_int_equal (began->hosts.n, 1);
    assert_int_equal (began->hosts.items[0], host);
    assert_int_equal (bench->runs[host].cache.role, CACHE_ROLE_WRITER);
    assert_int_equal (bench->runs[host].cache.token, of);
}

TEST_FIXTURE (struct bench, TEST_NOTHING, bench_close)

TEST_ON (bench, one_that_is_absent_is_not_asked)
{
    open_asked (bench, (struct climb_policy){ .min_hosts = 2 });
    lose (bench, 0);
    token (bench, 1);
    assert_writes (bench, 1, 1);
    ask (bench, 1, 1, 1);
    end_run_of (bench, 1, NULL);
    audited (bench, NULL);
    assert_int_equal (last_fact (bench, FACT_PASS_BEGAN)->of.pass_began.hosts.n, 2);
    end_run_of (bench, 1, NULL);
    end_run_of (bench, 2, NULL);
    audited (bench, NULL);
    assert_int_equal (last_fact (bench, FACT_RUN_ENDED)->of.run_ended.exit_status, 1);
}

/* It was granted a generation, and was told nothing before the coordinator died: the lease goes back at once. */
TEST_ON (bench, the_grant_of_one_that_is_absent_is_returned)
{
    open_asked (bench, (struct climb_policy){ .min_hosts = 2 });
    token (bench, 1);
    while (bench->facts[bench->facts_n - 1].kind != FACT_WRITER_GRANTED)
        bench->facts_n--;
    coord_destroy (bench->coord);
    bench->coord = coord_create ();
    for (uint32_t i = 0; i < bench->facts_n; i++)
        coord_apply (bench->coord, &bench->facts[i]);
    coord_resume (bench->coord, &sample_deal_key, 2, 0, ++bench->now_ms, &bench->out);
    collect (bench);
    lose (bench, 0);
    for (uint32_t host = 1; host < HOSTS; host++)
        tell (bench, host,
              &(struct msg){ .kind = MSG_HELLO,
                             .of.hello = { .version = TEXT_LIT ("t"), .pid = 100 + host, .pid_start = 1 } });
    const struct effect *returned = last_effect (bench, FX_LEASE_END);
    assert_non_null (returned);
    assert_int_equal (returned->token, 1);
    audited (bench, NULL);
    assert_int_equal (count_effects (bench, FX_TOKEN), 2);
    token (bench, 2);
    assert_writes (bench, 1, 2);
}

TEST_ON (bench, a_writer_that_fails_is_followed_by_the_next_and_then_by_nobody)
{
    open_asked (bench, (struct climb_policy){ .keep_going = true });
    for (uint32_t host = 0; host < 2; host++) {
        token (bench, host + 1);
        assert_writes (bench, host, host + 1);
        ask (bench, host, host + 1, 1);
        tell (bench, host,
              &(struct msg){ .kind = MSG_RESULT,
                             .of.result = { .key = bench->runs[host].key, .ending = ENDING_EXITED, .code = 3 } });
        audited (bench, NULL);
    }
    const struct fact_pass_ended *ended = &last_fact (bench, FACT_PASS_ENDED)->of.pass_ended;
    assert_int_equal (ended->key.attempt, 0);
    assert_int_equal (ended->verdicts.n, 1);
    assert_int_equal (ended->verdicts.items[0].host, 2);
    assert_has (ended->verdicts.items[0].cause, "no host that may write the cache is left");
    assert_int_equal (last_fact (bench, FACT_RUN_ENDED)->of.run_ended.outcome, OUTCOME_FAILED);
    assert_int_equal (count_effects (bench, FX_TOKEN), 2);
}
