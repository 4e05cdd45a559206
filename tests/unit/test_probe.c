/* links: probe */
/* What the process with a plugin says, as heard by the one that watches it; options as people write them. The processes
 * themselves are tested with real and lying plugins: tests/integration/test_probe.py. */
#include <sys/socket.h>

#include "test.h"
#include "worker/probe/probe_run.h"
#include "worker/process/subprocess.h"

#define STEP(NAME)                                                                                                     \
    {                                                                                                                  \
        .word = PROBE_SAYS_STEP, .stage = STAGE_##NAME                                                                 \
    }
#define CALL(NAME)                                                                                                     \
    {                                                                                                                  \
        .word = PROBE_SAYS_CALL, .name = TEXT_LIT (NAME)                                                               \
    }
#define VALUE(NAME, TEXT)                                                                                              \
    {                                                                                                                  \
        .word = PROBE_SAYS_VALUE, .name = TEXT_LIT (NAME), .text = TEXT_LIT (TEXT)                                     \
    }
#define NOTE                                                                                                           \
    {                                                                                                                  \
        .word = PROBE_SAYS_NOTE, .text = TEXT_LIT ("x")                                                                \
    }
#define LACKS(TEXT)                                                                                                    \
    {                                                                                                                  \
        .word = PROBE_SAYS_LACKS, .text = TEXT_LIT (TEXT)                                                              \
    }
#define REFUSED(CODE, TEXT)                                                                                            \
    {                                                                                                                  \
        .word = PROBE_SAYS_REFUSED, .code = (uint32_t) CODE, .text = TEXT_LIT (TEXT)                                   \
    }
#define WRONG(OWNER)                                                                                                   \
    {                                                                                                                  \
        .word = PROBE_SAYS_WRONG, .owner = OWNER, .text = TEXT_LIT ("it is")                                           \
    }
#define DONE                                                                                                           \
    {                                                                                                                  \
        .word = PROBE_SAYS_DONE                                                                                        \
    }
#define LOADED                                                                                                         \
    STEP (FILE), VALUE ("plugin.bytes", "4"), STEP (LOAD), STEP (INTERFACE), STEP (INITIALIZE), STEP (ATTRIBUTES)

/* True: all were heard. */
static bool receive (struct probe_report *report, const struct probe_statement *said, size_t n)
{
    bool good = true;
    for (size_t i = 0; i < n; i++)
        good = probe_report_receive (report, &said[i], TEXT_LIT ("bytes"), 1) && good;
    return good;
}
#define RECEIVE(...)                                                                                                   \
    receive (report, (const struct probe_statement[]){ __VA_ARGS__ },                                                  \
             sizeof (const struct probe_statement[]){ __VA_ARGS__ } / sizeof (struct probe_statement))

TEST_FIXTURE (struct probe_report, TEST_NOTHING, probe_report_release)

TEST_ON (report, what_is_said_is_kept)
{
    uint64_t number;
    probe_report_init (report);
    assert_true (
        RECEIVE (LOADED, CALL ("PJRT_Plugin_Attributes"), VALUE ("xla_version", "a\nb"), NOTE, LACKS ("none")));
    assert_int_equal (report->steps_n, 5);
    assert_text (probe_report_find_value (report, "xla_version"), "a\nb");
    assert_true (probe_report_find_number (report, "plugin.bytes", &number));
    assert_int_equal (number, 4);
    assert_false (probe_report_find_number (report, "xla_version", &number));
    assert_int_equal (report->notes_n, 1);
    assert_true (report->steps[4].lacks);
    assert_string_equal (report->call, "PJRT_Plugin_Attributes");
    assert_true (RECEIVE (DONE));
    assert_int_equal (report->end, PROBE_WORKS);
}

TEST_ON (report, a_refusal_keeps_the_plugins_words)
{
    probe_report_init (report);
    report->client = true;
    assert_true (RECEIVE (LOADED, STEP (CLIENT), CALL ("PJRT_Client_Create"),
                          REFUSED (9, "open(/dev/vfio/0): Device or resource busy")));
    probe_judge (report);
    assert_int_equal (report->owner, OWNER_DEVICE);
    assert_text (report->sentence, "step client, in PJRT_Client_Create: FAILED_PRECONDITION: open(/dev/vfio/0): "
                                   "Device or resource busy");
}

TEST_ON (report, what_was_never_seen_has_no_owner)
{
    probe_report_init (report);
    report->client = true;
    assert_true (RECEIVE (LOADED, STEP (CLIENT), REFUSED (-3, "a flux is out of phase")));
    probe_judge (report);
    assert_int_equal (report->owner, OWNER_UNKNOWN);
    assert_true (report->next.len > 0);
}

