/* links: simulated */
/* What is found in the cache that the single writer's rules exclude, as the coordinator's core takes it: who may tell
 * what, and what is dropped for it. */
#include "test.h"
#include "write_lease_fixture.h"

TEST_FIXTURE (struct bench, TEST_NOTHING, bench_close)

TEST (a_finding_of_a_reader_drops_the_generation_and_warms_anew)
{
    struct bench bench;
    open_restored (&bench);
    uint64_t sealed_in = last_fact (&bench, FACT_PASS_BEGAN)->index - 1; /* of the pass before this one */
    while (bench.facts[sealed_in - 1].kind != FACT_PASS_BEGAN)
        sealed_in--;
    end_run_of (&bench, 0, NULL);
    end_run_of (&bench, 1, &changed);
    end_run_of (&bench, 2, &changed);
    const struct fact *violated = last_fact (&bench, FACT_CACHE_VIOLATED);
    assert_non_null (violated);
    assert_int_equal (violated->of.cache_violated.host, 1);
    assert_int_equal (violated->of.cache_violated.since, sealed_in);
    assert_int_equal (last_effect (&bench, FX_CACHE_DROP)->token, 1);
    assert_int_equal (count_effects (&bench, FX_CACHE_DROP), 1);
    audited (&bench, NULL);
    token (&bench, 2);
    assert_int_equal (bench.runs[0].key.pass, PASS_COLD);
    assert_int_equal (bench.runs[0].cache.base, 0);
    ask (&bench, 0, 2, 1);
    end_run_of (&bench, 0, NULL);
    audited (&bench, NULL);
    end_all (&bench);
    audited (&bench, NULL);
    uint32_t exit_status = 0;
    assert_true (coord_ended (bench.coord, &exit_status));
    assert_int_equal (exit_status, 4);
    assert_int_equal (last_fact (&bench, FACT_RUN_ENDED)->of.run_ended.outcome, OUTCOME_PASSED);
    bench_close (&bench);
}

TEST_ON (bench, the_second_violation_of_a_rung_stops_the_climb)
{
    open_restored (bench);
    for (uint64_t round = 1; round <= 2; round++) {
        struct finding finding = changed;
        finding.token = round;
        for (uint32_t host = 0; host < HOSTS; host++)
            end_run_of (bench, host, &finding);
        audited (bench, NULL);
        if (round == 2)
            break;
        token (bench, 2);
        ask (bench, 0, 2, 1);
        end_run_of (bench, 0, NULL);
        audited (bench, NULL);
    }
    uint32_t exit_status = 0;
    assert_true (coord_ended (bench->coord, &exit_status));
    assert_int_equal (exit_status, 4);
    assert_int_equal (last_fact (bench, FACT_RUN_ENDED)->of.run_ended.outcome, OUTCOME_FAILED);
}

TEST (a_late_write_is_told_once_and_hurts_nobody)
{
    struct bench bench;
    struct cache_root_finding late = { { FINDING_LATE_WRITE, 77, TEXT_LIT ("gen-77"), TEXT_LIT ("changed") },
                                       TEXT_LIT ("ab"),
                                       { 0 } };
    open_restored (&bench);
    end_all (&bench);
    audited (&bench, &late);
    uint32_t exit_status = 0;
    assert_true (coord_ended (bench.coord, &exit_status));
    assert_int_equal (exit_status, 4);
    assert_int_equal (last_fact (&bench, FACT_RUN_ENDED)->of.run_ended.outcome, OUTCOME_PASSED);
    assert_has (last_fact (&bench, FACT_RUN_ENDED)->of.run_ended.sentence,
                "; the cache was violated (late-write), so the exit status is 4");
    assert_int_equal (last_effect (&bench, FX_CACHE_DROP)->token, 77);
    bench_close (&bench);
}

TEST_ON (bench, a_write_that_was_refused_is_recorded_and_changes_no_exit_status)
{
    struct finding attempt = { FINDING_WRITE_ATTEMPT, 1, TEXT_LIT ("x"), TEXT_LIT ("3 files") };
    open_restored (bench);
    for (uint32_t host = 0; host < HOSTS; host++)
        end_run_of (bench, host, &attempt);
    audited (bench, NULL);
    uint32_t exit_status = 9;
    assert_true (coord_ended (bench->coord, &exit_status));
    assert_int_equal (exit_status, 0);
    assert_non_null (last_fact (bench, FACT_CACHE_VIOLATED));
}

TEST (a_storage_that_never_answers_is_not_waited_for)
{
    struct bench bench;
    open_restored (&bench);
    end_all (&bench);
    assert_false (coord_ended (bench.coord, NULL));
    tick_at (&bench, bench.now_ms + 61000);
    assert_true (coord_ended (bench.coord, NULL));
    bench_close (&bench);
}

