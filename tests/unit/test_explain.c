/* links: view */
#include "coordinator/view/explain.h"
#include "coordinator/view/receipt_text.h"
#include "test.h"

enum { HOSTS = 8 };

struct story {
    struct arena arena;
    struct run_header header;
    struct text rungs[2], names[HOSTS];
    struct host_receipt hosts[HOSTS];
    struct rung_receipt attempts[HOSTS][2];
    struct var bundle[HOSTS][2], facts[HOSTS][2], observed[HOSTS][1], launched[HOSTS][1];
    struct slice_receipt receipt;
    struct explanation told;
};

static void fill_host (struct story *story, uint32_t i)
{
    struct host_receipt *host = &story->hosts[i];
    story->names[i] = text_format (&story->arena, "v6e-%u", i);
    story->bundle[i][0] = (struct var){ TEXT_LIT ("jax"), TEXT_LIT ("0.10.2") };
    story->bundle[i][1] = (struct var){ TEXT_LIT ("jaxlib"), TEXT_LIT ("0.10.2") };
    story->facts[i][0] = (struct var){ TEXT_LIT ("device.holders"), TEXT_LIT ("none") };
    story->facts[i][1] = (struct var){ TEXT_LIT ("libtpu.lockfile"), TEXT_LIT ("absent") };
    story->launched[i][0] = (struct var){ TEXT_LIT ("XLA_FLAGS"), TEXT_LIT ("--xla_a --xla_b") };
    story->observed[i][0] = (struct var){ TEXT_LIT ("XLA_FLAGS"), TEXT_LIT ("--xla_b --xla_a") };
    story->attempts[i][0] =
        (struct rung_receipt){ .rung = TEXT_LIT ("probe"), .pass = PASS_ONCE, .attempt = 1, .outcome = OUTCOME_PASSED };
    story->attempts[i][1] = (struct rung_receipt){ .rung = TEXT_LIT ("dense"),
                                                   .pass = PASS_ONCE,
                                                   .attempt = 1,
                                                   .outcome = OUTCOME_CASCADE,
                                                   .phase = TEXT_LIT ("run"),
                                                   .cause = { .owner = OWNER_PEER,
                                                              .certainty = CERTAINTY_KNOWN,
                                                              .text = TEXT_LIT ("aborted because v6e-3 failed") } };
    *host = (struct host_receipt){ .run = story->header.run, .host = story->names[i], .rank = i };
    host->bundle = (var_list){ story->bundle[i], 2 };
    host->facts = (var_list){ story->facts[i], 2 };
    host->policy.profile = TEXT_LIT ("tpu-v6e");
    host->policy.launched = (var_list){ story->launched[i], 1 };
    host->policy.observed = (var_list){ story->observed[i], 1 };
    host->backend.requested = TEXT_LIT ("tpu");
    host->backend.observed = (struct observed_backend){ .platform = TEXT_LIT ("tpu"),
                                                        .device_kind = TEXT_LIT ("TPU v6 lite"),
                                                        .kernel_path = TEXT_LIT ("reference"),
                                                        .devices = 32,
                                                        .local_devices = 4 };
    host->rungs.items = story->attempts[i];
    host->rungs.n = 2;
}

/* Eight hosts; v6e-3's device was busy and the others fell with it. */
static void story_open (struct story *story)
{
    story->rungs[0] = TEXT_LIT ("probe");
    story->rungs[1] = TEXT_LIT ("dense");
    story->header = (struct run_header){ .run = TEXT_LIT ("0123456789abcdef"),
                                         .slice = TEXT_LIT ("v6e"),
                                         .sentence = TEXT_LIT ("slice v6e: stopped at rung dense") };
    story->header.rungs.items = story->rungs;
    story->header.rungs.n = 2;
    for (uint32_t i = 0; i < HOSTS; i++)
        fill_host (story, i);
    struct rung_receipt *culprit = &story->attempts[3][1];
    culprit->outcome = OUTCOME_FAILED;
    culprit->phase = TEXT_LIT ("init");
    culprit->cause = (struct cause){ OWNER_DEVICE,
                                     CERTAINTY_KNOWN,
                                     TEXT_LIT ("vfio-busy"),
                                     TEXT_LIT ("exit status 1 in phase init"),
                                     TEXT_LIT ("open(/dev/vfio/0): Device or resource busy\n\x1b[31msecond line"),
                                     TEXT_LIT ("find the holder") };
    story->receipt.headers.items = &story->header;
    story->receipt.headers.n = 1;
    story->receipt.hosts.items = story->hosts;
    story->receipt.hosts.n = HOSTS;
}

