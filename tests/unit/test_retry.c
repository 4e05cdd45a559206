/* links: verdict */
/* What is run again, why, and after how long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "coordinator/verdict/going_on.h"

static struct verdict failed (uint32_t host, bool transient)
{
    return (struct verdict){ .host = host,
                             .outcome = OUTCOME_FAILED,
                             .owner = OWNER_PLATFORM,
                             .signature = TEXT_LIT ("metadata"),
                             .transient = transient };
}

static struct verdict cascaded (uint32_t host)
{
    return (struct verdict){ .host = host, .outcome = OUTCOME_CASCADE, .owner = OWNER_PEER };
}

static void a_transient_cause_with_seven_that_failed_with_it_is_run_again (void **state)
{
    (void) state;
    struct verdict verdicts[8] = { failed (0, true) };
    for (uint32_t i = 1; i < 8; i++)
        verdicts[i] = cascaded (i);
    assert_true (retry_all_transient (verdicts, 8));
}

static void one_cause_that_stays_forbids_it (void **state)
{
    (void) state;
    struct verdict verdicts[] = { failed (0, true), cascaded (1), failed (2, false) };
    assert_false (retry_all_transient (verdicts, 3));
    assert_true (retry_all_transient (verdicts, 2));
}

static void without_any_cause_nothing_is_run_again (void **state)
{
    (void) state;
    struct verdict verdicts[] = { cascaded (0), { .host = 1, .outcome = OUTCOME_PASSED } };
    assert_false (retry_all_transient (verdicts, 2));
    assert_false (retry_all_transient (NULL, 0));
}

static void the_reason_names_the_causes_and_not_who_failed_with_them (void **state)
{
    (void) state;
    struct arena arena = { 0 };
    struct plan_host hosts[] = { { .name = TEXT_LIT ("h0") },
                                 { .name = TEXT_LIT ("h1") },
                                 { .name = TEXT_LIT ("h2") } };
    struct plan plan = { .hosts = { hosts, 3 } };
    struct verdict verdicts[] = { cascaded (0), failed (1, true), failed (2, true) };
    struct text why = retry_why (&plan, verdicts, 3, &arena);
    assert_true (text_is (why, "metadata on h[1-2]"));
    assert_true (text_is (retry_first_signature (verdicts, 3), "metadata"));
    verdicts[1].signature = (struct text){ 0 };
    verdicts[1].cause = TEXT_LIT ("no answer");
    why = retry_why (&plan, verdicts, 2, &arena);
    assert_true (text_is (why, "no answer on h1"));
    arena_release (&arena);
}

static void each_wait_is_twice_the_one_before (void **state)
{
    (void) state;
    struct limits limits = { .retry_wait_ms = 2000 };
    assert_int_equal (retry_wait_ms (&limits, 1), 2000);
    assert_int_equal (retry_wait_ms (&limits, 2), 4000);
    assert_int_equal (retry_wait_ms (&limits, 5), 32000);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_transient_cause_with_seven_that_failed_with_it_is_run_again),
        cmocka_unit_test (one_cause_that_stays_forbids_it),
        cmocka_unit_test (without_any_cause_nothing_is_run_again),
        cmocka_unit_test (the_reason_names_the_causes_and_not_who_failed_with_them),
        cmocka_unit_test (each_wait_is_twice_the_one_before),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
