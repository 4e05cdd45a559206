/* links: simulated */
/* What the climb asks the catalogue about a cache, what it does with the answers, and for how long it waits for what.
 */
#include "test.h"
#include "write_lease_fixture.h"

static void expect_exit (const struct bench *bench, uint32_t wanted, const char *said)
{
    uint32_t exit_status = 99;
    assert_true (coord_ended (bench->coord, &exit_status));
    assert_int_equal (exit_status, wanted);
    struct text sentence = last_fact (bench, FACT_RUN_ENDED)->of.run_ended.sentence;
    assert_has (sentence, said);
}

static void lease_owner (struct bench *bench, uint64_t beat)
{
    struct core_input in = { .kind = IN_TOKEN,
                             .lease_owner = { TEXT_LIT ("ff112233445566778899aabbccddeeff"), 5, beat } };
    step (bench, &in);
}

static void exited (struct bench *bench, uint32_t host)
{
    struct core_input in = { .kind = IN_WORKER_EXITED, .host = host, .text = TEXT_LIT ("killed by signal 9") };
    step (bench, &in);
}

static uint32_t adoptions (const struct bench *bench)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < bench->facts_n; i++)
        n += bench->facts[i].kind == FACT_GENERATION_ADOPTED;
    return n;
}

/* What the sample's rung is called in a generation that covers it. */
static struct text cover_of_tiny (struct arena *arena)
{
    struct bench bench;
    open_restored (&bench);
    struct text cover = text_copy (arena, last_fact (&bench, FACT_GENERATION_PUBLISHED)->of.generation.covers.items[0]);
    bench_close (&bench);
    return cover;
}

static struct fact_generation covering (uint64_t token, struct arena *arena)
{
    struct fact_generation generation = { .token = token, .sha256 = text_format (arena, "%064u", (unsigned) token) };
    generation.covers.items = arena_array (arena, 1, sizeof (struct text));
    generation.covers.items[0] = cover_of_tiny (arena);
    generation.covers.n = 1;
    return generation;
}

/* ---- who is asked, and when ---- */

TEST_FIXTURE (struct bench, TEST_NOTHING, bench_close)

TEST_ON (bench, no_token_is_asked_for_before_the_root_was_looked_over)
{
    bench_open (bench, CACHE_SINGLE_WRITER);
    assert_string_equal (bench->awaited, "an answer of the cache's catalogue");
    found (bench, NULL);
    assert_string_equal (bench->awaited, "the audit of the cache root");
    assert_int_equal (count_effects (bench, FX_TOKEN), 0);
    audited (bench, NULL);
    assert_int_equal (count_effects (bench, FX_TOKEN), 1);
    token (bench, 1);
    assert_string_equal (bench->awaited, "");
}

TEST_ON (bench, a_token_is_asked_for_above_what_is_known)
{
    struct fact_generation base = { .token = 50, .sha256 = TEXT_LIT ("5") };
    bench_open (bench, CACHE_SINGLE_WRITER);
    found (bench, &base);
    audited (bench, NULL);
    assert_int_equal (last_effect (bench, FX_TOKEN)->token, 50);
}

TEST_ON (bench, every_host_takes_part_in_the_cold_pass_of_a_gang)
{
    bench_open_rung (bench, CACHE_SINGLE_WRITER, ALL);
    found (bench, NULL);
    audited (bench, NULL);
    token (bench, 1);
    for (uint32_t host = 0; host < HOSTS; host++) {
        assert_true (bench->ordered[host]);
        assert_int_equal (bench->runs[host].cache.role, host ? CACHE_ROLE_READER : CACHE_ROLE_WRITER);
    }
}

TEST_ON (bench, a_sealed_generation_keeps_its_lease_until_all_of_the_gang_have_ended)
{
    bench_open_rung (bench, CACHE_SINGLE_WRITER, ALL);
    found (bench, NULL);
    audited (bench, NULL);
    token (bench, 1);
    ask (bench, 0, 1, 1);
    end_run_of (bench, 0, NULL);
    uint32_t beats = count_effects (bench, FX_LEASE_BEAT);
    ask (bench, 1, 0, 0);
    assert_int_equal (count_effects (bench, FX_LEASE_BEAT), beats + 1);
    ask (bench, 2, 0, 0);
    assert_int_equal (count_effects (bench, FX_LEASE_BEAT), beats + 1);
    bench->now_ms += TERM_MS / 3;
    ask (bench, 1, 0, 0);
    assert_int_equal (count_effects (bench, FX_LEASE_BEAT), beats + 2);
}

/* ---- nobody else waits for a lease that nobody uses ---- */