TEST_FIXTURE (struct story, story_open, TEST_ARENA)

static void explain (struct story *story)
{
    explain_make (&story->receipt, NULL, &(const struct drift_query){ 0 }, &story->arena, &story->told);
}

static void print_explanation (struct story *story, struct buf *out)
{
    explain_print (&story->told, false, out);
}

static void print_receipt (struct story *story, struct buf *out)
{
    receipt_text (&story->receipt, &(const struct drift_query){ 0 }, out);
}

static const struct explain_question *step (struct story *story, const char *id)
{
    for (uint32_t i = 0; i < EXPLAIN_STEPS; i++)
        if (strcmp (story->told.steps[i].id, id) == 0)
            return &story->told.steps[i];
    fail_msg ("no step %s", id);
    return NULL;
}

TEST_ON (story, one_cause_and_seven_cascades)
{
    explain (story);
    assert_text (story->told.rung, "dense");
    assert_int_equal (story->told.causes_n, 1);
    assert_int_equal (story->told.causes[0].hosts.n, 1);
    assert_text (story->told.causes[0].hosts.items[0], "v6e-3");
    assert_true (story->told.causes[0].recognised);
    assert_int_equal (story->told.cascades.n, 7);
    assert_int_equal (story->told.passed.n, 0);
}

/* How often a person who reads both is told of it. */
static uint32_t told_in_both (struct story *story, const char *what)
{
    void (*const views[]) (struct story *, struct buf *) = { print_explanation, print_receipt };
    uint32_t n = 0;
    for (size_t i = 0; i < 2; i++) {
        struct buf text;
        buf_init (&text, 1 << 20);
        views[i](story, &text);
        for (const char *at = buf_c (&text); (at = strstr (at, what)); at++)
            n++;
        buf_release (&text);
    }
    return n;
}

TEST_ON (story, a_broken_rule_is_told_beside_another_cause_and_once)
{
    struct rung_receipt *culprit = &story->attempts[3][1];
    culprit->bad_lines = 2;
    culprit->bad_line = TEXT_LIT ("done: said after failure: {}\x1b[31m");
    explain (story);
    assert_int_equal (told_in_both (story, "broke the canary protocol: done: said after failure: {}\\x1b[31m"), 2);
    culprit->cause.text = text_format (&story->arena, "broke the canary protocol with 2 lines: %.*s",
                                       TEXT_ARG (culprit->bad_line));
    explain (story);
    assert_int_equal (told_in_both (story, "said after failure"), 2);
}

TEST_ON (story, metrics_that_are_not_proved_there_are_told)
{
    struct contradicted_count_receipt earlier = { story->names[1], 4 };
    struct reduction_receipt metrics[] = {
        { .run = story->header.run,
          .rung = TEXT_LIT ("dense"),
          .metric = TEXT_LIT ("loss"),
          .value = 1,
          .proof = PROOF_LOCAL },
        { .run = story->header.run,
          .rung = TEXT_LIT ("dense"),
          .metric = TEXT_LIT ("fine"),
          .value = 1,
          .proof = PROOF_PROVED },
        { .run = story->header.run,
          .rung = TEXT_LIT ("probe"),
          .metric = TEXT_LIT ("past"),
          .value = 1,
          .proof = PROOF_UNPROVED },
        { .run = story->header.run,
          .rung = TEXT_LIT ("probe"),
          .metric = TEXT_LIT ("lied"),
          .value = 1,
          .proof = PROOF_PROVED },
        { .run = TEXT_LIT ("another"),
          .rung = TEXT_LIT ("dense"),
          .metric = TEXT_LIT ("other"),
          .value = 1,
          .proof = PROOF_LOCAL },
    };
    metrics[0].culprits.items = &story->names[3];
    metrics[0].culprits.n = 1;
    metrics[3].contradicted.items = &earlier;
    metrics[3].contradicted.n = 1;
    story->receipt.reductions.items = metrics;
    story->receipt.reductions.n = 5;
    explain (story);
    struct buf *text = test_buf (t);
    print_explanation (story, text);
    assert_has (
        text,
        "\nmetrics\n  dense loss = 1  local, on v6e-3\n  probe lied = 1  proved; earlier values for which the same "
        "proof fails: 4 of v6e-1\n");
    assert_has_not (text, "fine");
    assert_has_not (text, "past");
    buf_clear (text);
    explain_json (&story->told, text);
    assert_has (text, "\"dense loss = 1  local, on v6e-3\"");
}

