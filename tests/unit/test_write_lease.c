/* links: simulated */
/* The cache's writer as the coordinator's core decides it: leases and their loss, other runs, modes. */
#include "test.h"
#include "write_lease_fixture.h"

/* ---- the lease ---- */

TEST_FIXTURE (struct bench, TEST_NOTHING, bench_close)

TEST_ON (bench, the_holder_is_answered_with_the_number_of_its_question)
{
    open_granted (bench);
    ask (bench, 0, 1, 17);
    assert_int_equal (bench->leased_host, 0);
    assert_int_equal (bench->leased.ask, 17);
    assert_int_equal (bench->leased.term_ms, TERM_MS);
    assert_non_null (last_effect (bench, FX_LEASE_BEAT));
}

/* Whoever has a slice's key is obeyed by the workers that wait for it. */
TEST_ON (bench, programs_are_shown_no_run_and_no_key)
{
    open_granted (bench);
    const text_list *hidden = &bench->runs[0].cache.hidden;
    assert_int_equal (hidden->n, 2);
    assert_true (text_is (hidden->items[0], "/home/runs") && text_is (hidden->items[1], "/home/slices"));
}

TEST_ON (bench, nobody_else_and_no_other_token_is_given_time)
{
    open_granted (bench);
    ask (bench, 1, 1, 1);
    assert_int_equal (bench->leased.term_ms, 0);
    ask (bench, 0, 2, 1);
    assert_int_equal (bench->leased.term_ms, 0);
    assert_null (last_effect (bench, FX_LEASE_BEAT));
}

TEST_ON (bench, a_silent_writer_loses_and_another_candidate_is_granted_after_the_lock_delay)
{
    open_granted (bench);
    ask (bench, 0, 1, 1);
    uint64_t asked_ms = bench->now_ms;
    tick_at (bench, asked_ms + TERM_MS * 102 / 100 - 10);
    assert_null (last_fact (bench, FACT_LEASE_LOST));
    tick_at (bench, asked_ms + TERM_MS * 102 / 100 + 10);
    assert_non_null (last_fact (bench, FACT_LEASE_LOST));
    audited (bench, NULL);
    uint32_t asked = count_effects (bench, FX_TOKEN);
    tick_at (bench, asked_ms + TERM_MS * 102 / 100 + DELAY_MS - 10);
    assert_int_equal (count_effects (bench, FX_TOKEN), asked);
    tick_at (bench, asked_ms + TERM_MS * 102 / 100 + DELAY_MS + 20);
    assert_int_equal (count_effects (bench, FX_TOKEN), asked + 1);
    token (bench, 2);
    assert_true (bench->ordered[1]);
    assert_int_equal (bench->runs[1].cache.token, 2);
    assert_int_equal (bench->runs[1].key.attempt, 2);
    /* the first one wakes up */
    ask (bench, 0, 1, 2);
    assert_int_equal (bench->leased.term_ms, 0);
}

TEST_ON (bench, what_a_late_writer_sealed_is_not_published)
{
    open_granted (bench);
    ask (bench, 0, 1, 1);
    tick_at (bench, bench->now_ms + TERM_MS + DELAY_MS / 2);
    end_run_of (bench, 0, NULL);
    assert_null (last_fact (bench, FACT_GENERATION_PUBLISHED));
    assert_null (last_effect (bench, FX_CACHE_PUBLISH));
}

TEST_ON (bench, a_sealed_result_is_the_release)
{
    open_granted (bench);
    ask (bench, 0, 1, 1);
    end_run_of (bench, 0, NULL);
    assert_non_null (last_fact (bench, FACT_GENERATION_PUBLISHED));
    assert_non_null (last_effect (bench, FX_CACHE_PUBLISH));
    audited (bench, NULL);
    assert_int_equal (bench->runs[2].cache.role, CACHE_ROLE_READER);
    assert_int_equal (bench->runs[2].cache.token, 1);
}

