/* links: simulated */

#include "coordinator/verdict/blame.h"
#include "coordinator/verdict/failure.h"
#include "coordinator/verdict/flag_set.h"
#include "coordinator/verdict/judge.h"
#include "sample.h"
#include "test.h"

enum { FACTS, TINY, ALL };

struct bench {
    struct arena arena;
    struct plan plan;
    struct result result;
    struct judge_case of;
    struct verdict verdict;
};

TEST_FIXTURE (struct bench, TEST_NOTHING, TEST_ARENA)

/* A host that did everything right on this rung and pass. */
static void bench_make (struct bench *bench, uint32_t rung, enum pass pass)
{
    *bench = (struct bench){ 0 };
    sample_plan (&bench->plan, 4, &bench->arena);
    bool slice = bench->plan.rungs.items[rung].scope == SCOPE_SLICE;
    struct msg_run run = { .key = { rung, pass, 1 },
                           .rung = bench->plan.rungs.items[rung],
                           .world = slice ? 4 : 1,
                           .profile = bench->plan.profile };
    run.cache.role = pass == PASS_COLD       ? CACHE_ROLE_WRITER
                     : pass == PASS_RESTORED ? CACHE_ROLE_READER
                                             : CACHE_ROLE_NONE;
    run.cache.token = 9;
    uint64_t secrets[4] = { 2, 4, 6, 8 };
    sample_result (&run, secrets, &bench->result, &bench->arena);
    bench->of = (struct judge_case){ .plan = &bench->plan,
                                     .rung = &bench->plan.rungs.items[rung],
                                     .key = run.key,
                                     .world = run.world,
                                     .writer = pass == PASS_COLD,
                                     .token = 9,
                                     .result = &bench->result };
}

static enum outcome judge (struct bench *bench)
{
    judge_result (&bench->of, &bench->arena, &bench->verdict);
    return bench->verdict.outcome;
}

static bool cause_has (const struct bench *bench, const char *words)
{
    return text_find (bench->verdict.cause, text_of (words), NULL);
}

TEST (good_results_pass)
{
    static const struct {
        uint32_t rung;
        enum pass pass;
        const char *cache;
    } cases[] = {
        { FACTS, PASS_ONCE, "" },
        { TINY, PASS_COLD, "cold" },
        { TINY, PASS_RESTORED, "restored" },
        { ALL, PASS_RESTORED, "restored" },
    };
    for (size_t i = 0; i < 4; i++) {
        struct bench bench;
        bench_make (&bench, cases[i].rung, cases[i].pass);
        assert_int_equal (judge (&bench), OUTCOME_PASSED);
        assert_text (bench.verdict.cache, cases[i].cache);
        arena_release (&bench.arena);
    }
}

/* "cold" says that the pass compiled, and not which pass it was. */
TEST (a_cold_pass_that_compiled_nothing_is_not_cold)
{
    static const struct {
        uint64_t requests, hits, executions;
        const char *cache;
    } cases[] = { { 3, 0, 1, "cold" }, { 3, 2, 1, "cold" }, { 3, 3, 1, "restored" }, { 3, 3, 0, "" }, { 0, 0, 1, "" } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bench bench;
        bench_make (&bench, TINY, PASS_COLD);
        struct named_number counters[] = { { TEXT_LIT ("compile_requests"), cases[i].requests },
                                           { TEXT_LIT ("cache_hits"), cases[i].hits },
                                           { TEXT_LIT ("executions"), cases[i].executions } };
        bench.result.counters.items = counters;
        bench.result.counters.n = 3;
        assert_int_equal (judge (&bench), OUTCOME_PASSED);
        assert_text (bench.verdict.cache, cases[i].cache);
        arena_release (&bench.arena);
    }
}

