/* links: logs model base */
/* The engine alone: what is found, where, in what order, and what is not. */
#include "common/base/rng.h"
#include "common/logs/classify.h"
#include "common/logs/log_line.h"
#include "common/logs/set.h"
#include "test.h"

#define ONE(text_)                                                                                                     \
    {                                                                                                                  \
        .items = (struct text[]){ { .ptr = text_, .len = sizeof text_ - 1 } }, .n = 1                                  \
    }

enum { ALPHA, BETA, GENERAL, GUARDED, PAIRED, PEER, NOISE, PASSES, LATE, SPACED, FORM, SIGNATURES };
static const struct signature signatures[SIGNATURES] = {
    [ALPHA] = { .id = TEXT_LIT ("alpha"),
                .text = TEXT_LIT ("the alpha broke"),
                .owner = OWNER_DEVICE,
                .next = TEXT_LIT ("a") },
    [BETA] = { .id = TEXT_LIT ("beta"),
               .text = TEXT_LIT ("beta is gone"),
               .owner = OWNER_HOST,
               .next = TEXT_LIT ("b") },
    [GENERAL] = { .id = TEXT_LIT ("general"),
                  .text = TEXT_LIT ("cannot start"),
                  .owner = OWNER_LAUNCH,
                  .next = TEXT_LIT ("g") },
    [GUARDED] = { .id = TEXT_LIT ("guarded"),
                  .text = TEXT_LIT ("it halted"),
                  .owner = OWNER_COMPILER,
                  .unless = ONE ("by hand") },
    [PAIRED] = { .id = TEXT_LIT ("paired"),
                 .text = TEXT_LIT ("after 6 tries"),
                 .owner = OWNER_PLATFORM,
                 .also = ONE ("metadata") },
    [PEER] = { .id = TEXT_LIT ("peer"), .text = TEXT_LIT ("another task died"), .owner = OWNER_PEER, .peer = true },
    [NOISE] = { .id = TEXT_LIT ("noise"),
                .text = TEXT_LIT ("could not set metrics"),
                .owner = OWNER_PLATFORM,
                .noise = true,
                .transient = true },
    [PASSES] = { .id = TEXT_LIT ("passes"),
                 .text = TEXT_LIT ("busy just now"),
                 .owner = OWNER_DEVICE,
                 .transient = true },
    [LATE] = { .id = TEXT_LIT ("late"),
               .text = TEXT_LIT ("rank 3 is late"),
               .owner = OWNER_PEER,
               .peer = true,
               .transient = true },
    [SPACED] = { .id = TEXT_LIT ("spaced"), .text = TEXT_LIT ("  wide  apart"), .owner = OWNER_HOST },
    [FORM] = { .id = TEXT_LIT ("form"),
               .rule = RULE_PRIOR,
               .types = ONE ("ZeroDivisionError"),
               .owner = OWNER_PROGRAM,
               .likely = true },
};

struct read {
    struct arena arena;
    struct signature_scan_result seen;
    struct cause_decision decision;
};

TEST_FIXTURE (struct read, TEST_NOTHING, TEST_ARENA)

static void read_pieces (struct read *read, struct text log, uint32_t piece)
{
    struct signature_set *set = signature_set_build (signatures, SIGNATURES);
    struct classify_run *scan = classify_begin (set);
    *read = (struct read){ 0 };
    for (uint32_t at = 0; at < log.len; at += piece)
        classify_bytes (scan, (struct text){ .ptr = log.ptr + at, .len = log.len - at < piece ? log.len - at : piece });
    classify_end (scan, &read->arena, &read->seen);
    cause_decide (set, &read->seen, &read->decision);
    signature_set_free (set);
}

static void read_log (struct read *read, const char *log)
{
    read_pieces (read, text_of (log), 1 << 20);
}

/* "alpha peer": the sightings in order. */
static void expect_seen (const char *log, const char *expected)
{
    struct read read;
    struct buf ids;
    buf_init (&ids, 4096);
    read_log (&read, log);
    for (uint32_t i = 0; i < read.seen.sightings_n; i++)
        buf_printf (&ids, "%s%.*s", i ? " " : "", TEXT_ARG (read.seen.sightings[i].signature));
    if (strcmp (buf_c (&ids), expected) != 0)
        fail_msg ("'%s': saw '%s', expected '%s'", log, buf_c (&ids), expected);
    buf_release (&ids);
    arena_release (&read.arena);
}