TEST_ON (bench, a_new_coordinator_grants_nothing_for_a_term_and_the_delay)
{
    open_granted (bench);
    ask (bench, 0, 1, 1);
    restart (bench);
    uint64_t began_ms = bench->now_ms;
    tick_at (bench, began_ms + TERM_MS * 102 / 100 + 50); /* the old one never comes back */
    assert_non_null (last_fact (bench, FACT_LEASE_LOST));
    audited (bench, NULL);
    uint32_t asked = count_effects (bench, FX_TOKEN);
    tick_at (bench, began_ms + TERM_MS * 102 / 100 + DELAY_MS - 50);
    assert_int_equal (count_effects (bench, FX_TOKEN), asked);
    tick_at (bench, began_ms + TERM_MS * 102 / 100 + DELAY_MS + 50);
    assert_int_equal (count_effects (bench, FX_TOKEN), asked + 1);
}

TEST_ON (bench, the_holder_of_the_journal_goes_on_under_a_new_coordinator)
{
    open_granted (bench);
    restart (bench);
    ask (bench, 0, 1, 9);
    assert_int_equal (bench->leased.term_ms, TERM_MS);
    end_run_of (bench, 0, NULL);
    assert_non_null (last_fact (bench, FACT_GENERATION_PUBLISHED));
}

/* ---- other runs ---- */

static void lease_owner (struct bench *bench, uint64_t beat)
{
    struct core_input in = { .kind = IN_TOKEN,
                             .lease_owner = { TEXT_LIT ("ff112233445566778899aabbccddeeff"), 5, beat } };
    step (bench, &in);
}

TEST_ON (bench, while_another_run_writes_its_generation_is_looked_for)
{
    bench_open (bench, CACHE_SINGLE_WRITER);
    found (bench, NULL);
    audited (bench, NULL);
    lease_owner (bench, 3);
    assert_string_equal (bench->awaited, "run ff112233, which writes this cache now (generation 5)");
    uint32_t looked = count_effects (bench, FX_CACHE_FIND);
    tick_at (bench, bench->now_ms + TERM_MS / 3 + 5);
    assert_int_equal (count_effects (bench, FX_CACHE_FIND), looked + 1);
    found (bench, NULL);
    assert_int_equal (count_effects (bench, FX_TOKEN), 2);
    assert_int_equal (last_effect (bench, FX_TOKEN)->lease_owner.token, 0);
}

/* Looks again as long as it must; returns the first question that would take the lease over. */
static uint64_t wait_for_takeover (struct bench *bench, bool beats)
{
    uint64_t began_ms = bench->now_ms, beat = 3;
    while (bench->now_ms < began_ms + 10 * TERM_MS) {
        lease_owner (bench, beats ? ++beat : beat);
        tick_at (bench, bench->now_ms + TERM_MS / 3 + 5);
        found (bench, NULL);
        if (last_effect (bench, FX_TOKEN)->lease_owner.token)
            return bench->now_ms - began_ms;
    }
    return 0;
}

TEST_ON (bench, a_run_that_beats_is_never_taken_over_and_a_silent_one_after_term_and_delay)
{
    bench_open (bench, CACHE_SINGLE_WRITER);
    found (bench, NULL);
    audited (bench, NULL);
    assert_int_equal (wait_for_takeover (bench, true), 0);
    uint64_t waited_ms = wait_for_takeover (bench, false);
    assert_in_range (waited_ms, TERM_MS * 102 / 100 + DELAY_MS, TERM_MS * 102 / 100 + DELAY_MS + TERM_MS / 2);
}

TEST_ON (bench, a_lease_that_was_taken_over_ends_our_writer)
{
    open_granted (bench);
    ask (bench, 0, 1, 1);
    struct core_input in = { .kind = IN_LEASE_TAKEN, .token = 1 };
    step (bench, &in);
    assert_non_null (last_fact (bench, FACT_LEASE_LOST));
    ask (bench, 0, 1, 2);
    assert_int_equal (bench->leased.term_ms, 0);
}

/* ---- the survey ---- */

