/* fuzz_renderers.c - whatever a journal may hold, what is made of it for others is sound: JSON that a strict parser takes,
 * OpenMetrics, XML, a page with no more tags than its own; and no byte in them that a terminal obeys.
 *
 * The input is what the facts of a run are made from: each fact's record is filled field by field, within the bounds that
 * the wire has. Hosts and rungs have names from the input, too. */
#include <assert.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/utf8.h"
#include "coordinator/picture/metrics.h"
#include "coordinator/picture/scene_json.h"
#include "coordinator/report/report.h"
#include "coordinator/story/measure_fold.h"
#include "coordinator/view/receipt_text.h"
#include "openmetrics_check.h"
#include "sample.h"

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t len);

enum { INPUT_MAX_BYTES = 4096, FACTS_MAX = 200, LIST_ITEMS = 4, FUZZ_HOSTS = 4, STRAY_FROM = 224, DEPTH_MAX = 6 };
enum { OUT_BYTES = 16 << 20 };

struct input {
    const uint8_t *at, *end;
    struct arena *arena;
    uint32_t rungs_n;
};

static uint32_t take (struct input *in, uint32_t bound)
{
    uint32_t value = in->at < in->end ? *in->at++ : 0;
    return bound ? value % bound : value;
}

/* ---- facts ---- */

static struct text take_text (struct input *in, uint64_t most)
{
    static const char *const bad[] = { "\x1b[2J\x1b]0;t\x07",
                                       "</script><script>alert(1)</script>",
                                       "]]>&<a b='c\">",
                                       "\\\"\n{}=,le",
                                       "\xe2\x80\xae\xe2\x80\x8b\xc2\x9b",
                                       "gate:start",
                                       "compile" };
    uint32_t which = take (in, 16), len = take (in, 24);
    if (which < sizeof (bad) / sizeof (bad[0]))
        return text_clip (text_copy (in->arena, text_of (bad[which])), (uint32_t) most);
    len = len > in->end - in->at ? (uint32_t) (in->end - in->at) : len;
    struct text raw = { (const char *) in->at, len };
    in->at += len;
    if (which == 15 && len) { /* one that is as long as it may be */
        uint32_t size = most < 3000 ? (uint32_t) most : 3000;
        char *many = arena_alloc (in->arena, size + 1);
        memset (many, raw.ptr[0], size);
        raw = (struct text){ many, size };
    }
    return text_repair_utf8 (in->arena, raw, (uint32_t) (most < UINT32_MAX ? most : UINT32_MAX));
}

/* Most hosts and rungs are those of the plan, as a coordinator's always are; the rest is what a damaged journal holds. */
static uint64_t take_number (struct input *in, const struct field *field)
{
    static const char *const of_hosts[] = { "host", "hosts", "culprits", "suspects", "missing", "writer" };
    uint64_t value = take (in, 8) ? take (in, 0) : UINT64_MAX;
    for (size_t i = 0; i < sizeof (of_hosts) / sizeof (of_hosts[0]) && value < STRAY_FROM; i++)
        if (strcmp (field->name, of_hosts[i]) == 0)
            return value % FUZZ_HOSTS;
    if (strcmp (field->name, "rung") == 0 && value < STRAY_FROM)
        return value % in->rungs_n;
    return value <= field->max ? value : field->max;
}

static void fill_record (struct input *in, const struct record *record, void *value, uint32_t depth);

static void fill_list (struct input *in, const struct field *field, void *at, uint32_t depth);

static void fill_field (struct input *in, const struct field *field, void *at, uint32_t depth)
{
    uint64_t number = 0;
    switch (field->kind) {
    case FIELD_BOOL: *(bool *) at = take (in, 2); break;
    case FIELD_ENUM: *(uint32_t *) at = take (in, field->names->n); break;
    case FIELD_U32: *(uint32_t *) at = (uint32_t) take_number (in, field); break;
    case FIELD_U64: *(uint64_t *) at = take_number (in, field); break;
    case FIELD_F64:
        for (uint32_t i = 0; i < sizeof (number); i++)
            number = number << 8 | take (in, 0);
        memcpy (at, &number, sizeof (number));
        break;
    case FIELD_TEXT:
    case FIELD_BYTES: *(struct text *) at = take_text (in, field->max); break;
    case FIELD_RECORD: fill_record (in, field->of, at, depth + 1); break;
    case FIELD_REF:
        fill_record (in, field->of, *(void **) at = arena_alloc (in->arena, field->of->bytes), depth + 1);
        break;
    case FIELD_LIST: fill_list (in, field, at, depth); break;
    }
}

