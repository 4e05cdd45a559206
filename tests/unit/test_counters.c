/* links: attempt */
/* What is read of what a command left: files of one or several processes, its output, and things that are no files. */

#include "common/io/atomic_file.h"
#include "test.h"
#include "worker/attempt/command.h"

#define BLOCK(step, mark, hits, misses)                                                                                \
    "[MetricsData; step=" step "]\nCounter: MarkStep\n  Value: " mark "\nCounter: PersistentCacheHit\n  Value: " hits  \
    "\nCounter: UncachedCompile\n  Value: " misses "\n\n"

struct bench {
    char scratch[64];
    struct arena arena;
    struct msg_run run;
    struct result result;
    uint64_t log_from;
};

static struct text path_in (struct bench *bench, const char *name)
{
    return text_format (&bench->arena, "%s/%s", bench->scratch, name);
}

static void put (struct bench *bench, const char *name, const char *content)
{
    FILE *file = fopen (path_in (bench, name).ptr, "we");
    assert_non_null (file);
    assert_int_equal (fwrite (content, 1, strlen (content), file), strlen (content));
    assert_int_equal (fclose (file), 0);
}

static void parse (struct bench *bench)
{
    bench->result.counters = (number_list){ 0 };
    bench->result.notes.n = 0;
    counters_read (&bench->run, text_of (bench->scratch), path_in (bench, "log"), bench->log_from, &bench->arena,
                   &bench->result);
}

static uint64_t counter (const struct bench *bench, const char *name)
{
    uint64_t value = UINT64_MAX;
    (void) result_counter (&bench->result, name, &value); /* absent stays what it was */
    return value;
}

static bool is_noted (const struct bench *bench, const char *words)
{
    for (uint32_t i = 0; i < bench->result.notes.n; i++)
        if (text_find (bench->result.notes.items[i].text, text_of (words), NULL))
            return true;
    return false;
}

static void bench_close (struct bench *bench)
{
    int rc = folder_remove (bench->scratch, NULL);
    arena_release (&bench->arena);
    assert_int_equal (rc, 0);
}

static void bench_open (struct bench *bench)
{
    snprintf (bench->scratch, sizeof bench->scratch, "/tmp/sliceup-parse-XXXXXX");
    bench->run.rung = (struct rung){ .kind = PROGRAM_COMMAND, .parse = TEXT_LIT ("torch_xla-metrics") };
    bench->result.ending = ENDING_EXITED;
    assert_true (mkdtemp (bench->scratch));
}

TEST_FIXTURE (struct bench, bench_open, bench_close)

TEST_ON (bench, the_last_block_of_the_file_is_told)
{
    put (bench, "xla-metrics", BLOCK ("0", "1", "1", "1") BLOCK ("1", "2", "3", "4"));
    put (bench, "log", "Counter: MarkStep\n  Value: 77\n");
    parse (bench);
    assert_int_equal (counter (bench, "MarkStep"), 2);
    assert_int_equal (counter (bench, "compile_requests"), 7);
    assert_int_equal (counter (bench, "cache_hits"), 3);
    assert_int_equal (counter (bench, "steps"), 2);
    assert_int_equal (counter (bench, "later_compilations"), 7 - 2);
    assert_int_equal (bench->result.notes.n, 0);
}

/* A loader marks a step before anything was computed. */
TEST_ON (bench, the_first_step_is_the_one_that_compiles)
{
    put (bench, "xla-metrics",
         "[MetricsData; step=0]\nCounter: MarkStep\n  Value: 1\n\n" BLOCK ("1", "2", "1", "1")
             BLOCK ("2", "3", "1", "2"));
    parse (bench);
    assert_int_equal (counter (bench, "later_compilations"), 1);
}