TEST (a_writer_that_ends_without_a_seal_gives_the_lease_back_and_one_that_may_live_does_not)
{
    struct bench bench;
    open_granted (&bench);
    ask (&bench, 0, 1, 1);
    tick_at (&bench, bench.now_ms + TERM_MS * 102 / 100 + 10);
    assert_non_null (last_fact (&bench, FACT_LEASE_LOST));
    assert_null (last_effect (&bench, FX_LEASE_END));
    bench_close (&bench);
    open_granted (&bench);
    ask (&bench, 0, 1, 1);
    struct msg msg = { .kind = MSG_RESULT,
                       .of.result = { .key = bench.runs[0].key, .ending = ENDING_EXITED, .code = 1 } };
    tell (&bench, 0, &msg);
    assert_true (last_effect (&bench, FX_LEASE_END)->flag);
    assert_int_equal (last_effect (&bench, FX_LEASE_END)->token, 1);
    bench_close (&bench);
}

TEST_ON (bench, a_token_that_comes_when_the_run_is_over_is_given_back)
{
    bench_open (bench, CACHE_SINGLE_WRITER);
    found (bench, NULL);
    audited (bench, NULL);
    struct core_input cancel = { .kind = IN_CANCEL, .level = 1 };
    step (bench, &cancel);
    struct core_input late = { .kind = IN_TOKEN, .token = 3 };
    assert_true (coord_ended (bench->coord, NULL));
    step (bench, &late);
    late.token = 0; /* that there is none asks for nothing */
    step (bench, &late);
    assert_int_equal (count_effects (bench, FX_LEASE_END), 1);
    assert_null (last_fact (bench, FACT_WRITER_GRANTED));
    assert_int_equal (last_effect (bench, FX_LEASE_END)->token, 3);
    assert_true (last_effect (bench, FX_LEASE_END)->flag);
}

TEST_ON (bench, a_grant_that_nobody_was_told_of_ends_with_the_run)
{
    open_granted (bench);
    while (bench->facts[bench->facts_n - 1].kind != FACT_WRITER_GRANTED)
        bench->facts_n--;
    coord_destroy (bench->coord);
    bench->coord = coord_create ();
    for (uint32_t i = 0; i < bench->facts_n; i++)
        coord_apply (bench->coord, &bench->facts[i]);
    coord_resume (bench->coord, &sample_deal_key, 2, 0, ++bench->now_ms, &bench->out);
    collect (bench);
    for (uint32_t host = 0; host < HOSTS; host++)
        exited (bench, host);
    audited (bench, NULL);
    assert_true (coord_ended (bench->coord, NULL));
    assert_int_equal (last_effect (bench, FX_LEASE_END)->token, 1);
}

/* ---- every wait has a bound ---- */

TEST (a_catalogue_that_never_answers_ends_the_run)
{
    for (int asked = 0; asked < 2; asked++) {
        struct bench bench;
        bench_open (&bench, CACHE_SINGLE_WRITER);
        bench.plan.limits.lost_ms = bench.plan.limits.suspect_ms = UINT32_MAX;
        if (asked) {
            found (&bench, NULL);
            audited (&bench, NULL);
        }
        uint64_t asked_ms = bench.now_ms;
        assert_in_range (coord_deadline_ms (bench.coord), asked_ms, asked_ms + 600000);
        for (uint64_t spent_ms = 60000; spent_ms <= 720000; spent_ms += 60000) {
            tick_at (&bench, asked_ms + spent_ms);
            for (uint32_t host = 0; host < HOSTS && !coord_ended (bench.coord, NULL); host++) {
                struct msg beat = { .kind = MSG_HEARTBEAT };
                tell (&bench, host, &beat);
            }
            if (spent_ms < 600000)
                assert_false (coord_ended (bench.coord, NULL));
        }
        expect_exit (&bench, 3, "its catalogue under /cache could not be read within 10 min");
        bench_close (&bench);
    }
}

TEST_ON (bench, a_root_that_is_never_looked_over_is_not_asked_about_again_and_again)
{
    bench_open (bench, CACHE_SINGLE_WRITER);
    found (bench, NULL);
    uint64_t by_ms = coord_deadline_ms (bench->coord);
    assert_in_range (by_ms, bench->now_ms + 1, bench->now_ms + 60000);
    tick_at (bench, bench->now_ms + 60000);
    assert_int_equal (count_effects (bench, FX_CACHE_AUDIT), 1);
    assert_true (coord_deadline_ms (bench->coord) > bench->now_ms);
}

