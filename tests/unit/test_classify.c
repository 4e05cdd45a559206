/* alone: logs model base */
/* Made logs: what the form of an error says, and what outranks what. */
#include "common/base/buf.h"
#include "common/base/rng.h"
#include "common/logs/classify.h"
#include "common/logs/decide.h"
#include "common/logs/shown_lines.h"
#include "common/logs/words.h"
#include "test.h"

static const struct signature known[] = {
    { .id = TEXT_LIT ("disk"), .text = TEXT_LIT ("the disk is gone"), .owner = OWNER_HOST },
    { .id = TEXT_LIT ("perhaps"), .text = TEXT_LIT ("a bad moon"), .owner = OWNER_DEVICE, .likely = true },
    { .id = TEXT_LIT ("passes"), .text = TEXT_LIT ("not just now"), .owner = OWNER_PLATFORM, .transient = true },
};
enum { KNOWN = sizeof known / sizeof known[0] };

static struct arena arena;
static struct signature_set *set;

static int open_set (void **state)
{
    (void) state;
    set = signature_set_build (known, KNOWN);
    return set ? 0 : -1;
}

static int close_set (void **state)
{
    (void) state;
    signature_set_free (set);
    arena_release (&arena);
    return 0;
}

static struct cause_decision decide (struct text log)
{
    struct signature_scan_result seen;
    struct cause_decision of;
    classify_text (set, log, &arena, &seen);
    cause_decide (known, KNOWN, &seen, &of);
    return of;
}

struct expected {
    const char *log, *id;
    enum owner owner;
};

static void expect (const struct expected *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct cause_decision of = decide (text_of (items[i].log));
        if (!text_is (of.id, items[i].id) || of.owner != items[i].owner)
            fail_msg ("'%s': %.*s of %s, expected %s of %s", items[i].log, TEXT_ARG (of.id),
                      enum_name_of (&owner_names, of.owner), items[i].id, enum_name_of (&owner_names, items[i].owner));
        arena_reset (&arena);
    }
}
#define EXPECT(...)                                                                                                    \
    do {                                                                                                               \
        static const struct expected items[] = { __VA_ARGS__ };                                                        \
        expect (items, sizeof items / sizeof items[0]);                                                                \
    } while (0)

#define TRACE "Traceback (most recent call last):\n"
#define USER "  File \"/home/u/train.py\", line 3, in <module>\n    go()\n"
#define PACKAGE(path) "  File \"/env/lib/python3.11/site-packages/" path "\", line 7, in f\n    raise it\n"

TEST (types_and_packages_speak_for_owners)
{
    EXPECT (
        { TRACE USER "ZeroDivisionError: division by zero\n", "program-type", OWNER_PROGRAM },
        { TRACE USER PACKAGE ("pip/x.py") "pip.Odd: x\n", "installer", OWNER_BUNDLE },
        { TRACE USER PACKAGE ("torch/_inductor/a.py") "KeyError: 'x'\n", "compile-frame", OWNER_COMPILER },
        { TRACE USER PACKAGE ("jax/_src/pallas/a.py") "ValueError: x\n", "kernel-trace", OWNER_PROGRAM },
        { TRACE USER PACKAGE ("flax/a.py") "TypeError: f() got an unexpected keyword argument 'x'\n", "keyword-unknown",
          OWNER_BUNDLE },
        { TRACE USER "RuntimeError: INTERNAL: odd\n", "", OWNER_NONE },
        { "  File \"/env/site-packages/x.py\", line 3\n    a b\n      ^\nSyntaxError: invalid syntax\n",
          "syntax-installed", OWNER_BUNDLE },
        { "  File \"train.py\", line 3\n    a b\n      ^\nSyntaxError: invalid syntax\n", "syntax", OWNER_PROGRAM });
}

