/* alone: frontend model base */
/* tests/unit/reports holds what torch_xla 2.9.0 and 2.7.0 printed on CPU: three steps of a sum of squares. */
#include "common/frontend/frontend.h"
#include "test.h"

enum { FILE_MAX_BYTES = 64 * 1024, BUF_MAX_BYTES = 1 << 20, COUNTERS_MAX = 64 };
static const uint64_t ABSENT = UINT64_MAX;

struct desk {
    struct arena arena;
    struct xla_metrics got;
    number_list counters;
    uint32_t left_out;
};

static void read_piece (struct desk *desk, struct xla_text_piece text)
{
    arena_reset (&desk->arena);
    xla_metrics_read (&text, &desk->arena, &desk->got);
    xla_metrics_to_counters (&desk->got, COUNTERS_MAX, &desk->arena, &desk->counters, &desk->left_out);
}

static void read_text (struct desk *desk, struct text text)
{
    read_piece (desk, (struct xla_text_piece){ .text = text });
}

static void read_lines (struct desk *desk, const char *lines)
{
    read_text (desk, text_of (lines));
}

static uint64_t counter (const struct desk *desk, const char *name)
{
    for (uint32_t i = 0; i < desk->counters.n; i++)
        if (text_is (desk->counters.items[i].name, name))
            return desk->counters.items[i].value;
    return ABSENT;
}

static struct text report_file (const char *name)
{
    static char bytes[FILE_MAX_BYTES];
    char path[1024];
    snprintf (path, sizeof path, "%s/tests/unit/reports/%s", SLICEUP_SOURCE_DIR, name);
    FILE *file = fopen (path, "re");
    assert_non_null (file);
    size_t len = fread (bytes, 1, sizeof bytes, file);
    fclose (file);
    assert_in_range (len, 1000, sizeof bytes - 1);
    return (struct text){ bytes, (uint32_t) len };
}

/* ---- values ---- */

struct value_case {
    const char *text;
    enum xla_unit unit;
    double value;
};
static const struct value_case value_cases[] = {
    { "04s589ms590.974us", XLA_UNIT_TIME, 4589590974.0 },
    { "06m09s401ms746.001us", XLA_UNIT_TIME, 369401746001.0 },
    { "001.328us", XLA_UNIT_TIME, 1328 },
    { "81.607us", XLA_UNIT_TIME, 81607 },
    { "1d02h03m04s005ms006.007us", XLA_UNIT_TIME, 93784005006007.0 },
    { "023ms960.897us", XLA_UNIT_TIME, 23960897 },
    { "02h000.000us", XLA_UNIT_TIME, 7200e9 },
    { "12.00B", XLA_UNIT_BYTES, 12 },
    { "11.50KB", XLA_UNIT_BYTES, 11776 },
    { "4.09GB", XLA_UNIT_BYTES, 4.09 * 0x1p30 },
    { "1.00PB", XLA_UNIT_BYTES, 0x1p50 },
    { "51.00", XLA_UNIT_PLAIN, 51 },
    { "-0.50", XLA_UNIT_PLAIN, -0.5 },
    { "1.2e-05", XLA_UNIT_PLAIN, 1.2e-05 },
    { "", XLA_UNIT_NONE, 0 },
    { "us", XLA_UNIT_NONE, 0 },
    { "1.2.3us", XLA_UNIT_NONE, 0 },
    { "5ms4s", XLA_UNIT_NONE, 0 },
    { "5s5s", XLA_UNIT_NONE, 0 },
    { "12 B", XLA_UNIT_NONE, 0 },
    { "12XB", XLA_UNIT_NONE, 0 },
    { "nan", XLA_UNIT_NONE, 0 },
    { "inf", XLA_UNIT_NONE, 0 },
    { "1e999", XLA_UNIT_NONE, 0 },
    { "0x10", XLA_UNIT_NONE, 0 },
    { "MarkStep", XLA_UNIT_NONE, 0 },
    { "9999999999999999999999999999999999999999999999999999", XLA_UNIT_NONE, 0 },
    { "1e9999us", XLA_UNIT_NONE, 0 },
};

static void desk_open (struct desk *desk)
{
    *desk = (struct desk){ 0 };
}

