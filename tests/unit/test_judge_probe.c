/* links: simulated */
/* A probe is judged by its evidence: one that is done and shows nothing has not passed. */
#include "coordinator/verdict/judge.h"
#include "sample.h"
#include "test.h"

struct bench {
    struct arena arena;
    struct plan plan;
    struct rung rung;
    struct result result;
};

static struct named_number counters[] = { { TEXT_LIT ("executions"), 2 } };
static struct value_check checks[] = { { TEXT_LIT ("x + y"), 110, 110, 0 } };
static struct var without_client[] = { { TEXT_LIT ("client"), TEXT_LIT ("false") } };

static void bench_make (struct bench *bench)
{
    *bench = (struct bench){ 0 };
    sample_plan (&bench->plan, 2, &bench->arena);
    bench->rung = (struct rung){ .id = TEXT_LIT ("probe"),
                                 .kind = PROGRAM_BUILTIN,
                                 .builtin = TEXT_LIT ("probe"),
                                 .scope = SCOPE_HOST,
                                 .warm = WARM_NONE,
                                 .timeout_ms = 60000 };
    bench->result = (struct result){ .ending = ENDING_EXITED, .done = true, .spoke = true };
    bench->result.backend.platform = TEXT_LIT ("cpu");
    bench->result.counters.items = counters;
    bench->result.counters.n = 1;
    bench->result.checks.items = checks;
    bench->result.checks.n = 1;
}

static enum outcome judge (struct bench *bench)
{
    struct verdict verdict;
    struct judge_case of = {
        .plan = &bench->plan, .rung = &bench->rung, .key = { 0, PASS_ONCE, 1 }, .world = 1, .result = &bench->result
    };
    judge_result (&of, &bench->arena, &verdict);
    arena_release (&bench->arena);
    return verdict.outcome;
}

TEST (evidence_passes)
{
    struct bench bench;
    bench_make (&bench);
    assert_int_equal (judge (&bench), OUTCOME_PASSED);
}

TEST (done_without_evidence_fails)
{
    struct bench bench;
    bench_make (&bench);
    bench.result.checks.n = 0;
    assert_int_equal (judge (&bench), OUTCOME_FAILED);
    bench_make (&bench);
    bench.result.counters.n = 0;
    assert_int_equal (judge (&bench), OUTCOME_FAILED);
    bench_make (&bench);
    bench.result.backend.platform = (struct text){ 0 };
    assert_int_equal (judge (&bench), OUTCOME_FAILED);
}

TEST (without_a_client_there_is_nothing_to_show)
{
    struct bench bench;
    bench_make (&bench);
    bench.result.checks.n = bench.result.counters.n = 0;
    bench.result.backend.platform = (struct text){ 0 };
    bench.rung.args.items = without_client;
    bench.rung.args.n = 1;
    assert_int_equal (judge (&bench), OUTCOME_PASSED);
}