TEST (how_it_ended_decides)
{
    static const struct {
        enum ending ending;
        uint32_t code;
        enum outcome outcome;
        const char *words;
    } cases[] = {
        { ENDING_EXITED, 3, OUTCOME_FAILED, "exited with status 3" },
        { ENDING_SIGNALLED, SIGSEGV, OUTCOME_FAILED, "signal 11" },
        { ENDING_SIGNALLED, SIGKILL, OUTCOME_FAILED, "signal 9" },
        { ENDING_TIMEOUT, 0, OUTCOME_TIMED_OUT, "still in phase run after 1 min" },
        { ENDING_ORPHANED, 0, OUTCOME_LOST, "coordinator" },
        { ENDING_TERMINATED, 0, OUTCOME_LOST, "or a newer worker of this host" },
        { ENDING_LEASE_LOST, 0, OUTCOME_LOST, "lease" },
        { ENDING_LOST, 0, OUTCOME_LOST, "" },
        { ENDING_CANCELLED, 0, OUTCOME_CANCELLED, "asked to stop" },
        { ENDING_NOT_STARTED, 0, OUTCOME_BLOCKED, "" },
    };
    for (size_t i = 0; i < sizeof (cases) / sizeof (cases[0]); i++) {
        struct bench bench;
        bench_make (&bench, TINY, PASS_RESTORED);
        bench.result.ending = cases[i].ending;
        bench.result.code = cases[i].code;
        assert_int_equal (judge (&bench), cases[i].outcome);
        assert_true (cause_has (&bench, cases[i].words));
        assert_int_equal (cases[i].ending == ENDING_SIGNALLED ? bench.verdict.owner : OWNER_UNKNOWN, OWNER_UNKNOWN);
        if (cases[i].ending == ENDING_CANCELLED) /* nobody has to act */
            assert_int_equal (bench.verdict.owner, OWNER_NONE);
        if (cases[i].ending == ENDING_LOST)
            assert_true (bench.verdict.owner == OWNER_HOST && bench.verdict.likely);
        arena_release (&bench.arena);
    }
}

TEST_ON (bench, silence_and_exit_0_is_no_evidence)
{
    bench_make (bench, TINY, PASS_ONCE);
    bench->result.done = false;
    assert_int_equal (judge (bench), OUTCOME_FAILED);
    assert_true (cause_has (bench, "never reported that it was done"));
}

TEST_ON (bench, who_says_failure_fails_whatever_else_it_says)
{
    bench_make (bench, TINY, PASS_ONCE);
    bench->result.owner = OWNER_DEVICE;
    bench->result.failure = TEXT_LIT ("the chip is busy");
    assert_int_equal (judge (bench), OUTCOME_FAILED);
    assert_int_equal (bench->verdict.owner, OWNER_DEVICE);
    assert_true (cause_has (bench, "the chip is busy (reported a failure, but exited with status 0)"));
}

TEST (a_broken_rule_is_the_cause_when_nobody_knows_a_better_one)
{
    static const struct {
        uint32_t code;
        bool done;
        const char *tail;
        enum owner owner;
        const char *words;
    } cases[] = {
        { 0, true, "", OWNER_PROGRAM, "broke the canary protocol with 2 lines: done: said after failure: {}" },
        { 0, false, "", OWNER_PROGRAM, "broke the canary protocol with 2 lines" },
        { 1, false, "", OWNER_PROGRAM, "exited with status 1; broke the canary protocol with 2 lines" },
        { 1, false, "No space left on device", OWNER_HOST, "exited with status 1 in phase run" },
    };
    for (size_t i = 0; i < sizeof (cases) / sizeof (cases[0]); i++) {
        struct bench bench;
        bench_make (&bench, TINY, PASS_ONCE);
        bench.result.bad_lines = 2;
        bench.result.bad_line = TEXT_LIT ("done: said after failure: {}");
        bench.result.code = cases[i].code;
        bench.result.done = cases[i].done;
        bench.result.tail = text_of (cases[i].tail);
        assert_int_equal (judge (&bench), OUTCOME_FAILED);
        assert_int_equal (bench.verdict.owner, cases[i].owner);
        if (!cause_has (&bench, cases[i].words))
            fail_msg ("case %zu: %.*s", i, TEXT_ARG (bench.verdict.cause));
        arena_release (&bench.arena);
    }
}