TEST_ON (bench, runs_that_hold_the_lease_in_turn_are_waited_for_an_hour)
{
    bench_open (bench, CACHE_SINGLE_WRITER);
    found (bench, NULL);
    audited (bench, NULL);
    uint64_t began_ms = bench->now_ms;
    for (uint64_t beat = 1; !coord_ended (bench->coord, NULL) && bench->now_ms < began_ms + 4000000; beat++) {
        lease_owner (bench, beat);
        for (uint32_t host = 0; host < HOSTS && !coord_ended (bench->coord, NULL); host++) {
            struct msg msg = { .kind = MSG_HEARTBEAT };
            tell (bench, host, &msg);
        }
        tick_at (bench, bench->now_ms + TERM_MS / 3 + 5);
        if (coord_ended (bench->coord, NULL))
            break;
        bench->effects_n = 0;
        found (bench, NULL);
        audited (bench, NULL);
    }
    assert_in_range (bench->now_ms - began_ms, 3600000, 3620000);
    expect_exit (bench, 3, "run ff112233445566778899aabbccddeeff holds it now and is alive");
}

/* A later rung does not pay for what an earlier one waited. */
TEST_ON (bench, a_wait_that_was_answered_by_a_generation_is_over)
{
    struct fact_generation theirs = covering (5, &t->arena);
    bench_open (bench, CACHE_SINGLE_WRITER);
    found (bench, NULL);
    audited (bench, NULL);
    lease_owner (bench, 1);
    tick_at (bench, bench->now_ms + TERM_MS / 3 + 5);
    found (bench, &theirs);
    audited (bench, NULL);
    assert_int_equal (bench->runs[1].key.pass, PASS_RESTORED);
    bench->now_ms += 3590000;
    struct finding spoiled = changed;
    spoiled.token = 5;
    end_run_of (bench, 0, NULL);
    end_run_of (bench, 1, NULL);
    end_run_of (bench, 2, &spoiled);
    audited (bench, NULL);
    for (uint64_t beat = 2; beat < 6; beat++) { /* it writes again */
        lease_owner (bench, beat);
        tick_at (bench, bench->now_ms + TERM_MS / 3 + 5);
        found (bench, NULL);
    }
    assert_false (coord_ended (bench->coord, NULL));
}

TEST_ON (bench, what_another_run_published_is_looked_over_before_it_is_used)
{
    struct fact_generation theirs = covering (5, &t->arena);
    bench_open (bench, CACHE_SINGLE_WRITER);
    found (bench, NULL);
    audited (bench, NULL);
    lease_owner (bench, 1);
    tick_at (bench, bench->now_ms + TERM_MS / 3 + 5);
    uint32_t looked = count_effects (bench, FX_CACHE_AUDIT);
    found (bench, &theirs);
    assert_int_equal (count_effects (bench, FX_CACHE_AUDIT), looked + 1);
    assert_false (bench->ordered[1]);
}

/* An answer that nobody waits for any more, and one that is no newer than what is known. */
TEST_ON (bench, what_is_known_already_is_not_adopted_again)
{
    struct fact_generation known = covering (5, &t->arena), newer = covering (6, &t->arena);
    known.covers.n = 0; /* of another rung: this one has to be compiled */
    bench_open (bench, CACHE_SINGLE_WRITER);
    found (bench, &known);
    found (bench, &newer);
    assert_int_equal (adoptions (bench), 1);
    audited (bench, NULL);
    lease_owner (bench, 1);
    tick_at (bench, bench->now_ms + TERM_MS / 3 + 5);
    found (bench, &known);
    assert_int_equal (adoptions (bench), 1);
    lease_owner (bench, 2);
    tick_at (bench, bench->now_ms + TERM_MS / 3 + 5);
    found (bench, &newer);
    assert_int_equal (adoptions (bench), 2);
}

/* The base is the writer's too: what it did not use stays, and what it found has its compile time from there. */
TEST_ON (bench, a_generation_has_the_keys_of_its_base_and_its_own)
{
    struct cache_key of_base[] = { { .key = TEXT_LIT ("k1"), .compile_ms = 700 },
                                   { .key = TEXT_LIT ("k2"), .compile_ms = 300 },
                                   { .key = TEXT_LIT ("k3"), .compile_ms = 9 } },
                     own[] = { { .key = TEXT_LIT ("k3"), .compile_ms = 20 }, { .key = TEXT_LIT ("k2") } };
    struct fact_generation base = covering (5, &t->arena);
    struct msg msg = { .kind = MSG_RESULT };
    uint64_t secrets[HOSTS] = { 0 };
    base.covers.n = 0;
    base.keys.items = of_base;
    base.keys.n = 3;
    bench_open (bench, CACHE_SINGLE_WRITER);
    found (bench, &base);
    audited (bench, NULL);
    token (bench, 6);
    ask (bench, 0, 6, 1);
    sample_result (&bench->runs[0], secrets, &msg.of.result, &t->arena);
    msg.of.result.keys.items = own;
    msg.of.result.keys.n = 2;
    tell (bench, 0, &msg);
    const struct fact_generation *published = &last_fact (bench, FACT_GENERATION_PUBLISHED)->of.generation;
    static const struct {
        const char *key;
        uint64_t compile_ms;
    } wanted[] = { { "k3", 20 }, { "k2", 300 }, { "k1", 700 } };
    assert_int_equal (published->keys.n, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_text (published->keys.items[i].key, wanted[i].key);
        assert_int_equal (published->keys.items[i].compile_ms, wanted[i].compile_ms);
    }
}

