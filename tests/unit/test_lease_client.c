/* links: worker_core */
/* The writer's own view of its lease. T is 1200 ms: asked for every 400, every 80 until an answer comes, over 1164 after the question, and what writes
 * is killed 150 before that: 1014 after the question. */
#include "common/model/lease.h"
#include "lease_deadline.h"
#include "test.h"

enum { T_MS = 1200, ASK_MS = 400, REPEAT_MS = 80, STOP_MS = 1014, UNTIL_MS = 1164, NOW_MS = 5000 };

static struct lease_client wanting (uint64_t token)
{
    struct lease_client lease_client = { 0 };
    lease_client_want (&lease_client, token, T_MS);
    return lease_client;
}

/* It asked at NOW_MS and was answered 100 ms later. */
static struct lease_client holding (uint64_t token)
{
    struct lease_client lease_client = wanting (token);
    uint64_t ask = lease_client_begin_ask (&lease_client, NOW_MS);
    lease_client_receive (&lease_client, token, ask, T_MS, NOW_MS + 100);
    assert_true (lease_client_may_write (&lease_client, NOW_MS + 100));
    return lease_client;
}

TEST (who_wants_nothing_asks_nothing_and_may_nothing)
{
    struct lease_client lease_client = { 0 };
    assert_int_equal (lease_client_begin_ask (&lease_client, NOW_MS), 0);
    lease_client_receive (&lease_client, 0, 0, T_MS, NOW_MS);
    assert_false (lease_client_may_write (&lease_client, NOW_MS));
    assert_false (lease_client_must_stop (&lease_client, NOW_MS));
    assert_true (lease_client_deadline_ms (&lease_client) == UINT64_MAX);
}

TEST (it_asks_at_once_and_then_every_third_of_the_term)
{
    struct lease_client lease_client = wanting (7);
    assert_int_equal (lease_client_deadline_ms (&lease_client), 0);
    assert_int_equal (lease_client_begin_ask (&lease_client, NOW_MS), 1);
    lease_client_receive (&lease_client, 7, 1, T_MS, NOW_MS);
    assert_int_equal (lease_client_begin_ask (&lease_client, NOW_MS + ASK_MS - 1), 0);
    assert_int_equal (lease_client_deadline_ms (&lease_client), NOW_MS + ASK_MS);
    assert_int_equal (lease_client_begin_ask (&lease_client, NOW_MS + ASK_MS), 2);
    assert_int_equal (lease_client_begin_ask (&lease_client, NOW_MS + ASK_MS), 0);
}

/* A cut that begins as it asks, and lasts for two fifths of the term. */
TEST (a_question_without_an_answer_is_repeated_soon_enough)
{
    struct lease_client lease_client = holding (7);
    uint64_t cut_ms = NOW_MS + ASK_MS, until_ms = cut_ms + T_MS * 2 / 5, ask = 0, at_ms = 0;
    for (at_ms = cut_ms; at_ms <= until_ms; at_ms = lease_client_ask_at_ms (&lease_client)) {
        assert_int_not_equal (ask = lease_client_begin_ask (&lease_client, at_ms), 0);
        assert_int_equal (lease_client_ask_at_ms (&lease_client), at_ms + REPEAT_MS);
    }
    assert_int_not_equal (ask = lease_client_begin_ask (&lease_client, at_ms), 0);
    lease_client_receive (&lease_client, 7, ask, T_MS, at_ms + 50);
    assert_false (lease_client_must_stop (&lease_client, at_ms + 50));
    assert_int_equal (lease_client_ask_at_ms (&lease_client), at_ms + ASK_MS);
}

TEST (a_term_of_zero_is_the_default)
{
    struct lease_client lease_client = { 0 };
    lease_client_want (&lease_client, 7, 0);
    lease_client_begin_ask (&lease_client, NOW_MS);
    assert_int_equal (lease_client_deadline_ms (&lease_client), NOW_MS + lease_repeat_ms (LEASE_TERM_MS));
}