/* ---- what one host may cause ---- */

static void end_with (struct bench *bench, uint32_t host, const char *storage, const struct finding *finding)
{
    struct arena arena = { 0 };
    uint64_t secrets[HOSTS] = { 0 };
    struct msg msg = { .kind = MSG_RESULT };
    sample_result (&bench->runs[host], secrets, &msg.of.result, &arena);
    msg.of.result.cache.storage = text_of (storage);
    msg.of.result.findings.items = (struct finding *) finding;
    msg.of.result.findings.n = finding != NULL;
    tell (bench, host, &msg);
    arena_release (&arena);
}

TEST (a_host_knows_nothing_of_generations_that_it_was_not_given)
{
    static const struct finding lies[] = {
        { FINDING_CHANGED, 99, TEXT_LIT ("x"), TEXT_LIT ("of another run") },
        { FINDING_FOREIGN_TOKEN, 1, TEXT_LIT ("gen-1"), TEXT_LIT ("never granted") },
        { FINDING_LATE_WRITE, 1, TEXT_LIT ("gen-1"), TEXT_LIT ("changed") },
    };
    for (size_t i = 0; i < sizeof (lies) / sizeof (lies[0]); i++) {
        struct bench bench;
        open_restored (&bench);
        end_run_of (&bench, 0, NULL);
        end_run_of (&bench, 1, &lies[i]);
        end_run_of (&bench, 2, NULL);
        audited (&bench, NULL);
        assert_int_equal (count_effects (&bench, FX_CACHE_DROP), 0);
        assert_null (last_fact (&bench, FACT_CACHE_VIOLATED));
        assert_int_equal (last_fact (&bench, FACT_RUN_ENDED)->of.run_ended.outcome, OUTCOME_FAILED);
        bench_close (&bench);
    }
}

TEST (a_host_on_another_storage_has_nothing_dropped)
{
    static const char *const elsewhere[] = { "bbbbbbbbbbbbbbbb", "" };
    for (size_t i = 0; i < 2; i++) {
        struct bench bench;
        struct finding missing = { FINDING_MISSING, 1, TEXT_LIT ("jit_tiny-cache"), TEXT_LIT ("is not there") };
        open_granted (&bench);
        ask (&bench, 0, 1, 1);
        end_with (&bench, 0, "aaaaaaaaaaaaaaaa", NULL);
        audited (&bench, NULL);
        end_with (&bench, 0, "aaaaaaaaaaaaaaaa", NULL);
        end_with (&bench, 1, elsewhere[i], &missing);
        end_with (&bench, 2, "aaaaaaaaaaaaaaaa", NULL);
        audited (&bench, NULL);
        assert_int_equal (count_effects (&bench, FX_CACHE_DROP), 0);
        assert_int_equal (last_fact (&bench, FACT_CACHE_VIOLATED)->of.cache_violated.finding.kind,
                          FINDING_NOT_SAME_STORAGE);
        const struct fact_run_ended *ended = &last_fact (&bench, FACT_RUN_ENDED)->of.run_ended;
        assert_int_equal (ended->exit_status, 3);
        assert_has (ended->sentence, "the storage under /cache is");
        bench_close (&bench);
    }
}

TEST_ON (bench, a_way_that_is_open_is_recorded_and_is_no_change_of_what_was_sealed)
{
    struct finding low = { FINDING_LEVEL_LOW, 0, TEXT_LIT ("remount"), TEXT_LIT ("counted as landlock") };
    open_restored (bench);
    for (uint32_t host = 0; host < HOSTS; host++)
        end_run_of (bench, host, &low);
    audited (bench, NULL);
    uint32_t exit_status = 9;
    assert_true (coord_ended (bench->coord, &exit_status));
    assert_int_equal (exit_status, 0);
    assert_int_equal (last_fact (bench, FACT_CACHE_VIOLATED)->of.cache_violated.finding.kind, FINDING_LEVEL_LOW);
}

/* A host sees what it was given, not the root: that is the coordinator's to say. */
TEST_ON (bench, what_only_a_coordinator_can_find_is_not_believed_of_a_host)
{
    struct finding unseen = { FINDING_UNSEEN, 1, TEXT_LIT ("/cache"), TEXT_LIT ("no answer") };
    open_restored (bench);
    for (uint32_t host = 0; host < HOSTS; host++)
        end_run_of (bench, host, &unseen);
    audited (bench, NULL);
    assert_true (coord_ended (bench->coord, NULL));
    assert_null (last_fact (bench, FACT_CACHE_VIOLATED));
}