/* Begins with a survey in which host0 has this hardware and the others have a v6e; what the cache is called then. */
static struct text bundle_on (struct bench *bench, const char *hardware, const char *cpu)
{
    bench_open (bench, CACHE_SINGLE_WRITER);
    bench_close (bench);
    *bench = (struct bench){ .now_ms = 1000 };
    sample_plan (&bench->plan, HOSTS, &bench->arena);
    bench->plan.rungs.items[0].builtin = TEXT_LIT ("cache");
    bench->plan.rungs.n = 2;
    bench->coord = coord_create ();
    outbox_init (&bench->out);
    coord_open (bench->coord, text_of ("00112233445566778899aabbccddeeff"), &bench->plan, &sample_deal_key,
                text_of ("t"), 1, bench->now_ms, &bench->out);
    collect (bench);
    all_join (bench);
    for (uint32_t host = 0; host < HOSTS; host++) {
        struct var facts[] = { { TEXT_LIT ("cache.hardware"), host ? TEXT_LIT ("4 x 0x006f") : text_of (hardware) },
                               { TEXT_LIT ("cache.cpu"), text_of (cpu) } };
        struct msg msg = { .kind = MSG_RESULT };
        msg.of.result = (struct result){ .key = bench->runs[host].key,
                                         .ending = ENDING_EXITED,
                                         .done = true,
                                         .spoke = true,
                                         .cache = { .storage = TEXT_LIT ("ab"), .level = ENFORCEMENT_NAMESPACE } };
        msg.of.result.facts.items = facts;
        msg.of.result.facts.n = 2;
        tell (bench, host, &msg);
    }
    assert_non_null (last_effect (bench, FX_CACHE_FIND));
    return last_effect (bench, FX_CACHE_FIND)->text;
}

TEST (other_hardware_has_a_cache_of_its_own)
{
    struct bench same, again, other, cpu;
    struct text name = bundle_on (&same, "4 x 0x006f", "a");
    assert_text (name, bundle_on (&again, "4 x 0x006f", "a"));
    assert_false (text_equal (name, bundle_on (&other, "4 x 0x0063", "a")));
    assert_false (text_equal (name, bundle_on (&cpu, "4 x 0x006f", "b")));
    bench_close (&same);
    bench_close (&again);
    bench_close (&other);
    bench_close (&cpu);
}

/* ---- modes ---- */

TEST_ON (bench, read_only_warms_nothing_and_says_what_is_missing)
{
    bench_open (bench, CACHE_READ_ONLY);
    found (bench, NULL);
    audited (bench, NULL);
    uint32_t exit_status = 0;
    assert_true (coord_ended (bench->coord, &exit_status));
    assert_int_equal (exit_status, 3);
    assert_null (last_effect (bench, FX_TOKEN));
    assert_has (last_fact (bench, FACT_RUN_ENDED)->of.run_ended.sentence, "read-only");
}

TEST (per_host_warms_on_every_host_without_tokens)
{
    struct bench bench;
    bench_open (&bench, CACHE_PER_HOST);
    for (uint32_t host = 0; host < HOSTS; host++) {
        assert_true (bench.ordered[host]);
        assert_int_equal (bench.runs[host].cache.role, CACHE_ROLE_OWN);
        assert_int_equal (bench.runs[host].key.pass, PASS_COLD);
    }
    end_all (&bench);
    assert_int_equal (bench.runs[1].key.pass, PASS_RESTORED);
    end_all (&bench);
    uint32_t exit_status = 9;
    assert_true (coord_ended (bench.coord, &exit_status));
    assert_int_equal (exit_status, 0);
    assert_null (last_effect (&bench, FX_TOKEN));
    bench_close (&bench);
}

TEST_ON (bench, warm_only_publishes_and_restores_nothing)
{
    bench_open (bench, CACHE_WARM_ONLY);
    found (bench, NULL);
    audited (bench, NULL);
    token (bench, 1);
    ask (bench, 0, 1, 1);
    end_run_of (bench, 0, NULL);
    audited (bench, NULL);
    uint32_t exit_status = 9;
    assert_true (coord_ended (bench->coord, &exit_status));
    assert_int_equal (exit_status, 0);
    assert_non_null (last_effect (bench, FX_CACHE_PUBLISH));
    assert_false (bench->ordered[1]);
}
