/* links: protocol */
/* Every rule of docs/spec/canary.md for what a canary says: who keeps it is not complained of, and who breaks it is, in
 * the words that the page has for it. */
#include "test.h"
#include "worker/protocol/evidence.h"
#include <sys/socket.h>

#define NONCE "00112233445566778899aabbccddeeff"
#define BACKEND "{\"type\":\"backend\",\"platform\":\"cpu\",\"devices\":2}\n"
#define DONE "{\"type\":\"done\",\"nonce\":\"" NONCE "\"}\n"
#define FAILURE "{\"type\":\"failure\",\"layer\":\"host\",\"text\":\"no room\"}\n"
#define RAN "{\"type\":\"counters\",\"values\":{\"compile_requests\":1,\"executions\":1}}\n"
#define NOTE(text) "{\"type\":\"note\",\"text\":\"" text "\",\"source\":\"s\",\"durability\":\"rerun\"}\n"
#define CHECK(numbers) "{\"type\":\"check\",\"name\":\"c\"," numbers "}\n"
#define METRIC_WITH(more)                                                                                              \
    "{\"type\":\"metric\",\"name\":\"loss\",\"reduction\":\"sum\",\"axes\":[\"data\"],\"scope\":\"global\","           \
    "\"value\":1,\"shards\":[{\"value\":1,\"proof\":7,\"local\":1,\"weight\":1}]" more "}\n"
#define METRIC METRIC_WITH ("")
#define METRIC_OF(dtype) METRIC_WITH (",\"dtype\":" dtype)
#define GATE(name, mode) "{\"type\":\"gate\",\"name\":\"" name "\",\"mode\":\"" mode "\",\"value\":\"\"}\n"

/* ALONE: a rung that asks for no backend; SLICE: one of four hosts, asked for cpu; AHEAD: it compiles and executes
 * nothing. */
enum asked { ALONE, SLICE, AHEAD };

/* `words`: what is said of the one line that breaks a rule; NULL: none does. */
struct row {
    const char *rule;
    enum asked asked;
    const char *lines, *words;
};

