/* links: verdict */
/* What is run again, why, and after how long. */
#include "coordinator/verdict/going_on.h"
#include "test.h"

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

TEST (a_transient_cause_with_seven_that_failed_with_it_is_run_again)
{
    struct verdict verdicts[8] = { failed (0, true) };
    for (uint32_t i = 1; i < 8; i++)
        verdicts[i] = cascaded (i);
    assert_true (retry_all_transient (verdicts, 8));
}

TEST (one_cause_that_stays_forbids_it)
{
    struct verdict verdicts[] = { failed (0, true), cascaded (1), failed (2, false) };
    assert_false (retry_all_transient (verdicts, 3));
    assert_true (retry_all_transient (verdicts, 2));
}

TEST (without_any_cause_nothing_is_run_again)
{
    struct verdict verdicts[] = { cascaded (0), { .host = 1, .outcome = OUTCOME_PASSED } };
    assert_false (retry_all_transient (verdicts, 2));
    assert_false (retry_all_transient (NULL, 0));
}

TEST (the_reason_names_the_causes_and_not_who_failed_with_them)
{
    struct plan_host hosts[] = { { .name = TEXT_LIT ("h0") },
                                 { .name = TEXT_LIT ("h1") },
                                 { .name = TEXT_LIT ("h2") } };
    struct plan plan = { .hosts = { hosts, 3 } };
    struct verdict verdicts[] = { cascaded (0), failed (1, true), failed (2, true) };
    struct text why = retry_why (&plan, verdicts, 3, &t->arena);
    assert_text (why, "metadata on h[1-2]");
    assert_text (retry_first_signature (verdicts, 3), "metadata");
    verdicts[1].signature = (struct text){ 0 };
    verdicts[1].cause = TEXT_LIT ("no answer");
    why = retry_why (&plan, verdicts, 2, &t->arena);
    assert_text (why, "no answer on h1");
}

TEST (each_wait_is_twice_the_one_before)
{
    struct limits limits = { .retry_wait_ms = 2000 };
    assert_int_equal (retry_wait_ms (&limits, 1), 2000);
    assert_int_equal (retry_wait_ms (&limits, 2), 4000);
    assert_int_equal (retry_wait_ms (&limits, 5), 32000);
}