static void expect_decided (const char *log, const char *id, bool transient)
{
    struct read read;
    read_log (&read, log);
    struct text got = read.decision.id.len ? read.decision.id : TEXT_LIT ("-");
    if (!text_is (got, id) || read.decision.transient != transient)
        fail_msg ("'%s': %.*s%s, expected %s", log, TEXT_ARG (got), read.decision.transient ? " (passes)" : "", id);
    arena_release (&read.arena);
}

TEST (texts_are_found_through_what_terminals_and_wraps_add)
{
    expect_seen ("x the alpha broke y", "alpha");
    expect_seen ("the\nalpha  \r\n\tbroke", "alpha");
    expect_seen ("\x1b[1;31mthe al\x1b[0mpha\x1b]0;title\x07 broke\x1b[K", "alpha");
    expect_seen ("10%\r20%\rthe alpha broke\r30%", "alpha");
    expect_seen ("the alphabroke", "");
    expect_seen ("The alpha broke", "");
    expect_seen ("the the alpha broke", "alpha");
    expect_seen ("so wide apart", "spaced");
    expect_seen ("so wide   apart", "spaced");
    expect_seen ("\x1b[the alpha broke", "");
    expect_seen ("\x1b", "");
    expect_seen ("", "");
}

TEST_ON (read, sightings_stand_in_the_order_of_the_log_with_their_lines)
{
    read_log (read, "one\ntwo\n  \x1b[31mbeta is gone\x1b[0m here\r\nthe alpha broke\nbeta is gone again\n");
    assert_int_equal (read->seen.sightings_n, 2);
    const struct sighting *first = &read->seen.sightings[0], *second = &read->seen.sightings[1];
    assert_true (text_is (first->signature, "beta") && text_is (first->text, "beta is gone here"));
    assert_int_equal (first->line, 3);
    assert_int_equal (first->offset, 8);
    assert_text (second->signature, "alpha");
    assert_int_equal (second->line, 4);
    assert_int_equal (read->seen.shown_n, 0);
}

TEST_ON (read, a_long_line_is_shown_around_the_text)
{
    struct buf *log = test_buf (t);
    for (int i = 0; i < 300; i++)
        buf_printf (log, "filler%d ", i);
    buf_puts (log, "the alpha broke");
    for (int i = 0; i < 300; i++)
        buf_printf (log, " tail%d", i);
    read_pieces (read, buf_as_text (log), 7);
    assert_int_equal (read->seen.sightings_n, 1);
    assert_true (read->seen.sightings[0].text.len <= SHOWN_LINE_BYTES);
    assert_has (read->seen.sightings[0].text, "the alpha broke tail0");
}

TEST (what_a_line_announces_is_shown_with_it)
{
    struct read read;
    read_log (&read, "another task died, names:\n/job:w/task:3\n/job:w/task:5\nnothing else\n");
    assert_text (read.seen.sightings[0].text, "another task died, names: /job:w/task:3 /job:w/task:5");
    arena_release (&read.arena);
    read_log (&read, "another task died:\n0\n2\n\nRPC\n");
    assert_text (read.seen.sightings[0].text, "another task died: 0 2");
    arena_release (&read.arena);
}

TEST (conditions_hold_near_the_text_alone)
{
    char far[8192];
    expect_seen ("it halted", "guarded");
    expect_seen ("it halted\nby hand", "");
    expect_seen ("by hand\nit halted", "");
    expect_seen ("after 6 tries", "");
    expect_seen ("metadata\nafter 6 tries", "paired");
    expect_seen ("after 6 tries of metadata", "paired");
    snprintf (far, sizeof far, "it halted%4000sby hand%4000s", "", "");
    expect_seen (far, "guarded");
    snprintf (far, sizeof far, "metadata%4000safter 6 tries%100s", "", "");
    expect_seen (far, "");
    snprintf (far, sizeof far, "it halted by hand%4000sit halted", "");
    expect_seen (far, "guarded");
}