/* A library raises such errors to say what the launch, the host or the package set did. */
TEST (a_library_s_own_check_speaks_for_nobody)
{
    EXPECT ({ TRACE USER PACKAGE ("flax/core.py") "ValueError: something is odd\n", "", OWNER_NONE },
            { TRACE USER PACKAGE ("flax/core.py") "AssertionError: no\n", "", OWNER_NONE },
            { TRACE USER PACKAGE ("flax/core.py") "RuntimeError: no\n", "", OWNER_NONE },
            { TRACE USER "ValueError: something is odd\n", "program-type", OWNER_PROGRAM },
            { TRACE USER "AssertionError: this needs CUDA\n", "", OWNER_NONE },
            { TRACE USER "TypeError: f() got an unexpected keyword argument 'x'\n", "", OWNER_NONE },
            { TRACE USER PACKAGE ("haiku/module.py") "AttributeError: 'Config' object has no attribute 'x'\n",
              "attribute-library", OWNER_BUNDLE },
            { TRACE USER PACKAGE ("haiku/module.py") "AttributeError: 'dict' object has no attribute 'x'\n", "",
              OWNER_NONE },
            { "INVALID_ARGUMENT: no\n", "", OWNER_NONE },
            { "ERROR: INVALID_ARGUMENT: operand 3 is no array\n", "status-argument", OWNER_PROGRAM },
            { "OSError: Connection reset by peer\n", "peer-unnamed", OWNER_UNKNOWN });
}

/* The form has the name of what went wrong: the first text is jax's own. */
TEST (a_form_of_the_program_is_named_for_what_it_is)
{
    EXPECT (
        { TRACE USER PACKAGE (
              "jax/_src/array.py") "ValueError: Expected shard shape (4,) doesn't match the single device array shape "
                                   "(5,). Shape of Array is float32[8] with sharding NamedSharding(mesh=Mesh('data': "
                                   "2, axis_types=(Auto,)), spec=P('data',), memory_kind=device)\n",
          "shapes", OWNER_PROGRAM },
        { TRACE USER "ValueError: Received incompatible devices for jitted computation\n", "arrays", OWNER_PROGRAM },
        { TRACE USER PACKAGE ("jax/_src/a.py") "ValueError: the sharding of x is odd\n", "arrays", OWNER_PROGRAM },
        { TRACE USER "UnexpectedTracerError: Encountered an unexpected tracer.\n", "tracing", OWNER_PROGRAM },
        { TRACE USER "TypeError: 'NoneType' object is not callable\n", "python", OWNER_PROGRAM },
        { TRACE USER "RuntimeError: one of the variables needed for gradient computation has been modified\n",
          "autograd", OWNER_PROGRAM });
}

TEST (an_errno_is_about_an_object)
{
    EXPECT (
        { TRACE USER "FileNotFoundError: [Errno 2] No such file or directory: 'data.bin'\n", "path-missing",
          OWNER_LAUNCH },
        { TRACE USER "FileNotFoundError: [Errno 2] No such file or directory: '/c/jit_cache/a'\n", "compile-cache",
          OWNER_CACHE },
        { TRACE USER "PermissionError: [Errno 13] Permission denied: '/dev/accel0'\n", "device-denied", OWNER_HOST },
        { TRACE USER "PermissionError: [Errno 13] Permission denied: '/out'\n", "path-denied", OWNER_HOST },
        { TRACE USER "RuntimeError: open(/dev/accel0): Device or resource busy\n", "busy", OWNER_DEVICE },
        { TRACE USER "ssl.SSLError: CERTIFICATE_VERIFY_FAILED: certificate is not yet valid\n", "clock", OWNER_HOST },
        { TRACE USER "OSError: [Errno 28] No space left on device\n", "disk-space", OWNER_HOST },
        { TRACE USER "OSError: [Errno 28] No space left on device: '/dev/shm/x'\n", "shm-full", OWNER_LAUNCH },
        { TRACE USER "ConnectionRefusedError: [Errno 111] Connection refused\n", "peer-unnamed", OWNER_UNKNOWN });
}

