/* links: view */
/* Drift: the minority is named, the order of hosts decides nothing, what is planted is found, absence is no evidence.
 */
#include "coordinator/receipt/drift.h"
#include "coordinator/receipt/drift_private.h"
#include "coordinator/view/drift_view.h"
#include "test.h"

enum { FACTS = 12, HOSTS_MOST = 64 };

/* A slice whose hosts are all the same; each host's lists are its own, to be changed. */
struct slice {
    struct arena arena;
    struct slice_receipt receipt;
    struct drift drift;
};

static struct var *list (struct arena *arena, const struct var *from, uint32_t n)
{
    return arena_copy (arena, from, n * sizeof (*from));
}

static void add_rung (struct slice *slice, struct host_receipt *host, const char *rung, enum pass pass,
                      uint64_t compile_ms)
{
    struct rung_receipt *items = arena_array (&slice->arena, host->rungs.n + 1, sizeof (*items));
    if (host->rungs.n)
        memcpy (items, host->rungs.items, host->rungs.n * sizeof (*items));
    struct named_number *phases = arena_array (&slice->arena, 2, sizeof (*phases));
    phases[0] = (struct named_number){ TEXT_LIT ("init"), 900 };
    phases[1] = (struct named_number){ TEXT_LIT ("compile"), compile_ms };
    items[host->rungs.n] = (struct rung_receipt){
        .rung = text_of (rung), .pass = pass, .attempt = 1, .outcome = OUTCOME_PASSED, .duration_ms = compile_ms + 900
    };
    items[host->rungs.n].phases.items = phases;
    items[host->rungs.n].phases.n = 2;
    host->rungs.items = items;
    host->rungs.n++;
}

static void make (struct slice *slice, uint32_t hosts)
{
    *slice = (struct slice){ 0 };
    slice->receipt.hosts.items = arena_array (&slice->arena, hosts, sizeof (struct host_receipt));
    slice->receipt.hosts.n = hosts;
    for (uint32_t i = 0; i < hosts; i++) {
        struct host_receipt *host = &slice->receipt.hosts.items[i];
        struct var facts[FACTS],
            bundle[] = { { TEXT_LIT ("jaxlib"), TEXT_LIT ("0.10.2") }, { TEXT_LIT ("numpy"), TEXT_LIT ("2.0") } };
        struct var policy[] = { { TEXT_LIT ("XLA_FLAGS"), TEXT_LIT ("--a=1 --b=2") } };
        for (uint32_t f = 0; f < FACTS; f++)
            facts[f] = (struct var){ text_format (&slice->arena, "f%u", f), text_format (&slice->arena, "v%u", f) };
        *host =
            (struct host_receipt){ .run = TEXT_LIT ("run"), .host = text_format (&slice->arena, "h%u", i), .rank = i };
        host->facts.items = list (&slice->arena, facts, FACTS);
        host->facts.n = FACTS;
        host->facts.items[0] = (struct var){ TEXT_LIT ("hostname"), host->host };
        host->facts.items[1] = (struct var){ TEXT_LIT ("hugepages.transparent"), TEXT_LIT ("always") };
        host->bundle.items = list (&slice->arena, bundle, 2);
        host->bundle.n = 2;
        host->policy.observed.items = list (&slice->arena, policy, 1);
        host->policy.observed.n = 1;
        add_rung (slice, host, "dense", PASS_COLD, 12000 + i);
    }
}

static void done (struct slice *slice)
{
    arena_release (&slice->arena);
}

TEST_FIXTURE (struct slice, TEST_NOTHING, done)

static struct host_receipt *host (struct slice *slice, uint32_t i)
{
    return &slice->receipt.hosts.items[i];
}

static const char *first_line (struct slice *slice, const struct drift_query *query)
{
    static const struct drift_sentence_limits whole = { 0 };
    struct buf out;
    buf_init (&out, 1 << 20);
    drift_compare_hosts (&slice->receipt, query, &slice->arena, &slice->drift);
    drift_sentence_summary (&slice->drift, &whole, &out);
    const char *line = text_copy (&slice->arena, buf_as_text (&out)).ptr;
    buf_release (&out);
    return line;
}

static const struct drift_query plain;

/* ---- what is said ---- */

static struct text planted (struct slice *slice, const char *name, const char *value)
{
    struct host_receipt *at;
    for (uint32_t i = 0; i < slice->receipt.hosts.n; i++) {
        at = host (slice, i);
        at->policy.observed.items[0] = (struct var){ text_of (name), text_format (&slice->arena, value, i, i) };
    }
    return text_format (&slice->arena, "policy %s", name);
}

TEST_ON (slice, a_path_of_the_host_itself_is_expected_to_differ)
{
    make (slice, 4);
    const struct drift_query all = { .all = true };
    planted (slice, "XLA_FLAGS", "--a=1 --xla_dump_to=/dump/h%u/rank-%u");
    assert_string_equal (first_line (slice, &all), "no drift: 4 hosts, 18 facts compared");
    assert_int_equal (slice->drift.expected, 2);
    static const char *const names[] = { "alpha", "beta", "gamma", "delta" };
    for (uint32_t i = 0; i < 4; i++) {
        host (slice, i)->host = text_of (names[i]);
        host (slice, i)->policy.observed.items[0].value = text_format (&slice->arena, "--a=/dump/%s.log", names[i]);
    }
    first_line (slice, &all);
    assert_int_equal (slice->drift.findings, 0);
    planted (slice, "XLA_FLAGS", "--xla_dump_to=/dump/host%u --b=1 --c=%u"); /* a number is no path */
    first_line (slice, &all);
    assert_int_equal (slice->drift.findings, 1);
    host (slice, 2)->policy.observed.items[0].value = TEXT_LIT ("--xla_dump_to=/other/h2");
    planted (slice, "LOGS", "/dump/h%u.log");
    host (slice, 2)->policy.observed.items[0].value = TEXT_LIT ("/other/h2.log");
    first_line (slice, &all);
    assert_int_equal (slice->drift.findings, 1);
    host (slice, 2)->policy.observed.items[0].value = TEXT_LIT ("/dump/h3.log"); /* another host's */
    first_line (slice, &all);
    assert_int_equal (slice->drift.findings, 1);
}

