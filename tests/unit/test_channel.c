/* links: protocol wire */
#include "common/wire/wire.h"
#include "test.h"
#include "worker/protocol/evidence.h"
#include <sys/socket.h>

#define NONCE "00112233445566778899aabbccddeeff"

/* A channel, what came through it, and the program's end of it. */
struct bench {
    struct evidence evidence;
    struct channel *channel;
    int peer;
    uint32_t phases, gates;
    char name[256], value[256];
    enum gate_mode mode;
};

static void note_statement (void *owner, const struct statement *statement)
{
    struct bench *bench = owner;
    bench->phases += statement->kind == STATEMENT_PHASE;
    bench->gates += statement->kind == STATEMENT_GATE;
    bench->mode = statement->mode;
    assert_true (text_to_c (statement->name, bench->name, sizeof bench->name));
    assert_true (text_to_c (statement->value, bench->value, sizeof bench->value));
}

static void bench_open (struct bench *bench)
{
    evidence_init (&bench->evidence, TEXT_LIT (NONCE));
    bench->channel = channel_open (&bench->evidence, note_statement, bench, NULL);
    assert_non_null (bench->channel);
    bench->peer = channel_take_program_fd (bench->channel);
}

static void bench_close (struct bench *bench)
{
    channel_close (bench->channel);
    if (bench->peer >= 0)
        close (bench->peer);
    evidence_release (&bench->evidence);
}

TEST_FIXTURE (struct bench, bench_open, bench_close)

/* Everything, however small the socket's buffer is. */
static void say_bytes (struct bench *bench, const char *bytes, size_t len)
{
    while (len) {
        ssize_t sent = send (bench->peer, bytes, len, MSG_DONTWAIT);
        assert_true (sent > 0 || errno == EAGAIN);
        if (sent > 0) {
            bytes += sent;
            len -= (size_t) sent;
        }
        assert_true (channel_read (bench->channel));
    }
}

static void say (struct bench *bench, const char *line)
{
    say_bytes (bench, line, strlen (line));
    say_bytes (bench, "\n", 1);
}

static void complains (struct bench *bench, const char *what)
{
    assert_has (bench->evidence.complaint, what);
}

static struct text value_of (const struct var *items, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++) {
        if (text_is (items[i].name, name))
            return items[i].value;
    }
    return (struct text){ 0 };
}

/* ---- every type of line ---- */

TEST_ON (b, every_type_of_line_becomes_evidence)
{
    say (b, "{\"type\":\"phase\",\"name\":\"init\"}");
    say (b, "{\"type\":\"bundle\",\"items\":{\"jax\":\"0.9.1\",\"numpy\":\"2.4.6\"}}");
    say (b, "{\"type\":\"policy\",\"observed\":{\"JAX_PLATFORMS\":\"cpu\"}}");
    say (b, "{\"type\":\"backend\",\"platform\":\"cpu\",\"platform_version\":\"1\",\"device_kind\":\"cpu\","
            "\"devices\":8,"
            "\"local_devices\":2,\"process_count\":4,\"process_index\":3,\"kernel_path\":\"none\"}");
    say (b, "{\"type\":\"program\",\"name\":\"step\",\"fingerprint\":\"abcd\"}");
    say (b, "{\"type\":\"counters\",\"values\":{\"cache_hits\":3,\"cache_misses\":0}}");
    say (b, "{\"type\":\"check\",\"name\":\"two\",\"expected\":4,\"observed\":4.5,\"tolerance\":1e-3}");
    say (b, "{\"type\":\"metric\",\"name\":\"loss\",\"reduction\":\"mean\",\"axes\":[\"data\",\"model\"],"
            "\"scope\":\"global\","
            "\"value\":2.5,\"shards\":[{\"value\":2.5,\"proof\":77,\"local\":1.5,\"weight\":2},"
            "{\"value\":2.5,\"proof\":77,\"local\":3.5,\"weight\":1}]}");
    say (b, "{\"type\":\"memory\",\"peak_bytes\":4096}");
    say (b, "{\"type\":\"note\",\"text\":\"slow first step\",\"source\":\"tiny\",\"durability\":\"rerun\"}");
    say (b, "{\"type\":\"fact\",\"name\":\"kernel.release\",\"value\":\"6.1\"}");
    say (b, "{\"type\":\"done\",\"nonce\":\"" NONCE "\"}");
    const struct result *r = &b->evidence.result;
    assert_int_equal (r->bad_lines, 0);
    assert_true (r->spoke && r->done);
    assert_int_equal (b->phases, 1);
    assert_text (r->phase, "init");
    assert_text (value_of (r->bundle.items, r->bundle.n, "numpy"), "2.4.6");
    assert_text (value_of (r->policy.items, r->policy.n, "JAX_PLATFORMS"), "cpu");
    assert_text (value_of (r->facts.items, r->facts.n, "kernel.release"), "6.1");
    assert_int_equal (r->backend.devices, 8);
    assert_int_equal (r->backend.process_index, 3);
    assert_text (r->backend.kernel_path, "none");
    assert_text (r->programs.items[0].fingerprint, "abcd");
    uint64_t hits = 0;
    assert_true (result_counter (r, "cache_hits", &hits) && hits == 3);
    assert_true (r->checks.items[0].observed == 4.5 && r->checks.items[0].tolerance == 1e-3);
    const struct metric *metric = &r->metrics.items[0];
    assert_true (metric->global && metric->reduction == REDUCTION_MEAN && metric->axes.n == 2 && metric->shards.n == 2);
    assert_true (text_is (metric->axes.items[1], "model") && metric->shards.items[1].local == 3.5);
    assert_int_equal (r->peak_bytes, 4096);
    assert_int_equal (r->notes.items[0].durability, DURABILITY_RERUN);
}