TEST (of_a_chain_the_cause_counts)
{
    EXPECT ({ TRACE USER "ModuleNotFoundError: No module named 'x'\n\nThe above exception was the direct cause of the "
                         "following exception:\n\n" TRACE USER "RuntimeError: cannot go on\n",
              "module-missing", OWNER_BUNDLE },
            { TRACE USER
              "KeyError: 'fast'\n\nDuring handling of the above exception, another exception occurred:\n\n" TRACE USER
              "ZeroDivisionError: x\n",
              "program-type", OWNER_PROGRAM },
            { TRACE USER
              "KeyError: 'fast'\n\nDuring handling of the above exception, another exception occurred:\n\n" TRACE USER
              "yaml.scanner.ScannerError: x\n",
              "settings-read", OWNER_LAUNCH },
            { "Exception ignored in: <function f>\n" TRACE USER "ZeroDivisionError: x\n", "", OWNER_NONE },
            { TRACE USER
              "jax.errors.SimplifiedTraceback: For simplicity, JAX has removed its internal frames\n\nThe above "
              "exception was the direct cause of the following exception:\n\n" TRACE USER
              "jaxlib.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8 bytes.\n",
              "device-memory", OWNER_PROGRAM });
}

#define POD "trainer-0 main 2025-02-02T02:02:02.123Z stderr F "

TEST (tracebacks_stand_behind_prefixes)
{
    EXPECT ({ "[Rank 3] ZeroDivisionError: x\n", "program-type", OWNER_PROGRAM },
            { " 3: step\n12: step\n 3: ZeroDivisionError: x\n", "program-type", OWNER_PROGRAM },
            { POD "ZeroDivisionError: x\n", "program-type", OWNER_PROGRAM });
    EXPECT ({ "[rank1]: " TRACE
              "[rank1]:   File \"train.py\", line 3, in f\n[rank1]:     go()\n[rank1]: ZeroDivisionError: x\n",
              "program-type", OWNER_PROGRAM },
            { "ERROR 07-07 18:02:56 [core.py:519] " TRACE
              "ERROR 07-07 18:02:56 [core.py:519]   File \"train.py\", line 3, in f\n"
              "ERROR 07-07 18:02:56 [core.py:519] ZeroDivisionError: x\n",
              "program-type", OWNER_PROGRAM },
            { "\x1b[31m" TRACE "\x1b[0m" USER "ZeroDivisionError: x\n", "program-type", OWNER_PROGRAM },
            { "0: a\n1: " TRACE "0: b\n1:   File \"train.py\", line 3, in f\n0: c\n1: ZeroDivisionError: x\n0: d\n",
              "program-type", OWNER_PROGRAM },
            { "---------\nZeroDivisionError                 " TRACE
              "Cell In[3], line 1\n----> 1 go()\n\nZeroDivisionError: x\n",
              "program-type", OWNER_PROGRAM },
            { "\xe2\x95\xad\xe2\x94\x80 " TRACE "\xe2\x94\x82 /home/u/train.py:3 in f "
              "\xe2\x94\x82\n\xe2\x95\xb0\xe2\x94\x80\xe2\x94\x80\nZeroDivisionError: x\n",
              "program-type", OWNER_PROGRAM });
}

TEST (what_says_that_it_is_harmless_is_no_cause)
{
    EXPECT (
        { "INFO:2025-01-01 10:00:00,000:jax:1: Unable to initialize backend 'rocm': No module named 'rocm'\ndone\n", "",
          OWNER_NONE },
        { "I0604 12:45:24.926233 1 a.cc:1] the disk is gone\n", "disk", OWNER_HOST },
        { "I0604 12:45:24.926233 1 a.cc:1] the disk is gone\nERROR: No module named 'x'\n", "module-missing",
          OWNER_BUNDLE },
        { "I0604 12:45:24.926233 1 a.cc:1] the disk is gone\na\nb\nc\nd\ne\nf\ng\nh\ni\n", "", OWNER_NONE },
        { "I0604 12:45:24.926233 1 a.py:1] Unable to initialize backend 'tpu': the disk is gone\n", "", OWNER_NONE },
        { "W0604 12:45:24.926233 1 a.cc:1] the disk is gone\n", "disk", OWNER_HOST },
        { "W0604 12:45:24.926233 1 a.cc:1] the disk is gone\na\nb\nc\nd\ne\nf\ng\nh\ni\n", "", OWNER_NONE },
        { "E0604 12:45:24.926233 1 a.cc:1] the disk is gone\n" TRACE USER "ZeroDivisionError: x\n", "disk",
          OWNER_HOST },
        { "n1:1:1 [0] NCCL INFO the disk is gone\n", "", OWNER_NONE });
}