TEST_ON (story, equal_answers_fold_and_are_clear)
{
    story->attempts[3][1].cause.owner = OWNER_PEER;
    explain (story);
    assert_int_equal (step (story, "frontend")->answers_n, 1);
    assert_int_equal (step (story, "frontend")->answers[0].hosts.n, HOSTS);
    assert_int_equal (step (story, "frontend")->mark, EXPLAIN_CLEAR);
    assert_int_equal (step (story, "policy")->mark, EXPLAIN_CLEAR); /* the words of a flag have no order */
    assert_int_equal (step (story, "device")->mark, EXPLAIN_CLEAR);
    assert_int_equal (step (story, "backend")->mark, EXPLAIN_CLEAR);
    assert_int_equal (step (story, "end")->mark, EXPLAIN_SUSPECT);
    assert_text (step (story, "end")->answers[0].hosts.items[0], "v6e-3");
}

TEST_ON (story, a_holder_is_where_to_look)
{
    story->facts[3][0].value = TEXT_LIT ("/dev/vfio/0 by process 4711 (python)");
    story->attempts[3][1].cause.owner = OWNER_PEER;
    explain (story);
    const struct explain_question *device = step (story, "device");
    assert_int_equal (device->mark, EXPLAIN_SUSPECT);
    assert_text (device->answers[0].text, "/dev/vfio/0 by process 4711 (python)");
    assert_int_equal (device->answers[0].hosts.n, 1);
}

TEST_ON (story, a_failure_of_its_owner_outweighs_a_fact_from_before)
{
    explain (story);
    const struct explain_question *device = step (story, "device");
    assert_int_equal (device->mark, EXPLAIN_SUSPECT);
    assert_text (device->answers[0].text,
                 "held by none; but rung dense failed, and the owner of that failure is device: vfio-busy");
    assert_int_equal (device->answers[0].hosts.n, 1);
    assert_int_equal (device->answers[1].mark, EXPLAIN_CLEAR);
}

TEST_ON (story, causes_of_different_signatures_stay_apart)
{
    story->attempts[5][1].outcome = OUTCOME_FAILED;
    story->attempts[5][1].cause = story->attempts[3][1].cause;
    story->attempts[5][1].cause.signature = TEXT_LIT ("tpu-in-use");
    explain (story);
    assert_int_equal (story->told.causes_n, 2);
}

TEST_ON (story, what_nobody_said_is_not_clear)
{
    story->attempts[3][1].cause.owner = OWNER_PEER;
    for (uint32_t i = 0; i < HOSTS; i++) {
        story->hosts[i].facts.n = 0;
        story->hosts[i].bundle.n = 0;
        story->hosts[i].policy.observed.n = 0;
        story->hosts[i].backend.observed = (struct observed_backend){ 0 };
    }
    story->facts[0][0].value = TEXT_LIT ("none seen; not every process could be looked at");
    story->hosts[0].facts.n = 1;
    explain (story);
    static const char *const asked[] = { "frontend", "device", "policy", "backend" };
    for (size_t i = 0; i < 4; i++)
        assert_int_equal (step (story, asked[i])->mark, EXPLAIN_UNKNOWN);
}

TEST_ON (story, the_minority_is_suspect)
{
    story->bundle[5][1].value = TEXT_LIT ("0.10.1");
    story->observed[2][0].value = TEXT_LIT ("--xla_a");
    explain (story);
    assert_int_equal (step (story, "frontend")->mark, EXPLAIN_SUSPECT);
    assert_text (step (story, "frontend")->answers[0].hosts.items[0], "v6e-5");
    assert_int_equal (step (story, "policy")->mark, EXPLAIN_SUSPECT);
    assert_has (step (story, "policy")->answers[0].text,
                "'--xla_a' after the imports, but sliceup had set it to '--xla_a --xla_b'");
}

