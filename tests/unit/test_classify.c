/* alone: conf logs model base */
/* Made logs: what the form of an error says, and what outranks what. */
#include "cases.h"
#include "common/logs/candidate.h"
#include "common/logs/classify.h"
#include "common/logs/words.h"
#include "signature_lists.h"
#include "test.h"

static const struct signature known[] = {
    { .id = TEXT_LIT ("disk"), .text = TEXT_LIT ("the disk is gone"), .owner = OWNER_HOST },
    { .id = TEXT_LIT ("perhaps"), .text = TEXT_LIT ("a bad moon"), .owner = OWNER_DEVICE, .likely = true },
    { .id = TEXT_LIT ("passes"), .text = TEXT_LIT ("not just now"), .owner = OWNER_PLATFORM, .transient = true },
};
enum { KNOWN = sizeof known / sizeof known[0] };

static struct arena arena, of_plan;
static struct plan plan;
static struct signature_set *set; /* `known`, and the rules as they are shipped */

static int open_set (void **state)
{
    (void) state;
    signature_lists_load (&of_plan, &plan);
    struct signature *items = arena_array (&of_plan, KNOWN + plan.signatures.n, sizeof *items);
    uint32_t n = 0;
    while (n < KNOWN)
        items[n] = known[n], n++;
    for (uint32_t i = 0; i < plan.signatures.n; i++)
        if (plan.signatures.items[i].rule)
            items[n++] = plan.signatures.items[i];
    set = signature_set_build (items, n);
    return set ? 0 : -1;
}

static int close_set (void **state)
{
    (void) state;
    signature_set_free (set);
    arena_release (&arena);
    arena_release (&of_plan);
    return 0;
}

static struct cause_decision decide (struct text log)
{
    struct signature_scan_result seen;
    struct cause_decision of;
    classify_text (set, log, &arena, &seen);
    cause_decide (set, &seen, &of);
    return of;
}

static void decide_case (struct test *t, const struct test_case *of, struct buf *got)
{
    struct cause_decision decided = decide (case_text (of, "log"));
    (void) t;
    if (decided.owner == OWNER_NONE && decided.id.len == 0)
        buf_puts (got, "nothing");
    else
        buf_printf (got, "%.*s of %s", TEXT_ARG (decided.id), enum_name_of (&owner_names, decided.owner));
}

TEST (the_form_of_an_error_says_whose_it_is)
{
    cases_run ("classify", decide_case);
}

#define TRACE "Traceback (most recent call last):\n"
#define USER "  File \"/home/u/train.py\", line 3, in <module>\n    go()\n"

TEST (an_exception_that_was_handled_is_over)
{
    struct signature_scan_result seen;
    const char *log = TRACE USER "ValueError: bad batch 3\nstep 1\nstep 2\nstep 3\nstep 4\nstep 5\n";
    classify_text (set, text_of (log), &arena, &seen);
    for (uint32_t i = 0; i < seen.shown_n; i++)
        assert_has_not (seen.shown[i], "bad batch");
}

/* Every second place is looked at. */
TEST (a_word_is_found_wherever_it_stands_in_a_text)
{
    struct word_finder finder;
    char text[12];
    static const char *const words[] = { "oom", "Xid", "lost", "error" };
    word_finder_make (&finder, "oom|Xid|lost|error");
    for (uint32_t w = 0; w < 4; w++)
        for (uint32_t len = (uint32_t) strlen (words[w]), n = len; n <= sizeof text; n++)
            for (uint32_t at = 0; at + len <= n; at++) {
                memset (text, 'o', n);
                memcpy (text + at, words[w], len);
                for (uint32_t from = 0; from <= n; from++)
                    assert_int_equal (word_finder_next (&finder, (struct text){ text, n }, from), from <= at ? at : n);
            }
}

TEST (places_are_those_of_the_log)
{
    struct signature_scan_result seen;
    const char *log = "\x1b[31mred\x1b[0m\n 1/9\r 2/9\r 3/9\n" TRACE USER "ZeroDivisionError: x\n";
    classify_text (set, text_of (log), &arena, &seen);
    assert_int_equal (seen.sightings_n, 1);
    assert_int_equal (seen.sightings[0].line, 6);
    assert_true (memcmp (log + seen.sightings[0].offset, "ZeroDivisionError", 17) == 0);
}

TEST (one_sighting_decides_and_has_its_place)
{
    struct signature_scan_result seen;
    classify_text (set, TEXT_LIT ("begun\n" TRACE USER "ZeroDivisionError: division by zero\n"), &arena, &seen);
    assert_int_equal (seen.sightings_n, 1);
    assert_true (seen.sightings[0].decides && text_is (seen.sightings[0].text, "ZeroDivisionError: division by zero"));
    assert_int_equal (seen.sightings[0].line, 5);
}

