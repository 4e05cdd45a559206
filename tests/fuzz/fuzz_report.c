/* fuzz_report.c - whatever hosts say, every file of a report is harmless and parses: XML, HTML with JSON in it, Markdown,
 * protobuf. The input chooses facts of a run of four hosts and two rungs, and the texts in them. */
#include <assert.h>
#include <jansson.h>
#include <string.h>

#include "common/base/utf8.h"
#include "coordinator/report/compare.h"
#include "coordinator/report/html.h"
#include "coordinator/report/junit.h"
#include "coordinator/report/trace.h"
#include "coordinator/view/receipt_text.h"

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t len);

enum { HOSTS = 4, RUNGS = 2, FACTS_MAX = 64, TEXT_MAX = 200, OUT_BYTES = 16 << 20, DEPTH_MAX = 16 };

struct input {
    const uint8_t *bytes;
    size_t len;
    struct arena arena;
    uint64_t index, at_ms;
    struct report_book *book;
};

/* ---- facts ---- */

static uint32_t take (struct input *input, uint32_t below)
{
    if (input->len == 0)
        return 0;
    input->len--;
    return *input->bytes++ % below;
}

static struct text take_text (struct input *input)
{
    uint32_t wanted = take (input, TEXT_MAX), len = wanted < input->len ? wanted : (uint32_t) input->len;
    struct text text = text_copy (&input->arena, (struct text){ (const char *) input->bytes, len });
    input->bytes += len;
    input->len -= len;
    return text_repair_utf8 (&input->arena, text, TEXT_MAX);
}

static void apply (struct input *input, struct fact *fact)
{
    fact->index = ++input->index;
    input->at_ms += take (input, 256);
    fact->at_ms = input->at_ms;
    fact->wall_ms = 1700000000000 + input->at_ms;
    report_book_apply (input->book, fact);
}

static void open_run (struct input *input)
{
    static struct plan_host hosts[HOSTS] = { { .name = TEXT_LIT ("h0") },
                                             { .name = TEXT_LIT ("h1") },
                                             { .name = TEXT_LIT ("h2") },
                                             { .name = TEXT_LIT ("h3") } };
    static struct rung rungs[RUNGS] = { { .id = TEXT_LIT ("low") }, { .id = TEXT_LIT ("high") } };
    struct fact fact = { .kind = FACT_RUN_OPENED };
    fact.of.run_opened.run = TEXT_LIT ("0123456789abcdef0123456789abcdef");
    fact.of.run_opened.version = take_text (input);
    fact.of.run_opened.plan.slice = take_text (input);
    fact.of.run_opened.plan.ladder = TEXT_LIT ("two");
    fact.of.run_opened.plan.profile.name = TEXT_LIT ("plain");
    fact.of.run_opened.plan.hosts.items = hosts;
    fact.of.run_opened.plan.hosts.n = HOSTS;
    fact.of.run_opened.plan.rungs.items = rungs;
    fact.of.run_opened.plan.rungs.n = RUNGS;
    apply (input, &fact);
}

static struct attempt_key take_key (struct input *input)
{
    return (struct attempt_key){ take (input, RUNGS), PASS_ONCE + take (input, 3), 1 + take (input, 3) };
}

static void begin_pass (struct input *input, struct fact *fact)
{
    static uint32_t all[HOSTS] = { 0, 1, 2, 3 };
    *fact = (struct fact){ .kind = FACT_PASS_BEGAN };
    fact->of.pass_began.key = take_key (input);
    fact->of.pass_began.hosts.items = all;
    fact->of.pass_began.hosts.n = HOSTS;
    fact->of.pass_began.purpose = 1 + take (input, 3);
}

static void end_attempt (struct input *input, struct fact *fact)
{
    struct named_number *phases = arena_array (&input->arena, 2, sizeof (*phases));
    struct var *facts = arena_array (&input->arena, 1, sizeof (*facts));
    *fact = (struct fact){ .kind = FACT_ATTEMPT_ENDED };
    struct result *result = &fact->of.attempt_ended.result;
    fact->of.attempt_ended.host = take (input, HOSTS);
    *result =
        (struct result){ .key = take_key (input), .ending = ENDING_EXITED, .code = take (input, 3), .done = true };
    result->duration_ms = take (input, 256);
    phases[0] = (struct named_number){ .name = take_text (input), .value = take (input, 256) };
    phases[1] = (struct named_number){ .name = TEXT_LIT ("gate:meet"), .value = take (input, 256) };
    result->phases.items = phases;
    result->phases.n = 2;
    facts[0] = (struct var){ .name = take_text (input), .value = take_text (input) };
    result->facts.items = facts;
    result->facts.n = 1;
    result->tail = take_text (input);
}