TEST_ON (story, of_hosts_half_against_half_all_are_suspect)
{
    for (uint32_t i = 0; i < HOSTS / 2; i++)
        story->observed[i][0].value = TEXT_LIT ("--xla_a");
    explain (story);
    const struct explain_question *policy = step (story, "policy");
    assert_int_equal (policy->answers_n, 2);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal (policy->answers[i].mark, EXPLAIN_SUSPECT);
}

static bool answer_ends (const struct explain_question *question, uint32_t at, const char *end)
{
    size_t bytes = strlen (end);
    struct text text = question->answers[at].text;
    return text.len >= bytes && memcmp (text.ptr + text.len - bytes, end, bytes) == 0;
}

TEST_ON (story, kernels_are_told_by_rung)
{
    struct buf *text = test_buf (t);
    for (uint32_t i = 0; i < HOSTS; i++) {
        story->attempts[i][0].backend.kernel_path = TEXT_LIT ("native");
        story->attempts[i][1].backend.kernel_path = i == 3 ? (struct text){ 0 } : TEXT_LIT ("pallas");
    }
    explain (story);
    const struct explain_question *backend = step (story, "backend");
    assert_int_equal (backend->answers_n, 2);
    assert_int_equal (backend->mark, EXPLAIN_UNKNOWN); /* who ended before its backend was known is not suspect */
    assert_true (answer_ends (backend, 0, "kernels: native at probe; it reported no backend at rung dense"));
    assert_true (answer_ends (backend, 1, "kernels: native at probe; pallas at dense"));
    print_receipt (story, text);
    assert_has (text, "kernels: native at probe; pallas at dense) on v6e-[0-2,4-7]\n");
    assert_has (text, "kernels: native at probe) on v6e-3\n");
}

TEST_ON (story, a_cold_pass_that_compiled_nothing_says_so)
{
    static struct named_number ran[] = { { TEXT_LIT ("compile_requests"), 3 },
                                         { TEXT_LIT ("cache_hits"), 3 },
                                         { TEXT_LIT ("executions"), 3 } };
    static const struct {
        uint64_t requests, hits;
        const char *end;
    } cases[] = {
        { 3, 3,
          "rung dense cold: failed, last in phase init; compiled nothing: every program was in the cache already" },
        { 3, 2, "rung dense cold: failed, last in phase init" },
        { 0, 0, "rung dense cold: failed, last in phase init; reported no compilation" },
    };
    struct rung_receipt *culprit = &story->attempts[3][1];
    culprit->pass = PASS_COLD;
    culprit->counters = (number_list){ ran, 3 };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ran[0].value = cases[i].requests;
        ran[1].value = cases[i].hits;
        explain (story);
        assert_text (step (story, "end")->answers[0].text, cases[i].end);
    }
}

TEST_ON (story, torch_xla_is_told_once_and_a_command_has_no_phase)
{
    static struct var torch_xla[] = { { TEXT_LIT ("torch"), TEXT_LIT ("2.7.0") },
                                      { TEXT_LIT ("torch-xla"), TEXT_LIT ("2.7.0") },
                                      { TEXT_LIT ("torch-xla"), TEXT_LIT ("2.7.0") } };
    for (uint32_t i = 0; i < HOSTS; i++) {
        story->hosts[i].bundle = (var_list){ torch_xla, 3 };
        story->hosts[i].backend.observed.devices = story->hosts[i].backend.observed.local_devices = 1;
        story->attempts[i][1].outcome = OUTCOME_PASSED;
        story->attempts[i][1].phase = (struct text){ 0 };
        story->attempts[i][1].cause = (struct cause){ 0 };
    }
    explain (story);
    assert_text (step (story, "frontend")->answers[0].text, "torch-xla 2.7.0, torch 2.7.0");
    assert_has (step (story, "backend")->answers[0].text, "with 1 of 1 device on this host");
    assert_text (step (story, "end")->answers[0].text, "rung dense: passed");
    for (uint32_t i = 0; i < HOSTS; i++)
        story->hosts[i].bundle.n = 2;
    explain (story);
    assert_text (step (story, "frontend")->answers[0].text, "torch-xla 2.7.0, torch 2.7.0");
    for (uint32_t i = 0; i < HOSTS; i++)
        story->hosts[i].bundle.n = 1;
    explain (story);
    assert_int_equal (step (story, "frontend")->mark, EXPLAIN_UNKNOWN); /* torch alone drives no device */
}