TEST_FIXTURE (struct desk, desk_open, TEST_ARENA)

TEST_ON (desk, values_of_every_kind_are_read_and_others_refused)
{
    for (size_t i = 0; i < sizeof value_cases / sizeof value_cases[0]; i++) {
        const struct value_case *c = &value_cases[i];
        enum xla_unit unit = XLA_UNIT_NONE;
        double value = 0;
        bool is_value = xla_value_read (text_of (c->text), &unit, &value);
        if (is_value != (c->unit != XLA_UNIT_NONE) || (is_value && (unit != c->unit || value != c->value)))
            fail_msg ("\"%s\": %d, unit %d, %.17g", c->text, is_value, unit, value);
    }
}

/* ---- what was really printed ---- */

TEST_ON (desk, a_real_cold_run_is_told)
{
    read_text (desk, report_file ("torch_xla-2.9.0.txt"));
    assert_int_equal (desk->got.reports, 2); /* a whole one, then a short one */
    assert_false (desk->got.is_cut);
    assert_int_equal (desk->got.dropped, 0);
    assert_int_equal (counter (desk, "compile_requests"), 1);
    assert_int_equal (counter (desk, "cache_hits"), 0);
    assert_int_equal (counter (desk, "cache_misses"), 1);
    assert_int_equal (counter (desk, "executions"), 3);
    assert_int_equal (counter (desk, "CompileTime"), 1);
    assert_int_equal (counter (desk, "UncachedCompile"), 1); /* of the first half, and not in the short report */
    assert_int_equal (counter (desk, "CachedCompile"), 2);
    assert_int_equal (counter (desk, "CreateDataHandles"), 4); /* of the second half */
    assert_int_equal (counter (desk, "aten::_local_scalar_dense"), 3);
    assert_int_equal (counter (desk, "xla::mul"), 3);
    assert_int_equal (counter (desk, "PersistentCacheHit"), ABSENT);
    const struct xla_report_row *inbound = xla_metrics_find (&desk->got, true, "InboundData");
    assert_int_equal (inbound->unit, XLA_UNIT_BYTES);
    assert_true (inbound->total == 12.0);
    const struct xla_report_row *compile = xla_metrics_find (&desk->got, true, "CompileTime");
    assert_int_equal (compile->unit, XLA_UNIT_TIME);
    assert_int_equal (counter (desk, "compile_ms"), (uint64_t) (compile->total / 1e6 + 0.5));
}

TEST_ON (desk, a_real_restored_run_is_told)
{
    read_text (desk, report_file ("torch_xla-2.7.0-restored.txt"));
    assert_int_equal (counter (desk, "compile_requests"), 1);
    assert_int_equal (counter (desk, "cache_hits"), 1);
    assert_int_equal (counter (desk, "cache_misses"), 0);
    assert_int_equal (counter (desk, "compile_ms"), 0);
    assert_int_equal (counter (desk, "executions"), 3);
    assert_int_equal (counter (desk, "PersistentCacheHit"), 1);
    assert_int_equal (counter (desk, "CompileTime"), ABSENT);
    assert_int_equal (counter (desk, "PersistentCacheMiss"), ABSENT);
}

TEST_ON (desk, of_a_real_file_the_last_block_counts)
{
    read_text (desk, report_file ("torch_xla-2.9.0-file.txt"));
    assert_int_equal (desk->got.reports, 3);
    assert_false (desk->got.is_cut);
    assert_int_equal (counter (desk, "MarkStep"), 3);
    assert_int_equal (counter (desk, "CachedCompile"), 2);
    assert_int_equal (counter (desk, "CompileTime"), 1);
}

TEST_ON (desk, wherever_a_file_breaks_off_a_whole_block_counts)
{
    struct text file = report_file ("torch_xla-2.9.0-file.txt");
    uint64_t steps = 0;
    for (uint32_t len = 0; len < file.len; len++) {
        read_text (desk, (struct text){ file.ptr, len });
        uint64_t seen = counter (desk, "MarkStep");
        seen = seen == ABSENT ? 0 : seen;
        assert_in_range (seen, steps, steps + 1);
        assert_int_equal (seen, desk->got.reports);
        if (seen > 0) { /* never a part of a block */
            assert_int_equal (counter (desk, "CompileTime"), 1);
            assert_int_equal (counter (desk, "UncachedCompile"), 1);
            assert_int_equal (counter (desk, "CreateXlaTensor"), 1 + 2 * seen);
        }
        steps = seen;
    }
    assert_int_equal (steps, 2); /* without its last byte the third is not whole */
}

