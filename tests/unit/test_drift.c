/* links: view */
/* Drift: the minority is named, the order of hosts decides nothing, what is planted is found, absence is no evidence.
 */
#include <inttypes.h>

#include "cases.h"
#include "coordinator/story/drift.h"
#include "coordinator/story/drift_private.h"
#include "coordinator/view/drift_view.h"
#include "receipt_set.h"

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
    struct rung_receipt *added = arena_alloc (&slice->arena, sizeof *added);
    struct named_number *phases = arena_array (&slice->arena, 2, sizeof (*phases));
    phases[0] = (struct named_number){ TEXT_LIT ("init"), 900 };
    phases[1] = (struct named_number){ TEXT_LIT ("compile"), compile_ms };
    *added = (struct rung_receipt){
        .rung = text_of (rung), .pass = pass, .attempt = 1, .outcome = OUTCOME_PASSED, .duration_ms = compile_ms + 900
    };
    added->phases.items = phases;
    added->phases.n = 2;
    *(struct rung_receipt **) list_append (&host->rungs, sizeof added, &slice->arena) = added;
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

static void slow (struct slice *slice, uint32_t i, uint64_t compile_ms)
{
    host (slice, i)->rungs.n = 0;
    add_rung (slice, host (slice, i), "dense", PASS_COLD, compile_ms);
}

/* ---- files of cases ---- */

static void set_host (struct slice *slice, uint32_t i, struct text path, struct text value)
{
    struct host_receipt *at = host (slice, i);
    if (text_is (path, "compile_ms"))
        slow (slice, i, strtoull (text_copy (&slice->arena, value).ptr, NULL, 10));
    else if (text_is (path, "report"))
        *at = (struct host_receipt){ .run = at->run, .host = at->host, .rank = i };
    else
        record_path_set (&host_receipt_record, at, path, value, &slice->arena);
}

static void set_line (struct slice *slice, struct text line)
{
    struct receipt_change read = receipt_change_read (&slice->receipt, line, &slice->arena);
    if (!read.of_hosts)
        receipt_set (&slice->receipt, line, &slice->arena);
    for (uint32_t i = read.first; read.of_hosts && i <= read.last; i++)
        set_host (slice, i, read.path, receipt_change_value (&read, i, &slice->arena));
}

/* "FACT: KIND [TOLERANCE LEAST [REPEATS]]"; the kind "rate" is a tolerance of rates. */
static void add_rule (struct slice *slice, struct text line, struct drift_rule *rule)
{
    uint32_t at, kind;
    char word[16] = "", *text = (char *) text_copy (&slice->arena, line).ptr;
    assert_true (text_find (line, TEXT_LIT (": "), &at));
    *rule = (struct drift_rule){ .fact = { text, at } };
    (void) sscanf (text + at + 2, "%15s %lf %lf %" SCNu64, word, &rule->tolerance, &rule->least, &rule->repeats);
    rule->rate = strcmp (word, "rate") == 0;
    assert_true (enum_value_of (&drift_kind_names, text_of (rule->rate ? "tolerance" : word), &kind));
    rule->kind = (enum drift_kind) kind;
}

static void drift_case (struct test *t, const struct test_case *of, struct buf *got)
{
    struct slice slice;
    struct drift_rule rules[4];
    struct drift_query query = { .rules = rules, .rung = case_text (of, "rung") };
    make (&slice, (uint32_t) strtoul (text_copy (&t->arena, case_text (of, "hosts")).ptr, NULL, 10));
    for (struct text lines = case_text (of, "set"); lines.len > 0;)
        set_line (&slice, case_next_line (&lines));
    for (struct text lines = case_text (of, "rules"); lines.len > 0;)
        add_rule (&slice, case_next_line (&lines), &rules[query.rules_n++]);
    buf_printf (got, "%s\n", first_line (&slice, &query));
    const struct drift *drift = &slice.drift;
    buf_printf (got, "findings %u, expected %u, ignored %u, reference %u", drift->findings, drift->expected,
                drift->ignored, drift->reference_n);
    if (drift->reference_n > 0)
        buf_printf (got, " from h%u", drift->reference[0]);
    buf_printf (got, "%s%s%s\n", drift->tie ? ", tie" : "", drift->too_few > 0 ? ", too few" : "",
                drift_is_incomplete (drift) ? ", incomplete" : "");
    for (uint32_t i = 0; i < drift->findings && i < 4; i++)
        buf_printf (got, "%.*s %s, %u groups\n", TEXT_ARG (drift->items[i].fact),
                    enum_name_of (&drift_severity_names, drift->items[i].severity), drift->items[i].groups_n);
    for (uint32_t i = 0; i < drift->silences_n; i++)
        buf_printf (got, "h%u tells no %s\n", drift->silences[i].hosts[0], drift->silences[i].what);
    done (&slice);
}