TEST_ON (story, a_command_that_failed_and_what_never_ran_have_no_phase)
{
    struct rung rungs[] = { { .id = story->rungs[0], .kind = PROGRAM_CANARY },
                            { .id = story->rungs[1], .kind = PROGRAM_COMMAND } };
    struct board now = { .plan.rungs = { rungs, 2 } };
    struct rung_receipt *culprit = &story->attempts[3][1];
    culprit->phase = (struct text){ 0 };
    for (uint32_t i = 0; i < HOSTS; i++)
        story->hosts[i].backend.observed = (struct observed_backend){ 0 };
    explain_make (&story->receipt, &now, &(const struct drift_query){ 0 }, &story->arena, &story->told);
    assert_text (step (story, "end")->answers[0].text, "rung dense: failed");
    rungs[1].kind = PROGRAM_CANARY; /* it was started, and has said nothing */
    explain_make (&story->receipt, &now, &(const struct drift_query){ 0 }, &story->arena, &story->told);
    assert_text (step (story, "end")->answers[0].text, "rung dense: failed, last in phase start");
    culprit->outcome = OUTCOME_BLOCKED;
    explain_make (&story->receipt, &now, &(const struct drift_query){ 0 }, &story->arena, &story->told);
    assert_text (step (story, "end")->answers[0].text, "rung dense: blocked");
    culprit->outcome = OUTCOME_LOST;
    culprit->attempt = 0;
    explain_make (&story->receipt, &now, &(const struct drift_query){ 0 }, &story->arena, &story->told);
    assert_text (step (story, "end")->answers[0].text, "rung dense: lost");
}

static void policy_says (struct story *story, const char *words)
{
    const struct explain_question *policy = (explain (story), step (story, "policy"));
    for (uint32_t i = 0; i < policy->answers_n; i++)
        if (text_find (policy->answers[i].text, text_of (words), NULL))
            return;
    fail_msg ("'%s' is not in '%.*s'", words, TEXT_ARG (policy->answers[0].text));
}

/* Whole: what was set for any scope, what of it was seen, and what the imports added. */
TEST_ON (story, what_the_imports_did_to_the_policy_is_told_whole)
{
    struct var scope = { TEXT_LIT ("TPU_NAMED"), TEXT_LIT ("one two") };
    struct var seen[] = { story->observed[0][0],
                          { TEXT_LIT ("TPU_NAMED"), TEXT_LIT ("two one") },
                          { TEXT_LIT ("LIBTPU_INIT_ARGS"), TEXT_LIT ("--b --a") },
                          { TEXT_LIT ("JAX_COMPILATION_CACHE_DIR"), TEXT_LIT ("/c") },
                          { TEXT_LIT ("TPU_FOUND"), TEXT_LIT ("7") } };
    struct policy_receipt *policy = &story->hosts[0].policy;
    policy_says (story, "sets 1 variable, and the imports changed none of them");
    policy->host_scope = (var_list){ &scope, 1 };
    policy_says (story, "sets 2 variables, and the imports changed none of the 1 that the program reported");
    policy->observed = (var_list){ seen, 5 };
    policy_says (story, "sets 2 variables, and the imports changed none of them; sliceup did not set LIBTPU_INIT_ARGS "
                        "('--a --b'), TPU_FOUND, which the program saw");
    seen[1].value = TEXT_LIT ("two");
    policy_says (story, "TPU_NAMED is 'two' after the imports, but sliceup had set it to 'one two'");
}

TEST_ON (story, another_backend_is_suspect_on_all)
{
    for (uint32_t i = 0; i < HOSTS; i++)
        story->hosts[i].backend.observed.platform = TEXT_LIT ("cpu");
    explain (story);
    assert_int_equal (step (story, "backend")->mark, EXPLAIN_SUSPECT);
    assert_int_equal (step (story, "backend")->answers_n, 1);
}

TEST_ON (story, passes_in_parts_are_not_where_it_ended)
{
    struct rung_receipt more[3] = { story->attempts[3][0], story->attempts[3][1], story->attempts[3][1] };
    more[2].purpose = PURPOSE_ISOLATION;
    more[2].outcome = OUTCOME_PASSED;
    story->hosts[3].rungs.items = more;
    story->hosts[3].rungs.n = 3;
    explain (story);
    assert_int_equal (story->told.causes_n, 1);
    assert_int_equal (story->told.passed.n, 0);
}

