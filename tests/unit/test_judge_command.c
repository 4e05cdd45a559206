/* links: verdict */
#include "coordinator/verdict/judge.h"
#include "test.h"

/* A command that exited with status 0, and what is known of it. */
struct bench {
    struct arena arena;
    struct plan plan;
    struct signature signatures[2];
    struct demand demands[DEMANDS_MAX];
    struct named_number counters[6];
    struct sighting sightings[1];
    struct result result;
    struct rung rung;
    struct verdict verdict;
};

static void expect (struct bench *bench, const char *what, double most)
{
    bench->demands[bench->rung.demands.n++] = (struct demand){ text_of (what), most };
}

static void count (struct bench *bench, const char *name, uint64_t value)
{
    bench->counters[bench->result.counters.n++] = (struct named_number){ text_of (name), value };
}

static void print (struct bench *bench, const char *signature, const char *line)
{
    bench->sightings[0] = (struct sighting){ .signature = text_of (signature), .text = text_of (line) };
    bench->result.sightings.n = 1;
}

static enum outcome judge (struct bench *bench)
{
    struct judge_case of = {
        .plan = &bench->plan, .rung = &bench->rung, .key = { 0, PASS_ONCE, 1 }, .world = 1, .result = &bench->result
    };
    judge_result (&of, &bench->arena, &bench->verdict);
    return bench->verdict.outcome;
}

static void fails (struct bench *bench, enum owner owner, const char *words)
{
    assert_int_equal (judge (bench), OUTCOME_FAILED);
    assert_int_equal (bench->verdict.owner, owner);
    assert_true (bench->verdict.next.len > 0);
    if (!text_find (bench->verdict.cause, text_of (words), NULL))
        fail_msg ("'%.*s' lacks '%s'", TEXT_ARG (bench->verdict.cause), words);
}

static void bench_close (struct bench *bench)
{
    arena_release (&bench->arena);
}

static void bench_open (struct bench *bench)
{
    bench->signatures[0] = (struct signature){ .id = TEXT_LIT ("oom"), .owner = OWNER_PROGRAM, .next = TEXT_LIT ("x") };
    bench->signatures[1] = (struct signature){
        .id = TEXT_LIT ("late"), .owner = OWNER_LAUNCH, .always = true, .next = TEXT_LIT ("call it first")
    };
    bench->plan.signatures.items = bench->signatures;
    bench->plan.signatures.n = 2;
    bench->rung.kind = PROGRAM_COMMAND;
    bench->rung.demands.items = bench->demands;
    bench->result.counters.items = bench->counters;
    bench->result.sightings.items = bench->sightings;
    bench->result.ending = ENDING_EXITED;
}

TEST_FIXTURE (struct bench, bench_open, bench_close)

TEST_ON (bench, a_limit_that_is_kept_passes)
{
    expect (bench, "recompilations", 1);
    expect (bench, "fallbacks", 0);
    expect (bench, "reads_per_step", 0.1);
    count (bench, "steps", 20);
    count (bench, "later_compilations", 1);
    count (bench, "fallbacks", 0);
    count (bench, "reads", 2);
    assert_int_equal (judge (bench), OUTCOME_PASSED);
}

/* Nobody but its report says so: the program itself reported nothing. */
TEST_ON (bench, a_failure_that_its_report_has_is_not_one_that_it_reported)
{
    bench->result.failure = TEXT_LIT ("the loss is not a number");
    assert_int_equal (judge (bench), OUTCOME_FAILED);
    assert_has (bench->verdict.cause, "exited with status 0");
    assert_has_not (bench->verdict.cause, "reported");
}

TEST_ON (bench, reads_are_counted_a_step)
{
    expect (bench, "reads_per_step", 0.1);
    count (bench, "steps", 20);
    count (bench, "reads", 3);
    fails (bench, OWNER_PROGRAM, "read 3 values from devices in 20 steps, the rung allows at most 0.1 a step");
}