TEST_ON (slice, of_two_equal_groups_neither_is_the_reference)
{
    make (slice, 4);
    for (uint32_t i = 2; i < 4; i++)
        host (slice, i)->bundle.items[0].value = TEXT_LIT ("0.10.1");
    assert_string_equal (first_line (slice, &plain), "h[2-3]: bundle jaxlib is 0.10.1, 2 others have 0.10.2");
    assert_string_equal (enum_name_of (&drift_severity_names, slice->drift.items[0].severity), "breaks");
    assert_false (slice->drift.items[0].groups[0].reference || slice->drift.items[0].groups[1].reference);
    host (slice, 2)->bundle.items[0].value = TEXT_LIT ("0.10.2");
    first_line (slice, &plain);
    assert_true (slice->drift.items[0].groups[0].reference);
}

TEST_ON (slice, without_facts_it_is_not_known)
{
    make (slice, 2);
    for (uint32_t i = 0; i < 2; i++)
        host (slice, i)->facts.n = 0;
    assert_true (strstr (first_line (slice, &plain), "not known: no host reported facts"));
    assert_true (drift_is_incomplete (&slice->drift));
    const struct drift_query dense = { .rung = TEXT_LIT ("dense") };
    first_line (slice, &dense);
    assert_false (drift_is_incomplete (&slice->drift));
}

TEST_ON (slice, two_hosts_with_one_place_are_found_in_files)
{
    make (slice, 3);
    host (slice, 2)->rank = 1;
    assert_string_equal (first_line (slice, &plain), "h[1-2]: they have the same rank: 1");
    host (slice, 2)->run = TEXT_LIT ("zzz"); /* each run has its own */
    assert_true (strstr (first_line (slice, &plain), "no drift"));
    host (slice, 2)->run = TEXT_LIT ("run");
    host (slice, 2)->rank = 2;
    for (uint32_t i = 0; i < 3; i++)
        host (slice, i)->facts.items[2] = (struct var){ TEXT_LIT ("tpu.worker_id"),
                                                        i ? TEXT_LIT ("7") : TEXT_LIT ("0") };
    assert_string_equal (first_line (slice, &plain), "h[1-2]: they have the same TPU worker number: 7");
    host (slice, 2)->host = host (slice, 1)->host; /* two receipts of one host are a conflict */
    host (slice, 2)->facts.items[0].value = host (slice, 1)->host;
    first_line (slice, &plain);
    assert_int_not_equal (slice->drift.items[0].verdict, DRIFT_IMPOSSIBLE);
}

TEST_ON (slice, the_larger_difference_comes_first)
{
    make (slice, 6);
    for (uint32_t i = 0; i < 6; i++) {
        struct host_receipt *at = host (slice, i);
        at->rungs.items[0].memory.peak_bytes = i == 4 ? 40ull << 30 : 1ull << 30;
    }
    host (slice, 1)->rungs.items[0].phases.items[1].value = 30000;
    host (slice, 1)->rungs.items[0].duration_ms = 30900;
    first_line (slice, &plain);
    assert_true (slice->drift.findings == 2 && text_starts (slice->drift.items[0].fact, "memory dense"));
    host (slice, 1)->rungs.items[0].phases.items[1].value = 3000000;
    host (slice, 1)->rungs.items[0].duration_ms = 3000900;
    first_line (slice, &plain);
    assert_true (slice->drift.findings == 2 && text_starts (slice->drift.items[0].fact, "duration dense"));
}

TEST_ON (slice, equal_hosts_have_no_drift)
{
    make (slice, 8);
    assert_string_equal (first_line (slice, &plain), "no drift: 8 hosts, 18 facts compared");
    assert_int_equal (slice->drift.n, 0);
    assert_int_equal (slice->drift.expected, 1);
    assert_int_equal (slice->drift.reference_n, 8);
    assert_false (drift_is_incomplete (&slice->drift));
}

TEST_ON (slice, the_minority_is_named_in_the_first_line)
{
    make (slice, 8);
    host (slice, 3)->bundle.items[0].value = TEXT_LIT ("0.10.1");
    assert_string_equal (first_line (slice, &plain), "h3: bundle jaxlib is 0.10.1, 7 others have 0.10.2");
    assert_int_equal (slice->drift.findings, 1);
    assert_int_equal (slice->drift.reference_n, 7);
}

TEST_ON (slice, what_a_host_says_twice_it_says_once)
{
    make (slice, 4);
    struct host_receipt *at = host (slice, 1);
    at->facts.items[4] = at->facts.items[3];
    for (uint32_t i = 0; i < 4; i++)
        host (slice, i)->facts.n = i == 1 ? 5 : 4;
    host (slice, 3)->facts.items[3].value = TEXT_LIT ("other");
    assert_string_equal (first_line (slice, &plain), "h3: fact f3 is other, 3 others have v3");
    assert_int_equal (slice->drift.findings, 1);
}

