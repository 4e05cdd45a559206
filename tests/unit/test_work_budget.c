/* links: io */
/* What a reader takes at a time, and what a writer may say. */
#include "common/io/clock.h"
#include "common/io/loop.h"
#include "test.h"

TEST (a_share_ends_with_its_pieces)
{
    struct work_budget budget = work_budget_begin (3, 60000);
    for (int i = 0; i < 3; i++)
        assert_true (work_budget_take (&budget));
    assert_false (work_budget_take (&budget));
    assert_false (work_budget_take (&budget));
}

TEST (a_share_ends_with_its_time)
{
    struct work_budget none = work_budget_begin (UINT32_MAX, 0), budget = work_budget_begin (UINT32_MAX, 5);
    uint64_t began_ms = clock_boot_ms ();
    assert_false (work_budget_take (&none));
    while (work_budget_take (&budget))
        assert_true (clock_boot_ms () < began_ms + 5000);
    assert_true (clock_boot_ms () >= began_ms + 5);
    assert_int_equal (budget.pieces, 0); /* and so it can be seen without a clock */
}

static uint32_t take_all (struct rate_limit *limit, uint64_t now_ms)
{
    uint32_t n = 0;
    while (rate_limit_take (limit, 100, now_ms))
        n++;
    return n;
}

TEST (a_rate_limit_is_two_seconds_at_once_and_then_so_many_a_second)
{
    struct rate_limit limit = { 0 };
    assert_int_equal (take_all (&limit, 1000000), 200);
    assert_int_equal (take_all (&limit, 1000000), 0);
    assert_int_equal (take_all (&limit, 1000500), 50);
    assert_int_equal (take_all (&limit, 1001500), 100);
    assert_int_equal (take_all (&limit, 9000000), 200); /* a pause earns no more than that */
}

TEST (a_moderate_protocol_writer_is_always_heard)
{
    struct rate_limit limit = { 0 };
    for (uint64_t now_ms = 5; now_ms < 100000; now_ms += 10)
        assert_true (rate_limit_take (&limit, 100, now_ms));
}