/* Absence is no evidence: the file begins later, or the program has cleared what it counted before. */
TEST_ON (bench, without_the_first_step_nothing_is_known_of_later_ones)
{
    uint64_t value;
    put (bench, "xla-metrics", BLOCK ("3", "4", "1", "1") BLOCK ("4", "5", "1", "1"));
    parse (bench);
    assert_false (result_counter (&bench->result, "later_compilations", &value));
    put (bench, "xla-metrics", BLOCK ("0", "1", "3", "3") BLOCK ("1", "1", "1", "1"));
    parse (bench);
    assert_false (result_counter (&bench->result, "later_compilations", &value));
    put (bench, "xla-metrics", BLOCK ("0", "1", "1", "1") BLOCK ("1", "1", "1", "1") BLOCK ("2", "1", "1", "1"));
    parse (bench);
    assert_int_equal (bench->result.counters.n, 0);
    assert_true (is_noted (bench, "the program has cleared torch_xla's counters"));
    put (bench, "xla-metrics", BLOCK ("0", "1", "1", "9") BLOCK ("1", "2", "1", "9") BLOCK ("0", "3", "1", "9"));
    parse (bench); /* a second program */
    assert_int_equal (bench->result.counters.n, 0);
    put (bench, "xla-metrics", BLOCK ("0", "1", "1", "9") BLOCK ("1", "2", "1", "2") BLOCK ("2", "3", "1", "2"));
    parse (bench);
    assert_int_equal (bench->result.counters.n, 0);
    put (bench, "xla-metrics", BLOCK ("0", "1", "1", "1") BLOCK ("1", "2", "1", "1"));
    parse (bench);
    assert_true (result_counter (&bench->result, "reads", &value) && value == 0);
    put (bench, "xla-metrics",
         BLOCK ("0", "1", "1", "1") "[MetricsData; step=1]\nCounter: MarkStep\n  Value: 2\nCounter: "
                                    "aten::_local_scalar_dense\n  Value: 3\n\n");
    parse (bench);
    assert_int_equal (bench->result.counters.n, 0);
}

TEST_ON (bench, processes_of_one_host_are_added_up)
{
    put (bench, "xla-metrics.0", BLOCK ("0", "1", "1", "0"));
    put (bench, "xla-metrics.3", BLOCK ("0", "1", "2", "5"));
    put (bench, "xla-metrics.x", BLOCK ("0", "1", "9", "9"));
    parse (bench);
    assert_int_equal (counter (bench, "cache_hits"), 3);
    assert_int_equal (counter (bench, "cache_misses"), 5);
}

TEST_ON (bench, without_a_file_the_output_is_read)
{
    put (bench, "log", "starting\nCounter: MarkStep\n  Value: 5\n");
    parse (bench);
    assert_int_equal (counter (bench, "MarkStep"), 5);
    assert_int_equal (counter (bench, "compile_ms"), UINT64_MAX);
    assert_true (is_noted (bench, "is partial, so a counter that it does not show is unknown and not 0"));
    bench->result.dropped_bytes = 1; /* its disk was full: there was more behind it */
    parse (bench);
    assert_int_equal (bench->result.counters.n, 0);
    assert_true (is_noted (bench, "truncated"));
}

TEST_ON (bench, of_a_log_that_was_cut_the_whole_end_is_read)
{
    static const char before[] = "Counter: MarkStep\n  Value: 50\n"
                                 "[sliceup] 90 bytes are cut here: from byte 30, line 3, to byte 120, line 9\n";
    bench->result.dropped_bytes = 90;
    bench->log_from = sizeof before - 1;
    put (bench, "log", text_format (&bench->arena, "%sCounter: aten::add\n  Value: 3\nstep\n", before).ptr);
    parse (bench); /* half a report on either side: none */
    assert_int_equal (bench->result.counters.n, 0);
    put (bench, "log", text_format (&bench->arena, "%s  Value: 3\nstep\n%s", before, BLOCK ("1", "8", "2", "1")).ptr);
    parse (bench);
    assert_int_equal (counter (bench, "MarkStep"), 8);
    assert_false (is_noted (bench, "truncated") || is_noted (bench, "has cleared"));
}