TEST_ON (bench, a_rung_that_is_only_warmed_has_passed_when_its_generation_is_published)
{
    bench_open (bench, CACHE_WARM_ONLY);
    found (bench, NULL);
    audited (bench, NULL);
    token (bench, 1);
    ask (bench, 0, 1, 1);
    end_run_of (bench, 0, NULL);
    audited (bench, NULL);
    assert_non_null (last_fact (bench, FACT_PASS_SKIPPED));
    assert_int_equal (bench->coord->state->rungs.items[0].outcome, OUTCOME_PASSED);
    expect_exit (bench, 0, "1 of 1 rungs passed");
}

TEST_ON (bench, a_cache_of_each_host_has_its_family_s_folder_and_no_writer)
{
    bench_open (bench, CACHE_PER_HOST);
    assert_int_equal (bench->runs[1].key.pass, PASS_COLD);
    assert_int_equal (bench->runs[1].cache.role, CACHE_ROLE_OWN);
    assert_int_equal (bench->runs[1].cache.frontend_root.len, strlen ("/cache/jax/0123456789abcdef"));
    assert_true (text_starts (bench->runs[1].cache.frontend_root, "/cache/jax/"));
}

/* ---- one that did not serve ---- */

static void open_refitted (struct bench *bench, struct fact_generation *misfit, struct arena *arena)
{
    *misfit = covering (5, arena);
    bench_open (bench, CACHE_SINGLE_WRITER);
    found (bench, misfit);
    audited (bench, NULL);
    assert_int_equal (bench->runs[1].key.pass, PASS_RESTORED);
    for (uint32_t host = 0; host < HOSTS; host++) {
        struct arena own = { 0 };
        uint64_t secrets[HOSTS] = { 0 };
        struct msg msg = { .kind = MSG_RESULT };
        sample_result (&bench->runs[host], secrets, &msg.of.result, &own);
        msg.of.result.counters.items[1].value = 0; /* cache_hits */
        tell (bench, host, &msg);
        arena_release (&own);
    }
    audited (bench, NULL);
}

TEST_ON (bench, what_did_not_serve_is_not_found_again)
{
    struct fact_generation misfit, newer = covering (6, &t->arena);
    open_refitted (bench, &misfit, &t->arena);
    lease_owner (bench, 1);
    tick_at (bench, bench->now_ms + TERM_MS / 3 + 5);
    found (bench, &misfit);
    assert_int_equal (adoptions (bench), 1);
    lease_owner (bench, 2);
    tick_at (bench, bench->now_ms + TERM_MS / 3 + 5);
    found (bench, &newer);
    assert_int_equal (adoptions (bench), 2);
    audited (bench, NULL);
    assert_int_equal (bench->runs[1].cache.token, 6); /* nothing is compiled that somebody published meanwhile */
}

/* ---- what is said, and how long a program's cache may take ---- */

TEST_ON (bench, read_only_says_why_nothing_could_be_found)
{
    struct core_input in = { .kind = IN_CACHE_FOUND,
                             .text = TEXT_LIT ("catalogue.db cannot be opened: permission denied") };
    bench_open (bench, CACHE_READ_ONLY);
    step (bench, &in);
    audited (bench, NULL);
    expect_exit (bench, 3, "permission denied");
}

/* The worker gives what it does after the program as long as the program: worker/attempt/attempt.c. */
TEST_ON (bench, looking_over_what_was_read_may_take_as_long_as_the_program)
{
    open_restored (bench);
    uint64_t began_ms = bench->now_ms, most_ms = 60000 + 2 * 10000 + 60000 + 15000;
    for (uint32_t host = 0; host < HOSTS; host++)
        ask (bench, host, 0, 0);
    tick_at (bench, began_ms + most_ms - 1000);
    assert_int_equal (bench->said[MSG_CANCEL], 0);
    tick_at (bench, began_ms + most_ms + 1000);
    assert_int_equal (bench->said[MSG_CANCEL], HOSTS);
}
