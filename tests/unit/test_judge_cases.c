/* links: simulated */
/* What is judged of one result: by how it ended, by its evidence, by what it printed. */
#include "cases.h"
#include "coordinator/verdict/failure.h"
#include "coordinator/verdict/flag_set.h"
#include "coordinator/verdict/judge.h"
#include "record_path.h"
#include "sample.h"

struct bench {
    struct plan plan;
    struct result result;
    struct rung *rung;
    struct judge_case of;
    struct fact_generation sealed;
};

/* A part of what configs/signatures/rules.yaml says of types: a plan that was read from files has all of it. */
static void add_type_rule (struct plan *plan, struct arena *arena)
{
    static struct text types[] = { TEXT_LIT ("ValueError") };
    const struct signature rule = { .id = TEXT_LIT ("program-type"),
                                    .owner = OWNER_PROGRAM,
                                    .likely = true,
                                    .rule = RULE_PRIOR,
                                    .types = { types, 1 },
                                    .next = TEXT_LIT ("correct it") };
    uint32_t n = plan->signatures.n;
    struct signature *items = arena_array (arena, n + 1, sizeof *items);
    for (uint32_t i = 0; i < n; i++)
        items[i] = plan->signatures.items[i];
    items[n] = rule;
    plan->signatures.items = items;
    plan->signatures.n = n + 1;
}

/* A host that did everything right on this rung and pass of the sample plan. */
static void bench_sample (struct bench *bench, uint32_t rung, enum pass pass, struct arena *arena)
{
    static const uint64_t secrets[4] = { 2, 4, 6, 8 };
    sample_plan (&bench->plan, 4, arena);
    add_type_rule (&bench->plan, arena);
    bench->rung = &bench->plan.rungs.items[rung];
    struct msg_run run = { .key = { rung, pass, 1 },
                           .rung = *bench->rung,
                           .world = bench->rung->scope == SCOPE_SLICE ? 4 : 1,
                           .profile = bench->plan.profile };
    run.cache.role = pass == PASS_COLD       ? CACHE_ROLE_WRITER
                     : pass == PASS_RESTORED ? CACHE_ROLE_READER
                                             : CACHE_ROLE_NONE;
    run.cache.token = 9;
    sample_result (&run, secrets, &bench->result, arena);
    bench->of.key = run.key;
    bench->of.world = run.world;
    bench->of.writer = pass == PASS_COLD;
    bench->of.token = 9;
}

/* A probe that showed what it can, or a command that exited with status 0 and of which nothing else is known. */
static void bench_bare (struct bench *bench, bool probe, struct arena *arena)
{
    static const char *const shown[][2] = { { "done", "true" },
                                            { "spoke", "true" },
                                            { "backend.platform", "cpu" },
                                            { "counters[0].name", "executions" },
                                            { "counters[0].value", "2" },
                                            { "checks[0].name", "x + y" } };
    static const struct signature known[] = {
        { .id = TEXT_LIT ("oom"), .owner = OWNER_PROGRAM, .next = TEXT_LIT ("x") },
        { .id = TEXT_LIT ("late"), .owner = OWNER_LAUNCH, .always = true, .next = TEXT_LIT ("call it first") },
    };
    bench->rung = arena_alloc (arena, sizeof *bench->rung);
    bench->rung->kind = probe ? PROGRAM_BUILTIN : PROGRAM_COMMAND;
    bench->rung->scope = SCOPE_HOST;
    bench->rung->timeout_ms = 60000;
    bench->result.ending = ENDING_EXITED;
    bench->of.key = (struct attempt_key){ 0, PASS_ONCE, 1 };
    bench->of.world = 1;
    if (probe)
        bench->rung->builtin = TEXT_LIT ("probe");
    for (uint32_t i = 0; probe && i < 6; i++)
        record_path_set (&result_record, &bench->result, text_of (shown[i][0]), text_of (shown[i][1]), arena);
    bench->plan.signatures.items = arena_copy (arena, known, sizeof known);
    bench->plan.signatures.n = 2;
}

static void bench_begin (struct bench *bench, struct text sample, struct arena *arena)
{
    static const struct {
        const char *name;
        uint32_t rung;
        enum pass pass;
    } samples[] = { { "facts", 0, PASS_ONCE },     { "tiny", 1, PASS_ONCE },
                    { "tiny cold", 1, PASS_COLD }, { "tiny restored", 1, PASS_RESTORED },
                    { "all", 2, PASS_ONCE },       { "all restored", 2, PASS_RESTORED } };
    *bench = (struct bench){ 0 };
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++)
        if (text_is (sample, samples[i].name))
            bench_sample (bench, samples[i].rung, samples[i].pass, arena);
    if (!bench->rung)
        bench_bare (bench, text_is (sample, "probe"), arena);
    bench->of.plan = &bench->plan;
    bench->of.rung = bench->rung;
    bench->of.result = &bench->result;
    bench->of.sealed = &bench->sealed;
}