/* More facts that some hosts lack than there is room to show: the one whose values differ as well comes first. */
TEST_ON (slice, what_there_is_no_room_for_is_counted)
{
    enum { MANY = 4096 + 1 };
    make (slice, 4);
    for (uint32_t i = 0; i < 3; i++) {
        struct host_receipt *at = host (slice, i);
        struct var *facts = arena_array (&slice->arena, FACTS + MANY, sizeof *facts);
        memcpy (facts, at->facts.items, FACTS * sizeof *facts);
        for (uint32_t f = 0; f < MANY; f++)
            facts[FACTS + f] = (struct var){ text_format (&slice->arena, "x%u", f), TEXT_LIT ("1") };
        facts[FACTS + MANY - 1].value = i ? TEXT_LIT ("2") : TEXT_LIT ("3");
        at->facts.items = facts;
        at->facts.n = FACTS + MANY;
    }
    first_line (slice, &plain);
    assert_text (slice->drift.items[0].fact, "fact x4096");
    assert_int_equal (slice->drift.findings, 1024);
    assert_int_equal (slice->drift.left_out, MANY - 1024);
}

/* At dense all hosts see their own devices, at sum those of the slice. */
static void run_on (struct slice *slice, uint32_t at, const char *rung, uint32_t devices, const char *kernels)
{
    struct host_receipt *of = host (slice, at);
    if (!text_is (of->rungs.items[of->rungs.n - 1].rung, rung))
        add_rung (slice, of, rung, PASS_ONCE, 12000);
    of->backend.observed = (struct observed_backend){ .platform = TEXT_LIT ("cpu"),
                                                      .platform_version = TEXT_LIT ("1"),
                                                      .device_kind = TEXT_LIT ("cpu"),
                                                      .kernel_path = text_of (kernels),
                                                      .devices = devices,
                                                      .local_devices = 2,
                                                      .process_count = devices / 2 };
    of->rungs.items[of->rungs.n - 1].backend = of->backend.observed;
}

TEST (who_ended_early_ran_on_no_other_backend)
{
    struct slice slice, later;
    make (&slice, 4);
    for (uint32_t i = 0; i < 4; i++) {
        run_on (&slice, i, "dense", 2, "native");
        if (i > 0)
            run_on (&slice, i, "sum", 8, "pallas");
    }
    assert_has (first_line (&slice, &plain), "no drift: 4 hosts");
    host (&slice, 0)->rungs.items[0].backend.platform_version = TEXT_LIT ("2");
    assert_string_equal (first_line (&slice, &plain), "h0: backend platform_version is 2, 3 others have 1");
    host (&slice, 0)->rungs.items[0].backend.platform_version = TEXT_LIT ("1");
    host (&slice, 3)->rungs.items[1].backend.kernel_path = TEXT_LIT ("reference");
    assert_string_equal (first_line (&slice, &plain), "h3: program sum/kernels is reference, 2 others have pallas");
    host (&slice, 3)->rungs.items[1].backend.kernel_path = TEXT_LIT ("pallas");
    for (uint32_t i = 1; i < 4; i++)
        host (&slice, i)->rungs.items[0].backend.platform = (struct text){ 0 };
    assert_has (first_line (&slice, &plain), "no drift: 4 hosts"); /* no rung is told by both groups */
    make (&later, 4);
    for (uint32_t i = 0; i < 4; i++)
        run_on (&later, i, "dense", 2, "native");
    drift_compare_receipts (&later.receipt, &slice.receipt, &plain, &later.arena, &later.drift);
    assert_int_equal (later.drift.findings, 0);
    host (&later, 2)->rungs.items[0].backend.devices = 4;
    host (&slice, 2)->rungs.items[0].backend.platform = TEXT_LIT ("cpu");
    drift_compare_receipts (&later.receipt, &slice.receipt, &plain, &later.arena, &later.drift);
    assert_int_equal (later.drift.findings, 1);
    done (&later);
    done (&slice);
}

/* What only programs of the slice get is nothing that a host lacks which ran none; what is not as launched is. */
TEST_ON (slice, who_ran_no_program_of_the_slice_lacks_none_of_its_variables)
{
    make (slice, 4);
    struct var set = { TEXT_LIT ("LEVEL"), TEXT_LIT ("1") },
               both[] = { host (slice, 1)->policy.observed.items[0], set };
    for (uint32_t i = 0; i < 4; i++) {
        struct policy_receipt *policy = &host (slice, i)->policy;
        policy->slice_scope.items = list (&slice->arena, &set, 1);
        policy->slice_scope.n = 1;
        if (i > 0) {
            policy->observed.items = list (&slice->arena, both, 2);
            policy->observed.n = 2;
        }
    }
    assert_has (first_line (slice, &plain), "no drift: 4 hosts");
    host (slice, 2)->policy.observed.items[1].value = TEXT_LIT ("2");
    assert_string_equal (first_line (slice, &plain), "h2: policy LEVEL is 2, 3 others have none");
}

