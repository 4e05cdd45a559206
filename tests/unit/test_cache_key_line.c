/* links: protocol wire */
#include "common/wire/wire.h"
#include "test.h"
#include "worker/protocol/evidence.h"

#define SIXTEEN "0123456789abcdef"
#define KEY "jit_f-57cf5a3fc0eae17e9a997147f3369f3a4bd4b3759d42d230c46f40b9276f6e41"

static void evidence_open (struct evidence *evidence)
{
    evidence_init (evidence, TEXT_LIT ("00112233445566778899aabbccddeeff"));
}

static void evidence_close (struct evidence *evidence)
{
    evidence_release (evidence);
}

TEST_FIXTURE (struct evidence, evidence_open, evidence_close)

static void say (struct evidence *evidence, const char *line)
{
    struct statement statement;
    evidence_take (evidence, text_of (line), &statement);
    assert_int_equal (statement.kind, STATEMENT_NOTHING);
}

static void say_state (struct evidence *evidence, const char *state, const char *why, const char *parts)
{
    char line[1024];
    snprintf (line, sizeof line,
              "{\"type\":\"cache\",\"program\":\"jit_f\",\"key\":\"" KEY "\",\"state\":\"%s\","
              "\"why\":\"%s\",\"parts\":%s}",
              state, why, parts);
    say (evidence, line);
}

TEST_ON (e, a_key_is_taken_whole)
{
    say_state (e, "below-threshold", "too quick", "{\"computation\":\"7c2b7068c081\",\"flags\":\"e3b0c44298fc\"}");
    assert_int_equal (e->result.bad_lines, 0);
    assert_int_equal (e->result.keys.n, 1);
    const struct cache_key *key = &e->result.keys.items[0];
    assert_true (text_is (key->program, "jit_f") && text_is (key->key, KEY) && text_is (key->why, "too quick"));
    assert_int_equal (key->state, KEY_BELOW_THRESHOLD);
    assert_int_equal (key->parts.n, 2);
    assert_true (text_is (key->parts.items[1].name, "flags") && text_is (key->parts.items[1].value, "e3b0c44298fc"));
}

TEST_ON (e, what_compiling_took_outlives_later_lines)
{
    static const char *const states[] = { "missed", "written", "hit" };
    say (e, "{\"type\":\"cache\",\"program\":\"jit_f\",\"key\":\"" KEY "\",\"state\":\"missed\",\"compile_ms\":1234}");
    for (size_t i = 0; i < 3; i++)
        say_state (e, states[i], "", "{}");
    assert_int_equal (e->result.bad_lines, 0);
    assert_int_equal (e->result.keys.items[0].state, KEY_WRITTEN);
    assert_int_equal (e->result.keys.items[0].compile_ms, 1234);
    say (e, "{\"type\":\"cache\",\"program\":\"p\",\"key\":\"p-1\",\"state\":\"hit\",\"compile_ms\":-1}");
    assert_int_equal (e->result.bad_lines, 1);
}

TEST_ON (e, why_and_parts_may_be_left_out_and_the_cache_not_asked)
{
    say (e, "{\"type\":\"cache\",\"program\":\"p\",\"key\":\"p-1\",\"state\":\"none\"}");
    assert_int_equal (e->result.bad_lines, 0);
    assert_int_equal (e->result.keys.n, 1);
    assert_int_equal (e->result.keys.items[0].state, KEY_NONE);
}

TEST_ON (e, the_line_that_tells_more_stays)
{
    static const struct {
        const char *said;
        enum key_state stays;
    } steps[] = {
        { "none", KEY_NONE },           { "hit", KEY_HIT },           { "none", KEY_HIT },
        { "missed", KEY_MISSED },       { "hit", KEY_MISSED },        { "below-threshold", KEY_BELOW_THRESHOLD },
        { "written", KEY_WRITTEN },     { "missed", KEY_WRITTEN },    { "hit", KEY_WRITTEN },
        { "unwritten", KEY_UNWRITTEN }, { "written", KEY_UNWRITTEN }, { "unreadable", KEY_UNREADABLE },
        { "written", KEY_UNREADABLE },  { "hit", KEY_UNREADABLE },
    };
    say_state (e, "none", "", "{\"flags\":\"e3b0c44298fc\"}");
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        say_state (e, steps[i].said, steps[i].said, "{}");
        assert_int_equal (e->result.keys.n, 1);
        assert_int_equal (e->result.keys.items[0].state, steps[i].stays);
        assert_int_equal (e->result.keys.items[0].parts.n, 1);
    }
    assert_text (e->result.keys.items[0].why, "unreadable");
    assert_int_equal (e->result.bad_lines, 0);
}

TEST_ON (e, a_repeated_line_costs_nothing)
{
    say_state (e, "hit", "again", "{\"flags\":\"e3b0c44298fc\"}");
    size_t left_bytes = e->left_bytes, used_bytes = e->arena.used_bytes;
    for (int i = 0; i < 1000; i++)
        say_state (e, "hit", "again", "{\"flags\":\"e3b0c44298fc\"}");
    assert_int_equal (e->left_bytes, left_bytes);
    assert_int_equal (e->arena.used_bytes, used_bytes);
}

