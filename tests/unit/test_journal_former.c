/* links: journal */
/* Runs of journal format 1 whose words had another meaning: what an outcome "no-report" stood for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/wire/wire.h"
#include "coordinator/journal/journal_read.h"

static const struct attempt_key key = { 0, PASS_ONCE, 1 };

struct story {
    struct journal_former *former;
    struct arena arena;
};

static int open_story (void **state)
{
    struct story *story = mem_alloc (sizeof *story);
    *story = (struct story){ .former = journal_former_create () };
    *state = story;
    return 0;
}

static int close_story (void **state)
{
    struct story *story = *state;
    journal_former_destroy (story->former);
    arena_release (&story->arena);
    mem_free (story);
    return 0;
}

static struct fact through (struct story *story, struct fact fact)
{
    struct buf buf;
    struct fact back;
    buf_init (&buf, FACT_MAX_BYTES);
    wire_put_fact (&buf, &fact);
    struct text bytes = journal_former_translate (story->former, buf_as_text (&buf));
    assert_int_equal (wire_get_fact (bytes, &back, &story->arena, NULL), 0);
    buf_release (&buf);
    return back;
}

static void begin_pass (struct story *story)
{
    uint32_t hosts[] = { 0, 1 };
    struct fact fact = { .kind = FACT_PASS_BEGAN, .index = 1 };
    fact.of.pass_began = (struct fact_pass_began){ .key = key, .purpose = PURPOSE_CLIMB };
    fact.of.pass_began.hosts.items = hosts;
    fact.of.pass_began.hosts.n = 2;
    through (story, fact);
}

static void end_attempt (struct story *story, uint32_t host, enum ending ending)
{
    struct fact fact = { .kind = FACT_ATTEMPT_ENDED, .index = 2 };
    fact.of.attempt_ended = (struct fact_attempt_ended){ .host = host, .result = { .key = key, .ending = ending } };
    through (story, fact);
}

static struct fact_pass_ended end_pass (struct story *story, enum outcome outcome, struct verdict *verdicts, uint32_t n)
{
    struct fact fact = { .kind = FACT_PASS_ENDED, .index = 3 };
    fact.of.pass_ended = (struct fact_pass_ended){ .key = key, .outcome = outcome };
    fact.of.pass_ended.verdicts.items = verdicts;
    fact.of.pass_ended.verdicts.n = n;
    return through (story, fact).of.pass_ended;
}

static enum outcome end_run (struct story *story)
{
    struct fact fact = { .kind = FACT_RUN_ENDED, .index = 4 };
    fact.of.run_ended = (struct fact_run_ended){ .outcome = OUTCOME_LOST, .exit_status = 1 };
    return through (story, fact).of.run_ended.outcome;
}

static void a_host_that_was_lost_before_a_retry_is_lost (void **state)
{
    struct story *story = *state;
    struct verdict transient = { .host = 0, .outcome = OUTCOME_FAILED, .owner = OWNER_PLATFORM, .transient = true };
    begin_pass (story);
    end_attempt (story, 0, ENDING_EXITED);
    assert_int_equal (end_pass (story, OUTCOME_FAILED, &transient, 1).outcome, OUTCOME_FAILED);
    assert_int_equal (end_run (story), OUTCOME_LOST);
}

static void a_host_for_which_the_others_waited_timed_out (void **state)
{
    struct story *story = *state;
    struct verdict verdicts[] = { { .host = 0, .outcome = OUTCOME_LOST, .owner = OWNER_UNKNOWN },
                                  { .host = 1, .outcome = OUTCOME_CASCADE, .owner = OWNER_PEER } };
    begin_pass (story);
    end_attempt (story, 0, ENDING_CANCELLED);
    end_attempt (story, 1, ENDING_TIMEOUT);
    struct fact_pass_ended ended = end_pass (story, OUTCOME_LOST, verdicts, 2);
    assert_int_equal (ended.verdicts.items[0].outcome, OUTCOME_TIMED_OUT);
    assert_int_equal (ended.outcome, OUTCOME_TIMED_OUT);
    assert_int_equal (end_run (story), OUTCOME_TIMED_OUT);
}

static void a_program_that_was_killed_failed (void **state)
{
    struct story *story = *state;
    struct verdict killed = { .host = 1, .outcome = OUTCOME_LOST, .owner = OWNER_HOST };
    begin_pass (story);
    end_attempt (story, 1, ENDING_SIGNALLED);
    assert_int_equal (end_pass (story, OUTCOME_LOST, &killed, 1).outcome, OUTCOME_FAILED);
    assert_int_equal (end_run (story), OUTCOME_FAILED);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (a_host_that_was_lost_before_a_retry_is_lost, open_story, close_story),
        cmocka_unit_test_setup_teardown (a_host_for_which_the_others_waited_timed_out, open_story, close_story),
        cmocka_unit_test_setup_teardown (a_program_that_was_killed_failed, open_story, close_story),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