TEST_ON (bench, what_is_over_a_limit_is_told_with_both_numbers)
{
    expect (bench, "recompilations", 1);
    count (bench, "steps", 5);
    count (bench, "later_compilations", 2);
    fails (bench, OWNER_PROGRAM, "compiled 2 programs after its first step in 5 steps, the rung allows at most 1");
}

TEST_ON (bench, operations_on_the_host_are_named)
{
    expect (bench, "fallbacks", 0);
    count (bench, "steps", 1);
    count (bench, "fallbacks", 5);
    count (bench, "aten::histc", 5);
    count (bench, "aten::_local_scalar_dense", 5);
    fails (bench, OWNER_PROGRAM, "host's processor (aten::histc) in 1 step, the rung allows at most 0");
}

TEST_ON (bench, what_no_counter_shows_is_not_kept)
{
    expect (bench, "fallbacks", 100);
    fails (bench, OWNER_PROGRAM, "at most 100 fallbacks, and no report of the program shows a step");
    count (bench, "steps", 5);
    fails (bench, OWNER_PROGRAM, "at most 100 fallbacks, and no report of the program counts them");
    count (bench, "fallbacks", 0);
    assert_int_equal (judge (bench), OUTCOME_PASSED);
    bench->counters[0].value = 0; /* no step: nothing was shown */
    fails (bench, OWNER_PROGRAM, "shows a step");
}

TEST_ON (bench, a_limit_that_a_later_version_knows_is_not_kept)
{
    expect (bench, "surprises", 1);
    count (bench, "steps", 5);
    count (bench, "surprises", 0);
    fails (bench, OWNER_PROGRAM, "at most 1 surprises");
}

TEST_ON (bench, only_texts_that_always_count_spoil_a_success)
{
    print (bench, "oom", "RESOURCE_EXHAUSTED, retried");
    assert_int_equal (judge (bench), OUTCOME_PASSED);
    print (bench, "unknown-here", "something");
    assert_int_equal (judge (bench), OUTCOME_PASSED);
    print (bench, "late", "the mode came late");
    fails (bench, OWNER_LAUNCH, "exited with status 0, but printed: the mode came late");
    assert_text (bench->verdict.signature, "late");
    bench->rung.kind = PROGRAM_CANARY;
    bench->result.done = true;
    assert_int_equal (judge (bench), OUTCOME_PASSED);
}

TEST_ON (bench, a_program_on_a_part_of_the_devices_is_named_for_it)
{
    bench->rung.backend = TEXT_LIT ("tpu");
    bench->plan.profile.devices_per_host = 4;
    fails (bench, OWNER_PROGRAM, "the program reported none");
    bench->result.backend = (struct observed_backend){ .platform = TEXT_LIT ("tpu"), .local_devices = 1, .devices = 1 };
    fails (bench, OWNER_PROGRAM, "the program uses 1 of its host's devices, the profile says 4");
    bench->result.backend.local_devices = 4;
    bench->result.backend.devices = 4;
    fails (bench, OWNER_PROGRAM, "formed a mesh of 0 processes and 4 devices, expected 1 and 4");
    bench->result.backend.process_count = 1;
    assert_int_equal (judge (bench), OUTCOME_PASSED);
}

TEST_ON (bench, a_backend_that_the_policy_chose_is_the_programs_to_change)
{
    struct var chosen = { TEXT_LIT ("PJRT_DEVICE"), TEXT_LIT ("TPU") };
    bench->rung.backend = TEXT_LIT ("tpu");
    bench->result.backend = (struct observed_backend){ .platform = TEXT_LIT ("cpu"), .device_kind = TEXT_LIT ("cpu") };
    fails (bench, OWNER_LAUNCH, "the rung asks for backend tpu, but its program ran on cpu");
    bench->plan.profile.env.items = &chosen;
    bench->plan.profile.env.n = 1;
    fails (bench, OWNER_PROGRAM, "asks for backend tpu, and so does the launch policy, but its program ran on cpu");
}