TEST (a_pattern_has_stars)
{
    assert_true (text_matches (TEXT_LIT ("xaybzab"), TEXT_LIT ("*a*b")));
    assert_false (text_matches (TEXT_LIT ("xaybz"), TEXT_LIT ("*a*b")));
    assert_true (text_matches (TEXT_LIT (""), TEXT_LIT ("*")));
}

/* Where most hosts are off by as much, it may be the coordinator that is. */
TEST_ON (slice, what_to_do_about_clocks_depends_on_how_many_are_off)
{
    static const struct drift_rule rules[] = {
        { .fact = TEXT_LIT ("fact hostname"), .kind = DRIFT_EXPECTED },
        { .fact = TEXT_LIT ("fact clock.*"), .kind = DRIFT_NEAR_ZERO, .least = 1000 }
    };
    const struct drift_query query = { .rules = rules, .rules_n = 2 };
    make (slice, 4);
    for (uint32_t i = 0; i < 4; i++) {
        const char *value = i == 3 ? "12" : i == 2 ? "-7200000" : "-3600000";
        host (slice, i)->facts.items[3] = (struct var){ TEXT_LIT ("clock.offset_ms"), text_of (value) };
    }
    assert_string_equal (first_line (slice, &query), "h2: its clock is 2 h behind");
    assert_text (slice->drift.items[0].next, "see why nothing sets its clock: chronyc tracking, or timedatectl");
    host (slice, 2)->facts.items[3].value = TEXT_LIT ("-3600100");
    assert_string_equal (first_line (slice, &query), "h[0-2]: its clock is 1 h behind");
    assert_text (slice->drift.items[0].next, "most hosts are off by as much, so look at the coordinator's clock first");
    assert_string_equal (enum_name_of (&drift_verdict_names, slice->drift.items[0].verdict), "not-zero");
    for (uint32_t i = 0; i < 4; i++) /* it is said to 100 ms, and two groups are one finding */
        host (slice, i)->facts.items[3].value = i % 2 ? TEXT_LIT ("5049") : TEXT_LIT ("5051");
    first_line (slice, &query);
    assert_text (slice->drift.items[0].next, "most hosts are off by as much, so look at the coordinator's clock first");
}

/* ---- links ---- */

static const struct drift_rule link_rules[] = {
    { .fact = TEXT_LIT ("fact hostname"), .kind = DRIFT_EXPECTED },
    { .fact = TEXT_LIT ("fact number.link.*"), .kind = DRIFT_TOLERANCE, .tolerance = 1, .rate = true },
};
static const struct drift_query of_links = { .rules = link_rules, .rules_n = 2 };

/* Both hosts tell of their link; of ranks that are no host nobody hears. */
static void tell_link (struct slice *slice, uint32_t a, uint32_t b, const char *rate)
{
    for (int end = 0; end < 2; end++, b ^= a, a ^= b, b ^= a) {
        struct host_receipt *at = host (slice, a);
        struct var *facts = arena_array (&slice->arena, at->facts.n + 1, sizeof *facts);
        memcpy (facts, at->facts.items, at->facts.n * sizeof *facts);
        uint32_t n = 0;
        struct text name = text_format (&slice->arena, "number.link.%u_gbs", b);
        while (n < at->facts.n && !text_equal (facts[n].name, name))
            n++;
        facts[n] = (struct var){ name, text_of (rate) };
        at->facts.n += n == at->facts.n;
        at->facts.items = facts;
    }
}