TEST (pieces_of_any_size_give_the_same)
{
    struct buf *log = test_buf (t);
    struct rng rng = rng_seed (7);
    struct read whole, pieces;
    uint32_t at;
    for (int i = 0; i < 6000; i++)
        buf_printf (log, "%s\x1b[3%dm line %d\r\n",
                    i == 3000   ? "it halted"
                    : i == 5000 ? "beta\nis gone"
                                : "",
                    i % 8, i);
    read_log (&whole, buf_c (log));
    assert_int_equal (whole.seen.sightings_n, 2);
    assert_int_equal (whole.seen.sightings[0].line, 3001);
    assert_int_equal (whole.seen.sightings[1].line, 5001);
    assert_true (text_find (buf_as_text (log), TEXT_LIT ("beta\n"), &at));
    assert_int_equal (whole.seen.sightings[1].offset, at);
    for (uint32_t round = 0; round < 40; round++) {
        read_pieces (&pieces, buf_as_text (log), 1 + (uint32_t) rng_below (&rng, round % 2 ? 90000 : 97));
        assert_int_equal (pieces.seen.sightings_n, whole.seen.sightings_n);
        for (uint32_t i = 0; i < whole.seen.sightings_n; i++)
            assert_true (record_equal (&sighting_record, &pieces.seen.sightings[i], &whole.seen.sightings[i]));
        arena_release (&pieces.arena);
    }
    assert_int_equal (whole.seen.sightings[0].line, 3001);
    arena_release (&whole.arena);
}

TEST (later_text_never_outranks_an_earlier_cause)
{
    expect_decided ("beta is gone\nthe alpha broke", "beta", false);
    expect_decided ("another task died\nbeta is gone", "beta", false);
    expect_decided ("could not set metrics\nanother task died\nbeta is gone", "beta", false);
    expect_decided ("could not set metrics\nanother task died", "peer", false);
    expect_decided ("could not set metrics", "noise", false);
    expect_decided ("nothing known", "-", false);
}

TEST (on_one_line_the_order_of_the_lists_decides)
{
    expect_decided ("cannot start: beta is gone", "beta", false);
    expect_decided ("cannot start:\nbeta is gone", "beta", false); /* a host's own error is no consequence */
}

TEST (transient_needs_that_nothing_speaks_against_it)
{
    expect_decided ("busy just now", "passes", true);
    expect_decided ("ValueError: busy just now", "passes", true);
    expect_decided ("busy just now\nanother task died", "passes", true);
    expect_decided ("busy just now\nsrun: error: task 3: Exited with exit code 1", "passes", true);
    expect_decided ("busy just now\nbeta is gone", "passes", false);
    expect_decided ("busy just now\nValueError: a tensor has no shape", "passes", false);
    expect_decided ("busy just now\nTraceback (most recent call last):\n  File \"x\"\npkg.Odd: why\n", "passes", false);
    expect_decided ("busy just now\nTraceback (most recent call last):\n  File \"x\"\n", "passes", false);
}

TEST (a_warning_is_not_what_a_program_ended_of)
{
    expect_decided ("W0604 12:45:24.926233 1 a.cc:1] busy just now, again in 2 s", "-", false);
    expect_decided ("E0604 12:45:24.926233 1 a.cc:1] busy just now", "passes", true);
}

/* After the last time that it said so: as often as it is busy, it may have ended of that. */
TEST_ON (read, who_goes_on_for_long_shows_how_it_ended)
{
    struct buf *log = test_buf (t);
    buf_puts (log, "busy just now\nstep failed, going on\n");
    for (int i = 0; i < 100; i++)
        buf_printf (log, "step %d\n", i);
    buf_puts (log, "giving up\n");
    read_log (read, buf_c (log));
    assert_int_equal (read->decision.id.len, 0); /* the steps after it say that it passed */
    assert_int_equal (read->seen.shown_n, 3);    /* the step that failed is over as well */
    assert_true (text_is (read->seen.shown[0], "step 98") && text_is (read->seen.shown[2], "giving up"));
    buf_puts (log, "busy just now\n");
    expect_decided (buf_c (log), "passes", true);
    buf_clear (log);
    buf_puts (log, "could not set metrics\n");
    expect_decided (buf_c (log), "noise", false);
    for (int i = 0; i < 100; i++)
        buf_printf (log, "step %d\n", i);
    expect_decided (buf_c (log), "-", false);
    buf_puts (log, "another task died\n");
    expect_decided (buf_c (log), "peer", false);
}

