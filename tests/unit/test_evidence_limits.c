/* links: protocol */
/* How much a program may say: what is said again replaces what was said, what nobody judges is left out and counted,
 * and what is judged is never dropped. docs/spec/canary.md, limits. */
#include "test.h"
#include "worker/protocol/evidence.h"

enum { OFTEN = 10000, MEMORY_BYTES = 2 << 20 };

struct bench {
    struct evidence evidence;
    struct msg_run run;
    struct text required[2];
};

static void bench_open (struct bench *bench)
{
    evidence_init (&bench->evidence, TEXT_LIT ("n"));
    bench->required[0] = TEXT_LIT ("loss");
    bench->required[1] = TEXT_LIT ("tokens");
    bench->run.rung.metrics.items = bench->required;
    bench->run.rung.metrics.n = 2;
    evidence_expect (&bench->evidence, &bench->run);
}

static void bench_close (struct bench *bench)
{
    evidence_release (&bench->evidence);
}

TEST_FIXTURE (struct bench, bench_open, bench_close)

__attribute__ ((format (printf, 2, 3))) static void say (struct bench *bench, const char *format, ...)
{
    char line[8192];
    struct statement statement;
    va_list args;
    va_start (args, format);
    int len = vsnprintf (line, sizeof line, format, args);
    va_end (args);
    assert_in_range (len, 1, sizeof line - 1);
    evidence_take (&bench->evidence, (struct text){ line, (uint32_t) len }, &statement);
    assert_true (bench->evidence.arena.used_bytes < MEMORY_BYTES);
}

/* Of two devices. */
static void say_metric (struct bench *bench, const char *name, double value, double proof)
{
    say (bench,
         "{\"type\":\"metric\",\"name\":\"%s\",\"reduction\":\"mean\",\"axes\":[\"data\"],\"scope\":\"global\","
         "\"value\":%g,"
         "\"shards\":[{\"value\":%g,\"proof\":%g,\"local\":1,\"weight\":1},{\"value\":%g,\"proof\":%g,\"local\":2,"
         "\"weight\":1}]}",
         name, value, value, proof, value, proof);
}

static void is_clean (const struct bench *bench)
{
    const struct result *r = &bench->evidence.result;
    if (r->bad_lines)
        fail_msg ("%u lines: %.*s", r->bad_lines, TEXT_ARG (r->bad_line));
    assert_true (record_check (&result_record, r, NULL));
}

static uint64_t left_out (const struct bench *bench, const char *list)
{
    const struct result *r = &bench->evidence.result;
    for (uint32_t i = 0; i < r->left_out.n; i++)
        if (text_is (r->left_out.items[i].name, list))
            return r->left_out.items[i].value;
    return 0;
}

/* ---- metrics ---- */

TEST_ON (b, the_last_value_of_a_metric_stands_and_those_before_are_folded)
{
    for (uint32_t i = 0; i < OFTEN; i++)
        say_metric (b, "loss", 100.0 - i, 42);
    is_clean (b);
    const struct result *r = &b->evidence.result;
    assert_int_equal (r->metrics.n, 1);
    const struct metric *loss = &r->metrics.items[0];
    assert_true (loss->value == 100.0 - (OFTEN - 1) && loss->shards.n == 2 &&
                 loss->shards.items[1].value == loss->value);
    assert_int_equal (loss->earlier.count, OFTEN - 1);
    assert_int_equal (loss->earlier.alike, OFTEN - 1);
    assert_true (loss->earlier.first == 100 && loss->earlier.last == 100.0 - (OFTEN - 2));
    assert_true (b->evidence.left_bytes > EVIDENCE_MAX_BYTES - 500);
}

TEST_ON (b, once_is_not_again)
{
    say_metric (b, "loss", 1, 42);
    assert_int_equal (b->evidence.result.metrics.items[0].earlier.count, 0);
    assert_int_equal (b->evidence.result.metrics.items[0].earlier.alike, 0);
}