TEST_ON (b, gate_is_handed_on_whole)
{
    say (b, "{\"type\":\"gate\",\"name\":\"program\",\"mode\":\"agree\",\"value\":\"ff00\"}");
    assert_int_equal (b->gates, 1);
    assert_string_equal (b->name, "program");
    assert_string_equal (b->value, "ff00");
    assert_int_equal (b->mode, GATE_AGREE);
    say (b, "{\"type\":\"gate\",\"name\":\"rendezvous\",\"mode\":\"share\",\"value\":\"\"}");
    assert_int_equal (b->gates, 2);
    assert_string_equal (b->value, "");
}

TEST_ON (b, done_counts_only_with_the_nonce_of_this_attempt)
{
    say (b, "{\"type\":\"done\",\"nonce\":\"ffffffffffffffffffffffffffffffff\"}");
    say (b, "{\"type\":\"done\"}");
    assert_false (b->evidence.result.done);
    assert_int_equal (b->evidence.result.bad_lines, 2);
    complains (b, "nonce: expected the nonce of this attempt");
    say (b, "{\"type\":\"done\",\"nonce\":\"" NONCE "\"}");
    assert_true (b->evidence.result.done);
}

TEST_ON (b, the_later_word_wins_and_the_first_failure)
{
    say (b, "{\"type\":\"counters\",\"values\":{\"executions\":1}}");
    say (b, "{\"type\":\"counters\",\"values\":{\"executions\":5}}");
    say (b, "{\"type\":\"fact\",\"name\":\"x\",\"value\":\"old\"}");
    say (b, "{\"type\":\"fact\",\"name\":\"x\",\"value\":\"new\"}");
    say (b, "{\"type\":\"memory\",\"peak_bytes\":10}");
    say (b, "{\"type\":\"memory\",\"peak_bytes\":7,\"predicted_bytes\":30,\"device_peak_bytes\":20}");
    say (b, "{\"type\":\"memory\",\"peak_bytes\":7,\"predicted_bytes\":25,\"device_peak_bytes\":21}");
    say (b, "{\"type\":\"memory\",\"peak_bytes\":99,\"predicted_bytes\":-1}"); /* nothing of it counts */
    say (b, "{\"type\":\"failure\",\"layer\":\"device\",\"text\":\"first\"}");
    say (b, "{\"type\":\"failure\",\"layer\":\"host\",\"text\":\"second\"}");
    const struct result *r = &b->evidence.result;
    assert_int_equal (r->counters.n, 1);
    assert_int_equal (r->counters.items[0].value, 5);
    assert_int_equal (r->facts.n, 1);
    assert_text (r->facts.items[0].value, "new");
    assert_true (r->peak_bytes == 10 && r->predicted_bytes == 30 && r->device_peak_bytes == 21);
    assert_true (text_is (r->failure, "first") && r->owner == OWNER_DEVICE);
}