/* What follows from a known end is no failure of its own; what is shown already is not shown again. */
TEST_ON (read, the_end_adds_nothing_that_is_told)
{
    struct buf *log = test_buf (t);
    buf_puts (log, "rank 3 is late\n");
    for (int i = 0; i < 100; i++)
        buf_printf (log, "step %d\n", i);
    buf_puts (log, "INTERNAL: so it ends\n");
    expect_decided (buf_c (log), "late", false);
    buf_clear (log);
    buf_puts (log, "busy just now\n");
    for (int i = 0; i < 100; i++)
        buf_printf (log, "step %d\n", i);
    buf_puts (log, "step failed, going on\n");
    read_log (read, buf_c (log));
    assert_int_equal (read->seen.shown_n, 3);
    assert_true (text_is (read->seen.shown[0], "step failed, going on") && text_is (read->seen.shown[2], "step 99"));
}

TEST (an_exception_outranks_peers_and_noise)
{
    expect_decided ("ZeroDivisionError: division by zero\nanother task died", "form", false);
    expect_decided ("another task died\nZeroDivisionError: division by zero", "form", false);
    expect_decided ("could not set metrics\nZeroDivisionError: division by zero", "form", false);
}

TEST (unknown_shows_the_lines_that_look_like_errors)
{
    struct read read;
    read_log (
        &read,
        "step 1\nstep failed, going on\nTraceback (most recent call last):\n  File \"x.py\", line 1\n    raise Odd\n"
        "pkg.Odd: \x1b[31mno shape\x1b[0m\nI0604 12:45:24.926233 1 a.cc:1] Error is a word\nbye\n");
    assert_int_equal (read.decision.weight, CAUSE_UNKNOWN);
    assert_int_equal (read.seen.shown_n, 2);
    assert_text (read.seen.shown[0], "step failed, going on");
    assert_text (read.seen.shown[1], "pkg.Odd: no shape");
    arena_release (&read.arena);
    read_log (&read, "one\ntwo\nthree\n\nfour\n");
    assert_int_equal (read.seen.shown_n, 3);
    assert_true (text_is (read.seen.shown[0], "two") && text_is (read.seen.shown[2], "four"));
    arena_release (&read.arena);
}

TEST_ON (read, graver_lines_push_out_others)
{
    struct buf *log = test_buf (t);
    for (int i = 0; i < 40; i++)
        buf_printf (log, "thing %d failed\n", i);
    buf_puts (log, "F0604 12:45:24.926233 1 a.cc:1] the end\n");
    read_log (read, buf_c (log));
    assert_int_equal (read->seen.shown_n, SHOWN_MAX);
    assert_text (read->seen.shown[0], "thing 0 failed");
    assert_has (read->seen.shown[SHOWN_MAX - 1], "the end");
}

