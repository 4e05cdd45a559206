#include "coordinator/report/report.h"

#include <assert.h>

#include "coordinator/picture/scene_json.h"
#include "coordinator/view/drift_view.h"
#include "coordinator/view/receipt_text.h"
#include "coordinator/view/record_json.h"

/* FRAME: of what stands around the files of the page and the data, and between its members. */
enum { MEMBER_MAX_BYTES = 256 << 10, FRAME_BYTES = 2048 };
enum { BAD_MAX = 64, CASCADES_MAX = 16, GATES_MAX = 64, SLOW_MAX = 16, NUMBERS_MAX = 64, VALUES_MAX = 64 };

enum choice { NOT_CHOSEN = 0, CHOSEN, TAKEN };

/* What there was no room for. */
struct left_out {
    uint32_t again, passes; /* passes that were run again, and others */
    uint32_t failed, others;
    bool drift, text;
};
/* A number that a host told. */
struct told_number {
    struct text name, host;
    double value;
};

/* ---- what may run ---- */

static void html_add_source (const char *directive, struct text source, struct buf *out)
{
    char base64[DIGEST_BASE64_BYTES];
    struct digest digest = digest_of (source.ptr, source.len);
    buf_printf (out, "; %s 'sha256-%s='", directive, digest_base64 (&digest, false, base64));
}

/* The file has no server that could send it as a header. */
static void add_policy (struct text style, struct text script, struct buf *out)
{
    buf_puts (out, "\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:");
    html_add_source ("script-src", script, out);
    html_add_source ("style-src", style, out);
    buf_puts (out,
              "; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'\">");
}

/* ---- data ---- */

/* In JSON '<' stands in texts alone: so none of them ends the element. */
static void add_json (struct text json, struct buf *out)
{
    for (uint32_t i = 0; i < json.len; i++)
        if (json.ptr[i] == '<')
            buf_puts (out, "\\u003c");
        else
            buf_byte (out, (uint8_t) json.ptr[i]);
}

/* False: nothing of it, since it is too large. */
static bool add_member (const char *name, const struct buf *json, struct buf *out)
{
    LOCAL_BUF escaped = { .max = MEMBER_MAX_BYTES };
    add_json (buf_as_text (json), &escaped);
    bool fits = !json->overflow && !escaped.overflow;
    if (fits) {
        buf_printf (out, ",\"%s\":", name);
        buf_add_text (out, buf_as_text (&escaped));
    }
    return fits;
}

static bool add_tree (const char *name, json_t *tree, struct buf *out)
{
    LOCAL_BUF json = { .max = MEMBER_MAX_BYTES };
    json_print_release (tree, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION (6), &json);
    return add_member (name, &json, out);
}

static bool is_bad (const struct scene *scene, const struct scene_tile *tile, bool cascade)
{
    for (uint32_t rung = 0; rung < scene->rungs_n; rung++)
        if (scene_mark_is_bad (tile->cells[rung]) && (tile->cells[rung] == MARK_CASCADE) == cascade)
            return true;
    return false;
}

/* Says how many more there are. */
static uint32_t choose_bad (const struct scene *scene, bool cascade, uint32_t most, enum choice *chosen)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < scene->tiles_n; i++)
        if (!chosen[i] && is_bad (scene, &scene->tiles[i], cascade) && n++ < most)
            chosen[i] = CHOSEN;
    return n > most ? n - most : 0;
}

static void choose_last_at_gates (const struct scene *scene, enum choice *chosen)
{
    for (uint32_t i = 0, n = 0; i < scene->gates_n && n < GATES_MAX; i++)
        if (scene->gates[i]->last < scene->hosts_n && !chosen[scene->gates[i]->last]) {
            chosen[scene->gates[i]->last] = CHOSEN;
            n++;
        }
}

static void choose_slowest (const struct scene *scene, enum choice *chosen)
{
    for (uint32_t n = 0; n < SLOW_MAX; n++) {
        uint32_t slowest = scene->tiles_n;
        for (uint32_t i = 0; i < scene->tiles_n; i++)
            if (!chosen[i] && (slowest == scene->tiles_n || scene->tiles[i].spent_ms > scene->tiles[slowest].spent_ms))
                slowest = i;
        if (slowest < scene->tiles_n)
            chosen[slowest] = CHOSEN;
    }
}

/* Whole, as far as there is room: those that were chosen since the last time. Says for how many there was none. */
static uint32_t html_add_hosts (const struct report *report, enum choice *chosen, struct buf *out)
{
    uint32_t left_out = 0;
    LOCAL_BUF host = { .max = HTML_MAX_BYTES };
    LOCAL_BUF escaped = { .max = HTML_MAX_BYTES };
    for (uint32_t i = 0; i < report->scene->hosts_n; i++) {
        if (chosen[i] != CHOSEN)
            continue;
        buf_clear (&host);
        buf_clear (&escaped);
        scene_host_json (report->scene, &report->hosts[i], "", &host);
        add_json (buf_as_text (&host), &escaped);
        chosen[i] = TAKEN;
        if (host.overflow || escaped.overflow || out->len + escaped.len + 1 > out->max) {
            left_out++;
            continue;
        }
        buf_puts (out, out->len ? "," : "");
        buf_add_text (out, buf_as_text (&escaped));
    }
    return left_out;
}