TEST_ON (b, repeating_itself_costs_nothing)
{
    say (b, "{\"type\":\"fact\",\"name\":\"x\",\"value\":\"same\"}");
    say (b, "{\"type\":\"counters\",\"values\":{\"executions\":1}}");
    size_t used_bytes = b->evidence.arena.used_bytes;
    for (uint32_t i = 0; i < 5000; i++) {
        say (b, "{\"type\":\"fact\",\"name\":\"x\",\"value\":\"same\"}");
        say (b, "{\"type\":\"counters\",\"values\":{\"executions\":2}}");
        say (b, "{\"type\":\"phase\",\"name\":\"run\"}");
        say (b, "{\"type\":\"gate\",\"name\":\"g\",\"mode\":\"share\",\"value\":\"v\"}");
    }
    assert_int_equal (b->evidence.arena.used_bytes, used_bytes);
    assert_true (b->evidence.phase_arena.used_bytes < 4096 && b->evidence.gate_arena.used_bytes < 4096);
    assert_int_equal (b->evidence.result.bad_lines, 0);
}

/* ---- what is refused ---- */

static const struct {
    const char *line, *complaint;
} bad_rows[] = {
    { "", "not a JSON line" },
    { "nonsense", "not a JSON line" },
    { "[1,2]", "expected a JSON object with a type" },
    { "{\"name\":\"x\"}", "expected a JSON object with a type" },
    { "{\"type\":7}", "expected a JSON object with a type" },
    { "{\"type\":\"verdict\",\"passed\":true}", "unknown type" },
    { "{\"type\":\"phase\",\"type\":\"done\"}", "duplicate" },
    { "{\"type\":\"phase\"} trailing", "not a JSON line" },
    { "{\"type\":\"phase\",\"name\":7}", "phase: name" },
    { "{\"type\":\"phase\",\"name\":\"\"}", "phase: name" },
    { "{\"type\":\"phase\",\"name\":\"a\\u0000b\"}", "phase: name" },
    { "{\"type\":\"gate\",\"name\":\"g\",\"mode\":\"force\",\"value\":\"1\"}", "gate: mode" },
    { "{\"type\":\"gate\",\"name\":\"g\",\"mode\":\"agree\",\"value\":1}", "gate: value" },
    { "{\"type\":\"counters\",\"values\":{\"a\":-1}}", "counters: a" },
    { "{\"type\":\"counters\",\"values\":{\"a\":1.5}}", "counters: a" },
    { "{\"type\":\"counters\",\"values\":{\"a\":99999999999999999999}}", "not a JSON line" },
    { "{\"type\":\"counters\",\"values\":[]}", "counters: values" },
    { "{\"type\":\"check\",\"name\":\"c\",\"expected\":1}", "observed: expected a finite number" },
    { "{\"type\":\"check\",\"name\":\"c\",\"expected\":NaN,\"observed\":1}", "not a JSON line" },
    { "{\"type\":\"check\",\"name\":\"c\",\"expected\":1e999,\"observed\":1}", "not a JSON line" },
    { "{\"type\":\"check\",\"name\":\"c\",\"expected\":\"1\",\"observed\":1}", "expected a finite number" },
    { "{\"type\":\"check\",\"expected\":1,\"observed\":1}", "name: expected a string" },
    { "{\"type\":\"metric\",\"name\":\"m\",\"reduction\":\"max\",\"axes\":[],\"scope\":\"local\",\"value\":1,"
      "\"shards\":[]}",
      "reduction" },
    { "{\"type\":\"metric\",\"name\":\"m\",\"reduction\":\"sum\",\"axes\":[],\"scope\":\"all\",\"value\":1,"
      "\"shards\":[]}",
      "scope" },
    { "{\"type\":\"metric\",\"name\":\"m\",\"reduction\":\"sum\",\"axes\":[],\"scope\":\"local\",\"value\":1,"
      "\"shards\":[{\"value\":1}]}",
      "proof: expected a finite number" },
    { "{\"type\":\"metric\",\"name\":\"m\",\"reduction\":\"sum\",\"axes\":[\"a\",\"b\",\"c\",\"d\",\"e\","
      "\"f\",\"g\"],\"scope\":\"local\","
      "\"value\":1,\"shards\":[]}",
      "axes: 7 items" },
    { "{\"type\":\"metric\",\"name\":\"m\",\"reduction\":\"sum\",\"axes\":[7],\"scope\":\"local\",\"value\":1,"
      "\"shards\":[]}",
      "axes" },
    { "{\"type\":\"backend\",\"devices\":-1}", "devices: expected a whole number" },
    { "{\"type\":\"backend\",\"devices\":4294967296}", "devices: expected at most" },
    { "{\"type\":\"backend\",\"platform\":[]}", "platform: expected a string" },
    { "{\"type\":\"program\",\"name\":\"p\"}", "fingerprint" },
    { "{\"type\":\"note\",\"text\":\"t\",\"source\":\"s\",\"durability\":\"forever\"}", "durability" },
    { "{\"type\":\"memory\",\"peak_bytes\":1.5}", "peak_bytes" },
    { "{\"type\":\"memory\",\"peak_bytes\":1,\"predicted_bytes\":\"2\"}", "predicted_bytes" },
    { "{\"type\":\"memory\",\"peak_bytes\":1,\"device_peak_bytes\":-2}", "device_peak_bytes" },
    { "{\"type\":\"failure\",\"layer\":\"moon\",\"text\":\"t\"}", "layer" },
    { "{\"type\":\"bundle\",\"items\":{\"jax\":1}}", "jax: expected a string" },
    { "{\"type\":\"fact\",\"name\":\"f\"}", "expected a string" },
};