/* The counter or limit of that name; added if there is none. */
static void set_counter (struct result *result, struct text name, struct text value, struct arena *arena)
{
    uint32_t i = 0;
    while (i < result->counters.n && !text_equal (result->counters.items[i].name, name))
        i++;
    record_path_set (&result_record, result, text_format (arena, "counters[%u].name", i), name, arena);
    record_path_set (&result_record, result, text_format (arena, "counters[%u].value", i), value, arena);
}

static void set_limit (struct rung *rung, struct text name, struct text value, struct arena *arena)
{
    uint32_t i = rung->demands.n;
    record_path_set (&rung_record, rung, text_format (arena, "demands[%u].what", i), name, arena);
    record_path_set (&rung_record, rung, text_format (arena, "demands[%u].most", i), value, arena);
}

static void set_floor (struct rung *rung, struct text name, struct text value, struct arena *arena)
{
    record_path_set (&rung_record, rung, TEXT_LIT ("floors[0].name"), name, arena);
    record_path_set (&rung_record, rung, TEXT_LIT ("floors[0].least"), value, arena);
}

static void set_case (struct judge_case *of, struct text name, struct text value)
{
    if (text_is (name, "storage"))
        of->storage = value;
    else if (text_is (name, "world"))
        of->world = (uint32_t) (value.ptr[0] - '0');
    else
        of->writer = text_is (value, "true");
}

/* "counter NAME", "at most NAME", "floor NAME", of.storage, of.world, of.writer, or a path that begins with result, rung,
 * plan or sealed. */
static void set_line (struct bench *bench, struct text name, struct text value, struct arena *arena)
{
    static const char *const begins[] = { "counter ", "at most ", "result.", "rung.",
                                          "plan.",    "of.",      "floor ",  "sealed." };
    size_t kind = 0;
    while (kind < 8 && !text_starts (name, begins[kind]))
        kind++;
    assert_true (kind < 8);
    uint32_t len = (uint32_t) strlen (begins[kind]);
    struct text rest = { name.ptr + len, name.len - len };
    if (kind == 0)
        set_counter (&bench->result, rest, value, arena);
    else if (kind == 1)
        set_limit (bench->rung, rest, value, arena);
    else if (kind == 2)
        record_path_set (&result_record, &bench->result, rest, value, arena);
    else if (kind == 3)
        record_path_set (&rung_record, bench->rung, rest, value, arena);
    else if (kind == 4)
        record_path_set (&plan_record, &bench->plan, rest, value, arena);
    else if (kind == 5)
        set_case (&bench->of, rest, value);
    else if (kind == 6)
        set_floor (bench->rung, rest, value, arena);
    else
        record_path_set (fact_record_of_kind (FACT_GENERATION_PUBLISHED), &bench->sealed, rest, value, arena);
}

static void set_lines (struct bench *bench, struct text lines, struct arena *arena)
{
    for (uint32_t at; lines.len > 0;) {
        struct text line = case_next_line (&lines);
        if (text_find (line, TEXT_LIT (" = "), &at))
            set_line (bench, (struct text){ line.ptr, at }, (struct text){ line.ptr + at + 3, line.len - at - 3 },
                      arena);
    }
}

/* "failed of host, likely: its cause", and the fields that the case wants. */
static void judge_one (struct test *t, const struct test_case *of, struct buf *got)
{
    struct bench bench;
    struct verdict verdict;
    struct text want = case_text (of, "want"), tail = case_text (of, "tail");
    bench_begin (&bench, case_text (of, "result"), &t->arena);
    set_lines (&bench, case_text (of, "set"), &t->arena);
    if (tail.len > 0)
        bench.result.tail = tail;
    judge_result (&bench.of, &t->arena, &verdict);
    buf_puts (got, enum_name_of (&outcome_names, verdict.outcome));
    if (verdict.owner != OWNER_NONE)
        buf_printf (got, " of %s%s", enum_name_of (&owner_names, verdict.owner), verdict.likely ? ", likely" : "");
    buf_printf (got, "%s%.*s\n", verdict.cause.len ? ": " : "", TEXT_ARG (verdict.cause));
    record_path_print_wanted (&verdict_record, &verdict, want, got);
}

TEST (a_result_is_judged_by_what_it_shows)
{
    cases_run ("judge", judge_one);
}

TEST (a_command_is_judged_by_what_is_known_of_it)
{
    cases_run ("judge_command", judge_one);
}

/* One host prints a text that leaves two owners possible. */
static void judge_of_two_owners (const struct signature *known, uint32_t world, struct result *result,
                                 struct arena *arena, struct verdict *out)
{
    struct bench bench;
    bench_begin (&bench, TEXT_LIT ("command"), arena);
    bench.plan.signatures.items = arena_copy (arena, known, sizeof *known);
    bench.plan.signatures.n = 1;
    bench.of.world = world;
    result->output_bytes = result->tail.len;
    bench.of.result = result;
    judge_result (&bench.of, arena, out);
}