TEST_ON (bench, another_backend_than_asked_fails_whatever_the_exit_status)
{
    bench_make (bench, TINY, PASS_ONCE);
    bench->plan.rungs.items[TINY].backend = TEXT_LIT ("tpu");
    assert_int_equal (judge (bench), OUTCOME_FAILED);
    assert_int_equal (bench->verdict.owner, OWNER_LAUNCH);
    assert_true (cause_has (bench, "the rung asks for backend tpu, but its program ran on cpu"));
    bench->result.backend.platform = TEXT_LIT ("cuda");
    assert_int_equal (judge (bench), OUTCOME_FAILED);
    bench->plan.rungs.items[TINY].backend = TEXT_LIT ("gpu");
    assert_int_equal (judge (bench), OUTCOME_PASSED);
    bench->result.backend.platform = TEXT_LIT ("cpu");
    assert_int_equal (judge (bench), OUTCOME_FAILED);
    bench->result.backend.platform = (struct text){ 0 };
    assert_int_equal (judge (bench), OUTCOME_FAILED);
}

TEST_ON (bench, a_rank_that_initialised_alone_fails)
{
    bench_make (bench, ALL, PASS_RESTORED);
    bench->result.backend.process_count = 1;
    bench->result.backend.devices = 2;
    assert_int_equal (judge (bench), OUTCOME_FAILED);
    assert_int_equal (bench->verdict.owner, OWNER_LAUNCH);
}

TEST_ON (bench, wrong_values_fail_and_nan_is_wrong)
{
    bench_make (bench, TINY, PASS_ONCE);
    bench->result.checks.items[0].observed = 284;
    assert_int_equal (judge (bench), OUTCOME_FAILED);
    bench->result.checks.items[0].observed = 0.0 / 0.0;
    assert_int_equal (judge (bench), OUTCOME_FAILED);
}

TEST (steps_that_compile_again_get_their_own_advice)
{
    static const struct {
        const char *check, *next;
        double observed;
    } cases[] = { { "compile requests during steps 2..20", "when shapes change", 19 },
                  { "programs asked for in steps 2..20", "when shapes change", 19 },
                  { "programs asked for in the first step", "suspect its devices", 0 },
                  { "loss of the last step", "suspect its devices", 19 } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bench bench;
        bench_make (&bench, TINY, PASS_ONCE);
        bench.result.checks.items[0] =
            (struct value_check){ .name = text_of (cases[i].check), .expected = i == 2, .observed = cases[i].observed };
        assert_int_equal (judge (&bench), OUTCOME_FAILED);
        assert_has (bench.verdict.next, cases[i].next);
        arena_release (&bench.arena);
    }
}

static void set_counter (struct bench *bench, const char *name, uint64_t value)
{
    for (uint32_t i = 0; i < bench->result.counters.n; i++)
        if (text_is (bench->result.counters.items[i].name, name))
            bench->result.counters.items[i].value = value;
}

TEST_ON (bench, restored_needs_every_piece_of_evidence)
{
    bench_make (bench, TINY, PASS_RESTORED);
    set_counter (bench, "cache_hits", 2);
    assert_int_equal (judge (bench), OUTCOME_FAILED);
    assert_true (cause_has (bench, "compiled 1 of 3 programs again"));
    assert_text (bench->verdict.cache, "recompiled");
    set_counter (bench, "cache_hits", 0);
    set_counter (bench, "compile_requests", 0);
    assert_int_equal (judge (bench), OUTCOME_FAILED);
    assert_true (cause_has (bench, "never consulted"));
    set_counter (bench, "cache_hits", 3);
    set_counter (bench, "compile_requests", 3);
    set_counter (bench, "executions", 0);
    assert_int_equal (judge (bench), OUTCOME_FAILED);
    assert_int_equal (bench->verdict.cache.len, 0); /* nothing was compiled again, as far as was told */
    set_counter (bench, "executions", 1);
    bench->result.cache_state = TEXT_LIT ("tiny-cache: sha256 differs");
    assert_int_equal (judge (bench), OUTCOME_FAILED);
    bench->result.cache_state = TEXT_LIT ("verified");
    assert_int_equal (judge (bench), OUTCOME_PASSED);
    bench->result.counters.n = 0;
    assert_int_equal (judge (bench), OUTCOME_FAILED);
    assert_true (cause_has (bench, "did not report its compile counters"));
}