static void tell_links (struct slice *slice, uint32_t hosts)
{
    static const char *const rates[] = { "0.98", "1", "1", "1", "1.03" };
    done (slice);
    make (slice, hosts);
    for (uint32_t a = 0; a < hosts; a++)
        for (uint32_t b = a + 1; b < hosts; b++)
            tell_link (slice, a, b, rates[(a + b) % 5]);
}

TEST_ON (slice, a_slow_link_is_named_as_a_pair_and_its_hosts_are_not)
{
    tell_links (slice, 4);
    assert_has (first_line (slice, &of_links), "no drift: 4 hosts");
    tell_link (slice, 3, 1, "0.24");
    assert_string_equal (first_line (slice, &of_links),
                         "h[1,3]: link between them, gbs 0.24 × the median (0.24, 1 of 5)");
    assert_int_equal (slice->drift.findings, 1);
    assert_int_equal (slice->drift.reference_n, 2);
    tell_link (slice, 1, 2, "0.3");
    first_line (slice, &of_links);
    assert_int_equal (slice->drift.findings, 1);
    assert_int_equal (slice->drift.items[0].groups_n, 3);
}

TEST_ON (slice, a_host_all_of_whose_links_are_slow_is_named_and_they_are_not)
{
    tell_links (slice, 4);
    for (uint32_t b = 0; b < 4; b++)
        if (b != 2)
            tell_link (slice, 2, b, "0.2");
    assert_has (first_line (slice, &of_links), "h2: its fastest link, gbs 0.2 × the median (0.2, ");
    assert_int_equal (slice->drift.findings, 1);
    tell_links (slice, 6); /* and beside it a slow link of others is seen */
    for (uint32_t b = 0; b < 6; b++)
        if (b != 2)
            tell_link (slice, 2, b, "0.2");
    tell_link (slice, 0, 5, "0.2");
    first_line (slice, &of_links);
    assert_int_equal (slice->drift.findings, 2);
    tell_link (slice, 2, 3, "0.9"); /* one good link: its others are slow by themselves */
    assert_has (first_line (slice, &of_links), "link between them");
    assert_int_equal (slice->drift.findings, 1);
    assert_int_equal (slice->drift.items[0].groups_n, 1 + 5);
}

TEST_ON (slice, links_that_are_few_or_nonsense_name_nobody)
{
    tell_links (slice, 3);
    tell_link (slice, 0, 1, "0.1");
    assert_has (first_line (slice, &of_links), "no drift: 3 hosts");
    assert_int_equal (slice->drift.too_few, 1);
    tell_links (slice, 4);
    static const char *const odd[] = { "number.link.9_gbs", "number.link._gbs", "number.link.99999999999999_gbs",
                                       "number.link.1", "number.link.0_gbs" };
    for (uint32_t i = 0; i < 5; i++)
        host (slice, 0)->facts.items[2 + i].name = text_of (odd[i]);
    assert_has (first_line (slice, &of_links), "fact f"); /* those that others have and this host has not */
    for (uint32_t i = 0; i < slice->drift.findings; i++)
        assert_false (text_find (slice->drift.items[i].fact, TEXT_LIT ("link"), NULL));
}

TEST_ON (slice, receipts_say_the_same_sentence)
{
    struct drift_sentence_list said;
    make (slice, 8);
    slow (slice, 5, 41000);
    const char *line = first_line (slice, &plain);
    drift_sentence_list_make (&slice->receipt, &plain, 4, &slice->arena, &said);
    assert_int_equal (said.n, 1);
    assert_text (said.sentences[0], line);
}

TEST (hosts_that_differ_are_found_and_told)
{
    cases_run ("drift", drift_case);
}

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