TEST_ON (bench, a_report_that_contradicts_the_profile_fails_unless_the_rung_says_any)
{
    bench->plan.profile.backend = TEXT_LIT ("tpu");
    bench->plan.profile.devices_per_host = 4;
    assert_int_equal (judge (bench), OUTCOME_PASSED); /* no report: told as unproved at the end of the run */
    bench->result.backend = (struct observed_backend){ .platform = TEXT_LIT ("cpu"), .device_kind = TEXT_LIT ("cpu") };
    fails (bench, OWNER_LAUNCH, "the profile asks for backend tpu, but its program ran on cpu");
    bench->rung.any_backend = true;
    assert_int_equal (judge (bench), OUTCOME_PASSED);
    bench->rung.any_backend = false;
    bench->result.backend.platform = TEXT_LIT ("tpu"); /* on how many of its devices only `required` asks */
    assert_int_equal (judge (bench), OUTCOME_PASSED);
}

TEST_ON (bench, all_limits_that_are_broken_are_told)
{
    expect (bench, "recompilations", 1);
    expect (bench, "fallbacks", 0);
    expect (bench, "reads_per_step", 1);
    count (bench, "steps", 5);
    count (bench, "later_compilations", 2);
    count (bench, "fallbacks", 0);
    count (bench, "reads", 6);
    fails (bench, OWNER_PROGRAM,
           "compiled 2 programs after its first step in 5 steps, the rung allows at most 1; "
           "read 6 values from devices in 5 steps, the rung allows at most 1 a step");
    assert_true (text_find (bench->verdict.next, TEXT_LIT ("let every step have the same shapes"), NULL) &&
                 text_find (bench->verdict.next, TEXT_LIT ("read values, such as the loss"), NULL));
    count (bench, "compile_requests", 0); /* one reason for all of them is told once */
    fails (bench, OWNER_PROGRAM, "in 5 steps the framework compiled and executed nothing");
    assert_has_not (bench->verdict.cause, ";");
}

TEST_ON (bench, a_crash_that_nobody_knows_is_likely_of_what_was_warned_of)
{
    bench->result.ending = ENDING_SIGNALLED;
    bench->result.code = 11;
    assert_int_equal (judge (bench), OUTCOME_FAILED);
    assert_int_equal (bench->verdict.owner, OWNER_UNKNOWN);
    print (bench, "late", "the mode came late");
    fails (bench, OWNER_LAUNCH, "killed by signal 11");
    assert_true (bench->verdict.likely && text_is (bench->verdict.signature, "late"));
    bench->signatures[1].backends.items = &(struct text){ "tpu", 3 };
    bench->signatures[1].backends.n = 1;
    assert_int_equal (judge (bench), OUTCOME_FAILED);
    assert_int_equal (bench->verdict.owner, OWNER_UNKNOWN);
}

TEST_ON (bench, a_metric_that_is_asked_of_a_silent_program_fails_it)
{
    struct text name = TEXT_LIT ("loss");
    bench->rung.metrics.items = &name;
    bench->rung.metrics.n = 1;
    fails (bench, OWNER_PROGRAM, "the rung asks for the metric loss, and the program reported nothing");
    bench->result.spoke = true; /* the metric itself is judged with those of the other hosts */
    assert_int_equal (judge (bench), OUTCOME_PASSED);
}

TEST_ON (bench, steps_in_which_nothing_ran_show_nothing)
{
    expect (bench, "recompilations", 0);
    count (bench, "steps", 5);
    count (bench, "later_compilations", 0);
    count (bench, "compile_requests", 0);
    fails (bench, OWNER_PROGRAM, "in 5 steps the framework compiled and executed nothing");
    count (bench, "executions", 5);
    assert_int_equal (judge (bench), OUTCOME_PASSED);
}
