/* links: story */
#include "coordinator/story/measure_fold.h"
#include "test.h"

enum { HOSTS = 4 };

/* ---- signatures ---- */

struct launch {
    struct plan plan;
    struct rung rung;
    struct axis axes[2];
    struct var args[2], env[2];
    struct kit_file files[2];
};

static struct launch launch_of (void)
{
    struct launch launch = {
        .axes = { { TEXT_LIT ("data"), 4 }, { TEXT_LIT ("model"), 2 } },
        .args = { { TEXT_LIT ("width"), TEXT_LIT ("64") }, { TEXT_LIT ("depth"), TEXT_LIT ("2") } },
        .env = { { TEXT_LIT ("XLA_FLAGS"), TEXT_LIT ("--xla_a --xla_b") },
                 { TEXT_LIT ("JAX_PLATFORMS"), TEXT_LIT ("cpu") } },
        .files = { { TEXT_LIT ("dense.py"), { TEXT_LIT ("/a/dense.py"), TEXT_LIT ("01") } },
                   { TEXT_LIT ("helper.py"), { TEXT_LIT ("/a/helper.py"), TEXT_LIT ("02") } } },
    };
    launch.rung = (struct rung){ .id = TEXT_LIT ("dense"), .kind = PROGRAM_CANARY, .scope = SCOPE_SLICE };
    launch.rung.program.sha256 = TEXT_LIT ("01");
    launch.plan.hosts.n = HOSTS;
    launch.plan.profile =
        (struct profile){ .frontend = TEXT_LIT ("jax"), .backend = TEXT_LIT ("cpu"), .devices_per_host = 2 };
    launch.plan.pins.file.sha256 = TEXT_LIT ("aa");
    return launch;
}

static struct text sign (struct launch *launch, struct text *shape, struct arena *arena)
{
    launch->rung.args = (var_list){ launch->args, 2 };
    launch->rung.files.items = launch->files;
    launch->rung.files.n = 2;
    launch->plan.mesh = (struct mesh){ launch->axes, 2 };
    launch->plan.profile.env = (var_list){ launch->env, 2 };
    if (shape)
        *shape = launch_fingerprint (&launch->plan, &launch->rung, LAUNCH_SHAPE, arena);
    return launch_fingerprint (&launch->plan, &launch->rung, LAUNCH_WHOLE, arena);
}

TEST (everything_that_matters_is_in_the_signature)
{
    struct launch base = launch_of (), other[11];
    uint32_t size = 8;
    struct dimension batch = { TEXT_LIT ("batch"), { &size, 1 } };
    struct text signature = sign (&base, NULL, &t->arena);
    assert_int_equal (signature.len, 16);
    for (size_t i = 0; i < 11; i++)
        other[i] = launch_of ();
    other[0].rung.program.sha256 = TEXT_LIT ("ff");
    other[1].files[1].file.sha256 = TEXT_LIT ("ff");
    other[2].args[0].value = TEXT_LIT ("65");
    other[3].axes[0].size = 8;
    other[4].env[0].value = TEXT_LIT ("--xla_a");
    other[5].plan.profile.backend = TEXT_LIT ("tpu");
    other[6].plan.profile.accelerator = TEXT_LIT ("v6e-16");
    other[7].plan.pins.file.sha256 = TEXT_LIT ("ab");
    other[8].plan.hosts.n = 8;
    other[9].plan.profile.shapes.items = other[10].plan.profile.shapes.items = &batch;
    other[9].plan.profile.shapes.n = other[10].plan.profile.shapes.n = 1;
    other[10].plan.profile.padding = true;
    for (size_t i = 0; i < 11; i++)
        if (text_equal (sign (&other[i], NULL, &t->arena), signature))
            fail_msg ("change %zu did not change the signature", i);
    assert_false (text_equal (sign (&other[9], NULL, &t->arena), sign (&other[10], NULL, &t->arena)));
}