/* Those that failed first, then others that stand out. */
static void add_standing_out (const struct report *report, struct left_out *left_out, struct buf *out)
{
    const struct scene *scene = report->scene;
    LOCAL_MEM enum choice *chosen = mem_array (scene->hosts_n, sizeof (*chosen));
    left_out->failed = choose_bad (scene, false, BAD_MAX, chosen);
    left_out->failed += html_add_hosts (report, chosen, out);
    choose_last_at_gates (scene, chosen);
    choose_slowest (scene, chosen);
    choose_bad (scene, true, CASCADES_MAX, chosen);
    left_out->others = html_add_hosts (report, chosen, out);
}

/* Nothing of it, where it is too large. */
static bool html_add_drift (const struct report *report, struct buf *out)
{
    const struct drift_subject subject = { .name = report->scene->board->run,
                                           .slice = report->plan->slice,
                                           .policy = "of the run",
                                           .pins_missing = report->drift.pins_missing };
    LOCAL_ARENA arena = { 0 };
    struct drift drift;
    LOCAL_BUF json = { .max = MEMBER_MAX_BYTES };
    drift_compare_hosts (report->receipt, &report->drift, &arena, &drift);
    drift_json (&drift, &subject, &json);
    return add_member ("drift", &json, out);
}

/* The lines of the receipt's head, as [label, text]; and all of it as text, unless that is too large. */
static void add_head (const struct report *report, struct left_out *left_out, struct buf *out)
{
    LOCAL_BUF head = { .max = MEMBER_MAX_BYTES };
    LOCAL_BUF whole = { .max = MEMBER_MAX_BYTES };
    json_t *rows = json_array ();
    receipt_text_head (report->receipt, &head);
    for (struct text rest = buf_as_text (&head); rest.len;) {
        struct text line = text_take_until (&rest, '\n'), label = text_clip (line, RECEIPT_LABEL_COLUMNS);
        struct text said = { line.ptr + label.len, line.len - label.len };
        json_array_append_new (rows, json_pack ("[o, o]", text_json (text_trimmed (label)), text_json (said)));
    }
    receipt_text (report->receipt, &report->drift, &whole);
    left_out->text = !add_tree ("head", rows, out) || whole.overflow;
    left_out->text |= !add_tree ("text", whole.overflow ? json_null () : text_json (buf_as_text (&whole)), out);
}

static int by_name_and_value (const void *a, const void *b)
{
    const struct told_number *x = a, *y = b;
    int order = text_compare (x->name, y->name);
    return order ? order : (x->value > y->value) - (x->value < y->value);
}

/* "number.speed.memory_gbs" and others, but for those of each link. */
static struct told_number *find_numbers (const struct slice_receipt *receipt, uint32_t *n)
{
    struct told_number *numbers = NULL, one;
    uint32_t room = 0;
    for (uint32_t i = 0; i < receipt->hosts.n; i++)
        for (uint32_t k = 0; k < receipt->hosts.items[i].facts.n; k++) {
            const struct var *fact = &receipt->hosts.items[i].facts.items[k];
            one = (struct told_number){ fact->name, receipt->hosts.items[i].host, 0 };
            if (text_starts (one.name, "number.") && !text_starts (one.name, "number.link.") &&
                drift_parse_number (fact->value, &one.value)) {
                numbers = mem_room (numbers, *n, &room, SLOW_MAX, sizeof one);
                numbers[(*n)++] = one;
            }
        }
    sort_items (numbers, *n, sizeof one, by_name_and_value);
    return numbers;
}

/* Of each number its values, the least first; of many, as many as a plot shows. */
static void add_numbers (const struct report *report, struct buf *out)
{
    uint32_t n = 0;
    LOCAL_MEM struct told_number *numbers = find_numbers (report->receipt, &n);
    json_t *list = json_array ();
    for (uint32_t from = 0, to; from < n && json_array_size (list) < NUMBERS_MAX; from = to) {
        json_t *values = json_array ();
        for (to = from + 1; to < n && text_equal (numbers[to].name, numbers[from].name);)
            to++;
        uint32_t shown = to - from < VALUES_MAX ? to - from : VALUES_MAX;
        for (uint32_t i = 0; i < shown; i++) {
            uint64_t at = shown == 1 ? 0 : (uint64_t) i * (to - from - 1) / (shown - 1);
            json_array_append_new (values, json_real (numbers[from + at].value));
        }
        json_array_append_new (list,
                               json_pack ("{s:o, s:i, s:o, s:o, s:o}", "name", text_json (numbers[from].name), "hosts",
                                          (int) (to - from), "values", values, "least", text_json (numbers[from].host),
                                          "most", text_json (numbers[to - 1].host)));
    }
    (void) add_tree ("numbers", list, out);
}

/* What is old or ordinary finds room last: the last passes have half of it, then hosts that stand out, then what was run
 * again. */