TEST (bad_lines_are_counted_and_the_first_described)
{
    for (size_t i = 0; i < sizeof bad_rows / sizeof bad_rows[0]; i++) {
        struct bench one = { 0 }, *b = &one;
        bench_open (b);
        struct result *r = &b->evidence.result;
        say (b, bad_rows[i].line);
        say (b, "not even this");
        if (r->bad_lines != 2 || !text_find (b->evidence.complaint, text_of (bad_rows[i].complaint), NULL))
            fail_msg ("row %zu: %u, '%.*s'", i, r->bad_lines, TEXT_ARG (b->evidence.complaint));
        assert_int_equal (r->counters.n + r->checks.n + r->metrics.n + r->bundle.n + r->facts.n + r->notes.n +
                              r->programs.n + b->phases + b->gates + r->backend.devices + r->peak_bytes,
                          0);
        bench_close (b);
    }
}

TEST_ON (b, names_and_gate_values_are_never_cut)
{
    char line[1024], long_word[400];
    memset (long_word, 'x', sizeof long_word);
    long_word[399] = 0;
    snprintf (line, sizeof line, "{\"type\":\"gate\",\"name\":\"g\",\"mode\":\"agree\",\"value\":\"%s\"}", long_word);
    say (b, line);
    snprintf (line, sizeof line, "{\"type\":\"program\",\"name\":\"p\",\"fingerprint\":\"%s\"}", long_word);
    say (b, line);
    snprintf (line, sizeof line, "{\"type\":\"counters\",\"values\":{\"%s\":1}}", long_word);
    say (b, line);
    assert_int_equal (b->evidence.result.bad_lines, 3);
    assert_int_equal (b->gates + b->evidence.result.programs.n + b->evidence.result.counters.n, 0);
}

TEST_ON (b, one_bad_item_makes_a_bad_line)
{
    say (b, "{\"type\":\"bundle\",\"items\":{\"a\":\"1\",\"bad\":7,\"c\":\"3\"}}");
    assert_int_equal (b->evidence.result.bundle.n, 0);
    assert_int_equal (b->evidence.result.bad_lines, 1);
}

TEST_ON (b, a_line_that_is_too_long_is_skipped_whole)
{
    char *long_line = mem_alloc (LINE_MAX_BYTES + 100);
    memset (long_line, 'x', LINE_MAX_BYTES + 100);
    say_bytes (b, long_line, LINE_MAX_BYTES + 100);
    say_bytes (b, long_line, LINE_MAX_BYTES + 100);
    say (b, "{\"type\":\"phase\",\"name\":\"inside\"}");
    assert_int_equal (b->evidence.result.bad_lines, 1);
    complains (b, "longer than 64 KiB");
    assert_int_equal (b->phases, 0);
    say (b, "{\"type\":\"phase\",\"name\":\"after\"}");
    assert_int_equal (b->phases, 1);
    mem_free (long_line);
}

TEST_ON (b, a_program_cannot_speak_as_the_worker_after_a_failure)
{
    say (b, "{\"type\":\"note\",\"text\":\"/dev/x is held by 1 init\",\"source\":\"at failure\","
            "\"durability\":\"recheck\"}");
    assert_int_equal (b->evidence.result.bad_lines, 1);
    assert_int_equal (b->evidence.result.notes.n, 0);
}

