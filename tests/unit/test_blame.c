/* links: verdict conf */
/* Who failed, and who only fell with it: by what each host says of itself and what the others say of it. */
#include "cases.h"
#include "record_path.h"
#include "signature_lists.h"
#include "test.h"

#include "coordinator/verdict/blame.h"
#include "coordinator/verdict/stands.h"

#include "common/logs/classify.h"
#include "coordinator/verdict/failure.h"
#include "coordinator/verdict/judge.h"

enum { HOSTS = 8 };

struct part {
    enum ending ending;
    uint32_t code;
    uint32_t order;
    struct text log;
    bool at_gate, complains;
};
struct slice {
    struct arena arena;
    struct plan plan;
    struct signature_set *set;
    struct part parts[HOSTS];
    struct verdict verdicts[HOSTS];
};

#define DIED                                                                                                           \
    "F1121 15:16:28.7 1 client.h:80] Terminating process because the JAX distributed service detected fatal errors.\n"
#define DISK "OSError: [Errno 28] No space left on device\n"

/* All parts say `log` and came in the order of their rank. */
static void slice_open (struct slice *slice, const char *log)
{
    memset (slice, 0, sizeof *slice);
    signature_lists_load (&slice->arena, &slice->plan);
    for (uint32_t i = 0; i < HOSTS; i++) {
        slice->plan.hosts.items[i].address = text_format (&slice->arena, "10.0.0.%u", i + 1);
        slice->parts[i] = (struct part){ ENDING_SIGNALLED, SIGABRT, i, text_of (log), false, false };
    }
    slice->set = signature_set_build (slice->plan.signatures.items, slice->plan.signatures.n);
}

static void slice_close (struct slice *slice)
{
    signature_set_free (slice->set);
    arena_release (&slice->arena);
}

TEST_FIXTURE (struct slice, TEST_NOTHING, slice_close)

static void read_part (struct slice *slice, uint32_t i, struct blame_host *host)
{
    const struct part *part = &slice->parts[i];
    struct signature_scan_result seen;
    struct failure_reading reading;
    struct result *result = arena_alloc (&slice->arena, sizeof *result);
    classify_text (slice->set, part->log, &slice->arena, &seen);
    *result = (struct result){ .ending = part->ending,
                               .tail = part->log,
                               .code = part->code,
                               .done = true,
                               .owner = part->complains ? OWNER_PEER : OWNER_NONE,
                               .phase = TEXT_LIT ("run"),
                               .sightings = { seen.sightings, seen.sightings_n },
                               .shown = { seen.shown, seen.shown_n } };
    struct judge_case of = { .plan = &slice->plan,
                             .rung = &slice->plan.rungs.items[0],
                             .host = i,
                             .world = HOSTS,
                             .result = result,
                             .signatures = slice->set };
    judge_result (&of, &slice->arena, &slice->verdicts[i]);
    failure_read_result (&slice->plan, slice->set, result, &slice->arena, &reading);
    *host = (struct blame_host){ .verdict = &slice->verdicts[i],
                                 .ending = part->ending,
                                 .code = part->code,
                                 .order = part->order,
                                 .peers = reading.peers,
                                 .noticed = reading.complains,
                                 .at_gate = part->at_gate,
                                 .killed = failure_is_outside_kill (part->ending, part->code),
                                 .complains = part->complains };
}

/* "ENDING CODE [order N] [at gate] [complains]", and what it printed. */
static void take_part (struct part *part, struct text text)
{
    uint32_t end, at, ending;
    end = text_find (text, TEXT_LIT ("\n"), &end) ? end : text.len;
    struct text first = { text.ptr, end };
    assert_true (text_find (first, TEXT_LIT (" "), &at));
    assert_true (enum_value_of (&ending_names, (struct text){ first.ptr, at }, &ending));
    part->ending = (enum ending) ending;
    part->code = (uint32_t) strtoul (first.ptr + at, NULL, 10);
    if (text_find (first, TEXT_LIT ("order "), &at))
        part->order = (uint32_t) strtoul (first.ptr + at + 6, NULL, 10);
    part->at_gate = text_find (first, TEXT_LIT ("at gate"), NULL);
    part->complains = text_find (first, TEXT_LIT ("complains"), NULL);
    part->log = end < text.len ? (struct text){ text.ptr + end + 1, text.len - end - 1 } : (struct text){ 0 };
}