static const struct row rows[] = {
    { "a true program", ALONE, BACKEND METRIC RAN CHECK ("\"expected\":1,\"observed\":1") NOTE ("text") DONE, NULL },
    { "a true program of the slice", SLICE,
      GATE ("rendezvous", "share") BACKEND GATE ("program", "agree") METRIC RAN DONE, NULL },
    { "a true program that compiles ahead", AHEAD,
      BACKEND "{\"type\":\"counters\",\"values\":{\"compile_requests\":1,\"executions\":0}}\n" DONE, NULL },
    { "one that fails truly", ALONE, BACKEND FAILURE NOTE ("and this was lost"), NULL },
    { "blanks and members that nobody knows", ALONE,
      " {\"type\" : \"phase\", \"name\": \"run\", \"colour\": [1, {}]} \r\n" DONE, NULL },
    { "characters of every length", ALONE, NOTE ("a\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x9a\x80\\ud83d\\ude80") DONE, NULL },

    /* a line is one JSON object of RFC 8259 */
    { "no JSON", ALONE, "this is no JSON\n" DONE, "not a JSON line" },
    { "an empty line", ALONE, "\n" DONE, "not a JSON line" },
    { "two objects", ALONE, "{\"type\":\"phase\",\"name\":\"a\"}{}\n" DONE, "not a JSON line" },
    { "no object", ALONE, "[1,2]\n" DONE, "expected a JSON object with a type" },
    { "a member twice", ALONE, "{\"type\":\"phase\",\"name\":\"a\",\"name\":\"b\"}\n" DONE, "duplicate object key" },
    { "a member twice, further in", ALONE, "{\"type\":\"bundle\",\"items\":{\"jax\":\"1\",\"jax\":\"2\"}}\n" DONE,
      "duplicate object key" },
    { "no type", ALONE, "{\"name\":\"x\"}\n" DONE, "expected a JSON object with a type" },
    { "a type that is no text", ALONE, "{\"type\":7}\n" DONE, "expected a JSON object with a type" },
    { "a type that nobody knows", ALONE, "{\"type\":\"verdict\",\"passed\":true}\n" DONE, "unknown type" },

    /* in UTF-8 */
    { "a byte of no character", ALONE, NOTE ("a\xff") DONE, "not UTF-8" },
    { "half a character", ALONE, NOTE ("a\xc3") DONE, "not UTF-8" },
    { "an overlong character", ALONE, NOTE ("\xc0\xaf") DONE, "not UTF-8" },
    { "an overlong NUL", ALONE, NOTE ("\xc0\x80") DONE, "not UTF-8" },
    { "half of a surrogate pair", ALONE, NOTE ("\xed\xa0\x80") DONE, "not UTF-8" },
    { "above the last character", ALONE, NOTE ("\xf4\x90\x80\x80") DONE, "not UTF-8" },
    { "in a member that nobody knows", ALONE, "{\"type\":\"phase\",\"name\":\"a\",\"more\":\"\xff\"}\n" DONE,
      "not UTF-8" },
    { "half of an escaped pair", ALONE, NOTE ("\\ud800") DONE, "not a JSON line" },

    /* no NUL in a text */
    { "NUL in a text", ALONE, NOTE ("a\\u0000b") DONE, "expected a string without a NUL character" },
    { "NUL in a type", ALONE, "{\"type\":\"done\\u0000\",\"nonce\":\"" NONCE "\"}\n" DONE,
      "expected a string without a NUL character" },
    { "NUL behind a word", ALONE, "{\"type\":\"failure\",\"layer\":\"host\\u0000\",\"text\":\"\"}\n",
      "expected a string without a NUL character" },
    { "NUL in a value by name", ALONE, "{\"type\":\"bundle\",\"items\":{\"jax\":\"1\\u0000\"}}\n" DONE,
      "expected a string without a NUL character" },
    { "NUL in a name", ALONE, "{\"type\":\"bundle\",\"items\":{\"j\\u0000ax\":\"1\"}}\n" DONE, "not a JSON line" },
    { "NUL in a list", ALONE, "{\"type\":\"phase\",\"name\":\"a\",\"more\":[{\"x\":[\"\\u0000\"]}]}\n" DONE,
      "expected a string without a NUL character" },
    { "NUL in the nonce", ALONE, "{\"type\":\"done\",\"nonce\":\"" NONCE "\\u0000\"}\n",
      "expected a string without a NUL character" },

    /* finite numbers, counters from 0 */
    { "a number past all", ALONE, CHECK ("\"expected\":1e999,\"observed\":1") DONE, "not a JSON line" },
    { "no number", ALONE, CHECK ("\"expected\":NaN,\"observed\":1") DONE, "not a JSON line" },
    { "a number as text", ALONE, CHECK ("\"expected\":\"1\",\"observed\":1") DONE, "expected a finite number" },
    { "a tolerance below 0", ALONE, CHECK ("\"expected\":1,\"observed\":1,\"tolerance\":-1e-9") DONE,
      "tolerance: expected a number of at least 0" },
    { "a tolerance of nothing", ALONE, CHECK ("\"expected\":1,\"observed\":1,\"tolerance\":-0.0") DONE, NULL },
    { "a counter below 0", ALONE, "{\"type\":\"counters\",\"values\":{\"a\":-1}}\n" DONE,
      "expected a whole number of at least 0" },
    { "half a counter", ALONE, "{\"type\":\"counters\",\"values\":{\"a\":1.5}}\n" DONE,
      "expected a whole number of at least 0" },
    { "a size below 0", ALONE, "{\"type\":\"memory\",\"peak_bytes\":-1}\n" DONE,
      "expected a whole number of at least 0" },

    /* words of a table, texts where texts belong */
    { "another mode", ALONE, "{\"type\":\"gate\",\"name\":\"g\",\"mode\":\"force\",\"value\":\"1\"}\n" DONE,
      "expected share or agree" },
    { "another scope", ALONE, "{\"type\":\"metric\",\"name\":\"m\",\"scope\":\"all\"}\n" DONE,
      "expected global or local" },
    { "another layer", ALONE, "{\"type\":\"failure\",\"layer\":\"moon\",\"text\":\"t\"}\n",
      "expected an owner of failures" },
    { "another durability", ALONE, "{\"type\":\"note\",\"text\":\"\",\"durability\":\"long\"}\n" DONE,
      "this word is not in the protocol" },
    { "a version that is no text", ALONE, "{\"type\":\"bundle\",\"items\":{\"a\":\"1\",\"jax\":1}}\n" DONE,
      "expected a string" },

    /* done: the nonce of the attempt, not after failure, and the last line */
    { "another nonce", ALONE, "{\"type\":\"done\",\"nonce\":\"ffffffffffffffffffffffffffffffff\"}\n",
      "nonce: expected the nonce of this attempt" },
    { "no nonce", ALONE, "{\"type\":\"done\"}\n", "expected a string" },
    { "done after failure", ALONE, BACKEND FAILURE DONE, "sent after failure" },
    { "done after a failure without a word", ALONE, "{\"type\":\"failure\",\"layer\":\"host\",\"text\":\"\"}\n" DONE,
      "sent after failure" },
    { "done twice", ALONE, DONE DONE, "sent after done" },
    { "failure after done", ALONE, DONE FAILURE, "sent after done" },
    { "a note after done", ALONE, DONE NOTE ("late"), "sent after done" },
    { "a gate after done", ALONE, DONE GATE ("g", "share"), "sent after done" },

    /* backend before anything ran, and before a metric */
    { "executions before backend", SLICE, GATE ("program", "agree") RAN BACKEND DONE, "sent before the backend line" },
    { "a metric before backend", SLICE, GATE ("program", "agree") METRIC BACKEND RAN DONE,
      "sent before the backend line" },
    { "where none is asked for nobody looks", ALONE, METRIC RAN DONE, NULL },

    /* a metric said again */
    { "the same claim", ALONE, METRIC METRIC METRIC DONE, NULL },
    { "another claim", ALONE,
      METRIC "{\"type\":\"metric\",\"name\":\"loss\",\"reduction\":\"mean\",\"axes\":[\"data\"],"
             "\"scope\":\"global\",\"value\":1,\"shards\":[]}\n" DONE,
      "sent before with another reduction, scope, dtype or axes" },

    { "another dtype", ALONE, METRIC METRIC_OF ("\"bfloat16\"") DONE,
      "sent before with another reduction, scope, dtype or axes" },
    { "the dtype that is meant where none is said", ALONE, METRIC METRIC_OF ("\"float32\"") DONE, NULL },
    { "an absurd dtype", ALONE, METRIC_OF ("\"float3\"") DONE, "this word is not in the protocol" },
    { "no dtype, said as one", ALONE, METRIC_OF ("\"none\"") DONE, "this word is not in the protocol" },
    { "a dtype that is no word", ALONE, METRIC_OF ("[\"float32\"]") DONE, "this word is not in the protocol" },

    { "an axis twice", ALONE,
      "{\"type\":\"metric\",\"name\":\"loss\",\"reduction\":\"sum\",\"axes\":[\"data\",\"model\",\"data\"],"
      "\"scope\":\"global\",\"value\":1,\"shards\":[]}\n" DONE,
      "is given twice" },

    /* gates */
    { "a program of the slice that passes no gate", SLICE, BACKEND RAN DONE, "has to pass the gate 'program' first" },
    { "a program of the slice that shares its gate", SLICE, GATE ("program", "share") BACKEND RAN DONE,
      "has to pass the gate 'program' first" },
    { "a gate where nothing is executed", AHEAD, BACKEND GATE ("program", "agree") DONE, "must not wait at a gate" },
    { "a value of a gate that is no text", ALONE,
      "{\"type\":\"gate\",\"name\":\"g\",\"mode\":\"agree\",\"value\":1}\n" DONE, "expected a string" },
};