TEST (what_no_probe_says_ends_it)
{
    static const struct probe_statement bad[][8] = {
        { { .word = PROBE_SAYS_NOTHING } },
        { STEP (NONE) },
        { STEP (FILE), STEP (FILE) },
        { STEP (LOAD), STEP (FILE) },
        { VALUE ("plugin.bytes", "4"), VALUE ("plugin.bytes", "5") },
        { VALUE ("PLUGIN", "4") },
        { VALUE ("", "4") },
        { LACKS ("before any step") },
        { WRONG (OWNER_NONE) },
        { DONE },
        { STEP (FILE), DONE },
        { LOADED, DONE, STEP (CLIENT) },
        { REFUSED (5, "a"), REFUSED (5, "b") },
        { CALL ("\033[2J") },
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct probe_report one, *report = &one;
        size_t n = 8;
        while (n > 1 && bad[i][n - 1].word == PROBE_SAYS_NOTHING)
            n--;
        probe_report_init (report);
        if (receive (report, bad[i], n))
            fail_msg ("heard number %zu", i);
        assert_int_equal (report->end, PROBE_BABBLED);
        assert_text (report->words, "bytes");
        assert_false (RECEIVE (NOTE));
        probe_report_release (report);
    }
}

TEST_ON (report, what_is_no_statement_ends_it)
{
    probe_report_init (report);
    assert_false (probe_report_receive (report, NULL, TEXT_LIT ("nonsense"), 1));
    assert_int_equal (report->end, PROBE_BABBLED);
    assert_text (report->words, "nonsense");
}

TEST_ON (report, done_is_what_went_through_all_its_steps)
{
    probe_report_init (report);
    report->client = true;
    assert_false (RECEIVE (LOADED, DONE));
    assert_int_equal (report->end, PROBE_BABBLED);
}

TEST_ON (report, what_is_said_has_bounds)
{
    probe_report_init (report);
    for (uint32_t i = 0; i < FINDINGS_MOST; i++) {
        struct probe_statement one = { .word = PROBE_SAYS_VALUE, .name = text_format (&t->arena, "name%u", i) };
        assert_true (receive (report, &one, 1));
    }
    assert_false (RECEIVE (VALUE ("one_more", "x")));
    probe_report_release (report);
    probe_report_init (report);
    for (uint32_t i = 0; i < NOTES_MOST; i++)
        assert_true (RECEIVE (NOTE));
    assert_false (RECEIVE (NOTE));
}

/* A statement that the other end may send, and what else whoever has the descriptor may write. */
TEST (a_packet_is_a_record_or_refused)
{
    static char much[PACKET_BYTES_MAX + 1];
    const struct record *record = &probe_statement_record;
    struct probe_statement said = REFUSED (-3, "a \xff is no text"), heard;
    struct text raw;
    int pair[2];
    assert_int_equal (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal (packet_receive (pair[0], record, &heard, &raw, &t->arena), PACKET_NONE);
    assert_int_equal (packet_send (pair[1], record, &said, NULL), 0);
    assert_int_equal (send (pair[1], "", 0, 0), 0); /* says nothing */
    assert_int_equal (send (pair[1], "\xff\xff", 2, 0), 2);
    assert_int_equal (send (pair[1], much, sizeof much, 0), sizeof much);
    assert_int_equal (packet_send (pair[1], record, &said, NULL), 0);
    close (pair[1]);
    assert_int_equal (packet_receive (pair[0], record, &heard, &raw, &t->arena), PACKET_RECORD);
    assert_int_equal (packet_receive (pair[0], record, &heard, &raw, &t->arena), PACKET_REFUSED);
    assert_text (raw, "\xff\xff");
    assert_int_equal (packet_receive (pair[0], record, &heard, &raw, &t->arena), PACKET_REFUSED);
    assert_int_equal (raw.len, PACKET_BYTES_MAX);
    assert_int_equal (packet_receive (pair[0], record, &heard, &raw, &t->arena), PACKET_RECORD);
    assert_true (record_equal (record, &said, &heard));
    assert_int_equal (packet_receive (pair[0], record, &heard, &raw, &t->arena), PACKET_OVER);
    assert_int_equal (packet_send (pair[0], record, &said, NULL), -1); /* and no SIGPIPE */
    close (pair[0]);
}

TEST (options_have_the_type_that_they_look_like)
{
    struct pjrt_named_value value;
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

TEST (wrong_options_are_refused)
{
    static const char *const bad[] = { "",         "a",        "=1",          "a b=1",        "a:int64=1.5",
                                       "a:int64=", "a:bool=1", "a:float=inf", "a:float=1e99", "a:list=1",
                                       "a:=1",     ":int64=1", "a:int64= 1" };
    struct pjrt_named_value value = { 0 };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal (option_read (bad[i], &value, &t->err), -1);
        assert_int_equal (t->err.code, ERR_USAGE);
        assert_null (value.name);
    }
}