static void print_verdict (const struct verdict *verdict, struct buf *out)
{
    buf_puts (out, enum_name_of (&outcome_names, verdict->outcome));
    if (verdict->owner != OWNER_NONE)
        buf_printf (out, " of %s%s", enum_name_of (&owner_names, verdict->owner), verdict->likely ? ", likely" : "");
    buf_printf (out, "%s%s%.*s%s%.*s\n", verdict->transient ? ", passes" : "", verdict->signature.len ? ", " : "",
                TEXT_ARG (verdict->signature), verdict->cause.len ? ": " : "", TEXT_ARG (verdict->cause));
}

/* Hosts with one verdict in one line: "hosts 0124567: cascade: aborted because h3 failed". */
static void print_verdicts (struct slice *slice, uint32_t n, struct test *t, struct buf *got)
{
    struct text lines[HOSTS];
    struct buf *line = test_buf (t);
    for (uint32_t i = 0; i < n; i++) {
        buf_clear (line);
        print_verdict (&slice->verdicts[i], line);
        lines[i] = text_copy (&t->arena, buf_as_text (line));
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t first = 0;
        while (!text_equal (lines[first], lines[i]))
            first++;
        if (first < i)
            continue;
        buf_puts (got, "hosts ");
        for (uint32_t k = i; k < n; k++)
            if (text_equal (lines[k], lines[i]))
                buf_printf (got, "%u", k);
        buf_printf (got, ": %.*s", TEXT_ARG (lines[i]));
    }
}

/* Parts "stand 0", "stand 12": where these hosts stood. */
static void stands_take (const struct test_case *of, struct slice *slice, struct blame_host *hosts, uint32_t n,
                         struct text *others)
{
    struct stand_host stands[HOSTS] = { 0 };
    struct text who;
    bool lags[HOSTS] = { false };
    for (uint32_t i = 0; i < of->n; i++) {
        struct text name = of->parts[i].name;
        for (uint32_t at = 6; text_starts (name, "stand ") && at < name.len; at++)
            stands[name.ptr[at] - '0'].lines = of->parts[i].text;
    }
    for (uint32_t i = 0; i < n; i++) {
        stands[i].name = slice->plan.hosts.items[i].name;
        stands[i].ended = hosts[i].ending == ENDING_EXITED || hosts[i].ending == ENDING_SIGNALLED;
        stands[i].badly = stands[i].ended && (hosts[i].ending == ENDING_SIGNALLED || hosts[i].code);
        stands[i].serves = i == 0;
    }
    (void) stands_find_lagging (stands, n, lags, &slice->arena, &who, others);
    for (uint32_t i = 0; i < n; i++) {
        hosts[i].lags = lags[i];
        hosts[i].place = stand_phrase (stands[i].lines, &slice->arena);
    }
}