TEST (time_is_counted_from_the_question)
{
    struct lease_client lease_client = holding (7);
    assert_int_equal (lease_client_stop_at_ms (&lease_client), NOW_MS + STOP_MS);
    assert_int_equal (lease_client.until_ms, NOW_MS + UNTIL_MS);
    assert_true (lease_client_may_write (&lease_client, NOW_MS + STOP_MS - 1));
    assert_false (lease_client_may_write (&lease_client, NOW_MS + STOP_MS));
    assert_int_equal (lease_client_deadline_ms (&lease_client), NOW_MS + ASK_MS); /* the next question comes before */
    assert_false (lease_client_must_stop (&lease_client, NOW_MS + STOP_MS - 1));
    assert_true (lease_client_must_stop (&lease_client, NOW_MS + STOP_MS));
    assert_false (lease_client.refused);
}

TEST (the_end_is_a_deadline_when_it_comes_before_the_next_question)
{
    struct lease_client lease_client = holding (7);
    uint64_t asked_ms = NOW_MS + STOP_MS - REPEAT_MS + 1;
    lease_client_begin_ask (&lease_client, asked_ms);
    assert_int_equal (lease_client_ask_at_ms (&lease_client), asked_ms + REPEAT_MS);
    assert_int_equal (lease_client_deadline_ms (&lease_client), NOW_MS + STOP_MS);
}

TEST (an_answer_that_comes_too_late_is_worth_nothing)
{
    struct lease_client lease_client = wanting (7);
    uint64_t ask = lease_client_begin_ask (&lease_client, NOW_MS);
    lease_client_receive (&lease_client, 7, ask, T_MS, NOW_MS + STOP_MS);
    assert_false (lease_client_may_write (&lease_client, NOW_MS + STOP_MS));
    assert_false (
        lease_client_must_stop (&lease_client, NOW_MS + STOP_MS)); /* it never held: there is nothing to lose */
    ask = lease_client_begin_ask (&lease_client, NOW_MS + STOP_MS);
    lease_client_receive (&lease_client, 7, ask, T_MS, NOW_MS + 2 * STOP_MS - 1);
    assert_true (lease_client_may_write (&lease_client, NOW_MS + 2 * STOP_MS - 1));
}

TEST (only_the_newest_answered_question_counts)
{
    struct lease_client lease_client = wanting (7);
    uint64_t first = lease_client_begin_ask (&lease_client, NOW_MS),
             second = lease_client_begin_ask (&lease_client, NOW_MS + ASK_MS);
    lease_client_receive (&lease_client, 7, second, T_MS, NOW_MS + 500);
    assert_int_equal (lease_client_stop_at_ms (&lease_client), NOW_MS + ASK_MS + STOP_MS);
    lease_client_receive (&lease_client, 7, first, T_MS, NOW_MS + 501);
    assert_int_equal (lease_client_stop_at_ms (&lease_client), NOW_MS + ASK_MS + STOP_MS);
    lease_client_receive (&lease_client, 7, second, T_MS, NOW_MS + 502); /* said twice */
    assert_int_equal (lease_client_stop_at_ms (&lease_client), NOW_MS + ASK_MS + STOP_MS);
}