/* Nobody knows whether it differs; that it was not heard is a fact of its own. */
TEST (what_a_host_did_not_hear_is_no_difference)
{
    struct slice slice;
    for (uint32_t odd = 0; odd < 8; odd += 3) {
        make (&slice, 8);
        host (&slice, odd)->facts.items[2].value = TEXT_LIT (FACT_NOT_REPORTED);
        assert_string_equal (first_line (&slice, &plain), "no drift: 8 hosts, 18 facts compared");
        assert_int_equal (slice.drift.expected, 2);
        host (&slice, odd)->facts.items[3].value = TEXT_LIT ("slow");
        assert_has (first_line (&slice, &plain), "fact f3 is slow, 7 others have v3");
        assert_int_equal (slice.drift.findings, 1);
        host (&slice, odd + 1)->facts.items[2].value = TEXT_LIT ("another");
        first_line (&slice, &plain);
        assert_int_equal (slice.drift.findings, 2); /* others were heard, and they do differ */
        done (&slice);
    }
}

/* The odd host is the one by which the table begins. */
TEST_ON (slice, the_first_host_may_be_the_odd_one)
{
    make (slice, 8);
    host (slice, 0)->bundle.items[0].value = TEXT_LIT ("0.10.1");
    assert_string_equal (first_line (slice, &plain), "h0: bundle jaxlib is 0.10.1, 7 others have 0.10.2");
    assert_false (slice->drift.tie);
}

TEST_ON (slice, flags_are_sets_of_words)
{
    make (slice, 4);
    host (slice, 1)->policy.observed.items[0].value = TEXT_LIT ("--b=2  --a=1");
    assert_string_equal (first_line (slice, &plain), "no drift: 4 hosts, 18 facts compared");
    host (slice, 2)->policy.observed.items[0].value = TEXT_LIT ("--b=3 --a=1");
    assert_string_equal (first_line (slice, &plain), "h2: policy XLA_FLAGS lacks --b=2 and has --b=3, unlike 3 others");
}

/* The value by which the table begins is the minority's, and is spelled in two ways. */
TEST_ON (slice, two_spellings_of_one_set_are_one_group)
{
    make (slice, 6);
    for (uint32_t i = 2; i < 6; i++)
        host (slice, i)->policy.observed.items[0].value = TEXT_LIT ("--a=1 --b=3");
    host (slice, 1)->policy.observed.items[0].value = TEXT_LIT ("--b=2 --a=1");
    assert_string_equal (first_line (slice, &plain),
                         "h[0-1]: policy XLA_FLAGS lacks --b=3 and has --b=2, unlike 4 others");
    assert_int_equal (slice->drift.items[0].groups_n, 2);
}

TEST_ON (slice, what_breaks_the_program_stands_before_what_slows_it)
{
    make (slice, 8);
    host (slice, 1)->facts.items[1].value = TEXT_LIT ("never");
    host (slice, 2)->facts.items[5].value = TEXT_LIT ("other");
    host (slice, 4)->bundle.items[1].value = TEXT_LIT ("2.1");
    host (slice, 5)->policy.observed.items[0].value = TEXT_LIT ("--a=1");
    assert_string_equal (first_line (slice, &plain), "h5: policy XLA_FLAGS lacks --b=2, unlike 7 others");
    assert_int_equal (slice->drift.findings, 4);
    assert_text (slice->drift.items[1].fact, "bundle numpy");
    assert_text (slice->drift.items[2].fact, "fact hugepages.transparent");
    assert_int_equal (slice->drift.items[2].severity, DRIFT_SLOWS);
    assert_text (slice->drift.items[3].fact, "fact f5");
}

TEST_ON (slice, a_tie_goes_to_the_lowest_rank_and_is_said)
{
    make (slice, 4);
    for (uint32_t i = 2; i < 4; i++)
        host (slice, i)->bundle.items[0].value = TEXT_LIT ("0.10.1");
    assert_string_equal (first_line (slice, &plain), "h[2-3]: bundle jaxlib is 0.10.1, 2 others have 0.10.2");
    assert_true (slice->drift.tie);
    assert_int_equal (slice->drift.reference[0], 0);
}

/* The host of the lowest rank is slow, so that the reference is no tie any more and does not have it. */
TEST_ON (slice, a_reference_without_those_that_are_named_is_no_tie)
{
    make (slice, 8);
    for (uint32_t i = 4; i < 8; i++)
        host (slice, i)->bundle.items[0].value = TEXT_LIT ("0.10.1");
    host (slice, 0)->rungs.items[0].duration_ms = 90000;
    host (slice, 0)->rungs.items[0].phases.items[1].value = 89000;
    first_line (slice, &plain);
    assert_int_equal (slice->drift.findings, 2);
    assert_int_equal (slice->drift.reference_n, 3);
    assert_int_equal (slice->drift.reference[0], 1);
    assert_false (slice->drift.tie);
}

/* The majority of one fact is not the largest group of hosts that agree in all. */
TEST_ON (slice, the_reference_agrees_in_everything)
{
    make (slice, 8);
    for (uint32_t i = 5; i < 8; i++)
        host (slice, i)->bundle.items[0].value = TEXT_LIT ("b");
    for (uint32_t i = 3; i < 8; i++)
        host (slice, i)->bundle.items[1].value = TEXT_LIT ("y");
    assert_string_equal (first_line (slice, &plain), "h[5-7]: bundle jaxlib is b, 5 others have 0.10.2");
    assert_int_equal (slice->drift.reference_n, 3);
    assert_int_equal (slice->drift.reference[0], 0);
}