TEST (lines_that_break_a_rule_are_violations)
{
    static const struct {
        const char *rest, *complaint;
    } rows[] = {
        { "\"key\":\"k\",\"state\":\"hit\"", "cache: program" },
        { "\"program\":\"\",\"key\":\"k\",\"state\":\"hit\"", "cache: program" },
        { "\"program\":\"p\",\"state\":\"hit\"", "cache: key" },
        { "\"program\":\"p\",\"key\":\"a\\u0000b\",\"state\":\"hit\"", "cache: key" },
        { "\"program\":\"p\",\"key\":\"k\"", "cache: state" },
        { "\"program\":\"p\",\"key\":\"k\",\"state\":\"maybe\"", "cache: state" },
        { "\"program\":\"p\",\"key\":\"k\",\"state\":\"hit\",\"why\":7", "cache: why" },
        { "\"program\":\"p\",\"key\":\"k\",\"state\":\"hit\",\"parts\":[]", "cache: parts" },
        { "\"program\":\"p\",\"key\":\"k\",\"state\":\"hit\",\"parts\":{\"a\":1}", "cache: parts" },
        { "\"program\":\"p\",\"key\":\"k\",\"state\":\"hit\",\"parts\":{\"\":\"1\"}", "cache: parts" },
        { "\"program\":\"p\",\"key\":\"k\",\"state\":\"hit\",\"parts\":{\"a\":\"" SIXTEEN SIXTEEN SIXTEEN SIXTEEN "\"}",
          "cache: parts" },
        { "\"program\":\"p\",\"key\":\"k\",\"state\":\"hit\",\"parts\":{\"1\":\"\",\"2\":\"\",\"3\":\"\",\"4\":\"\","
          "\"5\":\"\","
          "\"6\":\"\",\"7\":\"\",\"8\":\"\",\"9\":\"\",\"10\":\"\",\"11\":\"\",\"12\":\"\",\"13\":\"\"}",
          "cache: parts" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct evidence evidence;
        char line[1024];
        evidence_init (&evidence, TEXT_LIT ("n"));
        snprintf (line, sizeof line, "{\"type\":\"cache\",%s}", rows[i].rest);
        say (&evidence, line);
        bool named = text_find (evidence.complaint, text_of (rows[i].complaint), NULL);
        if (evidence.result.bad_lines != 1 || evidence.result.keys.n || !named)
            fail_msg ("row %zu: %u, '%.*s'", i, evidence.result.bad_lines, TEXT_ARG (evidence.complaint));
        evidence_release (&evidence);
    }
}

static void say_numbered (struct evidence *evidence, uint32_t i, const char *state, const char *padding)
{
    char line[2048];
    snprintf (
        line, sizeof line,
        "{\"type\":\"cache\",\"program\":\"jit_%u\",\"key\":\"jit_%u%s\",\"state\":\"%s\",\"parts\":{"
        "\"computation\":\"7c2b7068c081\",\"jaxlib\":\"40d13e87ba3f\",\"platform version\":\"3357b7ac532f\",\"flags\":"
        "\"e3b0c44298fc\",\"compile options\":\"c6ef2282e5ed\",\"topology\":\"3bbb154ffc50\",\"compression\":"
        "\"0ea55c28f801\",\"hook\":\"e3b0c44298fc\"}}",
        i, i, padding, state);
    say (evidence, line);
}

static uint64_t left_out (const struct evidence *evidence)
{
    uint64_t n = 0;
    result_counter (&evidence->result, EVIDENCE_KEYS_LEFT_OUT, &n);
    return n;
}

static uint32_t keys_with_parts (const struct evidence *evidence)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < evidence->result.keys.n; i++)
        n += evidence->result.keys.items[i].parts.n == 8;
    return n;
}

/* A program that compiles more than a result carries is no liar: keys are dropped after their parts, and counted. */
TEST_ON (e, more_keys_than_fit_lose_their_parts_and_then_themselves)
{
    const char *digits = "-57cf5a3fc0eae17e9a997147f3369f3a4bd4b3759d42d230c46f40b9276f6e41";
    for (uint32_t i = 0; i < RESULT_KEYS_MAX; i++)
        say_numbered (e, i, "written", digits);
    assert_int_equal (e->result.keys.n, RESULT_KEYS_MAX);
    assert_int_equal (left_out (e), 0);
    assert_int_equal (e->result.keys.items[0].parts.n, 8);
    assert_in_range (keys_with_parts (e), 20, RESULT_KEYS_MAX - 10);
    for (uint32_t i = 0; i < 3; i++)
        say_numbered (e, RESULT_KEYS_MAX + i, "written", digits);
    assert_int_equal (e->result.keys.n, RESULT_KEYS_MAX);
    assert_int_equal (left_out (e), 3);
    assert_int_equal (e->result.bad_lines, 0);
}

TEST_ON (e, keys_leave_room_for_other_evidence)
{
    char padding[201];
    memset (padding, 'k', sizeof padding - 1);
    padding[200] = 0;
    for (uint32_t i = 0; i < 500; i++)
        say_numbered (e, i % 100, i < 250 ? "missed" : "written", padding);
    assert_true (left_out (e) > 0);
    assert_in_range (e->left_bytes, EVIDENCE_MAX_BYTES / 2, EVIDENCE_MAX_BYTES - 16 * 1024);
    assert_int_equal (e->result.bad_lines, 0);
    struct buf *bytes = test_buf (t);
    struct msg msg = { .kind = MSG_RESULT, .run_id = TEXT_LIT ("0123456789abcdef"), .of.result = e->result };
    assert_true (record_check (&result_record, &msg.of.result, NULL));
    wire_put_msg (bytes, &msg);
    assert_in_range (bytes->len, 1024, 24 * 1024);
}
