/* links: worker_core */
/* The writer's own view of its lease. T is 1200 ms: asked for every 400, over 1164 after the question, and what writes
 * is killed 150 before that: 1014 after the question. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "common/model/lease.h"
#include "worker/core/holder.h"

enum { T_MS = 1200, ASK_MS = 400, STOP_MS = 1014, UNTIL_MS = 1164, NOW_MS = 5000 };

static struct holder wanting (uint64_t token)
{
    struct holder holder = { 0 };
    holder_want (&holder, token, T_MS);
    return holder;
}

/* It asked at NOW_MS and was answered 100 ms later. */
static struct holder holding (uint64_t token)
{
    struct holder holder = wanting (token);
    uint64_t ask = holder_ask (&holder, NOW_MS);
    holder_hear (&holder, token, ask, T_MS, NOW_MS + 100);
    assert_true (holder_may_write (&holder, NOW_MS + 100));
    return holder;
}

static void who_wants_nothing_asks_nothing_and_may_nothing (void **state)
{
    (void) state;
    struct holder holder = { 0 };
    assert_int_equal (holder_ask (&holder, NOW_MS), 0);
    holder_hear (&holder, 0, 0, T_MS, NOW_MS);
    assert_false (holder_may_write (&holder, NOW_MS));
    assert_false (holder_must_stop (&holder, NOW_MS));
    assert_true (holder_deadline_ms (&holder) == UINT64_MAX);
}

static void it_asks_at_once_and_then_every_third_of_the_term (void **state)
{
    (void) state;
    struct holder holder = wanting (7);
    assert_int_equal (holder_deadline_ms (&holder), 0);
    assert_int_equal (holder_ask (&holder, NOW_MS), 1);
    assert_int_equal (holder_ask (&holder, NOW_MS + ASK_MS - 1), 0);
    assert_int_equal (holder_deadline_ms (&holder), NOW_MS + ASK_MS);
    assert_int_equal (holder_ask (&holder, NOW_MS + ASK_MS), 2);
    assert_int_equal (holder_ask (&holder, NOW_MS + ASK_MS), 0);
}

static void a_term_of_zero_is_the_default (void **state)
{
    (void) state;
    struct holder holder = { 0 };
    holder_want (&holder, 7, 0);
    holder_ask (&holder, NOW_MS);
    assert_int_equal (holder_deadline_ms (&holder), NOW_MS + lease_ask_ms (LEASE_TERM_MS));
}

static void time_is_counted_from_the_question (void **state)
{
    (void) state;
    struct holder holder = holding (7);
    assert_int_equal (holder_stop_at_ms (&holder), NOW_MS + STOP_MS);
    assert_int_equal (holder.until_ms, NOW_MS + UNTIL_MS);
    assert_true (holder_may_write (&holder, NOW_MS + STOP_MS - 1));
    assert_false (holder_may_write (&holder, NOW_MS + STOP_MS));
    assert_int_equal (holder_deadline_ms (&holder), NOW_MS + ASK_MS); /* the next question comes before */
    assert_false (holder_must_stop (&holder, NOW_MS + STOP_MS - 1));
    assert_true (holder_must_stop (&holder, NOW_MS + STOP_MS));
    assert_false (holder.refused);
}

static void the_end_is_a_deadline_when_it_comes_before_the_next_question (void **state)
{
    (void) state;
    struct holder holder = holding (7);
    holder_ask (&holder, NOW_MS + ASK_MS);
    holder_ask (&holder, NOW_MS + 2 * ASK_MS);
    assert_int_equal (holder_deadline_ms (&holder), NOW_MS + STOP_MS);
}

static void an_answer_that_comes_too_late_is_worth_nothing (void **state)
{
    (void) state;
    struct holder holder = wanting (7);
    uint64_t ask = holder_ask (&holder, NOW_MS);
    holder_hear (&holder, 7, ask, T_MS, NOW_MS + STOP_MS);
    assert_false (holder_may_write (&holder, NOW_MS + STOP_MS));
    assert_false (holder_must_stop (&holder, NOW_MS + STOP_MS)); /* it never held: there is nothing to lose */
    ask = holder_ask (&holder, NOW_MS + STOP_MS);
    holder_hear (&holder, 7, ask, T_MS, NOW_MS + 2 * STOP_MS - 1);
    assert_true (holder_may_write (&holder, NOW_MS + 2 * STOP_MS - 1));
}

static void only_the_newest_answered_question_counts (void **state)
{
    (void) state;
    struct holder holder = wanting (7);
    uint64_t first = holder_ask (&holder, NOW_MS), second = holder_ask (&holder, NOW_MS + ASK_MS);
    holder_hear (&holder, 7, second, T_MS, NOW_MS + 500);
    assert_int_equal (holder_stop_at_ms (&holder), NOW_MS + ASK_MS + STOP_MS);
    holder_hear (&holder, 7, first, T_MS, NOW_MS + 501);
    assert_int_equal (holder_stop_at_ms (&holder), NOW_MS + ASK_MS + STOP_MS);
    holder_hear (&holder, 7, second, T_MS, NOW_MS + 502); /* said twice */
    assert_int_equal (holder_stop_at_ms (&holder), NOW_MS + ASK_MS + STOP_MS);
}

