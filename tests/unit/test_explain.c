/* links: view */
#include "cases.h"
#include "coordinator/view/receipt_text.h"
#include "receipt_set.h"

enum { HOSTS = 8 };

struct story {
    struct arena arena;
    struct run_header header;
    struct text rungs[2], names[HOSTS];
    struct host_receipt hosts[HOSTS];
    struct rung_receipt attempts[HOSTS][2], *places[HOSTS][2];
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
    story->places[i][0] = &story->attempts[i][0];
    story->places[i][1] = &story->attempts[i][1];
    host->rungs.items = story->places[i];
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
                                     OWNER_NONE,
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

/* The sections of the page whose first line begins with one of `shown`. */
static void print_sections (struct text page, struct text shown, struct buf *out)
{
    bool prints = false;
    while (page.len > 0) {
        struct text line = case_next_line (&page);
        bool begins = line.len > 0 && line.ptr[0] != ' ';
        for (struct text rest = begins ? shown : (struct text){ 0 }; rest.len > 0;) {
            struct text head = case_next_line (&rest);
            prints = line.len >= head.len && memcmp (line.ptr, head.ptr, head.len) == 0;
            rest.len = prints ? 0 : rest.len;
        }
        prints = prints && line.len > 0;
        if (prints)
            buf_printf (out, "%.*s\n", TEXT_ARG (line));
    }
}

static void explain_case (struct test *t, const struct test_case *of, struct buf *got)
{
    struct story *story = arena_alloc (&t->arena, sizeof *story);
    struct buf *page = test_buf (t);
    story_open (story);
    for (struct text lines = case_text (of, "set"); lines.len > 0;)
        receipt_set (&story->receipt, case_next_line (&lines), &story->arena);
    explain (story);
    explain_print (&story->told, false, page);
    print_sections (buf_as_text (page), case_text (of, "show"), got);
    arena_release (&story->arena);
}

TEST (an_end_is_explained)
{
    cases_run ("explain", explain_case);
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

TEST_ON (story, a_canary_that_could_be_no_copy_is_history)
{
    for (uint32_t i = 0; i < HOSTS; i++)
        story->attempts[i][1].interpreter = i ? TEXT_LIT ("copied") : TEXT_LIT ("executed: it made no copy in 5 s");
    explain (story);
    assert_int_equal (story->told.history_n, 1);
    expect (printed (story, false), "\n  v6e-0: executed, not copied: dense, since it made no copy in 5 s\n");
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

TEST_ON (story, json_has_every_host_by_name)
{
    explain (story);
    struct text text = printed (story, true);
    expect (text, "\"schema\": \"sliceup.explain/3\"");
    expect (text, "\"v6e-7\"");
    expect (text, "\"id\": \"end\"");
    story->attempts[3][1].cause.owner = OWNER_UNKNOWN;
    story->attempts[3][1].cause.signature = (struct text){ 0 };
    explain (story);
    expect (printed (story, true), "\"recognised\": false");
    story->receipt.headers.n = 0;
    explain (story);
    expect (printed (story, true), "\"steps\": []");
}

TEST_ON (story, a_receipt_tells_kernels_by_rung)
{
    for (uint32_t i = 0; i < HOSTS; i++) {
        story->attempts[i][0].backend.kernel_path = TEXT_LIT ("native");
        story->attempts[i][1].backend.kernel_path = i == 3 ? (struct text){ 0 } : TEXT_LIT ("pallas");
    }
    struct buf *text = test_buf (t);
    print_receipt (story, text);
    assert_has (text, "kernels: native at probe; pallas at dense) on v6e-[0-2,4-7]\n");
    assert_has (text, "kernels: native at probe) on v6e-3\n");
}