/* Printed reports have no mark at their end: only a row that breaks off can be seen. */
TEST_ON (desk, a_printed_report_that_breaks_off_in_a_row_counts_for_nothing)
{
    struct text file = report_file ("torch_xla-2.9.0.txt");
    uint32_t end, broken = 0;
    assert_true (text_find (file, TEXT_LIT ("=== short"), &end));
    for (uint32_t len = 1; len < end - 1; len++) {
        struct text piece = { file.ptr, len };
        read_text (desk, piece);
        bool at_row_end = piece.ptr[len - 1] == '\n' && desk->got.reports > 0;
        if (desk->got.reports > 0 && !at_row_end)
            fail_msg ("a report that breaks off at byte %u was taken: ...%.*s", len, 20, piece.ptr + len - 20);
        broken += desk->got.is_cut;
        read_piece (desk, (struct xla_text_piece){ .text = piece, .ends_short = true });
        assert_int_equal (desk->got.reports, 0);
    }
    assert_true (broken > end / 2);
}

TEST_ON (desk, a_report_whose_beginning_is_missing_counts_for_nothing)
{
    struct text file = report_file ("torch_xla-2.9.0.txt");
    uint32_t begin, end;
    assert_true (text_find (file, TEXT_LIT ("Metric: "), &begin));
    assert_true (text_find (file, TEXT_LIT ("=== short"), &end));
    for (uint32_t at = begin + 1; at < end - 1; at++) {
        struct text piece = { file.ptr + at, end - at };
        read_piece (desk, (struct xla_text_piece){ .text = piece, .starts_late = true });
        if (desk->got.reports != 0) /* half of a keyword is no line of a report: what comes behind it is whole */
            assert_true (file.ptr[at - 1] != '\n');
    }
    read_piece (desk, (struct xla_text_piece){ .text = { file.ptr + begin, file.len - begin }, .starts_late = true });
    assert_int_equal (desk->got.reports, 1);
    assert_int_equal (counter (desk, "UncachedCompile"), ABSENT);
}

static void assert_counter_unless_absent (const struct desk *desk, const char *name, uint64_t value)
{
    uint64_t seen = counter (desk, name);
    if (seen != ABSENT && seen != value)
        fail_msg ("%s is %lu and not %lu", name, (unsigned long) seen, (unsigned long) value);
}

/* The output of a program that was piped through `tail`: nothing says that there was more. */
TEST_ON (desk, nothing_that_a_report_without_its_beginning_lacks_is_zero)
{
    static const char *const words[] = { "compile_requests", "cache_hits", "cache_misses",
                                         "executions",       "compile_ms", "retrieval_ms" };
    static const char *const files[] = { "torch_xla-2.9.0.txt", "torch_xla-2.7.0-restored.txt" };
    for (int f = 0; f < 2; f++) {
        struct text file = report_file (files[f]);
        uint64_t whole[6];
        uint32_t at, second, end = file.len;
        assert_true (text_find (file, TEXT_LIT ("Metric: "), &at));
        assert_true (text_find (file, TEXT_LIT ("Counter: "), &second));
        if (text_find (file, TEXT_LIT ("=== short"), &end))
            end--;
        read_text (desk, (struct text){ file.ptr + at, end - at });
        assert_false (desk->got.is_partial);
        for (int i = 0; i < 6; i++)
            assert_int_not_equal (whole[i] = counter (desk, words[i]), ABSENT);
        for (at++; at < end; at++) {
            read_text (desk, (struct text){ file.ptr + at, end - at });
            for (int i = 0; i < 6; i++)
                assert_counter_unless_absent (desk, words[i], whole[i]);
            assert_true (at <= second || desk->got.reports == 0 || desk->got.is_partial);
        }
    }
}

