/* links: verdict */
#include "cases.h"
#include "coordinator/verdict/agree.h"

enum { HOSTS_MOST = 8, FACTS_MOST = 8 };

/* "h1 -> h0: 10.0.0.1:8476 (no answer)": ranks are digits. */
static void tell (struct result *results, struct var facts[][FACTS_MOST], struct text line, struct arena *arena)
{
    uint32_t from = (uint32_t) (line.ptr[1] - '0');
    struct result *result = &results[from];
    result->facts.items = facts[from];
    facts[from][result->facts.n++] = (struct var){ text_format (arena, "way.%c", line.ptr[7]),
                                                   { line.ptr + 10, line.len - 10 } };
}

static void ways_case (struct test *t, const struct test_case *of, struct buf *got)
{
    struct plan_host names[HOSTS_MOST];
    struct result results[HOSTS_MOST] = { 0 };
    const struct result *all[HOSTS_MOST];
    struct var facts[HOSTS_MOST][FACTS_MOST];
    struct verdict verdicts[HOSTS_MOST];
    uint32_t ranks[HOSTS_MOST];
    struct plan plan = { .launcher = LAUNCHER_SSH };
    uint64_t n = 0;
    assert_true (text_to_u64 (case_text (of, "hosts"), &n) && n <= HOSTS_MOST);
    for (uint32_t i = 0; i < n; i++) {
        names[i] = (struct plan_host){ .name = text_format (&t->arena, "h%u", i),
                                       .address = text_format (&t->arena, "10.0.0.%u", i + 1) };
        verdicts[i] = (struct verdict){ .host = i, .outcome = OUTCOME_PASSED };
        all[i] = &results[i];
        ranks[i] = i;
    }
    plan.hosts.items = names;
    plan.hosts.n = (uint32_t) n;
    for (struct text lines = case_text (of, "told"); lines.len > 0;)
        tell (results, facts, case_next_line (&lines), &t->arena);
    struct agree_case pass = { &plan, all, ranks, (uint32_t) n, false };
    agree_ways (&pass, verdicts, &t->arena);
    for (uint32_t i = 0; i < n; i++)
        if (verdicts[i].outcome != OUTCOME_PASSED)
            buf_printf (got, "h%u: %.*s%s%s\n", i, TEXT_ARG (verdicts[i].cause),
                        verdicts[i].owner == OWNER_LAUNCH ? " [launch]" : "",
                        text_starts (verdicts[i].next, text_format (&t->arena, "ssh 10.0.0.%u ", i + 1).ptr) ? ""
                                                                                                             : " ?");
}

TEST (the_hosts_that_are_not_reached_are_named_and_not_the_pairs)
{
    cases_run ("ways", ways_case);
}

/* What a worker found when its program had failed: it does not reach the first host. */
TEST (a_failure_that_nothing_else_explains_is_the_network_s)
{
    static const struct {
        enum outcome outcome;
        enum owner owner;
        bool likely, noted;
        enum owner first, said; /* first: of the failed host 0, NONE: it passed */
    } rows[] = {
        { OUTCOME_FAILED, OWNER_PEER, false, true, OWNER_NONE, OWNER_PLATFORM },
        { OUTCOME_FAILED, OWNER_UNKNOWN, false, true, OWNER_NONE, OWNER_PLATFORM },
        { OUTCOME_TIMED_OUT, OWNER_PLATFORM, true, true, OWNER_NONE, OWNER_PLATFORM },
        { OUTCOME_TIMED_OUT, OWNER_PLATFORM, false, true, OWNER_NONE, OWNER_NONE },
        { OUTCOME_FAILED, OWNER_HOST, true, true, OWNER_NONE, OWNER_NONE },
        { OUTCOME_FAILED, OWNER_PEER, false, false, OWNER_NONE, OWNER_NONE },
        { OUTCOME_CANCELLED, OWNER_PEER, false, true, OWNER_NONE, OWNER_NONE },
        { OUTCOME_FAILED, OWNER_PEER, false, true, OWNER_DEVICE, OWNER_NONE },
        { OUTCOME_FAILED, OWNER_PEER, false, true, OWNER_PLATFORM, OWNER_NONE },
        { OUTCOME_FAILED, OWNER_PEER, false, true, OWNER_PEER, OWNER_PLATFORM },
    };
    struct plan_host names[] = { { .name = TEXT_LIT ("h0") }, { .name = TEXT_LIT ("h1") } };
    struct plan plan = { .launcher = LAUNCHER_LOCAL, .hosts = { names, 2 } };
    struct result_note note = { .text = TEXT_LIT ("does not reach 10.0.0.1:8476 (no answer)"),
                                .source = TEXT_LIT (NOTE_AT_FAILURE) };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct result results[2] = { { .code = 0 }, { .notes = { &note, rows[i].noted } } };
        const struct result *all[] = { &results[0], &results[1] };
        uint32_t ranks[] = { 0, 1 };
        struct verdict verdicts[] = {
            { .outcome = rows[i].first ? OUTCOME_FAILED : OUTCOME_PASSED, .owner = rows[i].first },
            { .host = 1, .outcome = rows[i].outcome, .owner = rows[i].owner, .likely = rows[i].likely }
        };
        struct agree_case pass = { &plan, all, ranks, 2, false };
        agree_unreached (&pass, verdicts, &t->arena);
        bool told = text_find (verdicts[1].cause, TEXT_LIT ("does not reach h0 at 10.0.0.1:8476"), NULL);
        if (told != (rows[i].said != OWNER_NONE))
            fail_msg ("row %zu: %.*s", i, TEXT_ARG (verdicts[1].cause));
    }
}

/* A pass in which its hosts failed already of something says only that. */
TEST (who_failed_before_keeps_its_cause)
{
    struct plan_host names[] = { { .name = TEXT_LIT ("h0") }, { .name = TEXT_LIT ("h1") } };
    struct plan plan = { .launcher = LAUNCHER_LOCAL, .hosts = { names, 2 } };
    struct var way = { TEXT_LIT ("way.0"), TEXT_LIT ("10.0.0.1:8476 (no answer)") };
    static const enum outcome rows[] = { OUTCOME_PASSED, OUTCOME_CANCELLED, OUTCOME_FAILED };
    for (size_t i = 0; i < 3; i++) {
        struct result results[2] = { { .code = 0 }, { .facts = { &way, 1 } } };
        const struct result *all[] = { &results[0], &results[1] };
        uint32_t ranks[] = { 0, 1 };
        struct verdict verdicts[] = { { .outcome = rows[i] }, { .host = 1, .outcome = OUTCOME_PASSED } };
        struct agree_case pass = { &plan, all, ranks, 2, false };
        agree_ways (&pass, verdicts, &t->arena);
        assert_int_equal (verdicts[0].cause.len > 0, i < 2);
    }
}
