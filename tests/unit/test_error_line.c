/* links: verdict */
/* Of what is quoted of a failure, which line tells it. */
#include "coordinator/verdict/failure.h"
#include "test.h"

/* The failure that a canary tells is also what it prints. */
TEST (what_the_cause_says_is_not_said_again)
{
    const struct text cause = TEXT_LIT ("5 compilations, expected 1 (exited with status 1)");
    const enum outcome failed = OUTCOME_FAILED;
    assert_int_equal (error_line_beside (failed, TEXT_LIT ("5 compilations, expected 1"), cause).len, 0);
    assert_int_equal (
        error_line_beside (failed, TEXT_LIT ("sliceup_canary.Failure: 5 compilations, expected 1"), cause).len, 0);
    struct text other = TEXT_LIT ("sliceup_canary.Failure: 6 compilations, expected 1");
    assert_text (error_line_beside (failed, other, cause), other);
    other = TEXT_LIT ("ValueError: 5 compilations, expected 1");
    assert_text (error_line_beside (failed, other, cause), other);
    assert_int_equal (error_line_beside (failed, (struct text){ 0 }, cause).len, 0);
}

TEST (the_line_that_looks_like_an_error_is_told)
{
    struct text lines = TEXT_LIT ("the sum is 5\nValueError: expected 6\nbye");
    assert_text (error_line_find (OUTCOME_FAILED, lines), "ValueError: expected 6");
    assert_text (error_line_find (OUTCOME_TIMED_OUT, lines), "ValueError: expected 6");
}

TEST (who_is_killed_by_somebody_else_has_no_last_word)
{
    struct text killed = TEXT_LIT ("killed by signal 9 (Killed)"), aborted = TEXT_LIT ("killed by signal 6 (Aborted)");
    struct text lines = TEXT_LIT ("20 rounds\n40 rounds"), error = TEXT_LIT ("20 rounds\nMemoryError: no room");
    assert_int_equal (error_line_beside (OUTCOME_FAILED, lines, killed).len, 0);
    assert_text (error_line_beside (OUTCOME_FAILED, lines, aborted), "40 rounds");
    assert_text (error_line_beside (OUTCOME_FAILED, error, killed), "MemoryError: no room");
}

/* What a program prints last is why it ended; of one that hangs, the first line says where it stands. */
TEST (without_an_error_the_outcome_says_which_line_is_told)
{
    struct text lines = TEXT_LIT ("the sum is 5\nit has to be 6");
    assert_text (error_line_find (OUTCOME_FAILED, lines), "it has to be 6");
    assert_text (error_line_find (OUTCOME_TIMED_OUT, lines), "the sum is 5");
    assert_int_equal (error_line_find (OUTCOME_FAILED, (struct text){ 0 }).len, 0);
}

/* With the line of source behind it; what comes after that may be the reason. */
TEST (that_something_is_old_is_not_told_as_a_reason)
{
    struct text old = TEXT_LIT ("no cookies left\na.py:4: DeprecationWarning: use b\nwarnings.warn(\"use b\")"),
                alone = TEXT_LIT ("x.py:31: FutureWarning: `a(args...)` is deprecated"),
                after = TEXT_LIT ("x.py:31: FutureWarning: use b\na()\nno cookies left");
    assert_text (error_line_find (OUTCOME_FAILED, old), "no cookies left");
    assert_int_equal (error_line_find (OUTCOME_FAILED, alone).len, 0);
    assert_text (error_line_find (OUTCOME_FAILED, after), "no cookies left");
}

TEST (what_a_program_makes_of_a_sockets_words_is_told)
{
    struct text both = TEXT_LIT ("TimeoutError: timed out\nTimeoutError: nothing from rank 3 for 10 s");
    assert_text (error_line_find (OUTCOME_FAILED, both), "TimeoutError: nothing from rank 3 for 10 s");
    assert_text (error_line_find (OUTCOME_FAILED, TEXT_LIT ("TimeoutError: timed out\nbye")),
                 "TimeoutError: timed out");
}

static bool one_cause (const char *a, const char *b)
{
    return cause_equal (text_of (a), TEXT_LIT ("tpu-a"), text_of (b), TEXT_LIT ("tpu-b"));
}

TEST (which_of_several_says_it_does_not_part_a_cause)
{
    assert_true (one_cause ("rank 0: loss is NaN", "rank 17: loss is NaN"));
    assert_true (one_cause ("[pid=412] no route to 10.0.0.3:8476", "[pid=9] no route to 10.0.12.40:80"));
    assert_true (one_cause ("tpu-a lacks its chip", "tpu-b lacks its chip"));
    assert_true (one_cause ("Process 3 cannot bind port 8471", "process 4 cannot bind port 8472") == false);
    assert_true (one_cause ("process 3 cannot bind port 8471", "process 4 cannot bind port 8472"));
    assert_true (one_cause ("exited with status 2", "exited with status 2"));
    assert_true (one_cause ("no route to 10.0.0.3", "no route to 10.0.12.40"));
    assert_true (one_cause ("http://10.0.0.3/computeMetadata", "http://10.0.0.12/computeMetadata"));
    assert_true (one_cause ("peer=10.0.0.3, lost", "peer=10.0.0.4, lost"));
}