TEST_ON (b, a_line_with_invalid_characters_can_still_be_shown)
{
    say (b, "{\"type\":\"note\",\"text\":\"a\xff"
            "b\xc0\xaf\xed\xa0\x80z\",\"source\":\"s\","
            "\"durability\":\"stable\"}");
    assert_int_equal (b->evidence.result.bad_lines, 1);
    assert_int_equal (b->evidence.result.notes.n, 0);
    struct text text = b->evidence.result.bad_line;
    assert_true (text_is_utf8 (text));
    assert_has (text, "a\xEF\xBF\xBD"
                      "b\xEF\xBF\xBD");
}

TEST_ON (b, long_text_is_cut_between_characters)
{
    char line[SENTENCE_MAX_BYTES + 512];
    int at = snprintf (line, sizeof line, "{\"type\":\"note\",\"source\":\"s\",\"durability\":\"stable\",\"text\":\"a");
    for (int i = 0; i < SENTENCE_MAX_BYTES / 2 + 10; i++)
        at += snprintf (line + at, sizeof line - (size_t) at, "\xC3\xA9");
    snprintf (line + at, sizeof line - (size_t) at, "\"}");
    say (b, line);
    struct text text = b->evidence.result.notes.items[0].text;
    assert_int_equal (text.len, SENTENCE_MAX_BYTES - 1);
    assert_true (text_is_utf8 (text));
}

TEST_ON (b, more_items_than_the_table_allows_are_dropped_and_counted)
{
    for (uint32_t i = 0; i < RESULT_CHECKS_MAX + 3; i++)
        say (b, "{\"type\":\"check\",\"name\":\"c\",\"expected\":1,\"observed\":1}");
    const struct result *r = &b->evidence.result;
    assert_int_equal (r->checks.n, RESULT_CHECKS_MAX);
    assert_int_equal (r->bad_lines, 0);
    assert_true (r->left_out.n == 1 && text_is (r->left_out.items[0].name, "checks") &&
                 r->left_out.items[0].value == 3);
}

/* However much a program says, its result is one message, within every bound, and memory stays small. */
TEST_ON (b, evidence_always_fits_one_message)
{
    struct rng rng = rng_seed (7);
    char line[8192], filler[4097];
    memset (filler, 'f', sizeof filler);
    for (uint32_t i = 0; i < 4000; i++) {
        int len = (int) rng_below (&rng, 4000);
        static const char *const shapes[] = {
            "{\"type\":\"fact\",\"name\":\"n%u\",\"value\":\"%.*s\"}",
            "{\"type\":\"note\",\"source\":\"n%u\",\"durability\":\"stable\",\"text\":\"%.*s\"}",
            "{\"type\":\"bundle\",\"items\":{\"n%u\":\"%.*s\"}}",
            "{\"type\":\"policy\",\"observed\":{\"n%u\":\"%.*s\"}}",
            "{\"type\":\"counters\",\"values\":{\"n%u\":7},\"x\":\"%.*s\"}",
            "{\"type\":\"check\",\"name\":\"n%u\",\"expected\":1,\"observed\":1,\"x\":\"%.*s\"}",
            "{\"type\":\"metric\",\"name\":\"n%u\",\"reduction\":\"sum\",\"axes\":[\"a\"],\"scope\":\"local\","
            "\"value\":1,"
            "\"shards\":[{\"value\":1,\"proof\":1,\"local\":1,\"weight\":1}],\"x\":\"%.*s\"}",
            "{\"type\":\"backend\",\"devices\":%u,\"platform_version\":\"%.*s\"}",
            "{\"type\":\"failure\",\"layer\":\"host\",\"x\":%u,\"text\":\"%.*s\"}",
        };
        const char *shape = shapes[rng_below (&rng, sizeof shapes / sizeof shapes[0])];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf (line, sizeof line, shape, (unsigned) rng_below (&rng, 300), i % 3 ? len : 3, filler);
#pragma GCC diagnostic pop
        say (b, line);
    }
    struct buf bytes, why;
    buf_init (&bytes, 1 << 20);
    buf_init (&why, 1000);
    struct msg msg = { .kind = MSG_RESULT, .run_id = TEXT_LIT ("0123456789abcdef"), .of.result = b->evidence.result };
    struct text sentence = { filler, SENTENCE_MAX_BYTES };
    msg.of.result.problem = msg.of.result.cache_state = msg.of.result.tail = sentence;
    if (!record_check (&result_record, &msg.of.result, &why))
        fail_msg ("%s", buf_c (&why));
    wire_put_msg (&bytes, &msg);
    assert_in_range (bytes.len, 20 * 1024, MSG_MAX_BYTES);
    assert_true (b->evidence.arena.used_bytes < 2 << 20);
    buf_release (&why);
    buf_release (&bytes);
}

