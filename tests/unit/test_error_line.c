/* links: verdict */
/* Of what is quoted of a failure, which line tells it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "coordinator/verdict/error_line.h"

/* The failure that a canary tells is also what it prints. */
static void what_the_cause_says_is_not_said_again (void **state)
{
    (void) state;
    const struct text cause = TEXT_LIT ("5 compilations, expected 1 (exited with status 1)");
    const enum outcome failed = OUTCOME_FAILED;
    assert_int_equal (error_line_beside (failed, TEXT_LIT ("5 compilations, expected 1"), cause).len, 0);
    assert_int_equal (
        error_line_beside (failed, TEXT_LIT ("sliceup_canary.Failure: 5 compilations, expected 1"), cause).len, 0);
    struct text other = TEXT_LIT ("sliceup_canary.Failure: 6 compilations, expected 1");
    assert_true (text_equal (error_line_beside (failed, other, cause), other));
    other = TEXT_LIT ("ValueError: 5 compilations, expected 1");
    assert_true (text_equal (error_line_beside (failed, other, cause), other));
    assert_int_equal (error_line_beside (failed, (struct text){ 0 }, cause).len, 0);
}

static void the_line_that_looks_like_an_error_is_told (void **state)
{
    (void) state;
    struct text lines = TEXT_LIT ("the sum is 5\nValueError: expected 6\nbye");
    assert_true (text_is (error_line_find (OUTCOME_FAILED, lines), "ValueError: expected 6"));
    assert_true (text_is (error_line_find (OUTCOME_TIMED_OUT, lines), "ValueError: expected 6"));
}

/* What a program prints last is why it ended; of one that hangs, the first line says where it stands. */
static void without_an_error_the_outcome_says_which_line_is_told (void **state)
{
    (void) state;
    struct text lines = TEXT_LIT ("the sum is 5\nit has to be 6");
    assert_true (text_is (error_line_find (OUTCOME_FAILED, lines), "it has to be 6"));
    assert_true (text_is (error_line_find (OUTCOME_TIMED_OUT, lines), "the sum is 5"));
    assert_int_equal (error_line_find (OUTCOME_FAILED, (struct text){ 0 }).len, 0);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (what_the_cause_says_is_not_said_again),
        cmocka_unit_test (the_line_that_looks_like_an_error_is_told),
        cmocka_unit_test (without_an_error_the_outcome_says_which_line_is_told),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
