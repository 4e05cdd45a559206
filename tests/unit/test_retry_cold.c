/* links: simulated */
/* A cold pass that is run again: who may write then, and what of it is a retry. */
#include "test.h"
#include "write_lease_fixture.h"

static const struct fact_pass_began *began (const struct bench *bench)
{
    return &last_fact (bench, FACT_PASS_BEGAN)->of.pass_began;
}

static void fall_for_a_while (struct bench *bench, uint32_t host)
{
    struct msg msg = { .kind = MSG_RESULT,
                       .of.result = { .key = bench->runs[host].key,
                                      .ending = ENDING_EXITED,
                                      .code = 1,
                                      .tail = TEXT_LIT ("metadata server: 503") } };
    tell (bench, host, &msg);
}

/* To where the writer, host0 with token 1, fell and is to be run again. */
static void open_failed (struct bench *bench)
{
    open_granted (bench);
    ask (bench, 0, 1, 1);
    fall_for_a_while (bench, 0);
    assert_int_equal (count (bench, FACT_RETRY_PLANNED), 1);
    assert_true (last_fact (bench, FACT_RETRY_PLANNED)->of.retry_planned.key.pass == PASS_COLD);
    assert_int_equal (count_effects (bench, FX_TOKEN), 1); /* none is held while it waits */
}

/* What the root holds is looked over before anybody writes again. */
static void await_token (struct bench *bench, uint32_t nth)
{
    tick_at (bench, bench->now_ms + RETRY_WAIT_MS);
    audited (bench, NULL);
    assert_int_equal (count_effects (bench, FX_TOKEN), nth);
}

TEST_FIXTURE (struct bench, TEST_NOTHING, bench_close)

TEST_ON (bench, a_cold_pass_that_is_run_again_has_a_token_of_its_own)
{
    open_failed (bench);
    await_token (bench, 2);
    assert_int_equal (count (bench, FACT_PASS_BEGAN), 1);
    token (bench, 2);
    assert_int_equal (began (bench)->purpose, PURPOSE_RETRY);
    assert_int_equal (began (bench)->key.attempt, 2);
    assert_int_equal (bench->runs[0].cache.role, CACHE_ROLE_WRITER);
    assert_int_equal (bench->runs[0].cache.token, 2);
    ask (bench, 0, 2, 1);
    end_run_of (bench, 0, NULL);
    assert_int_equal (last_fact (bench, FACT_GENERATION_PUBLISHED)->of.generation.token, 2);
}

TEST_ON (bench, a_death_before_the_token_comes_neither_waits_nor_counts_again)
{
    open_failed (bench);
    await_token (bench, 2);
    restart (bench);
    await_token (bench, 3);
    token (bench, 3);
    assert_int_equal (count (bench, FACT_RETRY_PLANNED), 1);
    assert_int_equal (began (bench)->purpose, PURPOSE_RETRY);
}

TEST_ON (bench, what_follows_a_retry_is_none)
{
    open_failed (bench);
    await_token (bench, 2);
    token (bench, 2);
    assert_int_equal (began (bench)->purpose, PURPOSE_RETRY);
    struct core_input taken = { .kind = IN_LEASE_TAKEN, .token = 2 };
    step (bench, &taken);
    assert_int_equal (count (bench, FACT_LEASE_LOST), 1);
    fall_for_a_while (bench, 0);
    assert_int_equal (count (bench, FACT_RETRY_PLANNED), 1); /* a lost lease has a rule of its own */
    tick_at (bench, bench->now_ms + 4 * TERM_MS);
    audited (bench, NULL);
    token (bench, 3);
    assert_int_equal (began (bench)->key.attempt, 3);
    assert_int_equal (began (bench)->purpose, PURPOSE_CLIMB);
}

TEST_ON (bench, cold_and_restored_have_a_budget_each)
{
    open_failed (bench);
    await_token (bench, 2);
    token (bench, 2);
    ask (bench, 0, 2, 1);
    end_run_of (bench, 0, NULL);
    audited (bench, NULL);
    assert_int_equal (began (bench)->key.pass, PASS_RESTORED);
    assert_int_equal (began (bench)->purpose, PURPOSE_CLIMB);
    end_run_of (bench, 0, NULL);
    end_run_of (bench, 1, NULL);
    fall_for_a_while (bench, 2);
    assert_int_equal (count (bench, FACT_RETRY_PLANNED), 2);
    tick_at (bench, bench->now_ms + RETRY_WAIT_MS);
    audited (bench, NULL);
    assert_int_equal (began (bench)->key.pass, PASS_RESTORED);
    assert_int_equal (began (bench)->purpose, PURPOSE_RETRY);
    assert_int_equal (began (bench)->hosts.n, HOSTS);
    fall_for_a_while (bench, 0);
    end_run_of (bench, 1, NULL);
    end_run_of (bench, 2, NULL);
    assert_int_equal (count (bench, FACT_RETRY_PLANNED), 2);
}

/* Another run wrote what this one needs while it waited: nothing cold is left to do. */
TEST (what_another_run_published_meanwhile_is_restored_and_no_retry)
{
    struct bench bench;
    struct fact_generation theirs = { .token = 9, .sha256 = TEXT_LIT ("9") };
    open_restored (&bench);
    theirs.covers.items = arena_alloc (&t->arena, sizeof (struct text));
    theirs.covers.items[0] = text_copy (&t->arena,
                                        last_fact (&bench, FACT_GENERATION_PUBLISHED)->of.generation.covers.items[0]);
    theirs.covers.n = 1;
    bench_close (&bench);
    open_failed (&bench);
    await_token (&bench, 2);
    struct core_input lease_owner = { .kind = IN_TOKEN,
                                      .lease_owner = { TEXT_LIT ("ff112233445566778899aabbccddeeff"), 5, 1 } };
    step (&bench, &lease_owner);
    tick_at (&bench, bench.now_ms + TERM_MS);
    found (&bench, &theirs);
    audited (&bench, NULL);
    assert_int_equal (began (&bench)->key.pass, PASS_RESTORED);
    assert_int_equal (began (&bench)->purpose, PURPOSE_CLIMB);
    bench_close (&bench);
}