/* ---- layouts ---- */

TEST_ON (desk, an_old_report_is_read_with_either_word_for_its_total)
{
    static const char *const words[] = { "Accumulator", "Counter" };
    for (int i = 0; i < 2; i++) {
        char report[1024];
        snprintf (report, sizeof report,
                  "Metric: CompileTime\n  TotalSamples: 4\n  %s: 04s589ms590.974us\n"
                  "  ValueRate: 023ms960.897us / second\n  Rate: 0.0255932 / second\n"
                  "  Percentiles: 1%%=024ms320.066us; 99%%=02s746ms660.403us\n"
                  "Metric: ExecuteReplicatedTime\n  TotalSamples: 21\n  %s: 81.607us\n  Rate: 1.2e-05 / second\n"
                  "  Percentiles: 50%%=3.886us\n"
                  "Counter: CachedCompile\n  Value: 395\n",
                  words[i], words[i]);
        read_lines (desk, report);
        assert_int_equal (counter (desk, "CompileTime"), 4);
        assert_int_equal (counter (desk, "compile_ms"), 4590);
        assert_int_equal (counter (desk, "ExecuteReplicatedTime"), 21);
        assert_int_equal (counter (desk, "CachedCompile"), 395);
        assert_int_equal (counter (desk, "compile_requests"), ABSENT); /* half a report: unknown, not zero */
        assert_int_equal (counter (desk, "executions"), ABSENT);
        assert_int_equal (desk->got.n, 3);
    }
}

TEST_ON (desk, a_name_in_both_halves_is_added_up)
{
    read_lines (desk, "Counter: A\n  Value: 5\nCounter: Both\n  Value: 2\n"
                      "Metric: M\n  TotalSamples: 1\n  Accumulator: 1.00\n  Percentiles: 1%=1.00\n"
                      "Counter: Both\n  Value: 3\n");
    assert_int_equal (desk->got.reports, 1);
    assert_int_equal (counter (desk, "Both"), 5);
    assert_int_equal (counter (desk, "A"), 5);
}

TEST_ON (desk, repeated_reports_are_not_added_up)
{
    read_lines (desk, "Counter: A\n  Value: 1\n\nstep 2\nCounter: A\n  Value: 2\nCounter: B\n  Value: 7\n\n"
                      "Counter: A\n  Value: 3\nCounter: B\n  Value: 9\n");
    assert_int_equal (desk->got.reports, 3);
    assert_int_equal (counter (desk, "A"), 3);
    assert_int_equal (counter (desk, "B"), 9);
}

#define METRIC(name, samples)                                                                                          \
    "Metric: " name "\n  TotalSamples: " samples "\n  Accumulator: 1.00\n  Percentiles: 1%=1.00\n"
#define COUNTER(name, value) "Counter: " name "\n  Value: " value "\n"

/* A program that writes reports itself may leave out the empty line. */
TEST_ON (desk, reports_that_touch_are_told_apart)
{
    static const char first[] = METRIC ("M1", "5") COUNTER ("A", "5") METRIC ("M2", "5") COUNTER ("B", "5");
    char text[1024];
    snprintf (text, sizeof text, "%s%s", first,
              METRIC ("M1", "6") COUNTER ("A", "7") METRIC ("M2", "8") COUNTER ("B", "9"));
    read_lines (desk, text);
    assert_int_equal (desk->got.reports, 2);
    assert_int_equal (counter (desk, "M2"), 8);
    assert_int_equal (counter (desk, "A"), 7);
    snprintf (text, sizeof text, "%s%s", first, METRIC ("M1", "1") COUNTER ("A", "1")); /* cleared */
    read_lines (desk, text);
    assert_int_equal (desk->got.reports, 2);
    assert_int_equal (counter (desk, "A"), 1);
    assert_int_equal (counter (desk, "B"), ABSENT);
    snprintf (text, sizeof text, "%s%s", first, METRIC ("M1", "6") "Counter: A\n"); /* breaks off */
    read_lines (desk, text);
    assert_int_equal (desk->got.reports, 1);
    assert_true (desk->got.is_cut);
    assert_int_equal (counter (desk, "A"), 5);
    assert_int_equal (counter (desk, "M1"), 5);
}