/* A serial number makes no host a group of its own. */
TEST_ON (slice, a_fact_without_a_majority_decides_no_reference)
{
    make (slice, 8);
    for (uint32_t i = 0; i < 8; i++)
        host (slice, i)->facts.items[7].value = text_format (&slice->arena, "serial %u", i);
    host (slice, 0)->bundle.items[0].value = TEXT_LIT ("0.10.1");
    assert_string_equal (first_line (slice, &plain), "h0: bundle jaxlib is 0.10.1, 7 others have 0.10.2");
    assert_int_equal (slice->drift.reference_n, 7);
}

/* ---- absence ---- */

TEST (what_a_host_does_not_say_differs)
{
    struct slice slice;
    make (&slice, 8);
    host (&slice, 6)->facts.items[9] = host (&slice, 6)->facts.items[11];
    host (&slice, 6)->facts.n = 11;
    assert_string_equal (first_line (&slice, &plain), "h6: no fact f9, 7 others have v9");
    assert_int_equal (slice.drift.reference_n, 7);
    done (&slice);
    make (&slice, 8);
    host (&slice, 6)->facts.items[9].name = TEXT_LIT ("only here");
    first_line (&slice, &plain);
    assert_int_equal (slice.drift.findings, 2);
    assert_int_equal (slice.drift.items[1].deviating, 1);
    done (&slice);
}

TEST_ON (slice, a_host_without_report_is_said_first_and_equals_nobody)
{
    make (slice, 4);
    struct host_receipt silent = { .run = TEXT_LIT ("run"), .host = TEXT_LIT ("h2"), .rank = 2 };
    *host (slice, 2) = silent;
    host (slice, 3)->bundle.items[0].value = TEXT_LIT ("0.10.1");
    assert_string_equal (first_line (slice, &plain), "no report of h2");
    assert_int_equal (slice->drift.findings, 1);
    assert_int_equal (slice->drift.reference_n, 2);
    assert_true (drift_is_incomplete (&slice->drift));
    host (slice, 3)->bundle.items[0].value = TEXT_LIT ("0.10.2");
    host (slice, 3)->bundle.n = 0; /* its environment was never built */
    assert_string_equal (first_line (slice, &plain), "no report of h2");
    assert_int_equal (slice->drift.findings, 0);
    assert_int_equal (slice->drift.silences_n, 1);
    assert_string_equal (slice->drift.silences[0].what, "bundle");
    assert_int_equal (slice->drift.silences[0].hosts[0], 3);
}

TEST_ON (slice, silent_hosts_swell_no_group)
{
    make (slice, 5);
    for (uint32_t i = 3; i < 5; i++)
        *host (slice, i) = (struct host_receipt){ .run = TEXT_LIT ("run"), .host = host (slice, i)->host, .rank = i };
    for (uint32_t i = 1; i < 3; i++)
        host (slice, i)->bundle.items[0].value = TEXT_LIT ("0.10.1");
    assert_string_equal (first_line (slice, &plain), "no report of h[3-4]");
    assert_int_equal (slice->drift.reference_n, 2);
    assert_int_equal (slice->drift.reference[0], 1);
}

/* Compiling ahead of time runs on one host: that the others have no bundle says nothing of them. */
TEST_ON (slice, what_few_tell_is_no_duty_of_the_others)
{
    make (slice, 4);
    for (uint32_t i = 1; i < 4; i++)
        host (slice, i)->bundle.n = 0;
    assert_string_equal (first_line (slice, &plain), "no drift: 4 hosts, 18 facts compared");
    assert_int_equal (slice->drift.silences_n, 0);
}

TEST_ON (slice, who_tells_no_bundle_lacks_no_package)
{
    make (slice, 6);
    host (slice, 3)->bundle.n = 0;
    host (slice, 2)->bundle.n = 1;
    assert_string_equal (first_line (slice, &plain), "h2: no bundle numpy, 4 others have 2.0");
    assert_int_equal (slice->drift.silences_n, 1);
}

/* A program told its backend, so it told its policy: there was nothing to name. */
TEST_ON (slice, a_variable_that_only_one_host_has_differs)
{
    make (slice, 4);
    for (uint32_t i = 0; i < 4; i++) {
        host (slice, i)->policy.observed.n = i == 2;
        host (slice, i)->backend.observed = (struct observed_backend){ .platform = TEXT_LIT ("cpu"),
                                                                       .process_index = i };
    }
    assert_string_equal (first_line (slice, &plain), "h2: policy XLA_FLAGS is --a=1 --b=2, 3 others have none");
}

TEST_ON (slice, a_host_that_only_the_header_names_is_silent)
{
    struct text names[] = { TEXT_LIT ("h0"), TEXT_LIT ("h1"), TEXT_LIT ("h2") };
    struct run_header header = { .run = TEXT_LIT ("run") };
    make (slice, 2);
    header.hosts.items = names;
    header.hosts.n = 3;
    slice->receipt.headers.items = &header;
    slice->receipt.headers.n = 1;
    assert_string_equal (first_line (slice, &plain), "no report of h2");
}

/* ---- rules ---- */

TEST_ON (slice, the_first_rule_that_matches_counts)
{
    const struct drift_rule rules[] = {
        { .fact = TEXT_LIT ("bundle numpy"), .kind = DRIFT_IGNORED },
        { .fact = TEXT_LIT ("bundle *"), .kind = DRIFT_AGREE },
        { .fact = TEXT_LIT ("fact host*"), .kind = DRIFT_EXPECTED },
    };
    const struct drift_query query = { .rules = rules, .rules_n = 3 };
    make (slice, 4);
    host (slice, 1)->bundle.items[1].value = TEXT_LIT ("2.1");
    assert_string_equal (first_line (slice, &query), "no drift: 4 hosts, 18 facts compared");
    assert_int_equal (slice->drift.ignored, 1);
    assert_true (text_matches (TEXT_LIT ("xaybzab"), TEXT_LIT ("*a*b")));
    assert_false (text_matches (TEXT_LIT ("xaybz"), TEXT_LIT ("*a*b")));
    assert_true (text_matches (TEXT_LIT (""), TEXT_LIT ("*")));
}