TEST (compiling_ahead_compiles_and_executes_nothing)
{
    static const struct {
        uint64_t requests, executions;
        enum outcome outcome;
    } cases[] = {
        { 3, 0, OUTCOME_PASSED },
        { 3, 1, OUTCOME_FAILED },
        { 0, 0, OUTCOME_FAILED },
    };
    for (size_t i = 0; i < sizeof (cases) / sizeof (cases[0]); i++) {
        struct bench bench;
        bench_make (&bench, TINY, PASS_COLD);
        bench.plan.rungs.items[TINY].warm = WARM_AOT;
        set_counter (&bench, "compile_requests", cases[i].requests);
        set_counter (&bench, "executions", cases[i].executions);
        assert_int_equal (judge (&bench), cases[i].outcome);
        assert_true (cases[i].outcome == OUTCOME_PASSED ||
                     cause_has (&bench, "in a pass that only compiles, the program asked for"));
        arena_release (&bench.arena);
    }
}

TEST_ON (bench, a_writer_that_did_not_seal_fails)
{
    bench_make (bench, TINY, PASS_COLD);
    bench->result.seal.token = 8;
    assert_int_equal (judge (bench), OUTCOME_FAILED);
    assert_int_equal (bench->verdict.owner, OWNER_CACHE);
}

TEST (what_a_writer_changed_in_its_copy_is_told_apart_from_what_others_changed)
{
    static const struct {
        uint64_t token;
        bool writer;
        const char *cause, *next;
    } cases[] = {
        { 9, true, "generation 9 is not published: changed x: other bytes", "sliceup logs --rung tiny" },
        { 9, false, "generation 9 was modified after it was sealed: changed x: ", "see who else can write the cache" },
        { 8, true, "generation 8 was modified after it was sealed: changed x: ", "see who else can write the cache" },
    };
    for (size_t i = 0; i < sizeof (cases) / sizeof (cases[0]); i++) {
        struct bench bench;
        struct finding finding = { FINDING_CHANGED, cases[i].token, TEXT_LIT ("x"), TEXT_LIT ("other bytes") };
        bench_make (&bench, TINY, PASS_COLD);
        bench.of.writer = cases[i].writer;
        bench.result.findings.items = &finding;
        bench.result.findings.n = 1;
        assert_int_equal (judge (&bench), OUTCOME_FAILED);
        assert_true (cause_has (&bench, cases[i].cause));
        assert_has (bench.verdict.next, cases[i].next);
        arena_release (&bench.arena);
    }
}

TEST_ON (bench, known_text_names_the_owner_and_unknown_stays_unknown)
{
    bench_make (bench, TINY, PASS_ONCE);
    bench->result.code = 1;
    bench->result.tail = TEXT_LIT ("write: No space left on device\nlater: Connection closed by peer");
    assert_int_equal (judge (bench), OUTCOME_FAILED);
    assert_int_equal (bench->verdict.owner, OWNER_HOST);
    assert_text (bench->verdict.signature, "disk-full");
    bench->result.tail = TEXT_LIT ("something nobody has seen before");
    judge (bench);
    assert_int_equal (bench->verdict.owner, OWNER_UNKNOWN);
}

TEST_ON (bench, our_own_programs_name_their_failures_themselves)
{
    bench_make (bench, FACTS, PASS_ONCE);
    bench->result.code = 1;
    bench->result.owner = OWNER_PLATFORM;
    bench->result.failure = TEXT_LIT ("the index cannot be reached");
    bench->result.tail = TEXT_LIT ("No space left on device");
    assert_int_equal (judge (bench), OUTCOME_BLOCKED);
    assert_int_equal (bench->verdict.owner, OWNER_PLATFORM);
}

