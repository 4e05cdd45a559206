/* links: simulated */
/* What the coordinator makes of a pass whose programs run alone on their hosts, and what it gives and asks of them. */
#include "coord_bench.h"
#include "coordinator/core/steps.h"

enum { HOSTS = 4 };

/* A run of a command on each host by itself. */
static void bench_open (struct bench *bench)
{
    *bench = (struct bench){ .now_ms = 1000 };
    sample_plan (&bench->plan, HOSTS, &bench->arena);
    bench->plan.rungs.items[0].kind = PROGRAM_COMMAND;
    bench->plan.rungs.items[0].builtin = (struct text){ 0 };
    bench->plan.rungs.n = 1;
    bench->plan.profile.backend = TEXT_LIT ("tpu");
}

static void bench_start (struct bench *bench)
{
    bench_begin (bench);
    all_join (bench);
}

TEST_FIXTURE (struct bench, bench_open, bench_close)

static void end (struct bench *bench, uint32_t host, struct result with)
{
    struct msg msg = { .kind = MSG_RESULT, .of.result = with };
    msg.of.result.key = (struct attempt_key){ 0, PASS_ONCE, 1 };
    tell (bench, host, &msg);
}

static const struct verdict *verdict_of (const struct bench *bench, uint32_t host)
{
    const struct fact_pass_ended *ended = &last_fact (bench, FACT_PASS_ENDED)->of.pass_ended;
    for (uint32_t i = 0; i < ended->verdicts.n; i++)
        if (ended->verdicts.items[i].host == host)
            return &ended->verdicts.items[i];
    return NULL;
}

TEST (who_printed_last_what_most_did_not_is_told_so_where_time_ran_out_for_all)
{
    static const struct {
        const char *last[HOSTS];
        bool passed, told; /* passed: host 0; told: of host 3 */
    } rows[] = {
        { { "a\nstep 3\n", "step 3", "b\nstep 3", "loading" }, false, true },
        { { "step 3", "step 3", "step 3", "loading" }, true, false },
        { { "step 3", "step 3", "", "loading" }, false, false }, /* half of them */
        { { "step 3", "step 3", "step 3", "step 3" }, false, false },
        { { "", "", "", "" }, false, false },
        { { "a", "b", "c", "d" }, false, false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct bench bench;
        bench_open (&bench);
        bench_start (&bench);
        for (uint32_t host = 0; host < HOSTS; host++) {
            enum ending ending = rows[i].passed && host == 0 ? ENDING_EXITED : ENDING_TIMEOUT;
            end (&bench, host, (struct result){ .ending = ending, .tail = text_of (rows[i].last[host]) });
        }
        const struct verdict *of = verdict_of (&bench, 3);
        if (text_find (of->cause, TEXT_LIT ("; host[0-2] printed last: step 3"), NULL) != rows[i].told)
            fail_msg ("row %zu: %.*s", i, TEXT_ARG (of->cause));
        assert_int_equal (text_find (of->next, TEXT_LIT ("--rung facts --hosts host3"), NULL), rows[i].told);
        assert_false (text_find (verdict_of (&bench, 1)->cause, TEXT_LIT ("printed last"), NULL));
        bench_close (&bench);
    }
}

/* Its own stack has no frame, so it is said who stands elsewhere, and where. */
TEST_ON (bench, who_stands_where_most_do_not_is_told_so)
{
    struct text most[] = { TEXT_LIT ("sh: main thread sleeping in wait4 (do_wait)") },
                one[] = { TEXT_LIT ("apt-get: main thread sleeping in fcntl (locks_lock_inode_wait)") };
    bench_start (bench);
    for (uint32_t host = 0; host < HOSTS; host++)
        end (bench, host, (struct result){ .ending = ENDING_TIMEOUT, .stack = { host == 3 ? one : most, 1 } });
    assert_has (verdict_of (bench, 3)->cause, "; host3 is sleeping in fcntl; host[0-2] are sleeping in wait4");
    assert_has (verdict_of (bench, 3)->next, "lslocks");
}

TEST (who_alone_fails_of_its_program_is_compared_with_those_on_which_it_passed)
{
    static const struct {
        uint32_t passed;
        enum owner owner;
        bool compared;
    } rows[] = { { 3, OWNER_PROGRAM, true }, { 2, OWNER_PROGRAM, false }, { 3, OWNER_HOST, false } };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct bench bench;
        bench_open (&bench);
        bench_start (&bench);
        for (uint32_t host = 0; host < HOSTS; host++)
            end (&bench, host,
                 host < rows[i].passed ? (struct result){ .ending = ENDING_EXITED }
                                       : (struct result){ .ending = ENDING_EXITED, .code = 1, .owner = rows[i].owner });
        const struct verdict *of = verdict_of (&bench, 3);
        assert_int_equal (text_starts (of->next, "sliceup drift 00112233 (it passed on 3 others"), rows[i].compared);
        assert_int_equal (of->else_owner, rows[i].compared ? OWNER_HOST : OWNER_NONE);
        bench_close (&bench);
    }
}