static void answers_that_fit_no_question_are_not_heard (void **state)
{
    (void) state;
    static const struct { const char *what; uint64_t token, ask; } rows[] = {
        { "another token", 8, 1 }, { "no token", 0, 1 }, { "a question never asked", 7, 2 },
        { "a question of the future in the same place", 7, 1 + HOLDER_ASKS_MAX }, { "no question", 7, 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct holder holder = wanting (7);
        holder_ask (&holder, NOW_MS);
        holder_hear (&holder, rows[i].token, rows[i].ask, T_MS, NOW_MS + 1);
        holder_hear (&holder, rows[i].token, rows[i].ask, 0, NOW_MS + 1);
        if (holder_may_write (&holder, NOW_MS + 1) || holder_must_stop (&holder, NOW_MS + 1))
            fail_msg ("heard %s", rows[i].what);
    }
}

static void questions_are_forgotten_in_order (void **state)
{
    (void) state;
    struct holder holder = wanting (7);
    for (uint64_t i = 0; i <= HOLDER_ASKS_MAX; i++)
        assert_int_equal (holder_ask (&holder, NOW_MS + i * ASK_MS), i + 1);
    uint64_t now_ms = NOW_MS + HOLDER_ASKS_MAX * ASK_MS;
    holder_hear (&holder, 7, 1, T_MS, now_ms);
    assert_true (holder_stop_at_ms (&holder) == UINT64_MAX);
    holder_hear (&holder, 7, HOLDER_ASKS_MAX, T_MS, now_ms);
    assert_int_equal (holder_stop_at_ms (&holder), now_ms - ASK_MS + STOP_MS);
}

static void the_shorter_term_of_order_and_answer_holds (void **state)
{
    (void) state;
    struct holder holder = wanting (7);
    uint64_t ask = holder_ask (&holder, NOW_MS);
    holder_hear (&holder, 7, ask, T_MS / 2, NOW_MS + 1);
    assert_int_equal (holder.until_ms, NOW_MS + lease_holder_ms (T_MS / 2));
    holder_hear (&holder, 7, ask, 100 * T_MS, NOW_MS + 2);
    assert_int_equal (holder.until_ms, NOW_MS + UNTIL_MS);
}

static void a_refusal_is_for_good (void **state)
{
    (void) state;
    struct holder holder = holding (7);
    uint64_t ask = holder_ask (&holder, NOW_MS + ASK_MS);
    holder_hear (&holder, 7, ask, 0, NOW_MS + 500);
    assert_true (holder_must_stop (&holder, NOW_MS + 500) && holder.refused);
    assert_false (holder_may_write (&holder, NOW_MS + 500));
    assert_int_equal (holder_ask (&holder, NOW_MS + 2 * ASK_MS), 0);
    assert_true (holder_deadline_ms (&holder) == UINT64_MAX);
    holder_hear (&holder, 7, ask, T_MS, NOW_MS + 501);
    assert_true (holder_must_stop (&holder, NOW_MS + 501));
}

static void who_slept_past_the_end_is_not_woken_to_life_by_an_answer (void **state)
{
    (void) state;
    struct holder holder = holding (7);
    uint64_t ask = holder_ask (&holder, NOW_MS + 900);
    holder_hear (&holder, 7, ask, T_MS, NOW_MS + STOP_MS); /* worth 900 ms by itself */
    assert_false (holder_may_write (&holder, NOW_MS + STOP_MS));
    assert_true (holder_must_stop (&holder, NOW_MS + STOP_MS));
}

static void who_slept_past_the_end_does_not_ask (void **state)
{
    (void) state;
    struct holder holder = holding (7);
    assert_int_equal (holder_ask (&holder, NOW_MS + STOP_MS), 0);
    assert_true (holder_must_stop (&holder, NOW_MS + STOP_MS - 1)); /* stays true, whatever time is said next */
}

static void what_was_dropped_is_neither_asked_for_nor_lost (void **state)
{
    (void) state;
    struct holder holder = holding (7);
    holder_drop (&holder);
    assert_false (holder_may_write (&holder, NOW_MS + 100));
    assert_false (holder_must_stop (&holder, NOW_MS + 10000));
    assert_int_equal (holder_ask (&holder, NOW_MS + 10000), 0);
}

static void an_answer_to_the_token_before_fits_nothing_of_the_next (void **state)
{
    (void) state;
    struct holder holder = holding (7);
    holder_want (&holder, 8, T_MS);
    assert_false (holder_may_write (&holder, NOW_MS + 100));
    holder_hear (&holder, 8, 1, T_MS, NOW_MS + 100); /* the number of the question about 7 */
    assert_false (holder_may_write (&holder, NOW_MS + 100));
    assert_int_equal (holder_ask (&holder, NOW_MS + 100), 2);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (who_wants_nothing_asks_nothing_and_may_nothing),
        cmocka_unit_test (it_asks_at_once_and_then_every_third_of_the_term),
        cmocka_unit_test (a_term_of_zero_is_the_default),
        cmocka_unit_test (time_is_counted_from_the_question),
        cmocka_unit_test (the_end_is_a_deadline_when_it_comes_before_the_next_question),
        cmocka_unit_test (an_answer_that_comes_too_late_is_worth_nothing),
        cmocka_unit_test (only_the_newest_answered_question_counts),
        cmocka_unit_test (answers_that_fit_no_question_are_not_heard),
        cmocka_unit_test (questions_are_forgotten_in_order),
        cmocka_unit_test (the_shorter_term_of_order_and_answer_holds),
        cmocka_unit_test (a_refusal_is_for_good),
        cmocka_unit_test (who_slept_past_the_end_is_not_woken_to_life_by_an_answer),
        cmocka_unit_test (who_slept_past_the_end_does_not_ask),
        cmocka_unit_test (what_was_dropped_is_neither_asked_for_nor_lost),
        cmocka_unit_test (an_answer_to_the_token_before_fits_nothing_of_the_next),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
