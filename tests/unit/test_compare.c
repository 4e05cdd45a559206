/* links: report */
/* Two runs held against one another: what nobody measured is told as that, and is no 0 ms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "coordinator/report/compare.h"

/* One host of one run, with an attempt at each of its rungs. */
struct side {
    struct plan plan;
    struct run_header header;
    struct text rungs[2], name;
    struct rung_receipt attempts[2];
    struct named_number phases[2][2];
    struct rung_time times[2];
    struct host_receipt host;
    struct slice_receipt receipt;
    struct report report;
};

static void side_open (struct side *side, const char *second)
{
    *side = (struct side){ .name = TEXT_LIT ("h0"), .rungs = { TEXT_LIT ("low"), text_of (second) } };
    for (uint32_t i = 0; i < 2; i++) {
        side->phases[i][0] = (struct named_number){ TEXT_LIT ("start"), 100 };
        side->phases[i][1] = (struct named_number){ TEXT_LIT ("gate:meet"), 0 };
        side->attempts[i] = (struct rung_receipt){ .rung = side->rungs[i],
                                                   .pass = PASS_ONCE,
                                                   .attempt = 1,
                                                   .outcome = OUTCOME_PASSED,
                                                   .phases = { side->phases[i], 2 } };
        side->times[i] = (struct rung_time){ .rung = side->rungs[i], .pass = PASS_ONCE, .attempt = 1 };
        side->times[i].duration_ms = 400;
    }
    side->header = (struct run_header){ .run = TEXT_LIT ("0123456789"),
                                        .slice = TEXT_LIT ("s"),
                                        .rungs = { side->rungs, 2 },
                                        .hosts = { &side->name, 1 },
                                        .ended_wall_ms = 1700000000000 };
    side->host = (struct host_receipt){ .run = side->header.run, .host = side->name, .rungs = { side->attempts, 2 } };
    side->receipt = (struct slice_receipt){ .headers = { &side->header, 1 },
                                            .hosts = { &side->host, 1 },
                                            .times = { side->times, 2 } };
    side->report = (struct report){ .plan = &side->plan, .receipt = &side->receipt };
}

struct told {
    struct arena arena;
    struct comparison comparison;
    struct buf json, markdown;
};

static void tell (struct told *told, const struct side *before, const struct side *now)
{
    *told = (struct told){ 0 };
    buf_init (&told->json, 1 << 20);
    buf_init (&told->markdown, 1 << 20);
    compare_runs (&now->report, &before->report, &told->arena, &told->comparison);
    comparison_json (&told->comparison, &told->json);
    comparison_markdown (&told->comparison, &told->markdown);
}

static void forget (struct told *told)
{
    buf_release (&told->json);
    buf_release (&told->markdown);
    arena_release (&told->arena);
}

static void says (struct buf *text, const char *words)
{
    if (!strstr (buf_c (text), words))
        fail_msg ("'%s' is not in:\n%s", words, buf_c (text));
}

static void test_what_took_no_time_is_no_unknown_time (void **state)
{
    (void) state;
    static struct side before, now;
    struct told told;
    side_open (&before, "high");
    side_open (&now, "high");
    before.times[0].duration_ms = 0;
    now.times[1].duration_ms = 0;
    now.phases[0][1].value = 300;
    tell (&told, &before, &now);
    says (&told.json, "\"rung\":\"low\",\"pass\":\"once\",\"a_outcome\":\"passed\",\"b_outcome\":\"passed\",\"a_ms\":0,"
                      "\"b_ms\":400,\"ratio\":null");
    says (&told.json, "\"a_ms\":400,\"b_ms\":0,\"ratio\":0.0");
    says (&told.json, "{\"phase\":\"gate:meet\",\"a_ms\":0,\"b_ms\":300,\"ratio\":null}");
    says (&told.json, "{\"phase\":\"gate:meet\",\"a_ms\":0,\"b_ms\":0,\"ratio\":null}");
    says (&told.markdown, "| low |  | passed | passed | 0 ms | 400 ms | slower |");
    says (&told.markdown, "| low |  | gate:meet | 0 ms | 300 ms | slower |");
    forget (&told);
}

static void test_what_one_of_the_runs_never_measured_is_unknown (void **state)
{
    (void) state;
    static struct side before, now;
    struct told told;
    side_open (&before, "old");
    side_open (&now, "new");
    now.attempts[0].phases.n = 1; /* "gate:meet" is gone */
    tell (&told, &before, &now);
    says (&told.json, "{\"phase\":\"gate:meet\",\"a_ms\":0,\"b_ms\":null,\"ratio\":null}");
    says (&told.json, "\"rung\":\"new\",\"pass\":\"once\",\"a_outcome\":null,\"b_outcome\":\"passed\",\"a_ms\":null,"
                      "\"b_ms\":400,\"ratio\":null");
    says (&told.json, "\"rung\":\"old\",\"pass\":\"once\",\"a_outcome\":\"passed\",\"b_outcome\":null,\"a_ms\":400,"
                      "\"b_ms\":null,\"ratio\":null");
    says (&told.markdown, "| new |  | - | passed | - | 400 ms | - |");
    says (&told.markdown, "No phase is slower");
    forget (&told);
}

/* Its first rung passed, and its second runs. */
static void test_a_run_that_has_not_ended_has_no_outcome_and_no_time_of_what_runs (void **state)
{
    (void) state;
    static struct side before, now;
    struct told told;
    side_open (&before, "high");
    side_open (&now, "high");
    now.header.ended_wall_ms = 0;
    now.attempts[1].outcome = OUTCOME_NONE;
    now.receipt.times.n = 1;
    tell (&told, &before, &now);
    says (&told.json, "\"ended\":true,\"outcome\":\"passed\"");
    says (&told.json, "\"ended\":false,\"outcome\":null");
    says (&told.json, "\"a_outcome\":\"passed\",\"b_outcome\":null,\"a_ms\":400,\"b_ms\":null,\"ratio\":null");
    says (&told.json, "{\"phase\":\"start\",\"a_ms\":100,\"b_ms\":null,\"ratio\":null}");
    says (&told.markdown, "run 01234567 of s, not ended");
    says (&told.markdown, "run 01234567 of s, passed");
    forget (&told);
}

/* A damaged journal may not begin with the run. */
static void test_a_run_of_which_nothing_is_known_is_held_against_another (void **state)
{
    (void) state;
    static struct side nothing, now;
    struct told told;
    nothing.report = (struct report){ .plan = &nothing.plan, .receipt = &nothing.receipt };
    side_open (&now, "high");
    tell (&told, &nothing, &now);
    says (&told.json, "\"ended\":false,\"outcome\":null");
    says (&told.markdown, "run unknown of unknown, not ended");
    forget (&told);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_what_took_no_time_is_no_unknown_time),
        cmocka_unit_test (test_what_one_of_the_runs_never_measured_is_unknown),
        cmocka_unit_test (test_a_run_that_has_not_ended_has_no_outcome_and_no_time_of_what_runs),
        cmocka_unit_test (test_a_run_of_which_nothing_is_known_is_held_against_another),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