TEST (the_first_of_two_owners_decides_and_the_second_is_told)
{
    const struct signature refused = { .id = TEXT_LIT ("refused"),
                                       .text = TEXT_LIT ("Connection refused"),
                                       .owner = OWNER_PEER,
                                       .else_owner = OWNER_LAUNCH,
                                       .peer = true,
                                       .next = TEXT_LIT ("x") };
    struct result result = { .ending = ENDING_EXITED, .code = 1, .tail = TEXT_LIT ("ERROR: h1: Connection refused\n") };
    struct verdict verdict;
    judge_of_two_owners (&refused, 2, &result, &t->arena, &verdict);
    assert_int_equal (verdict.owner, OWNER_PEER);
    assert_int_equal (verdict.else_owner, OWNER_LAUNCH);
    assert_false (verdict.likely); /* it is a known text: for blame nothing changes */
    struct buf *said = test_buf (t);
    failure_print_owner (said, certainty_of_owner (verdict.owner, verdict.else_owner, verdict.likely), verdict.owner,
                         verdict.else_owner, verdict.signature);
    assert_string_equal (buf_c (said), "; whose: another host, else how it was launched (likely; refused)");
    judge_of_two_owners (&refused, 1, &result, &t->arena, &verdict); /* a host by itself has no peer */
    assert_int_equal (verdict.owner, OWNER_UNKNOWN);
    assert_int_equal (verdict.else_owner, OWNER_NONE);
}

TEST (a_kill_for_want_of_memory_has_one_owner_whatever_was_printed)
{
    const struct signature full = { .id = TEXT_LIT ("card"),
                                    .text = TEXT_LIT ("out of memory"),
                                    .owner = OWNER_PROGRAM,
                                    .else_owner = OWNER_DEVICE,
                                    .next = TEXT_LIT ("x") };
    struct result result = {
        .ending = ENDING_SIGNALLED, .code = 9, .group_memory_kills = 1, .tail = TEXT_LIT ("ERROR: out of memory\n")
    };
    struct verdict verdict;
    judge_of_two_owners (&full, 2, &result, &t->arena, &verdict);
    assert_int_equal (verdict.owner, OWNER_HOST);
    assert_int_equal (verdict.else_owner, OWNER_NONE);
}

TEST (a_kill_is_one_whatever_told_of_it)
{
    assert_true (failure_is_outside_kill (ENDING_EXITED, 137) && failure_is_outside_kill (ENDING_EXITED, 143));
    assert_false (failure_is_outside_kill (ENDING_EXITED, 139) || failure_is_outside_kill (ENDING_CANCELLED, 137));
    for (uint32_t signal = 0; signal < 32; signal++) /* HUP, INT, QUIT, KILL, TERM */
        assert_int_equal (failure_is_outside_kill (ENDING_SIGNALLED, signal),
                          signal == 1 || signal == 2 || signal == 3 || signal == 9 || signal == 15);
}

TEST (flags_compare_as_sets_of_tokens)
{
    struct text a = flag_set_normalise (text_of ("--b=2  --a=1 --b=2"), &t->arena),
                b = flag_set_normalise (text_of ("--a=1 --b=2"), &t->arena);
    assert_text (a, b);
    assert_text (a, "--a=1 --b=2");
    assert_false (text_equal (a, flag_set_normalise (text_of ("--a=1"), &t->arena)));
}

/* As a journal may have it. */
TEST (what_is_of_no_rung_or_host_of_the_plan_is_not_judged)
{
    struct bench bench;
    struct verdict verdict;
    bench_begin (&bench, TEXT_LIT ("tiny"), &t->arena);
    struct preliminary_judge *judge = preliminary_judge_create (&bench.plan);
    struct fact_attempt_ended ended = { .host = 3, .result = { .ending = ENDING_EXITED, .code = 1 } };
    assert_true (preliminary_verdict (judge, &ended, 4, &t->arena, &verdict));
    ended.host = 4;
    assert_false (preliminary_verdict (judge, &ended, 4, &t->arena, &verdict));
    ended.host = 3;
    ended.result.key.rung = 3;
    assert_false (preliminary_verdict (judge, &ended, 4, &t->arena, &verdict));
    preliminary_judge_destroy (judge);
}

/* Of a cold pass of all hosts one writes: the others have no seal to show. */
TEST (a_seal_is_asked_of_the_writer_alone_while_others_run)
{
    struct bench bench;
    struct verdict verdict;
    bench_begin (&bench, TEXT_LIT ("tiny cold"), &t->arena);
    bench.result.seal = (struct seal){ 0 };
    struct preliminary_judge *judge = preliminary_judge_create (&bench.plan);
    const struct fact granted = { .kind = FACT_WRITER_GRANTED, .of.writer_granted = { .token = 9, .host = 2 } };
    preliminary_judge_learn (judge, &granted);
    for (uint32_t host = 0; host < 4; host++) {
        struct fact_attempt_ended ended = { .host = host, .result = bench.result };
        assert_int_equal (preliminary_verdict (judge, &ended, 4, &t->arena, &verdict), host == 2);
    }
    preliminary_judge_destroy (judge);
}