TEST_ON (desk, the_first_number_of_a_row_is_its_own)
{
    read_lines (desk, COUNTER ("compile_ms", "7") COUNTER ("A", "5"));
    assert_int_equal (counter (desk, "compile_ms"), ABSENT); /* a word of the protocol is no name of a row */
    read_lines (desk, "Metric: M\n  TotalSamples: 3\n  TotalSamples: 9\n  Accumulator: 1.00\n  Accumulator: 2.00\n"
                      "  Percentiles: 1%=1\n");
    assert_int_equal (counter (desk, "M"), 3);
    assert_true (xla_metrics_find (&desk->got, true, "M")->total == 1.0);
}

TEST_ON (desk, a_name_that_cannot_be_shown_is_none)
{
    char text[512];
    snprintf (text, sizeof text,
              "Counter: A\nCounter: bad\001name\n  Value: 6\nCounter: %0*d\n  Value: 7\nCounter: B\n  Value: 1\n",
              XLA_NAME_MAX_BYTES + 1, 0);
    read_lines (desk, text);
    assert_int_equal (desk->got.n, 1);
    assert_int_equal (counter (desk, "B"), 1);
    assert_int_equal (desk->got.dropped, 2);
}

TEST_ON (desk, what_was_cleared_is_forgotten)
{
    read_lines (desk, "Counter: A\n  Value: 5\nCounter: UncachedCompile\n  Value: 4\n\nCounter: A\n  Value: 2\n\n"
                      "Counter: A\n  Value: 2\n");
    assert_int_equal (counter (desk, "A"), 2);
    assert_int_equal (counter (desk, "UncachedCompile"), ABSENT);
    read_lines (desk, "[MetricsData; step=0]\nCounter: A\n  Value: 5\nCounter: B\n  Value: 4\n\n"
                      "[MetricsData; step=1]\nCounter: A\n  Value: 6\n\n");
    assert_int_equal (counter (desk, "A"), 6);
    assert_int_equal (counter (desk, "B"), ABSENT);
}

TEST_ON (desk, lines_of_others_change_nothing)
{
    read_lines (desk,
                "loss 1.5\nMetric: ExecuteTime\nf1Metric: 0.5\nepoch 3: Rate is fine\n  TotalSamples: 3\nValue: 99\n"
                "  Accumulator: 306.941us\n    Value: 8\nWARNING: Metric\n  Percentiles: 1%=002.744us\n"
                "the Value: 5\nCounter: PersistentCacheHit\n[MetricsDat\n  Value: 2\n  Value: 77\n  Rate: x\n"
                "Counter: \n  Value: 6\nCounter: MarkStep\r\n  Value: 4\r\ndone");
    assert_int_equal (desk->got.reports, 1);
    assert_false (desk->got.is_cut);
    assert_int_equal (counter (desk, "ExecuteTime"), 3);
    assert_int_equal (counter (desk, "cache_hits"), 2);
    assert_int_equal (counter (desk, "MarkStep"), 4);
    assert_int_equal (desk->got.dropped, 1); /* the counter without a name */
    assert_int_equal (desk->got.n, 3);
}

/* ---- prefixes ---- */

static void add_prefixed (struct buf *out, const char *prefix, struct text text, bool first_line_only)
{
    bool at_start = true, is_first = true;
    for (uint32_t i = 0; i < text.len; i++) {
        if (at_start && (is_first || !first_line_only))
            buf_puts (out, prefix);
        is_first = false;
        at_start = text.ptr[i] == '\n';
        buf_byte (out, (uint8_t) text.ptr[i]);
    }
}

TEST_ON (desk, a_prefix_on_every_line_changes_nothing)
{
    static const char *const prefixes[] = {
        "[3]: ",     "rank0: ", "2026-11-21T10:05:40.12Z stdout F ",
        "10:05:40 ", "3 | ",    "a prefix that is longer than a tag may be at all: "
    };
    struct text file = report_file ("torch_xla-2.9.0-file.txt");
    struct buf text;
    buf_init (&text, BUF_MAX_BYTES);
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        buf_clear (&text);
        add_prefixed (&text, prefixes[i], file, false);
        read_text (desk, buf_as_text (&text));
        assert_int_equal (counter (desk, "CompileTime"), 1);
        assert_int_equal (counter (desk, "CreateXlaTensor"), 7 - 2 * desk->got.is_cut);
        assert_int_equal (desk->got.reports, 3 - desk->got.is_cut);
    }
    buf_release (&text);
}