/* ---- what the coordinator finds ---- */

TEST (what_every_reader_found_right_changed_after_their_pass_began)
{
    struct bench bench;
    struct cache_root_finding late = { changed, { 0 }, { 0 } };
    open_restored (&bench);
    uint64_t began_at = last_fact (&bench, FACT_PASS_BEGAN)->index;
    end_all (&bench);
    audited (&bench, &late);
    assert_int_equal (last_fact (&bench, FACT_CACHE_VIOLATED)->of.cache_violated.since, began_at);
    bench_close (&bench);
}

static void many_audited (struct bench *bench, const struct cache_root_finding *findings, uint32_t n)
{
    struct core_input in = { .kind = IN_CACHE_AUDITED, .findings = findings, .findings_n = n };
    step (bench, &in);
}

TEST_ON (bench, more_findings_than_are_kept_still_drop_what_is_in_use)
{
    enum { MANY = 257 };
    static struct cache_root_finding findings[MANY];
    open_granted (bench);
    for (uint32_t i = 0; i < MANY; i++)
        findings[i] = (struct cache_root_finding){ { FINDING_EXTRA, i + 1 == MANY ? 1 : 1000,
                                                     text_format (&bench->arena, "x%u", i), TEXT_LIT ("never sealed") },
                                                   { 0 },
                                                   { 0 } };
    ask (bench, 0, 1, 1);
    end_run_of (bench, 0, NULL);
    bench->facts_n = 0; /* there is not room for all */
    many_audited (bench, findings, MANY);
    assert_int_equal (count_effects (bench, FX_CACHE_DROP), 2);
    assert_int_equal (last_effect (bench, FX_CACHE_DROP)->token, 1);
}

/* What a worker says of its own program must not take the room of what ends the run with another status. */
TEST (what_counts_is_recorded_however_much_else_was_told)
{
    enum { MANY = 300 };
    struct bench bench;
    static struct cache_root_finding findings[MANY];
    struct cache_root_finding spoiled = { changed, { 0 }, { 0 } };
    open_restored (&bench);
    for (uint32_t i = 0; i < MANY; i++)
        findings[i] = (struct cache_root_finding){
            { FINDING_LEVEL_LOW, 0, text_format (&bench.arena, "way%u", i), TEXT_LIT ("open") }, { 0 }, { 0 }
        };
    bench.facts_n = 0; /* there is not room for all */
    many_audited (&bench, findings, MANY);
    bench.facts_n = 0;
    end_all (&bench);
    audited (&bench, &spoiled);
    const struct fact *violated = last_fact (&bench, FACT_CACHE_VIOLATED);
    assert_non_null (violated);
    assert_int_equal (violated->of.cache_violated.finding.kind, FINDING_CHANGED);
    uint32_t exit_status = 9;
    assert_true (coord_ended (bench.coord, &exit_status));
    assert_int_equal (exit_status, 4);
    bench_close (&bench);
}

TEST_ON (bench, a_late_write_is_dated_by_the_end_of_its_lease)
{
    struct cache_root_finding late = { { FINDING_LATE_WRITE, 1, TEXT_LIT ("gen-1"), TEXT_LIT ("changed") },
                                       TEXT_LIT ("ab"),
                                       { 0 } };
    open_granted (bench);
    ask (bench, 0, 1, 1);
    tick_at (bench, bench->now_ms + TERM_MS * 102 / 100 + 10);
    uint64_t lost_at = last_fact (bench, FACT_LEASE_LOST)->index;
    audited (bench, NULL);
    tick_at (bench, bench->now_ms + DELAY_MS + 20);
    token (bench, 2);
    ask (bench, 1, 2, 1);
    end_run_of (bench, 1, NULL);
    audited (bench, &late);
    assert_int_equal (last_fact (bench, FACT_CACHE_VIOLATED)->of.cache_violated.since, lost_at);
    assert_int_equal (bench->runs[2].cache.token, 2);
}

TEST (that_the_root_was_not_looked_over_is_told)
{
    for (int silent = 0; silent < 2; silent++) {
        struct bench bench;
        struct core_input in = { .kind = IN_CACHE_AUDITED, .text = TEXT_LIT ("permission denied") };
        open_restored (&bench);
        end_all (&bench);
        if (silent)
            tick_at (&bench, bench.now_ms + 61000);
        else
            step (&bench, &in);
        uint32_t exit_status = 9;
        assert_true (coord_ended (bench.coord, &exit_status));
        assert_int_equal (exit_status, 0);
        const struct fact *told = last_fact (&bench, FACT_CACHE_VIOLATED);
        assert_non_null (told);
        assert_int_equal (told->of.cache_violated.finding.kind, FINDING_UNSEEN);
        bench_close (&bench);
    }
}