static void end_pass (struct input *input, struct fact *fact)
{
    uint32_t n = take (input, HOSTS + 1);
    struct verdict *verdicts = arena_array (&input->arena, n, sizeof (*verdicts));
    *fact = (struct fact){ .kind = FACT_PASS_ENDED };
    fact->of.pass_ended.key = take_key (input);
    fact->of.pass_ended.duration_ms = take (input, 256);
    for (uint32_t i = 0; i < n; i++)
        verdicts[i] = (struct verdict){ .host = i,
                                        .outcome = OUTCOME_PASSED + take (input, OUTCOME_N - 1),
                                        .owner = OWNER_UNKNOWN,
                                        .signature = take_text (input),
                                        .cause = take_text (input),
                                        .next = take_text (input),
                                        .phase = take_text (input),
                                        .evidence = take_text (input) };
    fact->of.pass_ended.outcome = n ? OUTCOME_FAILED : OUTCOME_PASSED;
    fact->of.pass_ended.verdicts.items = verdicts;
    fact->of.pass_ended.verdicts.n = n;
}

static void judge_metric (struct input *input, struct fact *fact)
{
    *fact = (struct fact){ .kind = FACT_METRIC_JUDGED };
    fact->of.metric_judged.key = take_key (input);
    fact->of.metric_judged.metric = take_text (input);
    fact->of.metric_judged.why = take_text (input);
    fact->of.metric_judged.proof = PROOF_PROVED;
    fact->of.metric_judged.value = (double) take (input, 256) / (double) take (input, 2); /* also none that is finite */
}

static void meet_host (struct input *input, struct fact *fact)
{
    bool lost = take (input, 2);
    *fact = (struct fact){ .kind = lost ? FACT_HOST_LOST : FACT_HOST_JOINED };
    if (lost)
        fact->of.host_lost = (struct fact_host_lost){ take (input, HOSTS), take_text (input) };
    else
        fact->of.host_joined = (struct fact_host_joined){ .host = take (input, HOSTS), .version = take_text (input) };
}

static void end_run (struct input *input, struct fact *fact)
{
    *fact = (struct fact){ .kind = FACT_RUN_ENDED };
    fact->of.run_ended = (struct fact_run_ended){ OUTCOME_PASSED + take (input, OUTCOME_N - 1), take (input, 6),
                                                  take_text (input) };
}

static void add_facts (struct input *input)
{
    static void (*const make[]) (struct input *, struct fact *) = { begin_pass, end_attempt, end_pass, judge_metric,
                                                                    meet_host,  end_attempt, end_run };
    struct fact fact;
    open_run (input);
    for (uint32_t n = 0; n < FACTS_MAX && input->len; n++) {
        uint32_t kind = take (input, sizeof make / sizeof make[0]);
        make[kind](input, &fact);
        apply (input, &fact);
        if (fact.kind == FACT_RUN_ENDED)
            return;
    }
}

/* ---- what each file has to be ---- */

static void check_text (struct text text)
{
    assert (text_is_utf8 (text));
    for (uint32_t i = 0; i < text.len; i++)
        assert (text.ptr[i] == '\n' || ((unsigned char) text.ptr[i] >= 0x20 && text.ptr[i] != 0x7F));
    static const char *const forbidden[] = { "\xC2\x80",     "\xC2\x9B",     "\xE2\x80\xAE", "\xE2\x81\xA6",
                                             "\xE2\x80\x8B", "\xEF\xBF\xBE", "\xEF\xBF\xBF" };
    for (size_t i = 0; i < sizeof forbidden / sizeof forbidden[0]; i++)
        assert (!text_find (text, text_of (forbidden[i]), NULL));
}

static void check_reference (struct text at)
{
    assert (text_starts (at, "&amp;") || text_starts (at, "&lt;") || text_starts (at, "&gt;") ||
            text_starts (at, "&quot;") || text_starts (at, "&#39;"));
}