/* ---- an attempt's channel ---- */

struct bench {
    struct evidence evidence;
    struct channel *channel;
    struct msg_run run;
    int peer;
    uint32_t bad_gates;
};

static void note_statement (void *owner, const struct statement *statement)
{
    struct bench *bench = owner;
    bench->bad_gates += statement->kind == STATEMENT_BAD_GATE;
}

static void bench_open (struct bench *bench, enum asked asked)
{
    *bench = (struct bench){ .run = { .key = { 0, asked == AHEAD ? PASS_COLD : PASS_ONCE, 1 },
                                      .world = asked == SLICE ? 4 : 1 } };
    bench->run.rung = (struct rung){ .id = TEXT_LIT ("r"),
                                     .scope = asked == SLICE ? SCOPE_SLICE : SCOPE_HOST,
                                     .warm = asked == AHEAD ? WARM_AOT : WARM_NONE,
                                     .backend = asked == ALONE ? (struct text){ 0 } : TEXT_LIT ("cpu") };
    evidence_init (&bench->evidence, TEXT_LIT (NONCE));
    evidence_expect (&bench->evidence, &bench->run);
    bench->channel = channel_open (&bench->evidence, note_statement, bench, NULL);
    assert_non_null (bench->channel);
    bench->peer = channel_take_program_fd (bench->channel);
}