TEST (order_and_places_change_nothing)
{
    struct launch base = launch_of (), other = launch_of ();
    other.env[0].value = TEXT_LIT ("--xla_b --xla_a  --xla_a");
    other.args[0] = base.args[1];
    other.args[1] = base.args[0];
    other.files[0].file.path = TEXT_LIT ("/elsewhere/dense.py");
    other.rung.timeout_ms = 5;
    assert_text (sign (&base, NULL, &t->arena), sign (&other, NULL, &t->arena));
}

TEST (another_bundle_is_another_launch_of_the_same_shape)
{
    struct launch base = launch_of (), other = launch_of ();
    struct text shape, other_shape;
    other.plan.pins.file.sha256 = TEXT_LIT ("ab");
    assert_false (text_equal (sign (&base, &shape, &t->arena), sign (&other, &other_shape, &t->arena)));
    assert_text (shape, other_shape);
    other.args[0].value = TEXT_LIT ("65");
    sign (&other, &other_shape, &t->arena);
    assert_false (text_equal (shape, other_shape));
}

TEST (a_rung_that_runs_alone_does_not_depend_on_the_mesh)
{
    struct launch base = launch_of (), other = launch_of ();
    base.rung.scope = other.rung.scope = SCOPE_HOST;
    other.axes[0].size = 8;
    other.plan.hosts.n = 8;
    assert_text (sign (&base, NULL, &t->arena), sign (&other, NULL, &t->arena));
    base.rung.kind = PROGRAM_COMMAND;
    assert_int_equal (sign (&base, NULL, &t->arena).len, 0);
}

/* ---- the fold ---- */

struct story {
    struct launch launch;
    struct measure_fold *fold;
    struct signature signatures[5];
};

static void story_open (struct story *story)
{
    struct plan_host two[] = { { .name = TEXT_LIT ("h0") }, { .name = TEXT_LIT ("h1") } };
    *story = (struct story){ .launch = launch_of (), .fold = measure_fold_create () };
    struct arena arena = { 0 };
    (void) sign (&story->launch, NULL, &arena);
    arena_release (&arena);
    story->signatures[0] = (struct signature){
        .id = TEXT_LIT ("hbm"), .text = TEXT_LIT ("Ran out"), .owner = OWNER_PROGRAM, .memory = true
    };
    story->signatures[1] = (struct signature){
        .id = TEXT_LIT ("metadata"), .text = TEXT_LIT ("6 tries"), .owner = OWNER_PLATFORM, .transient = true
    };
    story->signatures[2] =
        (struct signature){ .id = TEXT_LIT ("peer"), .text = TEXT_LIT ("peer"), .owner = OWNER_PROGRAM, .peer = true };
    story->signatures[4] = (struct signature){
        .id = TEXT_LIT ("quota"), .text = TEXT_LIT ("quota"), .owner = OWNER_LAUNCH, .recheck = true
    };
    story->signatures[3] = (struct signature){
        .id = TEXT_LIT ("noise"), .text = TEXT_LIT ("gone"), .owner = OWNER_PROGRAM, .noise = true
    };
    struct fact fact = { .kind = FACT_RUN_OPENED };
    fact.of.run_opened.run = TEXT_LIT ("11112222");
    fact.of.run_opened.plan = story->launch.plan;
    fact.of.run_opened.plan.slice = TEXT_LIT ("s");
    fact.of.run_opened.plan.rungs.items = &story->launch.rung;
    fact.of.run_opened.plan.rungs.n = 1;
    fact.of.run_opened.plan.hosts.items = two;
    fact.of.run_opened.plan.hosts.n = 2;
    fact.of.run_opened.plan.signatures.items = story->signatures;
    fact.of.run_opened.plan.signatures.n = 5;
    measure_fold_apply (story->fold, &fact);
}

static void story_close (struct story *story)
{
    measure_fold_destroy (((struct story *) story)->fold);
}

TEST_FIXTURE (struct story, story_open, story_close)

static void begin (struct story *story, enum purpose purpose)
{
    struct fact fact = { .kind = FACT_PASS_BEGAN };
    fact.of.pass_began = (struct fact_pass_began){ .key = { 0, PASS_COLD, 1 }, .purpose = purpose };
    fact.of.pass_began.hosts.n = 2;
    measure_fold_apply (story->fold, &fact);
}