/* Names of open elements, and that each is closed in its turn; within a tag, values stand in quotes. */
static void check_xml (struct text text)
{
    struct text open[DEPTH_MAX], tag, name;
    uint32_t depth = 0;
    for (uint32_t i = 0; i < text.len; i++)
        if (text.ptr[i] == '&')
            check_reference ((struct text){ text.ptr + i, text.len - i });
    struct text rest = text;
    text_take_until (&rest, '<');
    while (rest.len) {
        tag = text_take_until (&rest, '>');
        name = tag;
        name = text_take_until (&name, ' ');
        if (*tag.ptr == '/') {
            assert (depth && text_equal ((struct text){ tag.ptr + 1, tag.len - 1 }, open[depth - 1]));
            depth--;
        } else if (*tag.ptr != '?' && tag.ptr[tag.len - 1] != '/') {
            assert (depth < DEPTH_MAX);
            open[depth++] = name;
        }
        struct text between = text_take_until (&rest, '<');
        assert (depth || !between.len || text_is (between, "\n"));
    }
    assert (depth == 0);
}

static void check_json (struct text text)
{
    json_error_t why;
    json_t *json = json_loadb (text.ptr, text.len, JSON_REJECT_DUPLICATES, &why);
    assert (json);
    json_decref (json);
}

/* Its data is JSON, and no text of it opens or ends an element. */
static void check_html (struct text text)
{
    static const char begin[] = "id=\"sliceup-data\">", end[] = "</script>\n<script>";
    uint32_t from, to;
    assert (text.len <= HTML_MAX_BYTES && text_find (text, text_of (begin), &from));
    struct text data = { text.ptr + from + sizeof begin - 1, text.len - from - (uint32_t) sizeof begin + 1 };
    assert (text_find (data, text_of (end), &to));
    data.len = to;
    assert (!text_find (data, TEXT_LIT ("<"), NULL));
    check_text (data);
    check_json (data);
}

static uint64_t take_varint (struct text *rest)
{
    uint64_t value = 0;
    for (uint32_t shift = 0;; shift += 7) {
        assert (rest->len && shift < 64);
        uint8_t byte = (uint8_t) *rest->ptr++;
        rest->len--;
        value |= (uint64_t) (byte & 0x7F) << shift;
        if (byte < 0x80)
            return value;
    }
}

/* Messages end where they say; below packets they are looked into as far as `depth`. */
static void check_protobuf (struct text rest, uint32_t depth)
{
    while (rest.len) {
        uint64_t tag = take_varint (&rest), len;
        assert (tag >> 3);
        if ((tag & 7) == 0) {
            take_varint (&rest);
            continue;
        }
        assert ((tag & 7) == 2 || (tag & 7) == 1);
        len = (tag & 7) == 1 ? 8 : take_varint (&rest);
        assert (len <= rest.len);
        if ((tag & 7) == 2 && depth)
            check_protobuf ((struct text){ rest.ptr, (uint32_t) len }, depth - 1);
        rest.ptr += len;
        rest.len -= (uint32_t) len;
    }
}

static void check_files (const struct report *report, struct arena *arena)
{
    struct comparison comparison;
    struct buf out, json;
    buf_init (&out, OUT_BYTES);
    buf_init (&json, OUT_BYTES);
    junit_xml (report->receipt, &out);
    check_text (buf_as_text (&out));
    check_xml (buf_as_text (&out));
    buf_clear (&out);
    trace_perfetto (report, &out);
    check_protobuf (buf_as_text (&out), 2);
    compare_runs (report, report, arena, &comparison);
    comparison_json (&comparison, &json);
    check_json (buf_as_text (&json));
    buf_clear (&out);
    html_page (report, buf_as_text (&json), &out);
    check_html (buf_as_text (&out));
    buf_clear (&out);
    comparison_markdown (&comparison, &out);
    receipt_markdown (report->receipt, NULL, 0, &out);
    check_text (buf_as_text (&out));
    assert (!out.overflow && !json.overflow);
    buf_release (&out);
    buf_release (&json);
}

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t len)
{
    struct input input = { .bytes = bytes, .len = len, .book = report_book_create () };
    add_facts (&input);
    check_files (report_book_make (input.book, false), &input.arena);
    report_book_destroy (input.book);
    arena_release (&input.arena);
    return 0;
}