TEST (lines_are_graded_by_level_and_words)
{
    static const struct {
        const char *line;
        enum log_line_grade grade;
    } lines[] = {
        { "I0604 12:45:24.926233   62136 tpu_hal.cc:214] INTERNAL: no", LINE_HARMLESS },
        { "W torch_xla/csrc/client.cc:680] INTERNAL: no", LINE_HARMLESS },
        { "WARNING:2025-01-01 10:00:00,000:x:1: failed", LINE_HARMLESS },
        { "/x.py:1: UserWarning: Error reading", LINE_HARMLESS },
        { "2025-01-01 10:00:00.000000: F external/xla/a.cc:1] gone", LINE_FATAL },
        { "[rank 3] ValueError: x", LINE_FATAL },
        { "AssertionError", LINE_FATAL },
        { "INTERNAL: x", LINE_FATAL },
        { "srun: error: task 3", LINE_ERROR },
        { "E0604 12:45:24.926233 1 a.cc:1] x", LINE_ERROR },
        { "error_handler registered", LINE_ERROR },
        { "loss 3.1", LINE_PLAIN },
        { "", LINE_PLAIN },
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (log_line_grade (text_of (lines[i].line)) != lines[i].grade)
            fail_msg ("%s: %d", lines[i].line, log_line_grade (text_of (lines[i].line)));
}

/* Many signatures, all sighted: the first causes stay, and some of what is said of peers. */
TEST (more_than_fit_leave_the_first_causes_and_some_peers)
{
    enum { CAUSES = 30, PEERS = 6 };
    struct signature many[CAUSES + PEERS];
    struct signature_scan_result seen;
    struct buf *log = test_buf (t);
    for (uint32_t i = 0; i < CAUSES + PEERS; i++) {
        many[i] = (struct signature){ .id = text_format (&t->arena, "s%u", i),
                                      .text = text_format (&t->arena, "broke%u.", i),
                                      .owner = OWNER_HOST,
                                      .peer = i >= CAUSES };
        buf_printf (log, "broke%u.\n", i);
    }
    struct signature_set *set = signature_set_build (many, CAUSES + PEERS);
    classify_text (set, buf_as_text (log), &t->arena, &seen);
    assert_int_equal (seen.sightings_n, SIGHTINGS_MAX);
    assert_true (text_is (seen.sightings[0].signature, "s0") && text_is (seen.sightings[11].signature, "s11"));
    assert_true (text_is (seen.sightings[12].signature, "s30") && text_is (seen.sightings[15].signature, "s33"));
    signature_set_free (set);
}

TEST (what_is_found_is_within_the_bounds_of_a_result)
{
    struct rng rng = rng_seed (3);
    struct buf *log = test_buf (t);
    for (uint32_t round = 0; round < 60; round++) {
        struct read read;
        buf_clear (log);
        for (uint32_t i = 0; i < 3000; i++) {
            static const char *const parts[] = {
                "the alpha broke", "Error", "\x1b[", "Traceback (most recent call last)", "\n", "\r"
            };
            buf_byte (log, (uint8_t) rng_next (&rng));
            if (rng_below (&rng, 9) == 0)
                buf_puts (log, parts[rng_below (&rng, 6)]);
        }
        read_pieces (&read, buf_as_text (log), 1000);
        struct result result = { .sightings = { read.seen.sightings, read.seen.sightings_n },
                                 .shown = { read.seen.shown, read.seen.shown_n } };
        assert_true (record_check (&result_record, &result, NULL));
        arena_release (&read.arena);
    }
}

TEST (a_set_that_is_too_large_is_refused)
{
    static char text[256];
    struct signature many[SIGNATURES_MAX + 1] = { 0 };
    memset (text, 'x', sizeof text);
    for (uint32_t i = 0; i <= SIGNATURES_MAX; i++)
        many[i].text = (struct text){ .ptr = text, .len = 10 };
    assert_null (signature_set_build (many, SIGNATURES_MAX + 1));
    struct signature_set *set = signature_set_build (many, SIGNATURES_MAX);
    assert_non_null (set);
    signature_set_free (set);
    uint32_t full = SIGNATURE_SET_TEXT_BYTES / sizeof text;
    for (uint32_t i = 0; i <= SIGNATURES_MAX; i++)
        many[i].text.len = sizeof text + 0;
    set = signature_set_build (many, full);
    assert_non_null (set); /* exactly SIGNATURE_SET_TEXT_BYTES */
    signature_set_free (set);
    many[0].also.items = &many[1].text;
    many[0].also.n = 1;
    assert_null (signature_set_build (many, full));
}

/* Every occurrence that a plain search finds, for needles over two letters that overlap in every way. */
TEST (the_automaton_finds_what_a_plain_search_finds)
{
    struct rng rng = rng_seed (11);
    for (uint32_t round = 0; round < 200; round++) {
        enum { NEEDLES = 12, HAY = 200 };
        char letters[NEEDLES][8], hay[HAY];
        struct text needles[NEEDLES];
        struct automaton automaton;
        for (uint32_t i = 0; i < NEEDLES; i++) {
            needles[i] = (struct text){ .ptr = letters[i], .len = 1 + (uint32_t) rng_below (&rng, 7) };
            for (uint32_t k = 0; k < needles[i].len; k++)
                letters[i][k] = (char) ('a' + rng_below (&rng, 2));
        }
        automaton_build (&automaton, needles, NEEDLES);
        uint32_t state_now = 0;
        for (uint32_t at = 0; at < HAY; at++) {
            bool found[NEEDLES] = { false };
            hay[at] = (char) ('a' + rng_below (&rng, 2));
            state_now = automaton.next[(state_now & ~AUTOMATON_EVENT) + automaton.letter_of[(unsigned char) hay[at]]];
            if (state_now & AUTOMATON_EVENT)
                for (uint32_t s = (state_now & ~AUTOMATON_EVENT) / automaton.letters; s; s = automaton.shorter[s])
                    for (int32_t i = automaton.own[s]; i != NEEDLE_NONE; i = automaton.same[i])
                        found[i] = true;
            for (uint32_t i = 0; i < NEEDLES; i++) {
                bool there = at + 1 >= needles[i].len &&
                             memcmp (hay + at + 1 - needles[i].len, needles[i].ptr, needles[i].len) == 0;
                assert_int_equal (found[i], there);
            }
        }
        automaton_release (&automaton);
    }
}