/* What is told of the first host of a group has to be true of all. */
TEST (values_part_causes)
{
    assert_false (one_cause ("exited with status 2", "exited with status 1"));
    assert_false (one_cause ("expected 3, got 2.5", "expected 3, got 3.5"));
    assert_false (one_cause ("fault.py:12: shard lost", "fault.py:31: shard lost"));
    assert_false (one_cause ("aborted because host1 failed", "aborted because host11 failed"));
    assert_false (one_cause ("rank 3 failed", "rank 3 failed twice"));
    assert_false (one_cause ("built for libtpu 0.0.40.1", "built for libtpu 0.0.41.1"));
    assert_false (one_cause ("upgrade to 0.0.40.1", "upgrade to 0.0.41.1"));
    assert_false (one_cause ("driver version 550.54.15.2", "driver version 550.90.7.1"));
    assert_false (one_cause ("tpu-b lacks its chip", "tpu-a lacks its chip")); /* each names the other */
    assert_false (one_cause ("tpu-a1 lacks its chip", "tpu-b lacks its chip"));
}

/* Of a program that was stopped where it stood, its place says more than what it printed first. */
TEST (where_a_program_stood_is_no_last_word)
{
    static const char *const lines[] = {
        "raised in: File \"a.py\", line 3 in f",  "called from: File \"a.py\", line 3 in f",
        "python3: main thread sleeping in futex", "python3: thread running",
        "and 3 other threads sleeping in futex",  "and 2 other processes stopped",
    };
    struct text place = TEXT_LIT ("main thread: File \"a.py\", line 3 in f\nstep 1\nstep 2");
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct text told = text_format (&t->arena, "step 1\n%s\nstep 2\n%s", lines[i], lines[i]);
        assert_text (error_line_find (OUTCOME_TIMED_OUT, told), "step 2");
    }
    assert_text (error_line_find (OUTCOME_TIMED_OUT, TEXT_LIT ("step 1\nits thread pool\nstep 2")), "step 1");
    assert_int_equal (error_line_find (OUTCOME_TIMED_OUT, place).len, 0);
    assert_text (error_line_find (OUTCOME_FAILED, place), "step 2");
}

TEST (what_only_looks_like_a_number_of_its_own_parts_causes)
{
    assert_true (one_cause ("by 10.0.0.3: lost", "by 10.0.0.4: lost"));
    assert_true (one_cause ("10.0.0.3:80 is gone", "10.0.0.4:81 is gone"));
    assert_true (one_cause ("10.0.0.3 is gone", "10.0.0.4 is gone") == false);
    assert_false (one_cause ("prank 3", "prank 4"));
    assert_false (one_cause ("tpu-a7 lacks its chip", "tpu-b8 lacks its chip"));
    assert_false (cause_equal (TEXT_LIT ("tpu-a"), (struct text){ 0 }, TEXT_LIT ("tpu-b"), (struct text){ 0 }));
}

TEST (one_verdict_is_another_s_in_all_that_it_says)
{
    const struct verdict one = {
        .outcome = OUTCOME_FAILED, .owner = OWNER_HOST, .signature = TEXT_LIT ("s"), .cause = TEXT_LIT ("rank 1 fell")
    };
    struct verdict others[] = { one, one, one, one, one, one };
    others[1].outcome = OUTCOME_LOST;
    others[2].owner = OWNER_PEER;
    others[3].likely = true;
    others[4].signature = TEXT_LIT ("t");
    others[5].cause = TEXT_LIT ("rank 1 failed");
    others[0].cause = TEXT_LIT ("rank 2 fell");
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_int_equal (verdict_same_cause (&one, TEXT_LIT ("a"), &others[i], TEXT_LIT ("b")), i == 0);
}

TEST (an_owner_is_told_with_how_sure_it_is_and_by_which_text)
{
    static const struct {
        enum certainty certainty;
        enum owner owner;
        const char *signature, *said;
    } rows[] = { { CERTAINTY_KNOWN, OWNER_HOST, "disk-full", "; whose: the host (certain; disk-full)" },
                 { CERTAINTY_LIKELY, OWNER_HOST, "", "; whose: the host (likely)" },
                 { CERTAINTY_LIKELY + 7, OWNER_HOST, "x", "; whose: the host (x)" },
                 { CERTAINTY_NONE, OWNER_HOST, "", "; whose: the host" },
                 { CERTAINTY_KNOWN, OWNER_UNKNOWN, "x", "; whose: not known (x)" },
                 { CERTAINTY_KNOWN, OWNER_PEER, "", "" },
                 { CERTAINTY_KNOWN, OWNER_NONE, "x", "" },
                 { CERTAINTY_KNOWN, OWNER_N, "x", "" } };
    struct buf *said = test_buf (t);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        buf_clear (said);
        failure_print_owner (said, rows[i].certainty, rows[i].owner, OWNER_NONE, text_of (rows[i].signature));
        assert_string_equal (buf_c (said), rows[i].said);
    }
}