TEST (a_foreign_generation_is_told_and_there_is_nothing_to_drop)
{
    struct bench bench;
    struct cache_root_finding foreign = {
        { FINDING_FOREIGN_TOKEN, 77, TEXT_LIT ("gen-77"), TEXT_LIT ("never handed out") }, { 0 }, { 0 }
    };
    open_restored (&bench);
    end_all (&bench);
    audited (&bench, &foreign);
    assert_non_null (last_fact (&bench, FACT_CACHE_VIOLATED));
    assert_int_equal (count_effects (&bench, FX_CACHE_DROP), 0);
    uint32_t exit_status = 9;
    assert_true (coord_ended (bench.coord, &exit_status));
    assert_int_equal (exit_status, 4);
    bench_close (&bench);
}

TEST (the_same_path_is_told_once_a_kind)
{
    struct bench bench;
    struct cache_root_finding both[] = { { changed, { 0 }, { 0 } },
                                         { changed, { 0 }, { 0 } },
                                         { changed, { 0 }, { 0 } } };
    both[1].finding.kind = FINDING_EXTRA;
    open_restored (&bench);
    end_all (&bench);
    many_audited (&bench, both, 3);
    uint32_t n = 0;
    for (uint32_t i = 0; i < bench.facts_n; i++)
        n += bench.facts[i].kind == FACT_CACHE_VIOLATED;
    assert_int_equal (n, 2);
    assert_int_equal (count_effects (&bench, FX_CACHE_DROP), 1);
    bench_close (&bench);
}

static void end_unsealed (struct bench *bench, uint32_t host, enum ending ending, struct finding *finding)
{
    struct msg msg = { .kind = MSG_RESULT, .of.result = { .key = bench->runs[host].key, .ending = ending } };
    msg.of.result.findings.items = finding;
    msg.of.result.findings.n = 1;
    tell (bench, host, &msg);
}

/* host0 writes generation 6, which began as a copy of 5. */
static void open_copying (struct bench *bench, uint32_t rung)
{
    static const struct fact_generation base = { .token = 5, .sha256 = TEXT_LIT ("5"), .from_run = TEXT_LIT ("ab") };
    bench_open_rung (bench, CACHE_SINGLE_WRITER, rung);
    found (bench, &base);
    audited (bench, NULL);
    token (bench, 6);
    ask (bench, 0, 6, 1);
}

TEST_ON (bench, what_a_writer_finds_in_its_base_is_a_violation_too)
{
    struct finding finding = { FINDING_CHANGED, 5, TEXT_LIT ("x"), TEXT_LIT ("other bytes") };
    open_copying (bench, TINY);
    end_unsealed (bench, 0, ENDING_NOT_STARTED, &finding);
    assert_int_equal (last_effect (bench, FX_CACHE_DROP)->token, 5);
    audited (bench, NULL);
    token (bench, 7);
    assert_int_equal (bench->runs[0].cache.token, 7);
    assert_int_equal (bench->runs[0].cache.base, 0);
}

TEST_ON (bench, what_a_writer_changed_in_the_copy_of_its_base_is_its_violation)
{
    struct finding finding = { FINDING_CHANGED, 6, TEXT_LIT ("x"), TEXT_LIT ("other bytes") };
    open_copying (bench, TINY);
    uint64_t began_at = last_fact (bench, FACT_PASS_BEGAN)->index;
    end_unsealed (bench, 0, ENDING_EXITED, &finding);
    const struct fact_cache_violated *violated = &last_fact (bench, FACT_CACHE_VIOLATED)->of.cache_violated;
    assert_int_equal (violated->host, 0);
    assert_int_equal (violated->since, began_at);
    assert_int_equal (violated->from_run.len, 0);
    assert_int_equal (last_effect (bench, FX_CACHE_DROP)->token, 6);
    assert_int_equal (count_effects (bench, FX_CACHE_DROP), 1);
    assert_null (last_fact (bench, FACT_GENERATION_PUBLISHED));
    audited (bench, NULL);
    uint32_t exit_status = 0;
    assert_true (coord_ended (bench->coord, &exit_status));
    assert_int_equal (exit_status, 4);
}

/* Without a generation a host was given nothing of which it could tell. */
TEST_ON (bench, of_no_generation_nobody_tells)
{
    struct finding finding = { FINDING_CHANGED, 0, TEXT_LIT ("x"), TEXT_LIT ("other bytes") };
    open_granted (bench);
    ask (bench, 0, 1, 1);
    end_unsealed (bench, 0, ENDING_EXITED, &finding);
    assert_non_null (last_fact (bench, FACT_PASS_ENDED));
    assert_null (last_fact (bench, FACT_CACHE_VIOLATED));
}