TEST_ON (desk, a_logger_that_marks_its_first_line_only_loses_nothing)
{
    read_lines (desk,
                "2026-11-21 10:05:40,123 INFO: Metric: CompileTime\n  TotalSamples: 2\n  Accumulator: 002ms000.000us\n"
                "  Percentiles: 1%=1us\nCounter: UncachedCompile\n  Value: 2\n");
    assert_int_equal (counter (desk, "CompileTime"), 2);
    assert_int_equal (counter (desk, "compile_ms"), 2);
    assert_int_equal (counter (desk, "cache_misses"), 2);
    /* The mark is where a report begins: short ones that follow each other are not taken for halves of one. */
    read_lines (desk, "10:00:01 INFO Counter: A\n  Value: 1\n" METRIC ("M", "1") COUNTER (
                          "B", "1") "10:00:02 INFO Counter: A\n  Value: 2\n" METRIC ("M", "2") COUNTER ("B", "2"));
    assert_int_equal (desk->got.reports, 2);
    assert_int_equal (counter (desk, "M"), 2);
    assert_int_equal (counter (desk, "A"), 2);
}

static void assert_reads_as (struct desk *desk, const struct desk *plain, struct text text)
{
    read_text (desk, text);
    assert_int_equal (desk->got.reports, plain->got.reports);
    assert_false (desk->got.is_partial || desk->got.is_cut);
    assert_int_equal (desk->counters.n, plain->counters.n);
    for (uint32_t i = 0; i < plain->counters.n; i++) {
        assert_text (desk->counters.items[i].name, plain->counters.items[i].name);
        assert_int_equal (desk->counters.items[i].value, plain->counters.items[i].value);
    }
}

/* What tqdm prints has no end of its line before the bar is closed, and writes over itself. */
TEST_ON (desk, an_indented_report_and_one_behind_a_progress_bar_are_read)
{
    static const char *const bars[] = { "100%|####| 3/3 [00:01]",
                                        "\r 33%|###       | 1/3 [00:01<00:02,  1.00s/it]"
                                        "\r 67%|######    | 2/3 [00:02<00:01,  1.00s/it]"
                                        "\r100%|##########| 3/3 [00:03<00:00,  1.00s/it, loss=0.5]",
                                        "loss 0.5", "    " };
    struct desk plain = { 0 };
    struct text file = report_file ("torch_xla-2.7.0-restored.txt");
    struct buf indented, text;
    uint32_t at;
    assert_true (text_find (file, TEXT_LIT ("Metric: "), &at));
    file = (struct text){ file.ptr + at, file.len - at };
    buf_init (&indented, BUF_MAX_BYTES);
    buf_init (&text, BUF_MAX_BYTES);
    read_text (&plain, file);
    add_prefixed (&indented, "    ", file, false);
    assert_reads_as (desk, &plain, buf_as_text (&indented));
    for (size_t i = 0; i < sizeof bars / sizeof bars[0]; i++) {
        buf_clear (&text);
        add_prefixed (&text, bars[i], file, true);
        assert_reads_as (desk, &plain, buf_as_text (&text));
        buf_clear (&text);
        add_prefixed (&text, bars[i], buf_as_text (&indented), true);
        assert_reads_as (desk, &plain, buf_as_text (&text));
    }
    arena_release (&plain.arena);
    buf_release (&indented);
    buf_release (&text);
}

TEST_ON (desk, a_report_with_a_torn_row_is_partial)
{
    static const char *const torn[] = { "Counter: UncachedCompile\n100%|##|  Value: 2\n",
                                        "Metric: CompileTime\n  TotalSamples: 2\nCounter: Z\n  Value: 2\n" };
    char text[1024];
    for (int i = -1; i < 2; i++) {
        snprintf (text, sizeof text, "%s%s%s", METRIC ("M1", "5") COUNTER ("A", "5") METRIC ("M2", "5"),
                  i < 0 ? "" : torn[i], COUNTER ("Zz", "5"));
        read_lines (desk, text);
        assert_int_equal (counter (desk, "A"), 5);
        assert_int_equal (desk->got.is_partial, i >= 0);
        assert_int_equal (counter (desk, "compile_ms"), i < 0 ? 0 : ABSENT);
    }
}