TEST (a_command_that_passed_has_to_show_the_backend_that_it_ran_on)
{
    static const struct {
        const char *profile, *platform;
        bool any, failed, unproved;
    } rows[] = {
        { "tpu", "", false, false, true },  { "tpu", "tpu", false, false, false }, { "tpu", "", true, false, false },
        { "cpu", "", false, false, false }, { "tpu", "", false, true, false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct bench bench;
        bench_open (&bench);
        bench.plan.profile.backend = text_of (rows[i].profile);
        bench.plan.rungs.items[0].any_backend = rows[i].any;
        bench_start (&bench);
        for (uint32_t host = 0; host < HOSTS; host++)
            end (&bench, host,
                 (struct result){
                     .ending = ENDING_EXITED, .code = rows[i].failed, .backend.platform = text_of (rows[i].platform) });
        assert_int_equal (bench.coord->state->rungs.items[0].unproved, rows[i].unproved);
        bench_close (&bench);
    }
}

TEST (who_never_writes_the_cache_surveys_it_as_a_reader)
{
    static const struct {
        enum cache_mode mode;
        enum cache_role first, second;
    } rows[] = { { CACHE_SINGLE_WRITER, CACHE_ROLE_OWN, CACHE_ROLE_READER },
                 { CACHE_READ_ONLY, CACHE_ROLE_READER, CACHE_ROLE_READER },
                 { CACHE_PER_HOST, CACHE_ROLE_OWN, CACHE_ROLE_OWN },
                 { CACHE_OFF, CACHE_ROLE_NONE, CACHE_ROLE_NONE } };
    struct text writer = TEXT_LIT ("host0");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct bench bench;
        bench_open (&bench);
        bench.plan.rungs.items[0].kind = PROGRAM_BUILTIN;
        bench.plan.rungs.items[0].builtin = TEXT_LIT ("cache");
        bench.plan.rungs.n = 2; /* the second uses it */
        bench.plan.cache.mode = rows[i].mode;
        bench.plan.cache.writers.items = &writer;
        bench.plan.cache.writers.n = 1;
        bench_start (&bench);
        assert_int_equal (bench.runs[0].cache.role, rows[i].first);
        assert_int_equal (bench.runs[1].cache.role, rows[i].second);
        bench_close (&bench);
    }
}

/* What a command takes along is a part of its program; a canary's files are its program, which has its own digest. */
TEST_ON (bench, files_of_a_command_are_a_part_of_what_a_generation_covers)
{
    struct rung one = { .id = TEXT_LIT ("r"), .kind = PROGRAM_COMMAND }, other = one;
    struct kit_file files[] = { { .name = TEXT_LIT ("a"), .file.sha256 = TEXT_LIT ("1") },
                                { .name = TEXT_LIT ("a"), .file.sha256 = TEXT_LIT ("2") } };
    one.files.items = &files[0];
    other.files.items = &files[1];
    one.files.n = other.files.n = 1;
    assert_false (text_equal (cache_family_rung_cover (&bench->plan, &one, &t->arena),
                              cache_family_rung_cover (&bench->plan, &other, &t->arena)));
    one.kind = other.kind = PROGRAM_CANARY;
    assert_true (text_equal (cache_family_rung_cover (&bench->plan, &one, &t->arena),
                             cache_family_rung_cover (&bench->plan, &other, &t->arena)));
    bench_start (bench);
}

TEST_ON (bench, a_slice_wide_rung_covers_its_mesh_too)
{
    struct rung rung = { .id = TEXT_LIT ("r"), .kind = PROGRAM_CANARY, .scope = SCOPE_HOST };
    for (int wide = 0; wide < 2; wide++) {
        rung.scope = wide ? SCOPE_SLICE : SCOPE_HOST;
        bench->plan.mesh.items[1].size = 2;
        struct text before = cache_family_rung_cover (&bench->plan, &rung, &t->arena);
        bench->plan.mesh.items[1].size = 4;
        assert_int_equal (text_equal (before, cache_family_rung_cover (&bench->plan, &rung, &t->arena)), !wide);
    }
    bench_start (bench);
}

TEST (commands_that_are_proposed_have_what_the_home_of_the_run_needs)
{
    struct arena arena = { 0 };
    struct plan plan = { .hint = TEXT_LIT (" --home /h") };
    struct verdict verdicts[] = { { .next = TEXT_LIT ("sliceup drift 12 (compare); else: see sliceup logs --rung a") },
                                  { .next = TEXT_LIT ("report it: sliceup itself is at fault") } };
    pass_close_complete_commands (&plan, verdicts, 2, &arena);
    assert_text (verdicts[0].next, "sliceup --home /h drift 12 (compare); else: see sliceup --home /h logs --rung a");
    assert_text (verdicts[1].next, "report it: sliceup itself is at fault");
    plan.hint = (struct text){ 0 };
    verdicts[0].next = TEXT_LIT ("sliceup logs");
    pass_close_complete_commands (&plan, verdicts, 1, &arena);
    assert_text (verdicts[0].next, "sliceup logs");
    arena_release (&arena);
}