TEST (trouble_that_is_followed_by_steps_is_over)
{
    EXPECT ({ "ERROR: the disk is gone\nstep 1 loss 2\nstep 2 loss 1\nKilled\n", "", OWNER_NONE },
            { "step 1\nstep 2\nERROR: the disk is gone\n", "disk", OWNER_HOST },
            { "ERROR: the disk is gone\nstep 7\nstep 7\n", "disk", OWNER_HOST },
            { "ERROR: the disk is gone\n 3/9 [00:01, 2.0it/s]\n 4/9 [00:02, 2.0it/s]\n", "", OWNER_NONE });
}

TEST (an_exception_that_was_handled_is_over)
{
    struct signature_scan_result seen;
    const char *log = TRACE USER "ValueError: bad batch 3\nstep 1\nstep 2\nstep 3\nstep 4\nstep 5\n";
    EXPECT ({ TRACE USER "ValueError: bad batch 3\nstep 1\nstep 2\nstep 3\nstep 4\nstep 5\n", "", OWNER_NONE },
            { TRACE USER "ValueError: bad batch 3\nstep 7\nstep 8\n", "program-type", OWNER_PROGRAM });
    classify_text (set, text_of (log), &arena, &seen);
    for (uint32_t i = 0; i < seen.shown_n; i++)
        assert_has_not (seen.shown[i], "bad batch");
}