TEST (a_host_can_only_name_rules_that_there_are)
{
    struct sighting odd[] = { { .signature = TEXT_LIT ("no-such-rule"), .text = TEXT_LIT ("x"), .decides = true } };
    struct signature_scan_result seen = { .sightings = odd, .sightings_n = 1 };
    struct cause_decision of;
    cause_decide (set, &seen, &of);
    assert_int_equal (of.weight, CAUSE_UNKNOWN);
    odd[0].signature = TEXT_LIT ("aftermath");
    cause_decide (set, &seen, &of);
    assert_int_equal (of.weight, CAUSE_UNKNOWN);
}

TEST (a_traceback_is_found_in_colours)
{
    struct text log = TEXT_LIT ("\x1b[31m" TRACE "\x1b[0m" USER "ZeroDivisionError: x\n");
    assert_text (decide (log).id, "program-type");
}

/* The frames of the exception that decides, `|` between them. */
static struct text frames_of (struct test *t, const char *log)
{
    struct signature_scan_result out;
    struct buf *all = test_buf (t);
    classify_text (set, text_of (log), &arena, &out);
    for (uint32_t i = 0; i < out.frames_n; i++)
        buf_printf (all, "%s%.*s", i ? "|" : "", TEXT_ARG (out.frames[i]));
    return buf_as_text (all);
}

TEST (the_frames_are_those_of_the_exception_that_decides)
{
    const char *two = "Traceback (most recent call last):\n"
                      "  File \"/w/a.py\", line 3, in outer\n    inner()\n"
                      "  File \"/w/b.py\", line 5, in inner\n    raise ValueError('no')\n"
                      "ValueError: shard 5 has no field 'label'\n"
                      "Exception ignored in: <function f>\nTraceback (most recent call last):\n"
                      "  File \"/w/c.py\", line 1, in f\nTypeError: late\n";
    assert_text (frames_of (t, two), "File \"/w/b.py\", line 5, in inner|File \"/w/a.py\", line 3, in outer");
    assert_text (frames_of (t, "[rank0]: Traceback (most recent call last):\n[rank1]: loading\n"
                               "[rank0]:   File \"/w/a.py\", line 3, in <module>\n[rank0]: KeyError: 'x'\n"),
                 "File \"/w/a.py\", line 3, in <module>");
    assert_text (frames_of (t, "bash: line 1: foo: command not found\n"), "");
    static const char crash[] =
        "step 3\nFatal Python error: Segmentation fault\n\n"
        "Thread 0x00007f01 (most recent call first):\n  File \"/w/reader.py\", line 9 in wait\n\n"
        "Current thread 0x00007f02 (most recent call first):\n"
        "  File \"/w/rows.py\", line 7 in decode\n  File \"/w/a.py\", line 4 in outer\n\n"
        "Extension modules: numpy.core._multiarray_umath (total: 13)\n";
    assert_text (frames_of (t, crash), "File \"/w/rows.py\", line 7 in decode|File \"/w/a.py\", line 4 in outer");
}

TEST (a_crash_that_does_not_decide_has_no_frames)
{
    assert_text (frames_of (t, "Fatal Python error: Segmentation fault\n\n"
                               "Current thread 0x00007f02 (most recent call first):\n  <no Python frame>\n\n"
                               "Thread 0x00007f01 (most recent call first):\n  File \"/w/idle.py\", line 9 in wait\n"),
                 ""); /* that of another thread says nothing */
    assert_text (frames_of (t, "Fatal Python error: Aborted\n\nCurrent thread 0x00007f02 (most recent call first):\n"
                               "  File \"/w/probe.py\", line 3 in probe\n\n"
                               "OSError: [Errno 28] No space left on device\n"),
                 "");
}

TEST (only_a_known_text_passes_by_itself)
{
    assert_true (decide (TEXT_LIT ("ERROR: not just now\n")).transient);
    assert_false (decide (TEXT_LIT ("ERROR: not just now\n" TRACE USER "ZeroDivisionError: x\n")).transient);
    assert_false (decide (TEXT_LIT ("W0604 12:45:24.926233 1 a.cc:1] not just now\n")).transient);
}