TEST (answers_that_fit_no_question_are_not_heard)
{
    static const struct {
        const char *what;
        uint64_t token, ask;
    } rows[] = {
        { "another token", 8, 1 },
        { "no token", 0, 1 },
        { "a question never asked", 7, 2 },
        { "a question of the future in the same place", 7, 1 + LEASE_CLIENT_ASKS_MAX },
        { "no question", 7, 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct lease_client lease_client = wanting (7);
        lease_client_begin_ask (&lease_client, NOW_MS);
        lease_client_receive (&lease_client, rows[i].token, rows[i].ask, T_MS, NOW_MS + 1);
        lease_client_receive (&lease_client, rows[i].token, rows[i].ask, 0, NOW_MS + 1);
        if (lease_client_may_write (&lease_client, NOW_MS + 1) || lease_client_must_stop (&lease_client, NOW_MS + 1))
            fail_msg ("heard %s", rows[i].what);
    }
}

TEST (questions_are_forgotten_in_order)
{
    struct lease_client lease_client = wanting (7);
    for (uint64_t i = 0; i <= LEASE_CLIENT_ASKS_MAX; i++)
        assert_int_equal (lease_client_begin_ask (&lease_client, NOW_MS + i * ASK_MS), i + 1);
    uint64_t now_ms = NOW_MS + LEASE_CLIENT_ASKS_MAX * ASK_MS;
    lease_client_receive (&lease_client, 7, 1, T_MS, now_ms);
    assert_true (lease_client_stop_at_ms (&lease_client) == UINT64_MAX);
    lease_client_receive (&lease_client, 7, LEASE_CLIENT_ASKS_MAX, T_MS, now_ms);
    assert_int_equal (lease_client_stop_at_ms (&lease_client), now_ms - ASK_MS + STOP_MS);
}

TEST (the_shorter_term_of_order_and_answer_holds)
{
    struct lease_client lease_client = wanting (7);
    uint64_t ask = lease_client_begin_ask (&lease_client, NOW_MS);
    lease_client_receive (&lease_client, 7, ask, T_MS / 2, NOW_MS + 1);
    assert_int_equal (lease_client.until_ms, NOW_MS + lease_holder_ms (T_MS / 2));
    lease_client_receive (&lease_client, 7, ask, 100 * T_MS, NOW_MS + 2);
    assert_int_equal (lease_client.until_ms, NOW_MS + UNTIL_MS);
}

TEST (a_refusal_is_for_good)
{
    struct lease_client lease_client = holding (7);
    uint64_t ask = lease_client_begin_ask (&lease_client, NOW_MS + ASK_MS);
    lease_client_receive (&lease_client, 7, ask, 0, NOW_MS + 500);
    assert_true (lease_client_must_stop (&lease_client, NOW_MS + 500) && lease_client.refused);
    assert_false (lease_client_may_write (&lease_client, NOW_MS + 500));
    assert_int_equal (lease_client_begin_ask (&lease_client, NOW_MS + 2 * ASK_MS), 0);
    assert_true (lease_client_deadline_ms (&lease_client) == UINT64_MAX);
    lease_client_receive (&lease_client, 7, ask, T_MS, NOW_MS + 501);
    assert_true (lease_client_must_stop (&lease_client, NOW_MS + 501));
}

TEST (who_slept_past_the_end_is_not_woken_to_life_by_an_answer)
{
    struct lease_client lease_client = holding (7);
    uint64_t ask = lease_client_begin_ask (&lease_client, NOW_MS + 900);
    lease_client_receive (&lease_client, 7, ask, T_MS, NOW_MS + STOP_MS); /* worth 900 ms by itself */
    assert_false (lease_client_may_write (&lease_client, NOW_MS + STOP_MS));
    assert_true (lease_client_must_stop (&lease_client, NOW_MS + STOP_MS));
}

TEST (who_slept_past_the_end_does_not_ask)
{
    struct lease_client lease_client = holding (7);
    assert_int_equal (lease_client_begin_ask (&lease_client, NOW_MS + STOP_MS), 0);
    assert_true (
        lease_client_must_stop (&lease_client, NOW_MS + STOP_MS - 1)); /* stays true, whatever time is said next */
}

TEST (what_was_dropped_is_neither_asked_for_nor_lost)
{
    struct lease_client lease_client = holding (7);
    lease_client_drop (&lease_client);
    assert_false (lease_client_may_write (&lease_client, NOW_MS + 100));
    assert_false (lease_client_must_stop (&lease_client, NOW_MS + 10000));
    assert_int_equal (lease_client_begin_ask (&lease_client, NOW_MS + 10000), 0);
}

TEST (an_answer_to_the_token_before_fits_nothing_of_the_next)
{
    struct lease_client lease_client = holding (7);
    lease_client_want (&lease_client, 8, T_MS);
    assert_false (lease_client_may_write (&lease_client, NOW_MS + 100));
    lease_client_receive (&lease_client, 8, 1, T_MS, NOW_MS + 100); /* the number of the question about 7 */
    assert_false (lease_client_may_write (&lease_client, NOW_MS + 100));
    assert_int_equal (lease_client_begin_ask (&lease_client, NOW_MS + 100), 2);
}