static void report (struct story *story, uint64_t predicted, uint64_t device, uint64_t host, uint64_t compile_ms)
{
    struct named_number phases[] = { { TEXT_LIT ("import"), 100 },
                                     { TEXT_LIT ("compile"), compile_ms },
                                     { TEXT_LIT ("run"), 5000 } };
    struct fact fact = { .kind = FACT_ATTEMPT_ENDED };
    fact.of.attempt_ended.result = (struct result){ .predicted_bytes = predicted,
                                                    .device_peak_bytes = device,
                                                    .peak_bytes = host,
                                                    .duration_ms = 100 + compile_ms + 5000 };
    fact.of.attempt_ended.result.phases.items = phases;
    fact.of.attempt_ended.result.phases.n = 3;
    measure_fold_apply (story->fold, &fact);
}

static void end (struct story *story, struct verdict *verdicts, uint32_t n, enum outcome outcome)
{
    struct fact fact = { .kind = FACT_PASS_ENDED, .wall_ms = 777 };
    fact.of.pass_ended = (struct fact_pass_ended){ .key = { 0, PASS_COLD, 1 }, .outcome = outcome };
    fact.of.pass_ended.verdicts.items = verdicts;
    fact.of.pass_ended.verdicts.n = n;
    measure_fold_apply (story->fold, &fact);
}

TEST_ON (story, the_host_that_needed_most_is_the_measure)
{
    begin (story, PURPOSE_NONE);
    report (story, 10, 0, 300, 40);
    report (story, 20, 5, 200, 30);
    end (story, NULL, 0, OUTCOME_PASSED);
    struct measure_list list = measure_fold_list (story->fold);
    assert_int_equal (list.n, 1);
    const struct measure *m = &list.items[0];
    assert_true (m->predicted_bytes == 20 && m->device_peak_bytes == 5 && m->host_peak_bytes == 300);
    assert_int_equal (m->start_ms, 140); /* what comes before it runs */
    assert_int_equal (m->duration_ms, 5140);
    assert_true (m->outcome == OUTCOME_PASSED && !m->known_bad && m->ended_wall_ms == 777 && m->hosts == 2 &&
                 m->pass == PASS_COLD);
    assert_true (text_is (m->rung, "dense") && text_is (m->run, "11112222") && m->signature.len == 16);
}

static bool bad_after (struct story *story, struct verdict verdict)
{
    begin (story, PURPOSE_CLIMB);
    end (story, &verdict, 1, verdict.outcome);
    struct measure_list list = measure_fold_list (story->fold);
    return list.items[list.n - 1].known_bad;
}

TEST_ON (story, only_what_would_fail_again_is_bad)
{
    struct verdict hbm = {
        .outcome = OUTCOME_FAILED, .owner = OWNER_PROGRAM, .signature = TEXT_LIT ("hbm"), .cause = TEXT_LIT ("no room")
    };
    struct verdict lost = hbm, unknown = hbm, metadata = hbm, peer = hbm, noise = hbm, wavering = hbm, quota = hbm;
    lost.outcome = OUTCOME_LOST;
    unknown.signature = (struct text){ 0 };
    metadata.signature = TEXT_LIT ("metadata");
    peer.signature = TEXT_LIT ("peer");
    noise.signature = TEXT_LIT ("noise");
    wavering.transient = true;
    quota.signature = TEXT_LIT ("quota");
    quota.owner = OWNER_LAUNCH;
    assert_true (bad_after (story, hbm));
    assert_false (bad_after (story, lost));
    assert_false (bad_after (story, unknown));
    assert_false (bad_after (story, metadata));
    assert_false (bad_after (story, peer));
    assert_false (bad_after (story, noise));
    assert_false (bad_after (story, wavering));
    assert_false (bad_after (story, quota));
}