static void fill_list (struct input *in, const struct field *field, void *at, uint32_t depth)
{
    struct any_list *list = at;
    struct field item = field_describe_item (field);
    size_t size = field_item_bytes (field);
    list->n = depth < DEPTH_MAX ? take (in, LIST_ITEMS) : 0;
    list->n = list->n > field->max ? (uint32_t) field->max : list->n;
    list->items = arena_array (in->arena, list->n, size);
    item.name = field->name;
    for (uint32_t i = 0; i < list->n; i++)
        fill_field (in, &item, (char *) list->items + i * size, depth + 1);
}

/* Fields that the input has no more bytes for stay empty, as most are. */
static void fill_record (struct input *in, const struct record *record, void *value, uint32_t depth)
{
    for (uint32_t i = 0; i < record->fields_n && in->at < in->end; i++)
        if (record->fields_n < 6 || take (in, 3))
            fill_field (in, &record->fields[i], (char *) value + record->fields[i].offset, depth);
}

static bool take_fact (struct input *in, struct fact *fact)
{
    static const enum fact_kind often[] = { FACT_PASS_BEGAN, FACT_ATTEMPT_ENDED, FACT_PASS_ENDED, FACT_HOST_REPORTED,
                                            FACT_HOST_JOINED };
    uint32_t which = take (in, 2 + FACT_OUTPUT_AWAITED + 5);
    *fact = (struct fact){ .kind = which < 5 ? often[which] : (enum fact_kind) (which - 5) };
    const struct record *record = fact_record_of_kind (fact->kind);
    if (record == NULL || fact->kind == FACT_RUN_OPENED)
        return false;
    fill_record (in, record, &fact->of, 0);
    return record_check (record, &fact->of, NULL);
}

/* Attempts end in the pass that runs, or next to nothing is seen of them. */
static void aim (struct input *in, const struct board *board, struct fact *fact)
{
    if (fact->kind == FACT_ATTEMPT_ENDED && take (in, 4))
        fact->of.attempt_ended.result.key = board->key;
    if (fact->kind == FACT_PASS_ENDED && take (in, 4))
        fact->of.pass_ended.key = board->key;
}

static void open_run (struct input *in, struct fact *fact)
{
    struct plan *plan = &fact->of.run_opened.plan;
    *fact = (struct fact){ .kind = FACT_RUN_OPENED, .index = 1, .wall_ms = 1700000000000 };
    sample_plan (plan, FUZZ_HOSTS, in->arena);
    in->rungs_n = plan->rungs.n;
    fact->of.run_opened.run = TEXT_LIT ("3fa9c1d2000000000000000000000000");
    fact->of.run_opened.version = take_text (in, WORD_MAX_BYTES);
    plan->slice = take_text (in, ID_MAX_BYTES);
    for (uint32_t i = 0; i < plan->hosts.n; i++)
        plan->hosts.items[i].name = take_text (in, HOST_NAME_MAX_BYTES);
    for (uint32_t i = 0; i < plan->rungs.n; i++)
        plan->rungs.items[i].id = take_text (in, ID_MAX_BYTES);
}

/* ---- what has to hold ---- */

static void check_printable (const struct buf *out)
{
    struct text text = buf_as_text (out);
    assert (!out->overflow);
    for (uint32_t at = 0, len; at < text.len; at += len) {
        uint32_t character = 0;
        len = utf8_next (text, at, &character);
        assert (len && (character == '\n' || character == '\t' || utf8_is_printable (character)));
    }
}

static void check_json (struct buf *out)
{
    check_printable (out);
    json_t *json = json_loadb ((const char *) out->ptr, out->len, JSON_REJECT_DUPLICATES, NULL);
    assert (json);
    json_decref (json);
    buf_clear (out);
}

/* Tags that open and close, attributes between quotes, and no & but of an entity. */
static const char *past_tag (const char *at, const char *open[32], uint32_t *depth)
{
    if (*at == '/') {
        size_t own = strcspn (at + 1, ">");
        assert (*depth > 0 && strncmp (open[--*depth], at + 1, own) == 0);
        return at + own + 2;
    }
    if (*at == '?')
        return strstr (at, "?>") + 2;
    assert (strcspn (at, " />\n") > 0);
    for (const char *head = at; *at != '>'; at++) {
        assert (*at && *at != '<');
        if (*at == '"')
            at += 1 + strcspn (at + 1, "\"<");
        assert (*at && *at != '<');
        if (*at == '/') {
            assert (at[1] == '>');
            return at + 2;
        }
        if (at[1] == '>') {
            assert (*depth < 32);
            open[(*depth)++] = head;
        }
    }
    return at + 1;
}

