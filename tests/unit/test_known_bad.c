/* links: simulated */
/* The climb stops before a launch that is known to fail, and pays for nothing else of it. */
#include "retry_fixture.h"
#include "test.h"

static void known_bad (struct plan *plan)
{
    plan->rungs.items[0].known_bad = TEXT_LIT ("the same launch failed in run 0123 (2026-01-01, hbm): out of memory");
}

static void second_known_bad (struct plan *plan)
{
    static struct rung rungs[2];
    rungs[0] = rungs[1] = plan->rungs.items[0];
    rungs[1].id = TEXT_LIT ("larger");
    rungs[1].known_bad = TEXT_LIT ("the same launch failed in run 0123");
    plan->rungs.items = rungs;
    plan->rungs.n = 2;
}

TEST (it_is_not_started_and_the_run_says_why)
{
    struct bench bench;
    bench_open_with (&bench, known_bad);
    assert_int_equal (count (&bench, FACT_PASS_BEGAN), 0);
    assert_int_equal (bench.said[MSG_RUN], 0);
    const struct fact_run_ended *ended = &last_fact (&bench, FACT_RUN_ENDED)->of.run_ended;
    assert_int_equal (ended->outcome, OUTCOME_BLOCKED);
    assert_int_equal (ended->exit_status, 3);
    assert_has (ended->sentence, "rung all was not started: the same launch failed in run 0123");
    assert_has (ended->sentence, "--again");
    bench_close (&bench);
}

/* Whoever takes over behind the last rung that passed stops at the same place. */
TEST (the_rungs_before_it_are_climbed)
{
    for (int dies = 0; dies < 2; dies++) {
        struct bench bench;
        bench_open_with (&bench, second_known_bad);
        pass (&bench);
        if (dies)
            die_after (&bench, FACT_PASS_ENDED);
        assert_int_equal (count (&bench, FACT_PASS_BEGAN), 1);
        assert_int_equal (count (&bench, FACT_RUN_ENDED), 1);
        const struct fact_run_ended *ended = &last_fact (&bench, FACT_RUN_ENDED)->of.run_ended;
        assert_int_equal (ended->outcome, OUTCOME_BLOCKED);
        assert_has (ended->sentence, "rung larger was not started");
        bench_close (&bench);
    }
}
