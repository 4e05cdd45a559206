/* links: story */
#include <math.h>

#include "coordinator/story/measure_fold.h"
#include "test.h"

enum { MIB = 1 << 20, MEASURES = 16 };

/* Newest first, as the store gives them. */
struct history {
    struct measure items[MEASURES];
    struct measure_list list;
    struct arena arena;
};

static void history_open (struct history *history)
{
    *history = (struct history){ .list = { history->items, 0 } };
}

static void history_close (struct history *history)
{
    arena_release (&history->arena);
}

TEST_FIXTURE (struct history, history_open, history_close)

static struct measure launch (const char *bundle)
{
    bool new = bundle[0] == '2';
    return (struct measure){ .signature = text_of (new ? "bbbb" : "aaaa"),
                             .shape = TEXT_LIT ("ssss"),
                             .rung = TEXT_LIT ("dense"),
                             .pins = new ? TEXT_LIT ("jax 22") : TEXT_LIT ("jax 11"),
                             .packages = new ? TEXT_LIT ("jax=0.10.2 jaxlib=0.10.2 numpy=2.4.6")
                                             : TEXT_LIT ("jax=0.10.1 jaxlib=0.10.1 numpy=2.4.6"),
                             .pass = PASS_ONCE,
                             .outcome = OUTCOME_PASSED,
                             .predicted_bytes = 140 * MIB,
                             .host_peak_bytes = 400 * MIB,
                             .start_ms = 5000,
                             .duration_ms = 9000 };
}

static struct measure *put (struct history *history, struct measure measure)
{
    assert_in_range (history->list.n, 0, MEASURES - 1);
    for (uint32_t i = history->list.n++; i > 0; i--)
        history->items[i] = history->items[i - 1];
    measure.ended_wall_ms = history->list.n * 1000;
    history->items[0] = measure;
    return &history->items[0];
}

static void put_times (struct history *history, struct measure measure, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        put (history, measure);
}

static uint32_t changes (struct history *history, struct stack_change out[STACK_CHANGES_MAX])
{
    return measure_stack_changes (&history->list, &history->items[0], &history->arena, out);
}

TEST_ON (history, a_program_that_became_larger_is_told_with_what_tells_the_bundles_apart)
{
    struct stack_change found[STACK_CHANGES_MAX];
    struct measure large = launch ("2");
    large.predicted_bytes = 212 * MIB;
    put (history, launch ("1"));
    put (history, large);
    assert_int_equal (changes (history, found), 1);
    assert_string_equal (found[0].what, "predicted_bytes");
    assert_text (found[0].sentence, "rung dense: its program takes 212 MiB with jax 0.10.2, jaxlib 0.10.2, "
                                    "140 MiB with jax 0.10.1, jaxlib 0.10.1: 51 % more");
}

static uint32_t grows (struct history *history, uint32_t before_mib, uint32_t now_mib)
{
    struct stack_change found[STACK_CHANGES_MAX];
    struct measure before = launch ("1"), now = launch ("2");
    before.predicted_bytes = (uint64_t) before_mib * MIB;
    now.predicted_bytes = (uint64_t) now_mib * MIB;
    history->list.n = 0;
    put (history, before);
    put (history, now);
    return changes (history, found);
}

TEST_ON (history, little_more_is_not_told)
{
    assert_int_equal (grows (history, 140, 181), 0); /* 29 % */
    assert_int_equal (grows (history, 140, 182), 1);
    assert_int_equal (grows (history, 10, 25), 0); /* 150 %, and below the floor */
    assert_int_equal (grows (history, 10, 26), 1);
}

TEST_ON (history, one_slow_run_is_not_told_and_three_are)
{
    struct stack_change found[STACK_CHANGES_MAX];
    struct measure slow = launch ("2");
    slow.start_ms = 8000;
    put_times (history, launch ("1"), 3);
    put_times (history, slow, 2);
    assert_int_equal (changes (history, found), 0);
    put (history, slow);
    assert_int_equal (changes (history, found), 1);
    assert_text (found[0].sentence, "rung dense: it starts within 8 s with jax 0.10.2, jaxlib 0.10.2, "
                                    "5 s with jax 0.10.1, jaxlib 0.10.1: 60 % more");
    put_times (history, launch ("2"), 3); /* half of them: the upper median is still that of the slow ones */
    put (history, launch ("2"));
    assert_int_equal (changes (history, found), 0);
}

TEST_ON (history, short_times_are_noise)
{
    struct stack_change found[STACK_CHANGES_MAX];
    struct measure quick = launch ("1"), slower = launch ("2");
    quick.start_ms = quick.duration_ms = 100;
    slower.start_ms = slower.duration_ms = 1099;
    put_times (history, quick, 3);
    put_times (history, slower, 3);
    assert_int_equal (changes (history, found), 0);
    slower.duration_ms = 1100;
    put_times (history, slower, 4);
    assert_int_equal (changes (history, found), 1);
}

TEST_ON (history, other_passes_and_launches_that_failed_are_not_compared)
{
    struct stack_change found[STACK_CHANGES_MAX];
    struct measure failed = launch ("1"), cold = launch ("1"), other = launch ("1"), large = launch ("2");
    failed.outcome = OUTCOME_FAILED;
    cold.pass = PASS_COLD;
    other.shape = TEXT_LIT ("tttt");
    large.predicted_bytes = 900 * MIB;
    put (history, failed);
    put (history, cold);
    put (history, other);
    put (history, large);
    assert_int_equal (changes (history, found), 0);
}

