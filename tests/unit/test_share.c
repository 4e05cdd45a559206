/* links: io */
/* What a reader takes at a time, and what a writer may say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/io/clock.h"
#include "common/io/share.h"

static void a_share_ends_with_its_pieces (void **state)
{
    (void) state;
    struct share share = share_of (3, 60000);
    for (int i = 0; i < 3; i++)
        assert_true (share_take (&share));
    assert_false (share_take (&share));
    assert_false (share_take (&share));
}

static void a_share_ends_with_its_time (void **state)
{
    (void) state;
    struct share none = share_of (UINT32_MAX, 0), share = share_of (UINT32_MAX, 5);
    uint64_t began_ms = clock_boot_ms ();
    assert_false (share_take (&none));
    while (share_take (&share))
        assert_true (clock_boot_ms () < began_ms + 5000);
    assert_true (clock_boot_ms () >= began_ms + 5);
    assert_int_equal (share.pieces, 0); /* and so it can be seen without a clock */
}

static uint32_t take_all (struct allowance *allowance, uint64_t now_ms)
{
    uint32_t n = 0;
    while (allowance_take (allowance, 100, now_ms))
        n++;
    return n;
}

static void an_allowance_is_two_seconds_at_once_and_then_so_many_a_second (void **state)
{
    (void) state;
    struct allowance allowance = { 0 };
    assert_int_equal (take_all (&allowance, 1000000), 200);
    assert_int_equal (take_all (&allowance, 1000000), 0);
    assert_int_equal (take_all (&allowance, 1000500), 50);
    assert_int_equal (take_all (&allowance, 1001500), 100);
    assert_int_equal (take_all (&allowance, 9000000), 200); /* a pause earns no more than that */
}

static void a_moderate_protocol_writer_is_always_heard (void **state)
{
    (void) state;
    struct allowance allowance = { 0 };
    for (uint64_t now_ms = 5; now_ms < 100000; now_ms += 10)
        assert_true (allowance_take (&allowance, 100, now_ms));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_share_ends_with_its_pieces),
        cmocka_unit_test (a_share_ends_with_its_time),
        cmocka_unit_test (an_allowance_is_two_seconds_at_once_and_then_so_many_a_second),
        cmocka_unit_test (a_moderate_protocol_writer_is_always_heard),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