static void bench_close (struct bench *bench)
{
    close (bench->peer);
    channel_close (bench->channel);
    evidence_release (&bench->evidence);
}

TEST_FIXTURE (struct bench, TEST_NOTHING, bench_close)

static void say_bytes (struct bench *bench, const char *bytes, size_t len)
{
    while (len) {
        ssize_t sent = send (bench->peer, bytes, len, MSG_DONTWAIT);
        if (sent > 0) {
            bytes += sent;
            len -= (size_t) sent;
        }
        assert_true (channel_read (bench->channel));
    }
}

static bool says (const struct bench *bench, const char *words)
{
    return text_find (bench->evidence.complaint, text_of (words), NULL);
}

/* ---- the rows ---- */

static bool kept (const struct row *row)
{
    struct bench bench;
    bench_open (&bench, row->asked);
    say_bytes (&bench, row->lines, strlen (row->lines));
    uint32_t broken = bench.evidence.result.bad_lines;
    bool right = row->words ? broken == 1 && says (&bench, row->words) : broken == 0;
    if (!right)
        print_message ("  %s: %u lines refused, expected '%s': %.*s\n", row->rule, broken,
                       row->words ? row->words : "none", TEXT_ARG (bench.evidence.complaint));
    bench_close (&bench);
    return right;
}

TEST (every_rule_is_kept_by_the_true_and_broken_by_name)
{
    uint32_t wrong = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        wrong += !kept (&rows[i]);
    if (wrong)
        fail_msg ("%u rules", wrong);
}

TEST (the_page_has_the_words_for_every_broken_rule)
{
    struct buf *page = test_buf (t);
    FILE *file = fopen (SLICEUP_SOURCE_DIR "/docs/spec/canary.md", "re");
    char bytes[4096];
    size_t got;
    assert_non_null (file);
    while ((got = fread (bytes, 1, sizeof bytes, file)) > 0)
        buf_add (page, bytes, got);
    fclose (file);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].words && !text_find (buf_as_text (page), text_of (rows[i].words), NULL))
            fail_msg ("%s: the page does not say '%s'", rows[i].rule, rows[i].words);
}