TEST_ON (bench, a_block_that_breaks_off_is_noted)
{
    put (bench, "xla-metrics", BLOCK ("0", "1", "1", "1") "[MetricsData; step=1]\nCounter: MarkStep\n  Val");
    parse (bench);
    assert_int_equal (counter (bench, "steps"), UINT64_MAX); /* of the steps that follow nothing is known */
    assert_int_equal (counter (bench, "MarkStep"), 1);
    assert_true (is_noted (bench, "the report before it"));
}

TEST_ON (bench, of_a_large_file_the_end_is_read)
{
    enum { LINES = 100 * 1000 };
    FILE *file = fopen (path_in (bench, "xla-metrics").ptr, "we");
    assert_non_null (file);
    for (int i = 0; i < LINES; i++)
        assert_true (fprintf (file, "Counter: name%d\n  Value: 3\n", i % 100) > 0);
    assert_true (fputs ("\n" BLOCK ("7", "8", "2", "1"), file) >= 0);
    assert_int_equal (fclose (file), 0);
    parse (bench);
    assert_int_equal (counter (bench, "MarkStep"), 8);
    assert_int_equal (counter (bench, "name1"), UINT64_MAX);
}

TEST_ON (bench, nothing_but_a_regular_file_is_read)
{
    put (bench, "real", BLOCK ("0", "1", "1", "1"));
    assert_int_equal (symlink ("real", path_in (bench, "xla-metrics").ptr), 0);
    assert_int_equal (mkfifo (path_in (bench, "xla-metrics.0").ptr, 0600), 0);
    assert_int_equal (mkdir (path_in (bench, "xla-metrics.1").ptr, 0700), 0);
    put (bench, "xla-metrics.2", "");
    parse (bench);
    assert_int_equal (bench->result.counters.n, 0);
    assert_true (is_noted (bench, "no complete metrics report of torch_xla was found, so there are no counters"));
}

TEST_ON (bench, more_names_than_a_result_holds_are_noted)
{
    struct buf *text = test_buf (t);
    for (int i = 0; i < 100; i++)
        buf_printf (text, "Counter: name%d\n  Value: 1\n", i);
    buf_puts (text, "Counter: zzz\n  Value: 1\n");
    put (bench, "log", buf_c (text));
    parse (bench);
    assert_int_equal (bench->result.counters.n, RESULT_COUNTERS_MAX);
    assert_true (is_noted (bench, "37 names of the metrics report were left out"));
    struct buf why;
    buf_init (&why, ERR_TEXT_BYTES);
    bench->result.key = (struct attempt_key){ 0, PASS_ONCE, 1 };
    bench->result.ending = ENDING_EXITED;
    if (!record_check (&result_record, &bench->result, &why))
        fail_msg ("%s", buf_c (&why));
    buf_release (&why);
}

TEST_ON (bench, other_rungs_are_left_alone)
{
    struct environ_list list;
    put (bench, "xla-metrics", BLOCK ("0", "1", "1", "1"));
    environ_begin (&list, &bench->arena);
    counters_set_report_path (&bench->run, text_of (bench->scratch), &list);
    assert_string_equal (environ_get (&list, "XLA_METRICS_FILE").ptr, path_in (bench, "xla-metrics").ptr);
    bench->result.ending = ENDING_NOT_STARTED;
    parse (bench);
    assert_int_equal (bench->result.counters.n + bench->result.notes.n, 0);
    bench->result.ending = ENDING_EXITED;
    bench->run.rung.kind = PROGRAM_CANARY;
    parse (bench);
    assert_int_equal (bench->result.counters.n + bench->result.notes.n, 0);
    bench->run.rung = (struct rung){ .kind = PROGRAM_COMMAND };
    parse (bench);
    environ_begin (&list, &bench->arena);
    counters_set_report_path (&bench->run, text_of (bench->scratch), &list);
    assert_int_equal (bench->result.counters.n + bench->result.notes.n, 0);
    assert_int_equal (environ_get (&list, "XLA_METRICS_FILE").len, 0);
}