static struct text printed (struct story *story, bool json)
{
    struct buf out;
    buf_init (&out, 1 << 20);
    if (json)
        explain_json (&story->told, &out);
    else
        explain_print (&story->told, false, &out);
    struct text text = text_copy (&story->arena, buf_as_text (&out));
    buf_release (&out);
    return text;
}

static void expect (struct text text, const char *words)
{
    assert_has (text, words);
}

TEST_ON (story, words_of_one_host_are_not_given_as_anothers)
{
    for (uint32_t i = 0; i < HOSTS; i++) {
        story->attempts[i][1].outcome = OUTCOME_FAILED;
        story->attempts[i][1].cause = story->attempts[3][1].cause;
        story->attempts[i][1].cause.evidence = text_format (&story->arena, "line %u", i < 4 ? 0 : i);
    }
    explain (story);
    const struct explain_cause *cause = &story->told.causes[0];
    assert_int_equal (cause->hosts.n, HOSTS);
    assert_int_equal (cause->printed_n, 3);
    assert_int_equal (cause->printed[0].hosts.n, 4);
    assert_int_equal (cause->printed[1].hosts.n, 1);
    assert_int_equal (cause->printed_more, HOSTS - 6);
    expect (printed (story, false), "    evidence of v6e-[0-3]: line 0\n    evidence of v6e-4: line 4\n");
}

TEST_ON (story, a_cause_whose_numbers_differ_is_one_and_names_whose_they_are)
{
    for (uint32_t i = 0; i < HOSTS; i++) {
        story->attempts[i][1].outcome = OUTCOME_FAILED;
        story->attempts[i][1].cause = story->attempts[3][1].cause;
        story->attempts[i][1].cause.text = text_format (&story->arena, "rank %u (pid %u) lost its mesh", i, 400 + i);
    }
    struct buf *receipt = test_buf (t);
    explain (story);
    assert_int_equal (story->told.causes_n, 1);
    expect (printed (story, false), "    v6e-0: rank 0 (pid 400) lost its mesh\n");
    receipt_text (&story->receipt, &(const struct drift_query){ 0 }, receipt);
    expect (buf_as_text (receipt), "v6e-0: rank 0 (pid 400) lost its mesh");
}

/* A value that a host could not tell is none. */
TEST_ON (story, what_was_not_heard_is_no_holder_of_the_device)
{
    static struct var facts[] = { { TEXT_LIT ("device.holders"), TEXT_LIT (FACT_NOT_REPORTED) } };
    for (uint32_t i = 0; i < HOSTS; i++) {
        story->hosts[i].facts.items = facts;
        story->hosts[i].facts.n = 1;
    }
    explain (story);
    assert_has_not (printed (story, false), TEXT_LIT (FACT_NOT_REPORTED));
}

TEST_ON (story, a_person_reads_the_fault_first)
{
    explain (story);
    struct text text = printed (story, false);
    expect (text, "run 01234567: slice v6e: stopped at rung dense\n\nwhose fault\n  v6e-3  failed, owner: device "
                  "(known, vfio-busy)\n");
    expect (text, "    evidence: open(/dev/vfio/0): Device or resource busy\n");
    expect (text, "  v6e-[0-2,4-7]  aborted because others failed (cascade)\n");
    expect (text, "1. which frontend did the program use?");
    assert_has_not (text, "\x1b"); /* nothing that a host said drives the terminal */
}

static bool says (struct story *story, const char *id, const char *text)
{
    const struct explain_question *asked = step (story, id);
    for (uint32_t i = 0; i < asked->answers_n; i++)
        if (text_is (asked->answers[i].text, text))
            return true;
    return false;
}

TEST_ON (story, who_has_no_attempt_there_is_said_so_by_the_name_of_the_rung)
{
    story->hosts[5].rungs.n = 0;
    explain (story);
    assert_true (
        says (story, "end", text_format (&story->arena, "did not reach rung %.*s", TEXT_ARG (story->told.rung)).ptr));
    for (uint32_t i = 0; i < HOSTS; i++)
        story->hosts[i].rungs.n = 0;
    explain (story);
    assert_true (says (story, "end", "no rung has ended on this host"));
}