TEST_ON (desk, a_prefix_that_changes_from_line_to_line_changes_nothing)
{
    read_lines (desk,
                "10:05:40 Counter: A\n10:05:41   Value: 3\n2026-11-21T10:05:42Z Counter: B\n10:05:43   Value: 4\n");
    assert_int_equal (counter (desk, "A"), 3);
    assert_int_equal (counter (desk, "B"), 4);
    read_lines (desk, "a line of some long launcher, its number 1: Counter: A\n"
                      "a line of some long launcher, its number 2:   Value: 3\n");
    assert_int_equal (counter (desk, "A"), 3);
}

TEST_ON (desk, processes_in_one_output_are_added_up)
{
    read_lines (desk, "[0] Counter: UncachedCompile\n[1] Counter: UncachedCompile\n[1]   Value: 20\n[0]   Value: 1\n"
                      "[1] Counter: xla::mul\n[0] Counter: PersistentCacheHit\n[0]   Value: 3\n[1]   Value: 5\n");
    assert_int_equal (counter (desk, "UncachedCompile"), 21);
    assert_int_equal (counter (desk, "compile_requests"), ABSENT); /* of one process a row may be missing */
    assert_int_equal (counter (desk, "cache_misses"), ABSENT);
    assert_int_equal (counter (desk, "xla::mul"), 5);
    assert_int_equal (desk->got.reports, 2);
    struct text file = report_file ("torch_xla-2.7.0-restored.txt");
    struct buf text;
    buf_init (&text, BUF_MAX_BYTES);
    add_prefixed (&text, "[0] ", file, false);
    add_prefixed (&text, "[1] ", file, false);
    read_text (desk, buf_as_text (&text));
    assert_int_equal (desk->got.processes, 2);
    assert_int_equal (counter (desk, "compile_requests"), 2);
    assert_int_equal (counter (desk, "cache_misses"), 0);
    buf_release (&text);
}

/* ---- the same again ---- */

static void print_report (struct buf *out, const struct xla_metrics *metrics)
{
    for (int metric = 1; metric >= 0; metric--)
        for (uint32_t i = 0; i < metrics->n; i++) {
            const struct xla_report_row *row = &metrics->rows[i];
            if (row->is_metric != metric)
                continue;
            buf_printf (out, "%s: %.*s\n", metric ? "Metric" : "Counter", TEXT_ARG (row->name));
            buf_printf (out, metric ? "  TotalSamples: %lu\n" : "  Value: %lu\n", (unsigned long) row->count);
            if (metric && row->unit == XLA_UNIT_TIME)
                buf_printf (out, "  Accumulator: %.3fus\n", row->total / 1e3);
            else if (metric)
                buf_printf (out, "  Accumulator: %.2f%s\n", row->total, row->unit == XLA_UNIT_BYTES ? "B" : "");
            if (metric)
                buf_puts (out, "  Percentiles: 50%=0.00\n");
        }
}

TEST_ON (desk, what_was_read_and_printed_reads_the_same)
{
    struct desk again = { 0 };
    struct buf once, twice;
    buf_init (&once, BUF_MAX_BYTES);
    buf_init (&twice, BUF_MAX_BYTES);
    read_text (desk, report_file ("torch_xla-2.9.0.txt"));
    print_report (&once, &desk->got);
    buf_add_text (&twice, buf_as_text (&once));
    buf_add_text (&twice, buf_as_text (&once)); /* and saying it twice adds nothing */
    read_text (&again, buf_as_text (&twice));
    assert_int_equal (again.got.n, desk->got.n);
    assert_int_equal (again.got.reports, 2);
    for (uint32_t i = 0; i < desk->got.n; i++) {
        const struct xla_report_row *row = &desk->got.rows[i], *same = NULL;
        char name[256];
        assert_true (text_to_c (row->name, name, sizeof name));
        same = xla_metrics_find (&again.got, row->is_metric, name);
        assert_non_null (same);
        assert_int_equal (same->count, row->count);
        assert_int_equal (same->unit, row->unit);
        assert_true (same->total == row->total);
    }
    arena_release (&again.arena);
    buf_release (&once);
    buf_release (&twice);
}