TEST_ON (b, earlier_values_with_other_sums_are_told_apart)
{
    for (uint32_t i = 0; i < 10; i++)
        say_metric (b, "loss", i, i % 3 ? 42 : 7); /* 0, 3, 6 and 9: its own number only */
    const struct metric_history *earlier = &b->evidence.result.metrics.items[0].earlier;
    assert_int_equal (earlier->count, 9);
    assert_int_equal (earlier->alike, 3);
    say_metric (b, "loss", 10, 42);
    assert_int_equal (earlier->count, 10);
    assert_int_equal (earlier->alike, 6);
    say (b, "{\"type\":\"metric\",\"name\":\"loss\",\"reduction\":\"mean\",\"axes\":[\"data\"],\"scope\":\"global\","
            "\"value\":9,"
            "\"shards\":[{\"value\":8,\"proof\":42,\"local\":1,\"weight\":1},{\"value\":8,\"proof\":42,\"local\":2,"
            "\"weight\":1}]}");
    assert_int_equal (earlier->alike, 0); /* a value beside its own shards is another thing */
    is_clean (b);
}

/* More kinds of sums than are kept: nobody is accused by what was forgotten. */
TEST_ON (b, what_was_forgotten_counts_as_alike)
{
    for (uint32_t i = 0; i < 100; i++)
        say_metric (b, "loss", i, 1000 + i);
    for (uint32_t i = 0; i < 5; i++)
        say_metric (b, "loss", i, 42);
    const struct metric_history *earlier = &b->evidence.result.metrics.items[0].earlier;
    assert_int_equal (earlier->count, 104);
    assert_in_range (earlier->alike, 4, 4 + 100 - (METRIC_SUMS_MAX - 1));
    is_clean (b);
}

TEST_ON (b, a_metric_said_again_claims_the_same)
{
    static const char *const others[] = {
        "\"reduction\":\"sum\",\"axes\":[\"data\"],\"scope\":\"global\"",
        "\"reduction\":\"mean\",\"axes\":[\"model\"],\"scope\":\"global\"",
        "\"reduction\":\"mean\",\"axes\":[\"data\",\"model\"],\"scope\":\"global\"",
        "\"reduction\":\"mean\",\"axes\":[\"data\"],\"scope\":\"local\"",
    };
    say_metric (b, "loss", 1, 42);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        say (b, "{\"type\":\"metric\",\"name\":\"loss\",%s,\"value\":9,\"shards\":[]}", others[i]);
        assert_int_equal (b->evidence.result.bad_lines, i + 1);
    }
    assert_has (b->evidence.result.bad_line, "sent before with another reduction, scope, dtype or axes");
    assert_true (b->evidence.result.metrics.items[0].value == 1 &&
                 b->evidence.result.metrics.items[0].earlier.count == 0);
}

TEST_ON (b, a_required_metric_has_its_place_when_it_comes_last)
{
    char name[32];
    for (uint32_t i = 0; i < 200; i++) {
        snprintf (name, sizeof name, "norm%u", i);
        say_metric (b, name, i, 42);
    }
    assert_int_equal (b->evidence.result.metrics.n, RESULT_METRICS_MAX - 2);
    say_metric (b, "tokens", 1, 42);
    say_metric (b, "norm0", 77, 42);
    say_metric (b, "loss", 2, 42);
    is_clean (b);
    assert_int_equal (b->evidence.result.metrics.n, RESULT_METRICS_MAX);
    assert_true (b->evidence.result.metrics.items[0].value == 77);
    assert_text (b->evidence.result.metrics.items[RESULT_METRICS_MAX - 1].name, "loss");
    assert_int_equal (left_out (b, "metrics"), 200 - (RESULT_METRICS_MAX - 2));
}

/* ---- checks: all of them have to hold ---- */

static void say_check (struct bench *bench, double observed)
{
    say (bench, "{\"type\":\"check\",\"name\":\"c\",\"expected\":1,\"observed\":%g}", observed);
}

TEST_ON (b, a_check_that_does_not_hold_is_never_left_out)
{
    for (uint32_t i = 0; i < OFTEN; i++)
        say_check (b, 1);
    is_clean (b);
    assert_int_equal (b->evidence.result.checks.n, RESULT_CHECKS_MAX);
    assert_int_equal (left_out (b, "checks"), OFTEN - RESULT_CHECKS_MAX);
    say_check (b, 2);
    assert_true (b->evidence.result.checks.items[RESULT_CHECKS_MAX - 1].observed == 2);
    for (uint32_t i = 0; i < RESULT_CHECKS_MAX + 5; i++)
        say_check (b, 3 + i);
    is_clean (b);
    assert_int_equal (left_out (b, "checks"), OFTEN + 6);
    assert_true (b->evidence.result.checks.items[0].observed == 3 + RESULT_CHECKS_MAX - 2);
}