/* ---- kills ---- */

TEST (the_kernel_s_counters_say_who_killed)
{
    static const struct {
        enum ending ending;
        uint32_t code;
        uint64_t group, machine;
        const char *tail;
        enum owner owner;
        bool likely;
        const char *words;
    } cases[] = {
        { ENDING_SIGNALLED, SIGKILL, 1, 1, "", OWNER_HOST, false,
          "the kernel killed a process of this program's memory cgroup because memory ran out" },
        { ENDING_SIGNALLED, SIGKILL, 3, 3, "No space left on device", OWNER_HOST, false, "killed 3 processes of this" },
        { ENDING_EXITED, 137, 1, 1, "", OWNER_HOST, false, "a shell reports of a program killed by signal 9 (Killed)" },
        { ENDING_SIGNALLED, SIGKILL, 0, 2, "", OWNER_HOST, true, "the kernel killed 2 processes on this machine" },
        { ENDING_SIGNALLED, SIGKILL, 0, 2, "No space left on device", OWNER_HOST, false, "signal 9 (Killed) in phase" },
        { ENDING_SIGNALLED, SIGKILL, 0, 0, "", OWNER_UNKNOWN, false, "nothing in its log says by whom" },
        { ENDING_EXITED, 143, 0, 0, "", OWNER_UNKNOWN, false,
          "exited with status 143, which a shell reports of a program killed by signal 15 (Terminated)" },
        { ENDING_EXITED, 1, 1, 1, "", OWNER_HOST, true,
          "exited with status 1 in phase run; the kernel killed a process" },
        { ENDING_EXITED, 1, 0, 1, "", OWNER_UNKNOWN, false, "exited with status 1 in phase run" },
        { ENDING_SIGNALLED, SIGSEGV, 0, 0, "", OWNER_UNKNOWN, false, "signal 11" },
        { ENDING_EXITED, 139, 0, 0, "", OWNER_UNKNOWN, false,
          "exited with status 139, which a shell reports of a program killed by signal 11 (Segmentation fault) in" },
        { ENDING_EXITED, 160, 0, 0, "", OWNER_UNKNOWN, false, "exited with status 160 in phase run" },
        { ENDING_EXITED, 127, 0, 0, "", OWNER_UNKNOWN, false,
          "which a shell reports of a program that it did not find" },
        { ENDING_EXITED, 126, 0, 0, "", OWNER_UNKNOWN, false, "which a shell reports of a program that it may not" },
        { ENDING_EXITED, 124, 0, 0, "", OWNER_UNKNOWN, false, "which timeout(1) reports of a program that it ended" },
        { ENDING_TIMEOUT, 0, 1, 1, "", OWNER_HOST, true, "stopped; the kernel killed a process of this program's" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench bench;
        bench_make (&bench, TINY, PASS_ONCE);
        bench.result.ending = cases[i].ending;
        bench.result.code = cases[i].code;
        bench.result.group_memory_kills = cases[i].group;
        bench.result.machine_memory_kills = cases[i].machine;
        bench.result.memory_limit_bytes = 67108864;
        bench.result.tail = text_of (cases[i].tail);
        (void) judge (&bench);
        if (!cause_has (&bench, cases[i].words))
            fail_msg ("case %zu: %.*s", i, TEXT_ARG (bench.verdict.cause));
        assert_int_equal (bench.verdict.owner, cases[i].owner);
        assert_int_equal (bench.verdict.likely, cases[i].likely);
        bool told = text_find (bench.verdict.evidence, TEXT_LIT ("memory limit of its cgroup: 67108864 bytes"), NULL);
        assert_int_equal (told, cause_has (&bench, "the kernel killed"));
        arena_release (&bench.arena);
    }
    assert_true (failure_is_outside_kill (ENDING_EXITED, 137) && failure_is_outside_kill (ENDING_EXITED, 143));
    assert_false (failure_is_outside_kill (ENDING_EXITED, 139) || failure_is_outside_kill (ENDING_CANCELLED, 137));
}

TEST (a_kill_in_a_cgroup_that_it_shares_is_not_told_as_its_own)
{
    for (int known = 0; known < 2; known++) {
        struct bench bench;
        bench_make (&bench, TINY, PASS_ONCE);
        bench.result.ending = ENDING_SIGNALLED;
        bench.result.code = SIGKILL;
        bench.result.group_memory_kills = bench.result.machine_memory_kills = 1;
        bench.result.memory_group_shared = true;
        bench.result.tail = known ? TEXT_LIT ("No space left on device") : TEXT_LIT ("");
        (void) judge (&bench);
        assert_int_equal (bench.verdict.owner, OWNER_HOST);
        assert_int_equal (bench.verdict.likely, !known);
        assert_int_equal (cause_has (&bench, "killed a process of a memory cgroup that it shares because"), !known);
        assert_false (cause_has (&bench, "this program's memory cgroup"));
        arena_release (&bench.arena);
    }
}

/* ---- hangs ---- */

TEST (where_it_hung_is_the_evidence)
{
    struct text stack[] = { TEXT_LIT ("main thread: File \"a.py\", line 3 in step"),
                            TEXT_LIT ("python3: main thread sleeping in futex") };
    static const enum ending endings[] = { ENDING_TIMEOUT, ENDING_CANCELLED };
    for (int i = 0; i < 2; i++) {
        struct bench bench;
        bench_make (&bench, TINY, PASS_ONCE);
        bench.result.ending = endings[i];
        bench.result.stack.items = stack;
        bench.result.stack.n = 2;
        (void) judge (&bench);
        assert_text (bench.verdict.evidence, "main thread: File \"a.py\", line 3 in step\n"
                                             "python3: main thread sleeping in futex");
        arena_release (&bench.arena);
    }
}

TEST (an_error_before_a_hang_is_its_cause)
{
    struct text stack[] = { TEXT_LIT ("main thread: File \"threading.py\", line 3 in _shutdown") };
    static const struct {
        const char *tail, *cause, *evidence;
        enum outcome outcome;
    } cases[] = {
        { "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n    raise ValueError('no')\n"
          "ValueError: no\n",
          "printed ValueError and then hung: still in phase run after 1 min; stopped", "ValueError: no",
          OUTCOME_FAILED },
        { "F0604 12:45:24.926233 1 a.cc:3] Check failed: x\n",
          "printed an error that ends programs and then hung: still", "F0604 12:45:24.926233 1 a.cc:3] Check failed: x",
          OUTCOME_TIMED_OUT },
        { "ValueError: no\nremoved the old one, again\nloading data\n", "still in phase run after 1 min; stopped",
          "main thread: File", OUTCOME_TIMED_OUT },
        { "retrying after an error\n", "still in phase run after 1 min; stopped", "main thread: File",
          OUTCOME_TIMED_OUT },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench bench;
        bench_make (&bench, TINY, PASS_ONCE);
        bench.result.ending = ENDING_TIMEOUT;
        bench.result.tail = text_of (cases[i].tail);
        bench.result.stack.items = stack;
        bench.result.stack.n = 1;
        assert_int_equal (judge (&bench), cases[i].outcome);
        assert_true (text_starts (bench.verdict.cause, cases[i].cause));
        assert_true (text_starts (bench.verdict.evidence, cases[i].evidence));
        assert_has (bench.verdict.evidence, "in _shutdown");
        arena_release (&bench.arena);
    }
}

/* ---- blame ---- */

struct failed_host {
    enum ending ending;
    uint32_t code;
    const char *tail;
    uint32_t order;
    bool at_gate;
    enum outcome expected;
};
enum { COMPLAINS = 7 }; /* a program that exits with this has said that the collective failed it */

static void blame_case (const struct failed_host *failed, uint32_t n)
{
    struct verdict verdicts[4];
    struct blame_host hosts[4];
    struct bench bench;
    struct arena arena = { 0 };
    for (uint32_t i = 0; i < n; i++) {
        bench_make (&bench, ALL, PASS_ONCE);
        bench.of.host = i;
        bench.result.ending = failed[i].ending;
        bench.result.code = failed[i].code;
        bench.result.tail = text_of (failed[i].tail);
        bool complains = failed[i].ending == ENDING_EXITED && failed[i].code == COMPLAINS;
        bench.result.owner = complains ? OWNER_PEER : OWNER_NONE;
        judge (&bench);
        verdicts[i] = bench.verdict;
        verdicts[i].cause = verdicts[i].phase = verdicts[i].next = (struct text){ 0 };
        verdicts[i].signature = text_copy (&arena, bench.verdict.signature);
        verdicts[i].evidence = text_copy (&arena, bench.verdict.evidence);
        hosts[i] = (struct blame_host){ .verdict = &verdicts[i],
                                        .ending = failed[i].ending,
                                        .code = failed[i].code,
                                        .order = failed[i].order,
                                        .at_gate = failed[i].at_gate,
                                        .killed = failure_is_outside_kill (failed[i].ending, failed[i].code),
                                        .complains = complains };
        arena_release (&bench.arena);
    }
    struct plan plan;
    sample_plan (&plan, 4, &arena);
    blame_slice (&plan, hosts, n, &arena);
    for (uint32_t i = 0; i < n; i++)
        if (verdicts[i].outcome != failed[i].expected)
            fail_msg ("host %u: %s, expected %s", i, enum_name_of (&outcome_names, verdicts[i].outcome),
                      enum_name_of (&outcome_names, failed[i].expected));
    arena_release (&arena);
}

/* Whatever is printed by those that are made to end comes later than why they are. */
TEST (those_for_whom_the_others_waited_are_the_cause)
{
    static const char peers[] = "Gloo: Connection closed by peer";
    const struct failed_host out_of_time[] = {
        { ENDING_TIMEOUT, 0, "", 0, true, OUTCOME_CASCADE },
        { ENDING_TIMEOUT, 0, peers, 2, false, OUTCOME_TIMED_OUT },
        { ENDING_TIMEOUT, 0, peers, 1, true, OUTCOME_CASCADE },
    };
    const struct failed_host stopped_in_time[] = {
        { ENDING_TIMEOUT, 0, "", 0, true, OUTCOME_CASCADE },
        { ENDING_CANCELLED, 0, peers, 1, false, OUTCOME_TIMED_OUT },
        { ENDING_CANCELLED, 0, "", 2, true, OUTCOME_CASCADE },
        { ENDING_TIMEOUT, 0, "", 3, false, OUTCOME_TIMED_OUT },
    };
    const struct failed_host one_confesses[] = {
        { ENDING_TIMEOUT, 0, "", 1, true, OUTCOME_CASCADE },
        { ENDING_CANCELLED, 0, "", 2, false, OUTCOME_CASCADE },
        { ENDING_EXITED, 1, "No space left on device", 0, false, OUTCOME_FAILED },
    };
    blame_case (out_of_time, 3);
    blame_case (stopped_in_time, 4);
    blame_case (one_confesses, 3);
}

TEST (the_cause_is_told_from_the_cascade)
{
    const struct failed_host peers_report_first[] = {
        { ENDING_EXITED, 1, "Gloo: Connection closed by peer", 0, false, OUTCOME_CASCADE },
        { ENDING_EXITED, 1, "Gloo: Connection closed by peer", 1, false, OUTCOME_CASCADE },
        { ENDING_LOST, 0, "", 3, false, OUTCOME_LOST },
        { ENDING_EXITED, 1, "Gloo: Connection closed by peer", 2, false, OUTCOME_CASCADE },
    };
    const struct failed_host killed_after_unknown[] = {
        { ENDING_EXITED, 1, "something odd", 0, false, OUTCOME_FAILED },
        { ENDING_SIGNALLED, SIGKILL, "", 1, false, OUTCOME_FAILED },
        { ENDING_EXITED, 1, "something odd", 2, false, OUTCOME_CASCADE },
    };
    const struct failed_host unknown_after_known[] = {
        { ENDING_EXITED, 1, "No space left on device", 0, false, OUTCOME_FAILED },
        { ENDING_SIGNALLED, SIGABRT, "something odd", 1, false, OUTCOME_CASCADE },
        { ENDING_CANCELLED, 0, "", 2, true, OUTCOME_CASCADE },
        { ENDING_EXITED, 0, "", 3, false, OUTCOME_PASSED },
    };
    const struct failed_host gate_waiters[] = {
        { ENDING_TIMEOUT, 0, "", 0, true, OUTCOME_CASCADE },
        { ENDING_TIMEOUT, 0, "", 1, true, OUTCOME_CASCADE },
        { ENDING_TIMEOUT, 0, "", 2, false, OUTCOME_TIMED_OUT },
        { ENDING_TIMEOUT, 0, "", 3, true, OUTCOME_CASCADE },
    };
    const struct failed_host one_erred_before_it_hung[] = {
        { ENDING_TIMEOUT, 0, "", 0, false, OUTCOME_CASCADE },
        { ENDING_TIMEOUT, 0, "ValueError: no\n", 1, false, OUTCOME_FAILED },
        { ENDING_CANCELLED, 0, "", 2, false, OUTCOME_CASCADE },
    };
    const struct failed_host one_limit_for_all[] = {
        { ENDING_TIMEOUT, 0, "", 0, false, OUTCOME_TIMED_OUT },
        { ENDING_TIMEOUT, 0, "", 2, false, OUTCOME_TIMED_OUT },
        { ENDING_CANCELLED, 0, "", 1, false, OUTCOME_CASCADE },
        { ENDING_TIMEOUT, 0, "", 3, false, OUTCOME_TIMED_OUT },
    };
    const struct failed_host nobody_confesses[] = {
        { ENDING_EXITED, 1, "Connection closed by peer", 1, false, OUTCOME_FAILED },
        { ENDING_EXITED, 1, "Connection closed by peer", 0, false, OUTCOME_FAILED },
    };
    const struct failed_host two_causes[] = {
        { ENDING_EXITED, 1, "No space left on device", 1, false, OUTCOME_FAILED },
        { ENDING_EXITED, 1, "No space left on device", 0, false, OUTCOME_FAILED },
    };
    const struct failed_host complaints[] = {
        { ENDING_EXITED, COMPLAINS, "rank 2 closed the connection", 1, false, OUTCOME_CASCADE },
        { ENDING_CANCELLED, 0, "", 3, true, OUTCOME_CASCADE },
        { ENDING_EXITED, 1, "this host cannot go on", 2, false, OUTCOME_FAILED },
        { ENDING_EXITED, COMPLAINS, "rank 0 closed the connection", 0, false, OUTCOME_CASCADE },
    };
    const struct failed_host only_complaints[] = {
        { ENDING_EXITED, COMPLAINS, "rank 1: no route", 1, false, OUTCOME_FAILED },
        { ENDING_EXITED, COMPLAINS, "rank 0: no route", 0, false, OUTCOME_FAILED },
    };
    blame_case (peers_report_first, 4);
    blame_case (complaints, 4);
    blame_case (only_complaints, 2);
    blame_case (unknown_after_known, 4);
    blame_case (killed_after_unknown, 3);
    blame_case (gate_waiters, 4);
    blame_case (one_erred_before_it_hung, 3);
    blame_case (one_limit_for_all, 4);
    blame_case (nobody_confesses, 2);
    blame_case (two_causes, 2);
}

TEST (flags_compare_as_sets_of_tokens)
{
    struct text a = flag_set_normalise (text_of ("--b=2  --a=1 --b=2"), &t->arena),
                b = flag_set_normalise (text_of ("--a=1 --b=2"), &t->arena);
    assert_text (a, b);
    assert_text (a, "--a=1 --b=2");
    assert_false (text_equal (a, flag_set_normalise (text_of ("--a=1"), &t->arena)));
}