TEST_ON (story, what_was_killed_may_pass_the_next_time)
{
    struct verdict hbm = { .outcome = OUTCOME_FAILED, .owner = OWNER_PROGRAM, .signature = TEXT_LIT ("hbm") };
    struct fact fact = { .kind = FACT_ATTEMPT_ENDED };
    fact.of.attempt_ended.result = (struct result){ .ending = ENDING_SIGNALLED, .code = 9 };
    begin (story, PURPOSE_CLIMB);
    measure_fold_apply (story->fold, &fact);
    end (story, &hbm, 1, OUTCOME_FAILED);
    assert_false (measure_fold_list (story->fold).items[0].known_bad);
    assert_true (bad_after (story, hbm)); /* the next launch, of which nobody was killed */
}

TEST_ON (story, a_cascade_is_not_the_cause)
{
    struct verdict verdicts[] = {
        { .host = 0, .outcome = OUTCOME_CASCADE, .owner = OWNER_PEER, .cause = TEXT_LIT ("aborted because h1 failed") },
        { .host = 1,
          .outcome = OUTCOME_FAILED,
          .owner = OWNER_PROGRAM,
          .signature = TEXT_LIT ("hbm"),
          .cause = TEXT_LIT ("no room") },
    };
    begin (story, PURPOSE_RETRY);
    end (story, verdicts, 2, OUTCOME_FAILED);
    struct measure_list list = measure_fold_list (story->fold);
    assert_true (list.items[0].known_bad && text_is (list.items[0].cause, "no room") &&
                 text_is (list.items[0].failure, "hbm"));
}

static struct text cause_after (struct story *story, const char *cause, const char *evidence)
{
    struct verdict verdict = { .outcome = OUTCOME_FAILED,
                               .owner = OWNER_PROGRAM,
                               .signature = TEXT_LIT ("hbm"),
                               .cause = text_of (cause),
                               .evidence = text_of (evidence) };
    begin (story, PURPOSE_RETRY);
    end (story, &verdict, 1, OUTCOME_FAILED);
    struct measure_list list = measure_fold_list (story->fold);
    return list.items[list.n - 1].cause;
}

TEST_ON (story, an_exit_status_comes_with_the_line_that_decided)
{
    assert_text (cause_after (story, "exit status 1", "Ran out: 4G\nbye"), "exit status 1: Ran out: 4G");
    assert_text (cause_after (story, "it Ran out", "E Ran out of 4G"), "it Ran out");
}

TEST_ON (story, isolation_is_no_launch)
{
    begin (story, PURPOSE_ISOLATION);
    end (story, NULL, 0, OUTCOME_PASSED);
    assert_int_equal (measure_fold_list (story->fold).n, 0);
}

TEST (what_is_usual_is_the_median_of_what_passed)
{
    struct measure measures[] = {
        { .pass = PASS_COLD, .outcome = OUTCOME_PASSED, .duration_ms = 90000 },
        { .pass = PASS_RESTORED, .outcome = OUTCOME_PASSED, .duration_ms = 700 },
        { .pass = PASS_RESTORED, .outcome = OUTCOME_FAILED, .duration_ms = 1 },
        { .pass = PASS_RESTORED, .outcome = OUTCOME_PASSED, .duration_ms = 900 },
        { .pass = PASS_RESTORED, .outcome = OUTCOME_PASSED, .duration_ms = 60000 },
        { .pass = PASS_ONCE, .outcome = OUTCOME_TIMED_OUT, .duration_ms = 5 },
    };
    struct measure_list list = { measures, sizeof (measures) / sizeof (measures[0]) };
    usual_time_list usual = measure_usual_times (&list, &t->arena);
    assert_int_equal (usual.n, 2);
    assert_int_equal (usual.items[0].pass, PASS_COLD);
    assert_int_equal (usual.items[0].ms, 90000);
    assert_int_equal (usual.items[0].runs, 1);
    assert_int_equal (usual.items[1].pass, PASS_RESTORED);
    assert_int_equal (usual.items[1].ms, 900);
    assert_int_equal (usual.items[1].runs, 3);
}
