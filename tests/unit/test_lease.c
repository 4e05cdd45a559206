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

TEST (whoever_takes_over_a_run_without_a_grant_waits_for_nobody)
{
    struct lease lease = fresh ();
    lease_restart (&lease, 0, 0, 9000);
    assert_int_equal (lease_state (&lease, 9000), LEASE_FREE);
    assert_int_equal (lease.term_ms, T_MS);
}