/* ---- what nobody judges ---- */

TEST_ON (b, notes_and_programs_leave_room_for_what_is_judged)
{
    char filler[2000];
    memset (filler, 'f', sizeof filler);
    for (uint32_t i = 0; i < 100; i++)
        say (b, "{\"type\":\"note\",\"source\":\"s\",\"durability\":\"rerun\",\"text\":\"%.*s\"}", (int) sizeof filler,
             filler);
    for (uint32_t i = 0; i < OFTEN; i++)
        say (b, "{\"type\":\"program\",\"name\":\"step\",\"fingerprint\":\"%u\"}", i % 40);
    for (uint32_t i = 0; i < 60; i++)
        say (b, "{\"type\":\"counters\",\"values\":{\"a counter with a name of some length %u\":1}}", i);
    say_metric (b, "loss", 1, 42);
    is_clean (b);
    assert_int_equal (b->evidence.result.counters.n, 60);
    assert_int_equal (b->evidence.result.metrics.n, 1);
    assert_in_range (b->evidence.result.notes.n, 10, RESULT_NOTES_MAX);
    assert_int_equal (left_out (b, "notes"), 100 - b->evidence.result.notes.n);
    assert_true (left_out (b, "programs") > 0);
}

/* ---- what is said anew ---- */

TEST_ON (b, a_value_that_changes_costs_what_it_costs_once)
{
    char filler[3000];
    memset (filler, 'f', sizeof filler);
    for (uint32_t i = 0; i < OFTEN; i++) {
        say (b, "{\"type\":\"fact\",\"name\":\"step\",\"value\":\"%u%.*s\"}", i, (int) (i % sizeof filler), filler);
        say (b, "{\"type\":\"backend\",\"platform\":\"cpu\",\"platform_version\":\"%u\",\"devices\":%u}", i, i);
        say (b, "{\"type\":\"bundle\",\"items\":{\"jax\":\"%u\"}}", i);
    }
    say (b, "{\"type\":\"failure\",\"layer\":\"host\",\"text\":\"no room\"}");
    say (b, "{\"type\":\"done\",\"nonce\":\"m\"}");
    for (uint32_t i = 0; i < OFTEN; i++)
        say (b, "{\"type\":\"fact\",\"name\":\"step\",\"value\":\"%u%.*s\"}", i, (int) (i % 300), filler);
    const struct result *r = &b->evidence.result;
    assert_int_equal (r->backend.devices, OFTEN - 1);
    assert_true (text_is (r->backend.platform, "cpu") && text_is (r->failure, "no room"));
    assert_true (text_starts (r->facts.items[0].value, "9999f") && text_is (r->bundle.items[0].value, "9999"));
    assert_has (r->bad_line, "expected the nonce of this attempt");
    assert_int_equal (r->bad_lines, 1);
}

/* ---- what is judged, and more of it than there is room for ---- */

TEST (more_than_fits_of_what_is_judged_is_a_violation)
{
    static const struct {
        const char *format, *words;
        uint32_t most;
    } rows[] = {
        { "{\"type\":\"bundle\",\"items\":{\"p%u\":\"1\"}}", "at most 256 items of its bundle", RESULT_BUNDLE_MAX },
        { "{\"type\":\"policy\",\"observed\":{\"p%u\":\"1\"}}", "at most 128 items of its policy", VARS_MAX },
        { "{\"type\":\"fact\",\"name\":\"f%u\",\"value\":\"1\"}", "at most 256 items of its facts", RESULT_FACTS_MAX },
        { "{\"type\":\"counters\",\"values\":{\"c%u\":1}}", "at most 64 items of its counters", RESULT_COUNTERS_MAX },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct bench one = { 0 }, *b = &one;
        bench_open (b);
        for (uint32_t k = 0; k <= rows[i].most; k++) {
            assert_int_equal (b->evidence.result.bad_lines, 0);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            say (b, rows[i].format, k);
#pragma GCC diagnostic pop
        }
        assert_int_equal (b->evidence.result.bad_lines, 1);
        assert_has (b->evidence.result.bad_line, rows[i].words);
        bench_close (b);
    }
}