TEST_ON (slice, all_hosts_may_differ_from_their_pins)
{
    struct requirement pinned[] = { { .name = TEXT_LIT ("jaxlib"), .version = TEXT_LIT ("0.10.3") },
                                    { .name = TEXT_LIT ("numpy"), .version = TEXT_LIT ("2.0") } };
    const struct requirements pins = { pinned, 2 };
    const struct drift_rule rules[] = {
        { .fact = TEXT_LIT ("bundle *"), .kind = DRIFT_PINNED },
        { .fact = TEXT_LIT ("fact hostname"), .kind = DRIFT_EXPECTED },
    };
    make (slice, 4);
    const struct drift_query query = { .rules = rules, .rules_n = 2, .pins = &pins };
    assert_string_equal (first_line (slice, &query), "h[0-3]: bundle jaxlib is 0.10.2, pinned is 0.10.3");
    host (slice, 0)->bundle.items[0].value = TEXT_LIT ("0.10.3"); /* the only one that is right */
    assert_string_equal (first_line (slice, &query), "h[1-3]: bundle jaxlib is 0.10.2, pinned is 0.10.3, as h0 has");
    assert_int_equal (slice->drift.findings, 1);
}

/* ---- numbers ---- */

static void slow (struct slice *slice, uint32_t i, uint64_t compile_ms)
{
    host (slice, i)->rungs.n = 0;
    add_rung (slice, host (slice, i), "dense", PASS_COLD, compile_ms);
}

TEST_ON (slice, a_slow_host_is_named_with_rung_and_phase)
{
    make (slice, 8);
    slow (slice, 5, 41000);
    assert_string_equal (
        first_line (slice, &plain),
        "h5: phase compile of rung dense (cold) took 3.4 × the median (41 s; the median of 8 hosts is 12 s)");
    assert_int_equal (slice->drift.findings, 1); /* that the whole rung took longer is no second finding */
}

TEST_ON (slice, small_effects_are_no_outliers)
{
    make (slice, 8);
    slow (slice, 5, 17000); /* a hundred times the spread, and not half as much again */
    assert_string_equal (first_line (slice, &plain), "no drift: 8 hosts, 18 facts compared");
    for (uint32_t i = 0; i < 8; i++)
        slow (slice, i, i == 5 ? 1050 : 60); /* many times, and less than a second more */
    assert_string_equal (first_line (slice, &plain), "no drift: 8 hosts, 18 facts compared");
    for (uint32_t i = 0; i < 8; i++)
        slow (slice, i, i == 5 ? 2900 : 1000); /* not three times, and less than 3 s more */
    assert_string_equal (first_line (slice, &plain), "no drift: 8 hosts, 18 facts compared");
}

/* Three times and 1 s, or half as much again and 3 s; and no finding's host is what the others are held against. */
TEST (whoever_is_slow_is_named_with_the_factor_and_is_no_reference)
{
    static const struct {
        uint64_t usual_ms, slow_ms;
        const char *line;
    } cases[] = { { 100, 2500, "h6: rung disk took 25 × the median (2.5 s; the median of 8 hosts is 100 ms)" },
                  { 100, 1200, "h6: rung disk took 12 × the median (1.2 s; the median of 8 hosts is 100 ms)" },
                  { 1000, 4000, "h6: rung disk took 4.0 × the median (4 s; the median of 8 hosts is 1 s)" },
                  { 5000, 8200, "h6: rung disk took 1.6 × the median (8.2 s; the median of 8 hosts is 5 s)" } };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct slice slice;
        make (&slice, 8);
        for (uint32_t i = 0; i < 8; i++)
            host (&slice, i)->rungs.items[0] = (struct rung_receipt){ .rung = TEXT_LIT ("disk"),
                                                                      .pass = PASS_ONCE,
                                                                      .attempt = 1,
                                                                      .outcome = OUTCOME_PASSED,
                                                                      .duration_ms = i == 6 ? cases[k].slow_ms
                                                                                            : cases[k].usual_ms };
        assert_string_equal (first_line (&slice, &plain), cases[k].line);
        assert_int_equal (slice.drift.findings, 1);
        assert_int_equal (slice.drift.reference_n, 7);
        for (uint32_t i = 0; i < slice.drift.reference_n; i++)
            assert_int_not_equal (slice.drift.reference[i], 6);
        struct drift_sentence_list said; /* as receipts say it */
        drift_sentence_list_make (&slice.receipt, &plain, 4, &slice.arena, &said);
        assert_int_equal (said.n, 1);
        assert_text (said.sentences[0], cases[k].line);
        done (&slice);
    }
}

/* Where all scatter, much more than that is asked of one: 0.6745 * distance / MAD is 3.0 at 30 s, and 4.7 at 40 s. */
TEST (what_scatters_has_farther_outliers)
{
    static const uint64_t compile_ms[] = { 4000, 8000, 8000, 12000, 12000, 16000, 16000 };
    for (int far = 0; far < 2; far++) {
        struct slice slice;
        make (&slice, 8);
        for (uint32_t i = 0; i < 7; i++)
            slow (&slice, i, compile_ms[i]);
        slow (&slice, 7, far ? 40000 : 30000);
        first_line (&slice, &plain);
        assert_int_equal (slice.drift.findings, far);
        done (&slice);
    }
}

