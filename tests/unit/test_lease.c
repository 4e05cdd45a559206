/* links: coordinator_core */
/* One bundle's lease as its grantor sees it. T is 1000 ms: over after 1021, free after 2021. */
#include "common/model/lease.h"
#include "coordinator/core/lease.h"
#include "test.h"

enum { T_MS = 1000, OVER_MS = 1021, FREE_MS = 2021 };

static struct lease fresh (void)
{
    struct lease lease;
    lease_init (&lease, T_MS);
    return lease;
}

static struct lease granted (uint64_t token, uint32_t host, uint64_t now_ms)
{
    struct lease lease = fresh ();
    lease_grant (&lease, token, host, now_ms);
    return lease;
}

TEST (the_lease_client_gives_up_before_the_grantor_does_whatever_the_term)
{
    static const uint64_t terms_ms[] = { 1, 2, 3, 100, 1000, LEASE_TERM_MS, 60 * 60 * 1000 };
    for (size_t i = 0; i < sizeof terms_ms / sizeof terms_ms[0]; i++) {
        uint64_t term_ms = terms_ms[i];
        /* A clock that is 1 % slow counts the holder's time, one that is 1 % fast the grantor's. */
        assert_true (lease_holder_ms (term_ms) * 10100 / 99 < lease_grantor_ms (term_ms) * 100);
        assert_true (lease_kill_ms (term_ms) + lease_ask_ms (term_ms) < lease_holder_ms (term_ms) || term_ms < 3);
        assert_int_equal (lease_delay_ms (term_ms), term_ms);
    }
}

TEST (a_term_of_zero_is_the_default)
{
    struct lease lease;
    lease_init (&lease, 0);
    assert_int_equal (lease.term_ms, LEASE_TERM_MS);
}

TEST (what_nobody_was_granted_is_free)
{
    struct lease lease = fresh ();
    assert_int_equal (lease_state (&lease, 0), LEASE_FREE);
    assert_int_equal (lease_free_at (&lease), 0);
    assert_false (lease_grant_renewal (&lease, 0, 0, 10));
}

TEST (a_grant_is_held_then_over_then_free)
{
    struct lease lease = granted (7, 2, 5000);
    static const struct {
        uint64_t at_ms;
        enum lease_state state;
    } rows[] = {
        { 5000, LEASE_HELD },           { 5000 + OVER_MS - 1, LEASE_HELD },
        { 5000 + OVER_MS, LEASE_OVER }, { 5000 + FREE_MS - 1, LEASE_OVER },
        { 5000 + FREE_MS, LEASE_FREE },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal (lease_state (&lease, rows[i].at_ms), rows[i].state);
    assert_int_equal (lease_free_at (&lease), 5000 + FREE_MS);
    lease_grant (&lease, 8, 3, 5000 + FREE_MS);
    assert_int_equal (lease_state (&lease, 5000 + FREE_MS), LEASE_HELD);
}

TEST (an_answer_counts_from_when_it_is_sent)
{
    struct lease lease = granted (7, 2, 0);
    assert_true (lease_grant_renewal (&lease, 7, 2, OVER_MS - 1));
    assert_int_equal (lease_free_at (&lease), OVER_MS - 1 + FREE_MS);
    assert_int_equal (lease_state (&lease, OVER_MS - 1 + OVER_MS - 1), LEASE_HELD);
    assert_int_equal (lease_state (&lease, OVER_MS - 1 + OVER_MS), LEASE_OVER);
}

TEST (whoever_holds_nothing_is_refused_and_changes_nothing)
{
    static const struct {
        const char *who;
        uint64_t token;
        uint32_t host;
        uint64_t now_ms;
    } rows[] = {
        { "an older token", 6, 2, 10 }, { "a token never granted", 8, 2, 10 }, { "another host", 7, 3, 10 },
        { "too late", 7, 2, OVER_MS },  { "much too late", 7, 2, FREE_MS },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct lease lease = granted (7, 2, 0);
        if (lease_grant_renewal (&lease, rows[i].token, rows[i].host, rows[i].now_ms))
            fail_msg ("renewed for %s", rows[i].who);
        assert_int_equal (lease_free_at (&lease), FREE_MS);
    }
}

TEST (a_release_frees_at_once_whenever_it_is_heard)
{
    static const uint64_t at_ms[] = { 1, OVER_MS, FREE_MS };
    for (size_t i = 0; i < sizeof at_ms / sizeof at_ms[0]; i++) {
        struct lease lease = granted (7, 2, 0);
        lease_note_released (&lease, 7);
        assert_false (lease.held);
        assert_int_equal (lease_state (&lease, at_ms[i]), LEASE_FREE);
        assert_int_equal (lease_free_at (&lease), 0);
        assert_false (lease_grant_renewal (&lease, 7, 2, at_ms[i]));
        lease_grant (&lease, 8, 2, at_ms[i]);
    }
}

TEST (a_release_of_another_token_is_not_this_ones)
{
    struct lease lease = granted (7, 2, 0);
    lease_note_released (&lease, 6);
    lease_note_released (&lease, 8);
    assert_int_equal (lease_state (&lease, 1), LEASE_HELD);
}

TEST (whoever_takes_over_waits_a_full_term_and_the_delay)
{
    struct lease lease = fresh ();
    lease_restart (&lease, 7, 2, 9000);
    assert_int_equal (lease_state (&lease, 9000 + OVER_MS - 1), LEASE_HELD);
    assert_int_equal (lease_state (&lease, 9000 + FREE_MS - 1), LEASE_OVER);
    assert_int_equal (lease_free_at (&lease), 9000 + FREE_MS);
}

TEST (the_lease_client_of_the_journal_is_known_again_and_nobody_else)
{
    struct lease lease = fresh ();
    lease_restart (&lease, 7, 2, 9000);
    assert_false (lease_grant_renewal (&lease, 6, 2, 9100));
    assert_false (lease_grant_renewal (&lease, 7, 1, 9100));
    assert_true (lease_grant_renewal (&lease, 7, 2, 9100));
    assert_int_equal (lease_free_at (&lease), 9100 + FREE_MS);
    lease_note_released (&lease, 7);
    assert_int_equal (lease_state (&lease, 9200), LEASE_FREE);
}

TEST (whoever_takes_over_a_run_without_a_grant_waits_for_nobody)
{
    struct lease lease = fresh ();
    lease_restart (&lease, 0, 0, 9000);
    assert_int_equal (lease_state (&lease, 9000), LEASE_FREE);
    assert_int_equal (lease.term_ms, T_MS);
}