static void blame_case (struct test *t, const struct test_case *of, struct buf *got)
{
    struct slice slice;
    struct blame_host hosts[HOSTS];
    struct text others, count = case_text (of, "hosts"), all = case_text (of, "all"), show = case_text (of, "show");
    uint32_t n = count.len ? (uint32_t) (count.ptr[0] - '0') : HOSTS;
    slice_open (&slice, "");
    slice.plan.climb.fail_fast = case_text (of, "fail fast").len > 0;
    for (uint32_t i = 0; i < n; i++) {
        struct text own = case_text (of, text_format (&t->arena, "h%u", i).ptr);
        if (all.len)
            take_part (&slice.parts[i], all);
        slice.parts[i].order = slice.parts[i].order ? slice.parts[i].order : i;
        if (own.len)
            take_part (&slice.parts[i], own);
        read_part (&slice, i, &hosts[i]);
    }
    stands_take (of, &slice, hosts, n, &others);
    blame_slice (&slice.plan, hosts, n, others, &slice.arena);
    print_verdicts (&slice, n, t, got);
    if (show.len > 0) /* of this host the fields that the case wants */
        record_path_print_wanted (&verdict_record, &slice.verdicts[show.ptr[0] - '0'], case_text (of, "want"), got);
    slice_close (&slice);
}

TEST (the_cause_is_told_from_those_that_follow)
{
    cases_run ("blame", blame_case);
}

/* ---- what a text names ---- */

static void expect_named (struct slice *slice, const char *text, const char *expected)
{
    bool named[HOSTS] = { false };
    char got[2 * HOSTS + 1] = "";
    uint32_t hosts[HOSTS];
    for (uint32_t i = 0; i < HOSTS; i++)
        hosts[i] = i;
    host_mentions_find (host_mentions_make_index (&slice->plan, hosts, HOSTS, &slice->arena), text_of (text), named);
    for (uint32_t i = 0; i < HOSTS; i++)
        if (named[i])
            snprintf (got + strlen (got), sizeof got - strlen (got), "%u", i);
    if (strcmp (got, expected) != 0)
        fail_msg ("'%s' names '%s', expected '%s'", text, got, expected);
}

TEST_ON (slice, texts_name_tasks_addresses_and_hosts)
{
    slice_open (slice, "");
    expect_named (slice, "/job:jax_worker/replica:0/task:3 heartbeat timeout.", "3");
    expect_named (slice, "Timed out task names: /job:jax_worker/replica:0/task:1 /job:jax_worker/replica:0/task:7",
                  "17");
    expect_named (slice,
                  "The first task at the barrier: /job:jax_worker/replica:0/task:0. Some timed out task names: "
                  "/job:jax_worker/replica:0/task:6",
                  "6");
    expect_named (slice, "unhealthy (stopped sending heartbeats): 1 2\n3 is not in the list", "12");
    expect_named (
        slice, "Barrier timed out. Id: Shutdown::1::0. Some timed out task names: /job:jax_worker/replica:0/task:2 3",
        "");
    expect_named (slice, "Task 5 heartbeat timeout; Task 6 is fine; 7", "5");
    expect_named (slice, "/task:8 /task:99999999999999999999 /task: /task:x", "");
    expect_named (slice, "closed by peer [10.0.0.2]:8476, and 10.0.0.3:99, and 10.0.0.4.", "123");
    expect_named (slice, "110.0.0.2 10.0.0.22 10.0.0", "");
    expect_named (slice, "h1: lost h7, h70 and xh2", "17");
    expect_named (slice, "stopped heartbeats (1), names of 9 hosts", "");
    expect_named (slice, "", "");
    slice->plan.hosts.items[1].address = slice->plan.hosts.items[2].address;
    expect_named (slice, "closed by peer [10.0.0.3]:8476", ""); /* whose is it? */
}