/* ---- bounds ---- */

TEST_ON (desk, more_than_fits_is_counted_and_left_out)
{
    struct buf text;
    buf_init (&text, BUF_MAX_BYTES);
    for (int i = 0; i < XLA_ROWS_MAX + 10; i++)
        buf_printf (&text, "Counter: name%d\n  Value: %d\n", i, i);
    for (int i = 0; i < XLA_STREAMS_MAX + 5; i++)
        buf_printf (&text, "[%d] Counter: A\n[%d]   Value: 1\n", i, i);
    buf_puts (&text, "Counter: ");
    for (int i = 0; i < XLA_NAME_MAX_BYTES + 1; i++)
        buf_byte (&text, 'x');
    buf_puts (&text, "\n  Value: 1\nCounter: large\n  Value: 99999999999999999999\nCounter: name0\n  Value: 0\n");
    read_text (desk, buf_as_text (&text));
    assert_int_equal (desk->got.n, XLA_ROWS_MAX);
    assert_true (desk->got.dropped >= 10 + 6);
    assert_int_equal (desk->counters.n, COUNTERS_MAX);
    assert_int_equal (desk->left_out, XLA_ROWS_MAX - COUNTERS_MAX);
    buf_release (&text);
}

TEST_ON (desk, what_a_proof_needs_comes_first)
{
    read_lines (
        desk,
        "[MetricsData; step=0]\nCounter: AAA\n  Value: 1\nCounter: aten::nonzero\n  Value: 4\nCounter: xla::mul\n  "
        "Value: 1\n"
        "Counter: PersistentCacheDeserializeFailure\n  Value: 2\nCounter: Big\n  Value: 18446744073709551615\n\n");
    static const char *const order[] = {
        "compile_requests", "cache_hits", "cache_misses", "executions", "compile_ms",
        "retrieval_ms",     "steps",      "fallbacks",    "reads",      "PersistentCacheDeserializeFailure",
        "aten::nonzero",    "AAA",        "Big",          "xla::mul"
    };
    assert_int_equal (desk->counters.n, sizeof order / sizeof order[0]);
    for (uint32_t i = 0; i < desk->counters.n; i++)
        assert_text (desk->counters.items[i].name, order[i]);
    assert_int_equal (counter (desk, "Big"), INT64_MAX);
    xla_metrics_to_counters (&desk->got, 7, &desk->arena, &desk->counters, &desk->left_out);
    assert_int_equal (desk->counters.n, 7);
    assert_int_equal (desk->left_out, 7);
}

TEST_ON (desk, where_there_is_no_report_there_are_no_counters)
{
    static const char *const texts[] = { "",
                                         "\n\n",
                                         "Counter: hello\n",
                                         "Metric: A\n  TotalSamples: 1\n",
                                         "  Value: 3\n",
                                         "Counter: A\n  Value: x\n",
                                         "Counter: A\n  Value: -1\n",
                                         "[MetricsData; step=0]\nCounter: A\n  Value: 3\n",
                                         "Counter: A\n  Value: 3" };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        read_lines (desk, texts[i]);
        if (desk->got.reports || desk->counters.n)
            fail_msg ("\"%s\" gave %u reports", texts[i], desk->got.reports);
    }
}

TEST_ON (desk, several_files_are_added_up)
{
    struct xla_metrics all = { 0 };
    for (int i = 0; i < 3; i++) {
        read_lines (desk, "[MetricsData; step=0]\nCounter: A\n  Value: 2\n\n");
        xla_metrics_add_process (&all, &desk->got, &t->arena);
    }
    assert_int_equal (xla_metrics_find (&all, false, "A")->count, 6);
    assert_int_equal (all.reports, 3);
    assert_null (xla_metrics_find (&all, true, "A"));
}