TEST_ON (slice, three_hosts_are_too_few_to_judge)
{
    make (slice, 3);
    slow (slice, 1, 60000);
    assert_string_equal (first_line (slice, &plain), "no drift: 3 hosts, 18 facts compared");
    assert_true (slice->drift.too_few > 0);
}

/* A receipt from a file may name as many phases as it likes: what is measured once for each must not add up. */
TEST_ON (slice, measures_that_no_two_hosts_share_cost_no_memory)
{
    enum { HOSTS = 4000, PHASES = 4, BOUND_BYTES = 64 << 20 };
    make (slice, HOSTS);
    for (uint32_t i = 0; i < HOSTS; i++) {
        struct rung_receipt *rung = &host (slice, i)->rungs.items[0];
        rung->phases.items = arena_array (&slice->arena, PHASES, sizeof (struct named_number));
        rung->phases.n = PHASES;
        for (uint32_t k = 0; k < PHASES; k++) /* of two hosts each */
            rung->phases.items[k] = (struct named_number){ text_format (&slice->arena, "p%u-%u", i / 2, k), 1 };
    }
    size_t before = slice->arena.used_bytes;
    assert_string_equal (first_line (slice, &plain), "no drift: 4000 hosts, 8016 facts compared");
    assert_true (slice->arena.used_bytes - before < BOUND_BYTES);
}

static void add_build (struct slice *slice, uint32_t i, uint64_t build_ms, uint64_t compile_ms)
{
    struct rung_receipt *rung = &host (slice, i)->rungs.items[0];
    rung->phases.items[0] = (struct named_number){ TEXT_LIT ("build"), build_ms };
    rung->phases.items[1] = (struct named_number){ TEXT_LIT ("compile"), compile_ms };
    rung->duration_ms = build_ms + compile_ms;
}

TEST_ON (slice, a_phase_that_one_host_goes_through_for_all_makes_none_slow)
{
    const struct drift_rule rules[] = {
        { .fact = TEXT_LIT ("fact hostname"), .kind = DRIFT_EXPECTED },
        { .fact = TEXT_LIT ("duration */build"), .kind = DRIFT_EXPECTED },
        { .fact = TEXT_LIT ("duration *"), .kind = DRIFT_TOLERANCE, .tolerance = 0.5, .least = 3000 },
    };
    const struct drift_query query = { .rules = rules, .rules_n = 3 };
    make (slice, 6);
    for (uint32_t i = 0; i < 6; i++)
        add_build (slice, i, i == 4 ? 60000 : 0, 1000);
    assert_string_equal (first_line (slice, &query), "no drift: 6 hosts, 17 facts compared");
    add_build (slice, 1, 0, 9000);
    assert_string_equal (
        first_line (slice, &query),
        "h1: phase compile of rung dense (cold) took 9.0 × the median (9 s; the median of 6 hosts is 1 s)");
}

TEST_ON (slice, the_cache_writer_is_not_compared_with_readers)
{
    struct run_header header = { .run = TEXT_LIT ("run"), .cache_writer = TEXT_LIT ("h0") };
    make (slice, 8);
    slice->receipt.headers.items = &header;
    slice->receipt.headers.n = 1;
    slow (slice, 0, 60000);
    assert_string_equal (first_line (slice, &plain), "no drift: 8 hosts, 21 facts compared");
    slow (slice, 1, 60000);
    assert_string_equal (
        first_line (slice, &plain),
        "h1: phase compile of rung dense (cold) took 5.0 × the median (1 min; the median of 7 hosts is 12 s)");
}

TEST_ON (slice, a_number_with_a_tolerance_may_differ_a_little)
{
    const struct drift_rule rules[] = {
        { .fact = TEXT_LIT ("fact f3"), .kind = DRIFT_TOLERANCE, .tolerance = 0.1, .least = 10 },
        { .fact = TEXT_LIT ("fact hostname"), .kind = DRIFT_EXPECTED },
    };
    const struct drift_query query = { .rules = rules, .rules_n = 2 };
    make (slice, 6);
    for (uint32_t i = 0; i < 6; i++)
        host (slice, i)->facts.items[3].value = text_format (&slice->arena, "%u", 1000 + i);
    assert_string_equal (first_line (slice, &query), "no drift: 6 hosts, 18 facts compared");
    host (slice, 4)->facts.items[3].value = TEXT_LIT ("2000");
    assert_string_equal (first_line (slice, &query), "h4: fact f3 is 2000; the median of 6 hosts is 1002.5");
    host (slice, 4)->facts.items[3].value = TEXT_LIT ("absent"); /* no number: then it has to agree */
    first_line (slice, &query);
    assert_int_equal (slice->drift.findings, 1);
    assert_int_equal (slice->drift.items[0].verdict, DRIFT_DIFFERS);
}

/* ---- arithmetic ---- */