/* A cold pass that failed was the last program of the writer alone: the others ran none with a cache since. */
TEST_ON (slice, what_only_the_writer_of_the_cache_is_given_is_expected_to_differ)
{
    make (slice, 4);
    const struct drift_query all = { .all = true };
    struct var writer[] = { host (slice, 0)->policy.observed.items[0],
                            { TEXT_LIT ("JAX_ENABLE_COMPILATION_CACHE"), TEXT_LIT ("true") },
                            { TEXT_LIT ("JAX_COMPILATION_CACHE_MAX_SIZE"), TEXT_LIT ("-1") } };
    host (slice, 0)->policy.observed = (var_list){ writer, 3 };
    struct rung_receipt *cold = host (slice, 0)->rungs.items[host (slice, 0)->rungs.n - 1];
    cold->backend.platform = TEXT_LIT ("cpu");
    cold->cache_view.level = ENFORCEMENT_LANDLOCK;
    first_line (slice, &all);
    assert_int_equal (slice->drift.findings, 0);
    writer[1].value = TEXT_LIT ("false"); /* of programs without a cache: the program's own doing */
    writer[2].value = TEXT_LIT ("9");     /* not ours */
    first_line (slice, &all);
    assert_int_equal (slice->drift.findings, 2);
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
    if (!text_is (of->rungs.items[of->rungs.n - 1]->rung, rung))
        add_rung (slice, of, rung, PASS_ONCE, 12000);
    of->backend.observed = (struct observed_backend){ .platform = TEXT_LIT ("cpu"),
                                                      .platform_version = TEXT_LIT ("1"),
                                                      .device_kind = TEXT_LIT ("cpu"),
                                                      .kernel_path = text_of (kernels),
                                                      .devices = devices,
                                                      .local_devices = 2,
                                                      .process_count = devices / 2 };
    of->rungs.items[of->rungs.n - 1]->backend = of->backend.observed;
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
    host (&slice, 0)->rungs.items[0]->backend.platform_version = TEXT_LIT ("2");
    assert_string_equal (first_line (&slice, &plain), "h0: backend platform_version is 2, 3 others have 1");
    host (&slice, 0)->rungs.items[0]->backend.platform_version = TEXT_LIT ("1");
    host (&slice, 3)->rungs.items[1]->backend.kernel_path = TEXT_LIT ("reference");
    assert_string_equal (first_line (&slice, &plain), "h3: program sum/kernels is reference, 2 others have pallas");
    host (&slice, 3)->rungs.items[1]->backend.kernel_path = TEXT_LIT ("pallas");
    for (uint32_t i = 1; i < 4; i++)
        host (&slice, i)->rungs.items[0]->backend.platform = (struct text){ 0 };
    assert_has (first_line (&slice, &plain), "no drift: 4 hosts"); /* no rung is told by both groups */
    make (&later, 4);
    for (uint32_t i = 0; i < 4; i++)
        run_on (&later, i, "dense", 2, "native");
    drift_compare_receipts (&later.receipt, &slice.receipt, &plain, &later.arena, &later.drift);
    assert_int_equal (later.drift.findings, 0);
    host (&later, 2)->rungs.items[0]->backend.devices = 4;
    host (&slice, 2)->rungs.items[0]->backend.platform = TEXT_LIT ("cpu");
    drift_compare_receipts (&later.receipt, &slice.receipt, &plain, &later.arena, &later.drift);
    assert_int_equal (later.drift.findings, 1);
    done (&later);
    done (&slice);
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

/* Where all scatter, much more than that is asked of one: 0.6745 * distance / MAD is 3.0 at 30 s, and 4.7 at 40 s. */
/* A receipt from a file may name as many phases as it likes: what is measured once for each must not add up. */
TEST_ON (slice, measures_that_no_two_hosts_share_cost_no_memory)
{
    enum { HOSTS = 4000, PHASES = 4, BOUND_BYTES = 64 << 20 };
    make (slice, HOSTS);
    for (uint32_t i = 0; i < HOSTS; i++) {
        struct rung_receipt *rung = host (slice, i)->rungs.items[0];
        rung->phases.items = arena_array (&slice->arena, PHASES, sizeof (struct named_number));
        rung->phases.n = PHASES;
        for (uint32_t k = 0; k < PHASES; k++) /* of two hosts each */
            rung->phases.items[k] = (struct named_number){ text_format (&slice->arena, "p%u-%u", i / 2, k), 1 };
    }
    size_t before = slice->arena.used_bytes;
    assert_string_equal (first_line (slice, &plain), "no drift: 4000 hosts, 8016 facts compared");
    assert_true (slice->arena.used_bytes - before < BOUND_BYTES);
}

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
        return text_format (&slice->arena, "%.*s: phase compile of rung dense (cold) ", TEXT_ARG (odd->host));
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