static void check_xml (struct buf *out)
{
    const char *open[32], *at = buf_c (out);
    uint32_t depth = 0;
    check_printable (out);
    while ((at += strcspn (at, "<&")) && *at) {
        if (*at == '<')
            at = past_tag (at + 1, open, &depth);
        else {
            size_t len = strcspn (at, ";");
            assert (len > 1 && len < 8 && strcspn (at, " <") > len);
            at += len;
        }
    }
    assert (depth == 0);
    buf_clear (out);
}

static uint32_t count (const struct buf *out, uint8_t byte)
{
    uint32_t n = 0;
    for (size_t i = 0; i < out->len; i++)
        n += out->ptr[i] == byte;
    return n;
}

/* What was said makes no tag: they are those of the page. */
static void check_html (struct buf *out)
{
    static uint32_t tags;
    check_printable (out);
    if (out->len == 0)
        return;
    tags = tags ? tags : count (out, '<');
    assert (count (out, '<') == tags);
    buf_clear (out);
}

static void render_report (const struct report *report, bool page, struct buf *out)
{
    if (page)
        html_page (report, out);
    check_html (out);
    receipt_json (report->receipt, &report->drift, out);
    check_json (out);
    junit_xml (report->receipt, out);
    check_xml (out);
    trace_perfetto (report, out);
    check_json (out);
    for (uint32_t i = 0; i < report->scene->hosts_n; i++) {
        scene_host_json (report->scene, &report->hosts[i], "", out);
        check_json (out);
    }
}

static void render_feed (const struct feed *feed, uint64_t wall_ms, struct arena *arena, struct buf *out)
{
    struct scene_query query;
    struct scene scene;
    scene_query_init (&query);
    scene_make (feed, &query, wall_ms, arena, &scene);
    scene_state_json (&scene, "9f31c2d4", false, 0, out);
    check_json (out);
    for (enum metrics_form form = METRICS_OPENMETRICS; form <= METRICS_TEXTFILE; form++) {
        struct metrics_beside beside = { .form = form, .boot_ms = wall_ms, .wall_ms = wall_ms };
        metrics_print_run (feed, &beside, out);
        check_printable (out);
        assert (openmetrics_check (buf_c (out)) <= METRICS_SERIES_MAX);
        buf_clear (out);
    }
}

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t len)
{
    struct arena arena = { 0 };
    struct input in = { bytes, bytes + len, &arena, 1 };
    struct fact fact;
    struct buf out;
    if (len > INPUT_MAX_BYTES)
        return 0;
    struct feed *feed = feed_create (BOARD_JUDGED_STATE);
    struct report_book *book = report_book_create (BOARD_JUDGED_EVIDENCE);
    struct measure_fold *measures = measure_fold_create ();
    uint64_t at_ms = 0;
    open_run (&in, &fact);
    feed_apply (feed, &fact, fact.wall_ms, fact.wall_ms);
    report_book_apply (book, &fact);
    measure_fold_apply (measures, &fact);
    for (uint32_t i = 0, index = 1; i < FACTS_MAX && in.at < in.end; i++) {
        if (!take_fact (&in, &fact))
            continue;
        aim (&in, feed_board (feed), &fact);
        fact.index = fact_is_soft (fact.kind) ? 0 : ++index;
        fact.at_ms = at_ms += 10 * take (&in, 0);
        fact.wall_ms = 1700000000000 + at_ms;
        feed_apply (feed, &fact, fact.wall_ms, fact.wall_ms);
        if (fact_is_soft (fact.kind))
            continue;
        report_book_apply (book, &fact);
        measure_fold_apply (measures, &fact);
    }
    buf_init (&out, OUT_BYTES);
    render_feed (feed, 1700000000000 + at_ms, &arena, &out);
    render_report (report_book_make (book, false), len % 8 == 0, &out); /* the page is large, and takes its time */
    buf_release (&out);
    measure_fold_destroy (measures);
    report_book_destroy (book);
    feed_destroy (feed);
    arena_release (&arena);
    return 0;
}