TEST_ON (b, a_single_kind_of_evidence_is_bounded_as_well)
{
    char line[SENTENCE_MAX_BYTES + 128], filler[SENTENCE_MAX_BYTES + 1];
    memset (filler, 'f', sizeof filler);
    filler[SENTENCE_MAX_BYTES] = 0;
    snprintf (line, sizeof line,
              "{\"type\":\"note\",\"source\":\"s\",\"durability\":\"stable\","
              "\"text\":\"%s\"}",
              filler);
    for (uint32_t i = 0; i < RESULT_NOTES_MAX; i++)
        say (b, line);
    const struct result *r = &b->evidence.result;
    assert_in_range (r->notes.n, 15, EVIDENCE_MAX_BYTES / SENTENCE_MAX_BYTES);
    assert_true (r->bad_lines == 0 && r->left_out.n == 1 &&
                 r->left_out.items[0].value == RESULT_NOTES_MAX - r->notes.n);
}

TEST_ON (b, random_bytes_are_survived)
{
    struct rng rng = rng_seed (11);
    static const char seed_line[] = "{\"type\":\"metric\",\"name\":\"m\",\"reduction\":\"sum\","
                                    "\"axes\":[\"a\"],\"scope\":\"global\","
                                    "\"value\":1,\"shards\":[{\"value\":1,\"proof\":2,\"local\":3,\"weight\":4}]}\n";
    for (uint32_t i = 0; i < 20000; i++) {
        char line[sizeof seed_line];
        memcpy (line, seed_line, sizeof line);
        for (uint32_t flips = 0; flips < 1 + i % 3; flips++)
            line[rng_below (&rng, sizeof line - 1)] = (char) rng_next (&rng);
        say_bytes (b, line, sizeof line - 1);
    }
    assert_true (b->evidence.result.bad_lines > 1000);
    assert_true (record_check (&result_record, &b->evidence.result, NULL));
}

/* ---- the descriptor ---- */

TEST_ON (b, lines_may_come_in_pieces)
{
    const char *line = "{\"type\":\"phase\",\"name\":\"slow\"}\n{\"type\":\"phase\",\"name\":\"two\"}\n";
    for (const char *at = line; *at; at++)
        say_bytes (b, at, 1);
    assert_int_equal (b->phases, 2);
    assert_string_equal (b->name, "two");
}

TEST_ON (b, the_end_of_the_channel_is_seen)
{
    say_bytes (b, "{\"type\":\"done\",\"nonce\":", 22);
    close (b->peer);
    b->peer = -1;
    assert_false (channel_read (b->channel));
    assert_int_equal (b->evidence.result.bad_lines, 1);
    assert_false (channel_read (b->channel));
    assert_int_equal (b->evidence.result.bad_lines, 1);
    assert_false (channel_send (b->channel, TEXT_LIT ("{}")));
    assert_false (channel_wants_write (b->channel));
}

TEST_ON (b, silence_is_not_speech)
{
    assert_true (channel_read (b->channel));
    assert_false (b->evidence.result.spoke);
}

TEST_ON (b, a_program_that_does_not_read_is_not_waited_for)
{
    char chunk[1000];
    memset (chunk, 'c', sizeof chunk);
    uint32_t taken = 0;
    while (channel_send (b->channel, (struct text){ chunk, sizeof chunk }))
        assert_true (++taken < 5000);
    assert_true (channel_wants_write (b->channel));
    size_t got_bytes = 0;
    char bytes[65536];
    while (got_bytes < taken * 1001u) {
        ssize_t got = recv (b->peer, bytes, sizeof bytes, 0);
        assert_true (got > 0);
        got_bytes += (size_t) got;
        channel_write (b->channel);
    }
    assert_int_equal (got_bytes, taken * 1001u);
    assert_false (channel_wants_write (b->channel));
    assert_true (channel_send (b->channel, TEXT_LIT ("again")));
}