TEST_ON (slice, what_the_topology_does_not_allow_comes_first)
{
    struct topology_finding found[] = {
        { .host = 6,
          .owner = OWNER_PLATFORM,
          .fact = TEXT_LIT ("tpu.worker_id"),
          .what = TEXT_LIT ("its worker number is taken") },
        { .host = 2,
          .owner = OWNER_PLATFORM,
          .fact = TEXT_LIT ("tpu.worker_id"),
          .what = TEXT_LIT ("its worker number is taken") },
    };
    const struct topology_findings findings = { found, 2 };
    const struct drift_query query = { .topology = &findings };
    make (slice, 8);
    host (slice, 3)->bundle.items[0].value = TEXT_LIT ("0.10.1");
    assert_string_equal (first_line (slice, &query), "h[2,6]: its worker number is taken");
    assert_int_equal (slice->drift.findings, 2);
}

/* ---- laws ---- */

static void shuffle (struct slice *slice, struct rng *rng)
{
    struct host_receipt *hosts = slice->receipt.hosts.items;
    for (uint32_t i = slice->receipt.hosts.n; i > 1; i--) {
        uint32_t k = (uint32_t) rng_below (rng, i);
        struct host_receipt kept = hosts[i - 1];
        hosts[i - 1] = hosts[k];
        hosts[k] = kept;
    }
}

static void shuffle_vars (struct var *vars, uint32_t n, struct rng *rng)
{
    for (uint32_t i = n; i > 1; i--) {
        uint32_t k = (uint32_t) rng_below (rng, i);
        struct var kept = vars[i - 1];
        vars[i - 1] = vars[k];
        vars[k] = kept;
    }
}

/* One difference somewhere; how the first line begins. */
static struct text plant (struct slice *slice, struct rng *rng)
{
    uint32_t at = (uint32_t) rng_below (rng, slice->receipt.hosts.n);
    struct host_receipt *odd = host (slice, at);
    const char *what = NULL;
    switch (rng_below (rng, 5)) {
    case 0:
        odd->bundle.items[rng_below (rng, 2)].value = TEXT_LIT ("other");
        what = "bundle ";
        break;
    case 1:
        odd->facts.items[2 + rng_below (rng, FACTS - 2)].value = TEXT_LIT ("other");
        what = "fact f";
        break;
    case 2:
        odd->policy.observed.items[0].value = TEXT_LIT ("--a=1");
        what = "policy XLA_FLAGS lacks --b=2";
        break;
    case 3:
        odd->facts.n--;
        what = "no fact f11";
        break;
    default:
        slow (slice, at, 90000);
        return text_format (&slice->arena, "%.*s: phase compile of rung dense (cold) took ", TEXT_ARG (odd->host));
    }
    return text_format (&slice->arena, "%.*s: %s", TEXT_ARG (odd->host), what);
}

static struct text whole_json (struct slice *slice)
{
    struct drift_query query = { .all = true };
    struct drift_subject subject = { .name = TEXT_LIT ("x"), .policy = "built in" };
    struct buf out;
    buf_init (&out, 16 << 20);
    drift_compare_hosts (&slice->receipt, &query, &slice->arena, &slice->drift);
    drift_json (&slice->drift, &subject, &out);
    struct text text = text_copy (&slice->arena, buf_as_text (&out));
    buf_release (&out);
    return text;
}

TEST (what_is_planted_is_found_in_any_order)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct slice slice;
        struct rng rng = rng_seed (seed);
        make (&slice, DRIFT_FEW + (uint32_t) rng_below (&rng, HOSTS_MOST - DRIFT_FEW));
        struct text begins = plant (&slice, &rng);
        const char *line = first_line (&slice, &plain);
        if (!text_starts (text_of (line), begins.ptr))
            fail_msg ("seed %llu: '%s', expected '%s...'", (unsigned long long) seed, line, begins.ptr);
        assert_int_equal (slice.drift.findings, 1);
        struct text before = whole_json (&slice);
        shuffle (&slice, &rng);
        for (uint32_t i = 0; i < slice.receipt.hosts.n; i++)
            shuffle_vars (host (&slice, i)->facts.items, host (&slice, i)->facts.n, &rng);
        struct text after = whole_json (&slice);
        assert_text (before, after);
        done (&slice);
    }
}

/* Random sets of few values against the plainest count there is. */
TEST (groups_are_what_counting_by_hand_gives)
{
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct slice slice;
        struct rng rng = rng_seed (seed);
        struct drift_query query = { .all = true };
        make (&slice, 4 + (uint32_t) rng_below (&rng, 40));
        for (uint32_t i = 0; i < slice.receipt.hosts.n; i++)
            for (uint32_t f = 2; f < FACTS; f++)
                host (&slice, i)->facts.items[f].value = text_format (&slice.arena, "%c",
                                                                      'a' + (int) rng_below (&rng, 3));
        drift_compare_hosts (&slice.receipt, &query, &slice.arena, &slice.drift);
        for (uint32_t n = 0; n < slice.drift.n; n++) {
            const struct drift_item *item = &slice.drift.items[n];
            uint32_t f = 2, all = 0;
            while (f < FACTS && !text_equal (item->fact, text_format (&slice.arena, "fact f%u", f)))
                f++;
            for (uint32_t g = 0; g < item->groups_n && f < FACTS; g++) {
                uint32_t count = 0;
                for (uint32_t i = 0; i < slice.receipt.hosts.n; i++)
                    count += text_equal (host (&slice, i)->facts.items[f].value, item->groups[g].value);
                assert_int_equal (count, item->groups[g].hosts_n);
                for (uint32_t i = 0; i < item->groups[g].hosts_n; i++)
                    assert_true (slice.drift.names[item->groups[g].hosts[i]].len > 0);
                all += count;
            }
            assert_true (f == FACTS || all == slice.receipt.hosts.n);
        }
        done (&slice);
    }
}