static void told (struct history *history, const char *packages, const char *pins, const char *wanted)
{
    LOCAL_BUF out = { .max = SENTENCE_MAX_BYTES };
    struct measure old = launch ("1"), new = launch ("2");
    new.packages = text_of (packages);
    new.pins = text_of (pins);
    measure_put_bundle (&new, &old, &history->arena, &out);
    assert_text (buf_as_text (&out), wanted);
}

TEST_ON (history, bundles_are_told_by_what_differs)
{
    told (history, "jax=0.10.1 jaxlib=0.10.1 numpy=2.4.6 six=1.17.0", "x", "with six 1.17.0");
    told (history, "jax=0.10.1 jaxlib=0.10.1", "x", "without numpy 2.4.6");
    told (history, "a=1 b=1 c=1 d=1 e=1", "x", "with a 1, b 1, c 1 and others");
    told (history, "jax=0.10.1 jaxlib=0.10.1 numpy=2.4.6", "jax 22", "with the pin set jax 22");
    told (history, "", "jax 22", "with the pin set jax 22");
    told (history, "jax=0.10.1 jaxlib=0.10.1 numpy=2.4.6", "jax 11", "as launch bbbb");
}

TEST_ON (history, memory_that_no_device_counts_is_compared_with_nothing)
{
    LOCAL_BUF out = { .max = SENTENCE_MAX_BYTES };
    measure_put_memory (140 * MIB, 0, &out);
    measure_put_memory (0, 140 * MIB, &out);
    assert_int_equal (out.len, 0);
    assert_true (isnan (measure_deviation (0, 1)) && isnan (measure_deviation (1, 0)));
    measure_put_memory (100 * MIB, 117 * MIB, &out);
    assert_text (buf_as_text (&out), "predicted 100 MiB, 117 MiB seen (+17 %)");
}

TEST_ON (history, earlier_runs_of_the_same_launch_let_one_expect_its_time)
{
    struct measure slow = launch ("1");
    slow.duration_ms = 20000;
    put_times (history, launch ("1"), 2);
    put (history, launch ("2"));
    struct measure *last = put (history, slow);
    struct usual_time usual = measure_usual_before (&history->list, last, &history->arena);
    assert_true (usual.ms == 9000 && usual.runs == 2);
    usual = measure_usual_before (&history->list, &history->items[3], &history->arena);
    assert_true (usual.ms == 0 && usual.runs == 0);
}

static struct measure *put_args (struct history *history, const char *args, enum outcome outcome)
{
    struct measure measure = launch ("1");
    measure.family = TEXT_LIT ("ffff");
    measure.args = measure.signature = text_of (args);
    measure.outcome = outcome;
    return put (history, measure);
}

static void best_is (struct history *history, const struct measure *bad, const char *args)
{
    const struct measure *best = measure_next_best (&history->list, bad);
    if (!args)
        assert_null (best);
    else
        assert_text (best ? best->args : (struct text){ 0 }, args);
}

TEST_ON (history, the_nearest_launch_that_passed_stands_in_for_a_bad_one)
{
    struct measure bad = launch ("1");
    bad.family = TEXT_LIT ("ffff");
    bad.args = TEXT_LIT ("batch=128\nwidth=8");
    best_is (history, &bad, NULL);
    put_args (history, "batch=128\nwidth=8", OUTCOME_PASSED)->pins = bad.pins; /* by another setup script */
    best_is (history, &bad, NULL);
    put_args (history, "batch=128\nseed=1\nwidth=8", OUTCOME_PASSED); /* it has an argument more */
    best_is (history, &bad, "batch=128\nseed=1\nwidth=8");
    put_args (history, "batch=64\nwidth=8", OUTCOME_PASSED);
    put_args (history, "batch=1\nwidth=8", OUTCOME_PASSED);
    put_args (history, "batch=32\nwidth=8", OUTCOME_PASSED);
    put_args (history, "batch=64\nwidth=4", OUTCOME_PASSED); /* two arguments differ */
    put_args (history, "batch=64", OUTCOME_PASSED);          /* its width is not known */
    best_is (history, &bad, "batch=64\nwidth=8");
    put_args (history, "batch=64\nwidth=8", OUTCOME_FAILED); /* its last measure did not pass */
    best_is (history, &bad, "batch=32\nwidth=8");
    bad.family = TEXT_LIT ("gggg");
    best_is (history, &bad, NULL);
}

TEST_ON (history, another_bundle_stands_in_where_the_bundle_is_at_fault)
{
    struct measure bad = launch ("2");
    bad.family = TEXT_LIT ("ffff");
    bad.args = TEXT_LIT ("batch=128");
    bad.owner = OWNER_PROGRAM;
    struct measure *other = put_args (history, "batch=128", OUTCOME_PASSED);
    best_is (history, &bad, NULL); /* its pin file is the same one by name, with other pins in it */
    other->pin_file = TEXT_LIT ("older.txt");
    best_is (history, &bad, "batch=128");
    put_args (history, "batch=64", OUTCOME_PASSED)->pins = bad.pins;
    best_is (history, &bad, "batch=64");
    bad.owner = OWNER_COMPILER;
    best_is (history, &bad, "batch=128");
}