TEST (words_begin_where_words_begin)
{
    EXPECT ({ TRACE USER "KeyError: 'taxid'\n", "program-type", OWNER_PROGRAM },
            { "kernel: NVRM: Xid (PCI:0000:0b:00): 79, error\n", "device-broken", OWNER_DEVICE },
            { TRACE USER "KeyError: 'thermal_conductivity'\n", "program-type", OWNER_PROGRAM });
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

TEST (speakers_do_not_interrupt_one_another)
{
    EXPECT ({ "[rank0]: " TRACE "[rank1]: " TRACE
              "[rank0]:   File \"a.py\", line 3, in f\n[rank1]:   File \"a.py\", line 3, in f\n"
              "[rank1]: IndexError: x\n[rank0]: RuntimeError: Connection closed by peer [10.0.0.2]:8476\n",
              "program-type", OWNER_PROGRAM });
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

TEST (known_outranks_form_and_form_outranks_echo)
{
    EXPECT (
        { TRACE USER "RuntimeError: the disk is gone, No module named 'x'\n", "disk", OWNER_HOST },
        { TRACE USER "RuntimeError: a bad moon\n", "perhaps", OWNER_DEVICE },
        { "[Errno 111] Connection refused by 10.0.0.2\n" TRACE USER "ZeroDivisionError: x\n", "program-type",
          OWNER_PROGRAM },
        { "RuntimeError: Connection closed by peer [10.0.0.2]:11178\n", "peer-gone", OWNER_PEER },
        { "RuntimeError: Socket closed\n", "peer-unnamed", OWNER_UNKNOWN },
        { TRACE USER "subprocess.CalledProcessError: Command 'x' returned non-zero exit status 1.\n", "", OWNER_NONE },
        { "Killed\n", "", OWNER_NONE }, { "Segmentation fault (core dumped)\n", "", OWNER_NONE });
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
    cause_decide (known, KNOWN, &seen, &of);
    assert_int_equal (of.weight, CAUSE_UNKNOWN);
    odd[0].signature = TEXT_LIT ("aftermath");
    cause_decide (known, KNOWN, &seen, &of);
    assert_int_equal (of.weight, CAUSE_UNKNOWN);
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
                                          "ValueError" };
    struct rng rng = rng_seed (20261122);
    struct buf log;
    buf_init (&log, 1 << 20);
    for (uint32_t round = 0; round < 3000; round++) {
        struct signature_scan_result seen;
        buf_clear (&log);
        for (uint64_t n = rng_below (&rng, 40); n > 0; n--) {
            if (rng_below (&rng, 4))
                buf_puts (&log, pieces[rng_below (&rng, sizeof pieces / sizeof pieces[0])]);
            else
                buf_byte (&log, (uint8_t) rng_below (&rng, 256));
        }
        classify_text (set, buf_as_text (&log), &arena, &seen);
        assert_true (seen.sightings_n <= SIGHTINGS_MAX && seen.shown_n <= SHOWN_MAX);
        arena_reset (&arena);
    }
    buf_release (&log);
}

/* A part of a log without these words is not read for lines to show. */
TEST (whatever_is_graded_as_an_error_has_a_sign_of_one)
{
    static const char *const lines[] = { "CANCELLED: x",
                                         "UNKNOWN: x",
                                         "INVALID_ARGUMENT: x",
                                         "DEADLINE_EXCEEDED: x",
                                         "NOT_FOUND: x",
                                         "ALREADY_EXISTS: x",
                                         "PERMISSION_DENIED: x",
                                         "UNAUTHENTICATED: x",
                                         "RESOURCE_EXHAUSTED: x",
                                         "FAILED_PRECONDITION: x",
                                         "ABORTED: x",
                                         "OUT_OF_RANGE: x",
                                         "UNIMPLEMENTED: x",
                                         "INTERNAL: x",
                                         "UNAVAILABLE: x",
                                         "DATA_LOSS: x",
                                         "FATAL",
                                         "Fatal",
                                         "fatal error",
                                         "Check failed",
                                         "terminate called",
                                         "Segmentation fault",
                                         "panic: x",
                                         "Assertion `x",
                                         "CRITICAL",
                                         "Error",
                                         "error",
                                         "ERROR",
                                         "Exception",
                                         "failed",
                                         "Failed",
                                         "Aborted",
                                         "Killed" };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        if (log_line_grade (text_of (lines[i])) < LINE_ERROR || !shown_lines_may_be_in (text_of (lines[i])))
            fail_msg ("%s", lines[i]);
    assert_false (shown_lines_may_be_in (TEXT_LIT ("step 7 loss 2.1\nI0604 12:45:24.926233 1 a.cc:1] begun\n")));
}

static bool is_shown (const struct signature_scan_result *seen, const char *line)
{
    return text_is_among (text_of (line), seen->shown, seen->shown_n);
}

/* In parts of a MiB, each to the end of a line. */
TEST (errors_far_from_the_end_are_shown_whole)
{
    static const char cut[] = TRACE USER "pkg.CutOddError: this is the cause of it\n";
    struct buf log;
    buf_init (&log, 8 << 20);
    for (uint32_t before = (1 << 20) - 130; before < (1 << 20) + 8; before += 23) {
        struct signature_scan_result seen;
        buf_clear (&log);
        buf_puts (&log, "step failed because of a bad thing\n");
        while (log.len < before)
            buf_puts (&log, log.len % 2 ? "\n" : "x\n");
        buf_puts (&log, cut);
        while (log.len < 3 << 20)
            buf_puts (&log, "working on and on and on and on\n");
        classify_text (set, buf_as_text (&log), &arena, &seen);
        if (!is_shown (&seen, "step failed because of a bad thing") ||
            !is_shown (&seen, "pkg.CutOddError: this is the cause of it") || seen.shown_n != 2)
            fail_msg ("%u: %u shown, %.*s", before, seen.shown_n, TEXT_ARG (seen.shown[seen.shown_n - 1]));
        arena_reset (&arena);
    }
    buf_release (&log);
}

TEST (the_end_of_a_long_log_is_read)
{
    struct buf log;
    buf_init (&log, 8 << 20);
    while (log.len < 5 << 20)
        buf_puts (&log, "working\n");
    uint32_t lines = log.len / 8;
    buf_puts (&log, TRACE USER "ZeroDivisionError: x\n");
    struct signature_scan_result seen;
    classify_text (set, buf_as_text (&log), &arena, &seen);
    assert_int_equal (seen.sightings_n, 1);
    assert_int_equal (seen.sightings[0].line, lines + 4);
    assert_true (memcmp (log.ptr + seen.sightings[0].offset, "ZeroDivisionError", 17) == 0);
    buf_release (&log);
}

TEST_GROUP (open_set, close_set)