/* What is said once everything was done is no evidence, nor is anything of a line that breaks a rule. */
TEST_ON (bench, a_line_that_breaks_a_rule_counts_for_nothing)
{
    static const char lines[] = "{\"type\":\"bundle\",\"items\":{\"a\":\"1\",\"bad\":7,\"c\":\"3\"}}\n"
                                "{\"type\":\"counters\",\"values\":{\"executions\":1,\"bad\":-1}}\n"
                                "{\"type\":\"policy\",\"observed\":{\"XLA_FLAGS\":\"x\",\"TPU\":null}}\n" DONE
                                "{\"type\":\"fact\",\"name\":\"late\",\"value\":\"1\"}\n" METRIC
                                "{\"type\":\"phase\",\"name\":\"late\"}\n" FAILURE;
    bench_open (bench, ALONE);
    say_bytes (bench, lines, strlen (lines));
    const struct result *r = &bench->evidence.result;
    assert_int_equal (r->bad_lines, 7);
    assert_int_equal (r->bundle.n + r->counters.n + r->policy.n + r->facts.n + r->metrics.n + r->phase.len + r->owner,
                      0);
}

static void say_of_length (struct bench *bench, size_t bytes)
{
    static const char head[] = "{\"type\":\"phase\",\"name\":\"a\",\"more\":\"", tail[] = "\"}\n";
    char *line = malloc (bytes);
    assert_non_null (line);
    memset (line, 'x', bytes);
    memcpy (line, head, sizeof head - 1);
    memcpy (line + bytes - (sizeof tail - 1), tail, sizeof tail - 1);
    say_bytes (bench, line, bytes);
    free (line);
}

TEST_ON (bench, a_line_has_65536_bytes_and_not_one_more)
{
    bench_open (bench, ALONE);
    say_of_length (bench, 65536);
    assert_int_equal (bench->evidence.result.bad_lines, 0);
    assert_text (bench->evidence.result.phase, "a");
    say_of_length (bench, 65537);
    assert_int_equal (bench->evidence.result.bad_lines, 1);
    assert_true (says (bench, "longer than 64 KiB"));
}

TEST_ON (bench, a_raw_nul_is_no_json)
{
    bench_open (bench, ALONE);
    say_bytes (bench, "{\"type\":\"phase\",\"name\":\"a\"}\0\n", 29);
    say_bytes (bench, "{\"type\":\"phase\",\"name\":\"a\0b\"}\n", 30);
    assert_int_equal (bench->evidence.result.bad_lines, 2);
}

TEST (a_line_that_stays_half_is_broken_but_not_by_one_that_is_being_ended)
{
    for (int ended = 0; ended < 2; ended++) {
        struct bench bench;
        bench_open (&bench, ALONE);
        say_bytes (&bench, "{\"type\":\"phase\"", 15);
        if (ended)
            channel_allow_partial_line (bench.channel);
        shutdown (bench.peer, SHUT_WR);
        assert_false (channel_read (bench.channel));
        assert_int_equal (bench.evidence.result.bad_lines, ended ? 0 : 1);
        assert_true (ended || says (&bench, "ended in the middle of a line"));
        bench_close (&bench);
    }
}

TEST_ON (bench, the_first_broken_rule_is_in_the_result_with_its_line)
{
    bench_open (bench, ALONE);
    say_bytes (bench, FAILURE DONE "no JSON\n", strlen (FAILURE DONE "no JSON\n"));
    assert_int_equal (bench->evidence.result.bad_lines, 2);
    assert_text (bench->evidence.result.bad_line,
                 ("done: sent after failure: {\"type\":\"done\",\"nonce\":\"" NONCE "\"}"));
}

TEST_ON (bench, who_waits_at_a_gate_that_is_no_gate_can_be_told)
{
    bench_open (bench, AHEAD);
    say_bytes (bench, GATE ("program", "agree"), strlen (GATE ("program", "agree")));
    assert_int_equal (bench->bad_gates, 1);
}
