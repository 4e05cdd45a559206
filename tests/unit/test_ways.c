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