static void add_passes_and_hosts (const struct report *report, struct left_out *left_out, struct buf *out)
{
    LOCAL_ARENA arena = { 0 };
    struct passes passes = passes_of (report, &arena);
    size_t room = out->max > out->len + FRAME_BYTES ? out->max - out->len - FRAME_BYTES : 0;
    room -= passes_take (&passes, false, room / 2);
    LOCAL_BUF hosts = { .max = room };
    add_standing_out (report, left_out, &hosts);
    room -= hosts.len;
    room -= passes_take (&passes, false, room);
    passes_take (&passes, true, room);
    left_out->again = passes_left_out (&passes, true);
    left_out->passes = passes_left_out (&passes, false);
    buf_puts (out, ",\"passes\":");
    passes_json (&passes, out);
    buf_puts (out, ",\"hosts\":[");
    buf_add_text (out, buf_as_text (&hosts));
    buf_puts (out, "]}</script>\n");
}

static void add_data (const struct report *report, struct left_out *left_out, struct buf *out)
{
    struct buf json = { .max = HTML_MAX_BYTES };
    scene_state_json (report->scene, "", !report->held, 0, &json);
    buf_puts (out, "<script type=\"application/json\" id=\"sliceup-data\">{\"state\":");
    add_json (buf_as_text (&json), out);
    buf_release (&json);
    add_head (report, left_out, out);
    add_numbers (report, out);
    left_out->drift = !html_add_drift (report, out);
    add_passes_and_hosts (report, left_out, out);
}

/* ---- what is left out ---- */

static void add_count (uint32_t n, const char *of, const char *one, const char *many, struct buf *out)
{
    if (n)
        buf_printf (out, "%s%s%u %s", out->len ? "; " : "", of, n, n == 1 ? one : many);
}

static uint32_t attempts_left_out (const struct report *report)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < report->scene->hosts_n; i++)
        n += report->hosts[i].attempts_left_out;
    return n;
}

/* Empty: nothing. */
static void say_left_out (const struct report *report, const struct left_out *left_out, struct buf *out)
{
    LOCAL_BUF list = { .max = FRAME_BYTES };
    add_count (attempts_left_out (report), "", "early attempt of a host", "early attempts of hosts", &list);
    add_count (left_out->again, "", "pass that was run again", "passes that were run again", &list);
    add_count (left_out->passes, "", "pass of an earlier rung", "passes of earlier rungs", &list);
    add_count (left_out->others, "phases and facts of ", "host that stands out", "hosts that stand out", &list);
    add_count (left_out->failed, "phases and facts of ", "host that failed", "hosts that failed", &list);
    if (left_out->drift)
        buf_printf (&list, "%sdrift", list.len ? "; " : "");
    if (left_out->text)
        buf_printf (&list, "%sthe receipt as text", list.len ? "; " : "");
    if (list.len) {
        buf_puts (out, "Left out, so that this file stays small: ");
        buf_add_text (out, buf_as_text (&list));
        buf_puts (out, ". All of it: sliceup report ");
        xml_text (out, text_clip (report->scene->board->run, RUN_SHOWN_BYTES), 0);
        buf_puts (out, " --print json.");
    }
}

static void add_left_out (const struct report *report, const struct left_out *left_out, struct buf *out)
{
    LOCAL_BUF sentence = { .max = FRAME_BYTES };
    say_left_out (report, left_out, &sentence);
    buf_printf (out, "<p id=\"left-out\"%s>", sentence.len ? "" : " hidden");
    buf_add_text (out, buf_as_text (&sentence));
    buf_puts (out, "</p>\n");
}

/* ---- the page ---- */

/* What stands before `mark`, which the page has once. */
static struct text take_until (struct text *rest, const char *mark)
{
    struct text before = *rest, found = text_of (mark);
    bool there = text_find (*rest, found, &before.len);
    assert (there);
    rest->ptr += before.len + found.len;
    rest->len -= before.len + found.len;
    return before;
}

void html_page (const struct report *report, struct buf *out)
{
    static const char charset[] = "<meta charset=\"utf-8\">";
    struct text rest = page_file ("page.html"), style = page_file ("page.css"), script = page_file ("page.js");
    struct left_out left_out = { 0 };
    LOCAL_BUF data = { .max = HTML_MAX_BYTES - rest.len - style.len - script.len - FRAME_BYTES };
    add_data (report, &left_out, &data);
    buf_add_text (out, take_until (&rest, charset));
    buf_puts (out, charset);
    add_policy (style, script, out);
    buf_add_text (out, take_until (&rest, "<link rel=\"stylesheet\" href=\"page.css\">"));
    buf_puts (out, "<style>");
    buf_add_text (out, style);
    buf_puts (out, "</style>");
    buf_add_text (out, take_until (&rest, "</header>"));
    add_left_out (report, &left_out, out);
    buf_puts (out, "</header>");
    buf_add_text (out, take_until (&rest, "<script src=\"page.js\"></script>"));
    /* The script before the data would not find it. */
    buf_add_text (out, buf_as_text (&data));
    out->overflow |= data.overflow;
    buf_puts (out, "<script>");
    buf_add_text (out, script);
    buf_puts (out, "</script>");
    buf_add_text (out, rest);
}