/* Anything may stand in a log: what is found stays within bounds. Sanitizers watch. */
TEST (nothing_in_a_log_breaks_the_reading)
{
    static const char *const pieces[] = { TRACE,
                                          USER,
                                          "\n",
                                          "\r",
                                          "\x1b[",
                                          "\x1b]0;",
                                          "[rank",
                                          "]: ",
                                          "Error: ",
                                          "3/9 [00:01, 2.0it/s]",
                                          "During handling of the above exception",
                                          "\xe2\x95\xad",
                                          "\xe2\x94\x82",
                                          "  File \"",
                                          "E0604 12:45:24",
                                          "2025-02-02T02:02:02",
                                          "[Errno ",
                                          "(Worker pid=",
                                          "Fatal Python error: ",
                                          "ValueError",
                                          "{\"level\":\"warn",
                                          "\"message\":\"",
                                          "\",\"exception\": \"",
                                          "\\",
                                          "\"}\n" };
    struct rng rng = rng_seed (20261122);
    struct buf *log = test_buf (t);
    for (uint32_t round = 0; round < 3000; round++) {
        struct signature_scan_result seen;
        buf_clear (log);
        for (uint64_t n = rng_below (&rng, 40); n > 0; n--) {
            if (rng_below (&rng, 4))
                buf_puts (log, pieces[rng_below (&rng, sizeof pieces / sizeof pieces[0])]);
            else
                buf_byte (log, (uint8_t) rng_below (&rng, 256));
        }
        classify_text (set, buf_as_text (log), &arena, &seen);
        assert_true (seen.sightings_n <= SIGHTINGS_MAX && seen.shown_n <= SHOWN_MAX);
        arena_reset (&arena);
    }
}

/* A part of a log without words of errors is not read for lines to show. */
TEST (parts_without_words_of_errors_are_passed_over)
{
    assert_false (shown_lines_may_be_in (TEXT_LIT ("step 7 loss 2.1\nI0604 12:45:24.926233 1 a.cc:1] begun\n")));
    assert_true (shown_lines_may_be_in (TEXT_LIT ("step 7\nTraceback (most recent call last):\n")));
    assert_true (shown_lines_may_be_in (TEXT_LIT ("step 7\nDATA_LOSS: x\n")));
}

static bool is_shown (const struct signature_scan_result *seen, const char *line)
{
    return text_is_among (text_of (line), seen->shown, seen->shown_n);
}

/* In parts of a MiB, each to the end of a line. */
TEST (errors_far_from_the_end_are_shown_whole)
{
    static const char cut[] = TRACE USER "pkg.CutOddError: this is the cause of it\n";
    struct buf *log = test_buf (t);
    for (uint32_t before = (1 << 20) - 130; before < (1 << 20) + 8; before += 23) {
        struct signature_scan_result seen;
        buf_clear (log);
        buf_puts (log, "step failed because of a bad thing\n");
        while (log->len < before)
            buf_puts (log, log->len % 2 ? "\n" : "x\n");
        buf_puts (log, cut);
        while (log->len < 3 << 20)
            buf_puts (log, "working on and on and on and on\n");
        classify_text (set, buf_as_text (log), &arena, &seen);
        if (!is_shown (&seen, "step failed because of a bad thing") ||
            !is_shown (&seen, "pkg.CutOddError: this is the cause of it") || seen.shown_n != 2)
            fail_msg ("%u: %u shown, %.*s", before, seen.shown_n, TEXT_ARG (seen.shown[seen.shown_n - 1]));
        arena_reset (&arena);
    }
}

TEST (the_end_of_a_long_log_is_read)
{
    struct buf *log = test_buf (t);
    while (log->len < 5 << 20)
        buf_puts (log, "working\n");
    uint32_t lines = log->len / 8;
    buf_puts (log, TRACE USER "ZeroDivisionError: x\n");
    struct signature_scan_result seen;
    classify_text (set, buf_as_text (log), &arena, &seen);
    assert_int_equal (seen.sightings_n, 1);
    assert_int_equal (seen.sightings[0].line, lines + 4);
    assert_true (memcmp (log->ptr + seen.sightings[0].offset, "ZeroDivisionError", 17) == 0);
}

/* A list of rules of one's own may lack it: the text that said so speaks for itself then. */
TEST (a_peer_that_nobody_names_is_still_one_without_the_rule_for_it)
{
    static const struct signature peer[] = {
        { .id = TEXT_LIT ("gone"), .text = TEXT_LIT ("connection was lost"), .owner = OWNER_PEER, .peer = true },
    };
    struct signature_set *own = signature_set_build (peer, 1);
    struct signature_scan_result seen;
    struct cause_decision decided;
    classify_text (own, TEXT_LIT ("step 3\nRuntimeError: the connection was lost\n"), &t->arena, &seen);
    cause_decide (own, &seen, &decided);
    assert_text (decided.id, "gone");
    assert_int_equal (decided.owner, OWNER_PEER);
    signature_set_free (own);
}

TEST_GROUP (open_set, close_set)