TEST_ON (story, notes_of_outputs_are_folded_and_the_rest_is_counted)
{
    struct result_note all[2] = { { TEXT_LIT ("4 MiB of its output are cut"), TEXT_LIT ("log"), DURABILITY_RERUN },
                                  { TEXT_LIT ("4 MiB of its output are cut"), TEXT_LIT ("log"), DURABILITY_RERUN } };
    for (uint32_t i = 0; i < HOSTS; i++) {
        story->hosts[i].notes.items = all; /* of two rungs */
        story->hosts[i].notes.n = 2;
    }
    explain (story);
    assert_int_equal (story->told.history_n, 1);
    assert_int_equal (story->told.history_more, 0);
    expect (printed (story, false), "\nwhat went before\n  v6e-[0-7]: 4 MiB of its output are cut\n");
    struct result_note *own = arena_array (&story->arena, EXPLAIN_HISTORY_MAX + 3, sizeof (*own));
    for (uint32_t i = 0; i < EXPLAIN_HISTORY_MAX + 3; i++)
        own[i] = (struct result_note){ text_format (&story->arena, "%u bytes are cut", i), TEXT_LIT ("log"),
                                       DURABILITY_RERUN };
    story->hosts[7].notes.items = own;
    story->hosts[7].notes.n = EXPLAIN_HISTORY_MAX + 3;
    explain (story);
    assert_int_equal (story->told.history_n, EXPLAIN_HISTORY_MAX);
    assert_int_equal (story->told.history_more, 4);
    expect (printed (story, false), "\n  v6e-[0-6]: 4 MiB of its output are cut\n");
    expect (printed (story, false), "\n  ... and 4 more: sliceup receipt 01234567 --json has them\n");
    expect (printed (story, true), "\"history_left_out\": 4");
}

TEST_ON (story, the_worst_differences_of_the_hosts_come_last)
{
    enum { ODD = 7 };
    explain (story);
    assert_int_equal (story->told.differences.n, 0);
    assert_has_not (printed (story, false), "how the hosts differ");
    struct var *bundle = arena_array (&story->arena, ODD, sizeof (*bundle));
    for (uint32_t i = 0; i < ODD; i++)
        bundle[i] = (struct var){ text_format (&story->arena, "package-%u", i), TEXT_LIT ("1.0") };
    for (uint32_t i = 0; i < HOSTS; i++) {
        story->hosts[i].bundle.items = bundle;
        story->hosts[i].bundle.n = ODD;
    }
    story->hosts[5].bundle.items = arena_copy (&story->arena, bundle, ODD * sizeof (*bundle));
    for (uint32_t i = 0; i < ODD; i++)
        story->hosts[5].bundle.items[i].value = TEXT_LIT ("2.0");
    explain (story);
    assert_int_equal (story->told.differences.n, EXPLAIN_DIFFERENCES_MAX);
    assert_int_equal (story->told.differences.more, ODD - EXPLAIN_DIFFERENCES_MAX);
    expect (printed (story, false), "\nhow the hosts differ\n  v6e-5: bundle package-0 is 2.0, 7 others have 1.0\n");
    expect (printed (story, false), "  ... and in 2 other ways, listed by: sliceup drift 01234567\n");
    expect (printed (story, true), "\"v6e-5: bundle package-0 is 2.0, 7 others have 1.0\"");
}

TEST_ON (story, an_unknown_failure_blames_nobody)
{
    story->attempts[3][1].cause.owner = OWNER_UNKNOWN;
    story->attempts[3][1].cause.signature = (struct text){ 0 };
    explain (story);
    expect (printed (story, false), "owner: unknown (no known error matched)");
    expect (printed (story, true), "\"recognised\": false");
}

TEST_ON (story, json_has_every_host_by_name)
{
    explain (story);
    struct text text = printed (story, true);
    expect (text, "\"schema\": \"sliceup.explain/3\"");
    expect (text, "\"v6e-7\"");
    expect (text, "\"id\": \"end\"");
}

TEST_ON (story, a_run_that_reached_the_top_has_no_culprit)
{
    for (uint32_t i = 0; i < HOSTS; i++)
        story->attempts[i][1].outcome = OUTCOME_PASSED;
    explain (story);
    assert_int_equal (story->told.rung.len, 0);
    assert_int_equal (story->told.causes_n, 0);
    assert_int_equal (step (story, "end")->mark, EXPLAIN_CLEAR);
    assert_has_not (printed (story, false), "whose fault");
    story->receipt.headers.n = 0;
    explain (story);
    expect (printed (story, false), "nothing to explain");
    expect (printed (story, true), "\"steps\": []");
}