/* In a gang all others read the base meanwhile: of what is being written they know nothing. */
TEST_ON (bench, only_its_writer_tells_of_what_is_written)
{
    struct finding finding = { FINDING_CHANGED, 6, TEXT_LIT ("x"), TEXT_LIT ("other bytes") };
    open_copying (bench, ALL);
    for (uint32_t host = 1; host < HOSTS; host++)
        end_unsealed (bench, host, ENDING_EXITED, &finding);
    end_run_of (bench, 0, NULL);
    assert_non_null (last_fact (bench, FACT_PASS_ENDED));
    assert_null (last_fact (bench, FACT_CACHE_VIOLATED));
    assert_int_equal (count_effects (bench, FX_CACHE_DROP), 0);
}

/* Whoever wrote it in an earlier pass reads it now, and may tell of what it was given alone: its base is not. */
TEST_ON (bench, a_writer_of_before_knows_only_what_it_reads)
{
    struct finding finding = { FINDING_CHANGED, 5, TEXT_LIT ("x"), TEXT_LIT ("other bytes") };
    open_copying (bench, TINY);
    end_run_of (bench, 0, NULL);
    audited (bench, NULL);
    end_run_of (bench, 0, &finding);
    end_run_of (bench, 1, NULL);
    end_run_of (bench, 2, NULL);
    assert_null (last_fact (bench, FACT_CACHE_VIOLATED));
}

/* The first of them drops it: the second is as old, and not of the pass in which a reader found it. */
TEST_ON (bench, a_second_finding_of_what_is_dropped_is_not_dated_by_its_reader)
{
    struct finding other = changed;
    other.path = TEXT_LIT ("jit_other-cache");
    open_restored (bench);
    uint64_t began_at = last_fact (bench, FACT_PASS_BEGAN)->index;
    end_run_of (bench, 0, NULL);
    end_run_of (bench, 1, &changed);
    end_run_of (bench, 2, &other);
    const struct fact_cache_violated *violated = &last_fact (bench, FACT_CACHE_VIOLATED)->of.cache_violated;
    assert_text (violated->finding.path, other.path);
    assert_true (violated->since < began_at);
}

TEST_ON (bench, a_writer_whose_base_was_dropped_meanwhile_still_tells)
{
    struct fact_generation base = { .token = 5, .sha256 = TEXT_LIT ("5") };
    struct cache_root_finding found_late = { { FINDING_CHANGED, 5, TEXT_LIT ("x"), TEXT_LIT ("other bytes") },
                                             { 0 },
                                             { 0 } };
    struct finding finding = { FINDING_CHANGED, 6, TEXT_LIT ("y"), TEXT_LIT ("other bytes") };
    bench_open (bench, CACHE_SINGLE_WRITER);
    found (bench, &base);
    tick_at (bench, bench->now_ms + 61000);
    token (bench, 6);
    ask (bench, 0, 6, 1);
    audited (bench, &found_late);
    end_unsealed (bench, 0, ENDING_EXITED, &finding);
    assert_int_equal (last_fact (bench, FACT_CACHE_VIOLATED)->of.cache_violated.finding.token, 6);
    assert_int_equal (last_effect (bench, FX_CACHE_DROP)->token, 6);
}

/* An answer that comes after it was given up: what the writer builds upon is not right any more. */
TEST_ON (bench, nothing_is_published_that_was_built_upon_what_was_dropped_meanwhile)
{
    struct fact_generation base = { .token = 5, .sha256 = TEXT_LIT ("5") };
    struct cache_root_finding found_late = { { FINDING_CHANGED, 5, TEXT_LIT ("x"), TEXT_LIT ("other bytes") },
                                             { 0 },
                                             { 0 } };
    bench_open (bench, CACHE_SINGLE_WRITER);
    found (bench, &base);
    tick_at (bench, bench->now_ms + 61000);
    token (bench, 6);
    assert_int_equal (bench->runs[0].cache.base, 5);
    ask (bench, 0, 6, 1);
    audited (bench, &found_late);
    end_run_of (bench, 0, NULL);
    assert_null (last_fact (bench, FACT_GENERATION_PUBLISHED));
    assert_true (last_effect (bench, FX_LEASE_END)->flag);
    audited (bench, NULL);
    token (bench, 7);
    assert_int_equal (bench->runs[0].cache.token, 7);
    assert_int_equal (bench->runs[0].cache.base, 0);
}
