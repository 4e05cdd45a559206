/* links: probe */
/* What the process with a plugin says, as heard by the one that watches it; options as people write them. The processes
 * themselves are tested with real and lying plugins: tests/integration/test_probe.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "worker/probe/option.h"
#include "worker/probe/report.h"

/* Lines separated by '|'; true: all were heard. */
static bool receive (struct probe_report *report, const char *lines)
{
    bool good = true;
    while (*lines) {
        const char *end = strchr (lines, '|');
        struct text line = { lines, end ? (uint32_t) (end - lines) : (uint32_t) strlen (lines) };
        good = probe_report_receive (report, line, 1) && good;
        lines += line.len + (end != NULL);
    }
    return good;
}

#define LOADED "step file|is plugin.bytes 4|step load|step interface|step initialize|step attributes"

static void what_is_said_is_kept (void **state)
{
    struct probe_report report;
    uint64_t number;
    (void) state;
    probe_report_init (&report);
    assert_true (
        receive (&report, LOADED "|call PJRT_Plugin_Attributes|is xla_version a\\nb\\\\n|note older|lacks none"));
    assert_int_equal (report.steps_n, 5);
    assert_true (text_is (probe_report_find_value (&report, "xla_version"), "a\nb\\n"));
    assert_true (probe_report_find_number (&report, "plugin.bytes", &number));
    assert_int_equal (number, 4);
    assert_false (probe_report_find_number (&report, "xla_version", &number));
    assert_int_equal (report.notes_n, 1);
    assert_true (report.steps[4].lacks);
    assert_string_equal (report.call, "PJRT_Plugin_Attributes");
    assert_true (receive (&report, "done"));
    assert_int_equal (report.end, PROBE_WORKS);
    probe_report_release (&report);
}

static void a_refusal_keeps_the_plugins_words (void **state)
{
    struct probe_report report;
    (void) state;
    probe_report_init (&report);
    report.client = true;
    assert_true (receive (&report, LOADED "|step client|call PJRT_Client_Create|refused 9 open(/dev/vfio/0): Device or "
                                          "resource busy"));
    probe_judge (&report);
    assert_int_equal (report.owner, OWNER_DEVICE);
    assert_true (text_is (report.sentence,
                          "step client, in PJRT_Client_Create: FAILED_PRECONDITION: open(/dev/vfio/0): "
                          "Device or resource busy"));
    probe_report_release (&report);
}

static void what_was_never_seen_has_no_owner (void **state)
{
    struct probe_report report;
    (void) state;
    probe_report_init (&report);
    report.client = true;
    assert_true (receive (&report, LOADED "|step client|refused -3 a flux is out of phase"));
    probe_judge (&report);
    assert_int_equal (report.owner, OWNER_UNKNOWN);
    assert_true (report.next.len > 0);
    probe_report_release (&report);
}

static void what_no_probe_says_ends_it (void **state)
{
    (void) state;
    static const char *const bad[] = {
        "",
        "nonsense",
        "step",
        "step nowhere",
        "step file|step file",
        "step load|step file",
        "is plugin.bytes 4|is plugin.bytes 5",
        "is PLUGIN 4",
        "is  4",
        "lacks before any step",
        "wrong nobody it is",
        "done",
        "step file|done",
        LOADED "|done x",
        LOADED "|done|step client",
        "refused 5 a|refused 5 b",
        "call xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct probe_report report;
        probe_report_init (&report);
        bool good = *bad[i] ? receive (&report, bad[i]) : probe_report_receive (&report, TEXT_LIT (""), 1);
        if (good)
            print_error ("heard \"%s\"\n", bad[i]);
        assert_false (good);
        assert_int_equal (report.end, PROBE_BABBLED);
        assert_false (receive (&report, "note too late"));
        probe_report_release (&report);
    }
}

static void done_is_what_went_through_all_its_steps (void **state)
{
    struct probe_report report;
    (void) state;
    probe_report_init (&report);
    report.client = true;
    assert_false (receive (&report, LOADED "|done"));
    assert_int_equal (report.end, PROBE_BABBLED);
    probe_report_release (&report);
}

static void what_is_said_has_bounds (void **state)
{
    struct probe_report report;
    struct arena arena = { 0 };
    (void) state;
    probe_report_init (&report);
    for (uint32_t i = 0; i < FINDINGS_MOST; i++)
        assert_true (probe_report_receive (&report, text_format (&arena, "is name%u x", i), 1));
    assert_false (receive (&report, "is one_more x"));
    probe_report_release (&report);
    probe_report_init (&report);
    for (uint32_t i = 0; i < NOTES_MOST; i++)
        assert_true (receive (&report, "note x"));
    assert_false (receive (&report, "note x"));
    probe_report_release (&report);
    arena_release (&arena);
}

static void options_have_the_type_that_they_look_like (void **state)
{
    struct pjrt_named_value value;
    (void) state;
    assert_int_equal (option_read ("a=9223372036854775807", &value, NULL), 0);
    assert_int_equal (value.type, PJRT_INT64);
    assert_true (value.value.int64 == INT64_MAX);
    assert_int_equal (option_read ("a=9223372036854775808", &value, NULL), 0);
    assert_int_equal (value.type, PJRT_FLOAT); /* too large for an int64, and still a number */
    assert_int_equal (option_read ("a=false", &value, NULL), 0);
    assert_true (value.type == PJRT_BOOL && !value.value.truth);
    assert_int_equal (option_read ("a=1.5e3", &value, NULL), 0);
    assert_true (value.type == PJRT_FLOAT && value.value.number == 1500.0f);
    assert_int_equal (option_read ("a=nan", &value, NULL), 0);
    assert_int_equal (value.type, PJRT_STRING);
    assert_int_equal (option_read ("a:string=true=1", &value, NULL), 0);
    assert_true (value.type == PJRT_STRING && value.value_size == 6 && value.name_size == 1);
}

static void wrong_options_are_refused (void **state)
{
    static const char *const bad[] = { "",         "a",        "=1",          "a b=1",        "a:int64=1.5",
                                       "a:int64=", "a:bool=1", "a:float=inf", "a:float=1e99", "a:list=1",
                                       "a:=1",     ":int64=1", "a:int64= 1" };
    struct pjrt_named_value value = { 0 };
    struct err err;
    (void) state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal (option_read (bad[i], &value, &err), -1);
        assert_int_equal (err.code, ERR_USAGE);
        assert_null (value.name);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (what_is_said_is_kept),
        cmocka_unit_test (a_refusal_keeps_the_plugins_words),
        cmocka_unit_test (what_was_never_seen_has_no_owner),
        cmocka_unit_test (what_no_probe_says_ends_it),
        cmocka_unit_test (done_is_what_went_through_all_its_steps),
        cmocka_unit_test (what_is_said_has_bounds),
        cmocka_unit_test (options_have_the_type_that_they_look_like),
        cmocka_unit_test (wrong_options_are_refused),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