/* Texts lie in the middle of others. */
TEST_ON (slice, what_follows_a_text_in_memory_names_nobody)
{
    const struct text whole = TEXT_LIT ("lost h7");
    const uint32_t hosts[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    slice_open (slice, "");
    for (uint32_t len = 0; len <= whole.len; len++) {
        bool named[HOSTS] = { false };
        host_mentions_find (host_mentions_make_index (&slice->plan, hosts, HOSTS, &slice->arena),
                            (struct text){ whole.ptr, len }, named);
        assert_int_equal (named[7], len == whole.len);
    }
}

/* ---- what a result says of itself ---- */

static void expect_reading (struct slice *slice, enum owner said, const char *failure, const char *tail, const char *id,
                            enum owner owner, bool transient)
{
    struct result result = { .ending = ENDING_EXITED,
                             .code = 1,
                             .owner = said,
                             .failure = text_of (failure),
                             .tail = text_of (tail),
                             .phase = TEXT_LIT ("run") };
    struct judge_case of = {
        .plan = &slice->plan, .rung = &slice->plan.rungs.items[0], .result = &result, .world = HOSTS
    };
    struct verdict verdict;
    of.rung = &(struct rung){ .id = TEXT_LIT ("x"), .kind = PROGRAM_CANARY, .timeout_ms = 1000 };
    judge_result (&of, &slice->arena, &verdict);
    if (!text_is (verdict.signature, id) || verdict.owner != owner || verdict.transient != transient)
        fail_msg ("'%s', '%s': %.*s, %s%s", failure, tail, TEXT_ARG (verdict.signature),
                  enum_name_of (&owner_names, verdict.owner), verdict.transient ? ", passes" : "");
}

TEST_ON (slice, known_text_goes_before_what_the_program_says_of_its_owner)
{
    const char *busy = "open(/dev/vfio/0): Device or resource busy";
    slice_open (slice, "");
    expect_reading (slice, OWNER_PROGRAM, busy, "", "vfio-busy", OWNER_DEVICE, true);
    expect_reading (slice, OWNER_NONE, "", "OSError: [Errno 27] File too large", "file-size", OWNER_HOST, false);
    expect_reading (slice, OWNER_NONE, "", "write failed: File too large", "file-size", OWNER_HOST, false);
    expect_reading (slice, OWNER_PROGRAM, "it failed", busy, "vfio-busy", OWNER_DEVICE, true);
    expect_reading (slice, OWNER_PROGRAM, "no go", busy, "vfio-busy", OWNER_DEVICE, true);
    expect_reading (slice, OWNER_PROGRAM, "ValueError: no go", busy, "vfio-busy", OWNER_DEVICE, false);
    expect_reading (slice, OWNER_PROGRAM, busy, DISK, "vfio-busy", OWNER_DEVICE, false);
    expect_reading (slice, OWNER_PROGRAM, busy, "ValueError: of a new kind", "vfio-busy", OWNER_DEVICE, false);
    expect_reading (slice, OWNER_PROGRAM, DISK, busy, "disk-full", OWNER_HOST, false);
    expect_reading (slice, OWNER_DEVICE, "it failed", DIED, "", OWNER_DEVICE, false);
    expect_reading (slice, OWNER_NONE, "it failed", DIED, "peer-died", OWNER_PEER, false);
    expect_reading (slice, OWNER_DEVICE, DIED, "", "peer-died", OWNER_PEER, false);
    expect_reading (slice, OWNER_NONE, "it failed", "of a new kind", "", OWNER_UNKNOWN, false);
}

static bool passes (struct slice *slice, const struct result *result)
{
    struct verdict verdict;
    struct rung rung = { .id = TEXT_LIT ("x"), .kind = PROGRAM_CANARY, .timeout_ms = 1000 };
    struct judge_case of = {
        .plan = &slice->plan, .rung = &rung, .result = result, .world = 1, .signatures = slice->set
    };
    judge_result (&of, &slice->arena, &verdict);
    return verdict.transient;
}

TEST_ON (slice, nothing_is_transient_once_a_program_computed)
{
    struct result result = { .ending = ENDING_EXITED,
                             .code = 1,
                             .failure = TEXT_LIT ("open(/dev/vfio/0): Device or resource busy") };
    struct named_number executions = { .name = TEXT_LIT ("executions"), .value = 0 };
    struct value_check check = { .name = TEXT_LIT ("sum") };
    struct metric metric = { .name = TEXT_LIT ("devices") };
    slice_open (slice, "");
    result.counters.items = &executions;
    result.counters.n = 1;
    assert_true (passes (slice, &result));
    executions.value = 1;
    assert_false (passes (slice, &result));
    executions.value = 0;
    result.checks.items = &check;
    result.checks.n = 1;
    assert_false (passes (slice, &result));
    result.checks.n = 0;
    result.metrics.items = &metric;
    result.metrics.n = 1;
    assert_false (passes (slice, &result));
    result.metrics.n = 0;
    result.ending = ENDING_SIGNALLED;
    result.code = SIGABRT;
    assert_true (passes (slice, &result));
    result.code = SIGKILL;
    assert_false (passes (slice, &result));
    result.code = SIGSEGV;
    assert_false (passes (slice, &result));
}

/* The bound is that of a verdict: hosts say as much as they like. */
TEST_ON (slice, evidence_is_bounded_and_names_are_not_cut_off)
{
    struct failure_reading reading;
    struct result result = { .ending = ENDING_EXITED, .code = 1 };
    struct sighting sightings[SIGHTINGS_MAX];
    char line[SHOWN_LINE_BYTES + 1];
    slice_open (slice, "");
    memset (line, 'x', SHOWN_LINE_BYTES);
    line[SHOWN_LINE_BYTES] = '\0';
    for (uint32_t i = 0; i < SIGHTINGS_MAX; i++)
        sightings[i] =
            (struct sighting){ .signature = TEXT_LIT ("peer-died"), .line = i, .offset = i, .text = text_of (line) };
    sightings[SIGHTINGS_MAX - 1].text = TEXT_LIT ("Task 3 heartbeat timeout.");
    result.sightings.items = sightings;
    result.sightings.n = SIGHTINGS_MAX;
    failure_read_result (&slice->plan, slice->set, &result, &slice->arena, &reading);
    assert_has (reading.peers, "Task 3");
    struct text shown[SHOWN_MAX];
    for (uint32_t i = 0; i < SHOWN_MAX; i++)
        shown[i] = text_of (line);
    result.sightings.n = 0;
    result.shown.items = shown;
    result.shown.n = SHOWN_MAX;
    failure_read_result (&slice->plan, slice->set, &result, &slice->arena, &reading);
    assert_true (reading.evidence.len > SHOWN_LINE_BYTES && reading.evidence.len <= 1024);
}

/* But for the probe, which repeats what somebody else's library said. */
TEST_ON (slice, our_own_programs_are_believed)
{
    struct verdict verdict;
    struct result result = { .ending = ENDING_EXITED, .code = 1, .owner = OWNER_CACHE, .failure = TEXT_LIT (DISK) };
    struct rung rung = {
        .id = TEXT_LIT ("x"), .kind = PROGRAM_BUILTIN, .builtin = TEXT_LIT ("cache"), .timeout_ms = 1000
    };
    slice_open (slice, "");
    struct judge_case of = {
        .plan = &slice->plan, .rung = &rung, .result = &result, .world = 1, .signatures = slice->set
    };
    judge_result (&of, &slice->arena, &verdict);
    assert_true (verdict.owner == OWNER_CACHE && verdict.signature.len == 0);
    rung.builtin = TEXT_LIT ("probe");
    judge_result (&of, &slice->arena, &verdict);
    assert_true (verdict.owner == OWNER_HOST && text_is (verdict.signature, "disk-full"));
}

TEST_ON (slice, noise_is_quoted_with_what_else_there_was)
{
    struct failure_reading reading;
    struct result result = { .ending = ENDING_EXITED, .code = 1 };
    slice_open (slice, "");
    result.tail = TEXT_LIT ("Failed to get TPU metadata\nthe shard failed\n");
    failure_read_result (&slice->plan, slice->set, &result, &slice->arena, &reading);
    assert_int_equal (reading.of.weight, CAUSE_NOISE);
    assert_text (reading.evidence, "Failed to get TPU metadata\nthe shard failed");
}
