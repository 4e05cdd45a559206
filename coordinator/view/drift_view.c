/* drift_view.c - how hosts differ: as lines, or in Markdown with a table of what was found; and as JSON. */

#include <string.h>

#include "coordinator/story/frontier.h"
#include "coordinator/view/receipt_text.h"
#include "coordinator/view/record_json.h"

enum { HISTORY_SHOWN = 8 };
static const struct drift_sentence_limits narrow = { .value_bytes = 40, .hosts_bytes = 40 },
                                          in_markdown = { .value_bytes = 120, .hosts_bytes = 200 };

struct page {
    const struct drift *drift;
    struct doc doc;
    struct drift_sentence_limits limits; /* none, where lines are not cut */
    bool all;
};

static void put_line (struct page *page, enum paint paint, const char *lead, const char *markdown_lead)
{
    page->doc.paint = paint;
    doc_put (&page->doc, lead, markdown_lead);
}

static void put_finding (struct page *page, const struct drift_item *item)
{
    enum { GROUPS_SHOWN = 4 };
    const struct drift_group *group;
    uint32_t told = 0;
    for (uint32_t at = 0; (group = drift_minority_next (item, &at)) && (told < GROUPS_SHOWN || page->all); told++) {
        drift_sentence (page->drift, item, group, &page->limits, &page->doc.line);
        put_line (page, item->severity == DRIFT_BREAKS ? PAINT_BAD : PAINT_WARN, "", NULL);
        if (page->all && item->why.len && told == 0) {
            buf_add_text (&page->doc.line, item->why);
            put_line (page, PAINT_FAINT, "    ", NULL);
        }
    }
    if (group && !page->all) {
        buf_printf (&page->doc.line, "%.*s: %u more values; --all lists them", TEXT_ARG (item->fact),
                    drift_minorities (item) - told);
        put_line (page, PAINT_FAINT, "    ", NULL);
    }
    if (item->next.len) {
        buf_printf (&page->doc.line, "next: %.*s", TEXT_ARG (item->next));
        put_line (page, PAINT_NONE, "    ", NULL);
    }
}

static void put_table (struct page *page, uint32_t most)
{
    const struct drift *drift = page->drift;
    struct doc *doc = &page->doc;
    if (drift->findings)
        doc_table (doc, "hosts | fact | what | verdict | severity");
    for (uint32_t i = 0; i < drift->findings && i < most; i++) {
        const struct drift_item *item = &drift->items[i];
        const struct drift_group *group;
        for (uint32_t at = 0; (group = drift_minority_next (item, &at));) {
            drift_sentence_hosts (drift, group->hosts, group->hosts_n, &page->limits, &doc->line);
            doc_cell (doc, TEXT_LIT (""));
            doc_cell (doc, item->fact);
            drift_sentence (drift, item, group, &page->limits, &doc->line);
            doc_cell (doc, TEXT_LIT (""));
            doc_cell (doc, text_of (enum_name_of (&drift_verdict_names, item->verdict)));
            doc_cell (doc, text_of (enum_name_of (&drift_severity_names, item->severity)));
            doc_row_end (doc);
        }
    }
    buf_puts (doc->out, drift->findings ? "\n" : "");
}

static void put_findings (struct page *page)
{
    const struct drift *drift = page->drift;
    uint32_t most = page->all || drift->findings < DRIFT_TEXT_FINDINGS ? drift->findings : DRIFT_TEXT_FINDINGS;
    uint32_t more = drift->findings - most;
    if (page->doc.markdown || drift->silent_n || !drift->findings) {
        drift_sentence_summary (drift, &page->limits, &page->doc.line);
        page->doc.paint = drift->silent_n ? PAINT_BAD : drift_is_incomplete (drift) ? PAINT_NONE : PAINT_GOOD;
        doc_put_strong (&page->doc, "");
    }
    if (page->doc.markdown)
        put_table (page, most);
    for (uint32_t i = 0; i < most && !page->doc.markdown; i++)
        put_finding (page, &drift->items[i]);
    if (more + drift->left_out == 0)
        return;
    buf_printf (&page->doc.line, "differences not shown: %u%s", more + drift->left_out,
                more ? "; --all lists them" : ", too many to list");
    put_line (page, PAINT_FAINT, "... ", "");
}

static void put_silences (struct page *page)
{
    const struct drift *drift = page->drift;
    if (drift->no_facts && (drift->findings || drift->silent_n || page->doc.markdown)) {
        buf_puts (&page->doc.line, "facts of the machines: no host reported any");
        put_line (page, PAINT_WARN, "not compared: ", "Not compared: ");
    }
    for (uint32_t i = 0; i < drift->silences_n; i++) {
        const struct drift_silent_hosts *silence = &drift->silences[i];
        drift_sentence_hosts (drift, silence->hosts, silence->hosts_n, &page->limits, &page->doc.line);
        if (silence->told)
            buf_printf (&page->doc.line, " did not report %s, %u host%s did", silence->what, silence->told,
                        plural (silence->told));
        else
            buf_printf (&page->doc.line, ": only one of the two runs has %s", silence->what);
        put_line (page, PAINT_WARN, "not compared: ", "Not compared: ");
    }
    if (drift->only_now_n) {
        drift_sentence_hosts (drift, drift->only_now, drift->only_now_n, &page->limits, &page->doc.line);
        put_line (page, PAINT_WARN, "hosts only in this run: ", "Hosts only in this run: ");
    }
    if (drift->only_before_n) {
        hostset_fold (drift->only_before, drift->only_before_n, &page->doc.line);
        put_line (page, PAINT_WARN, "hosts only in the run before: ", "Hosts only in the run before: ");
    }
}

/* Hosts that were lost for a while compare as well as the others; that they were is no less so. */
static void put_history (struct page *page)
{
    const struct slice_receipt *of = page->drift->of;
    for (uint32_t i = 0; i < of->recoveries.n && i <= HISTORY_SHOWN; i++) {
        if (i < HISTORY_SHOWN)
            buf_printf (&page->doc.line, "history: %.*s", TEXT_ARG (of->recoveries.items[i].what));
        else
            buf_printf (&page->doc.line, "history: %u more; the receipt has them", of->recoveries.n - HISTORY_SHOWN);
        put_line (page, PAINT_FAINT, "", NULL);
    }
}

static void put_subject (struct page *page, const struct drift_subject *subject)
{
    const struct drift *drift = page->drift;
    struct buf *line = &page->doc.line;
    buf_printf (line, "slice %.*s, %.*s: %u host%s, %u fact%s compared", TEXT_ARG (subject->slice),
                TEXT_ARG (subject->name), drift->hosts_n, plural (drift->hosts_n), drift->compared,
                plural (drift->compared));
    if (page->doc.markdown)
        buf_printf (line, " by drift policy %s", subject->policy);
    if (subject->against)
        buf_printf (line, ", against %s%s", subject->against,
                    drift->by_group ? " (the two have no host in common: the values of most hosts were compared)" : "");
    doc_put_item (&page->doc, "", "");
    if (!page->doc.markdown && !subject->against && drift->findings && drift->reference_n) {
        drift_sentence_hosts (drift, drift->reference, drift->reference_n, &page->limits, line);
        if (line->ptr[line->len - 1] != ')') /* shortened, they are counted already */
            buf_printf (line, " (%u host%s)", drift->reference_n, plural (drift->reference_n));
        buf_puts (line, drift->tie ? "; another group is as large, this one has the host of the lowest rank" : "");
        put_line (page, PAINT_FAINT, "normal: ", NULL);
    }
}

static void put_rest (struct page *page, const struct drift_subject *subject)
{
    const struct drift *drift = page->drift;
    buf_printf (&page->doc.line, "%s: %u expected difference%s, %u ignored, %u on too few hosts to judge%s",
                subject->policy, drift->expected, plural (drift->expected), drift->ignored, drift->too_few,
                drift->expected + drift->too_few && !page->all ? "; --all lists them" : "");
    put_line (page, PAINT_FAINT, "drift policy ", NULL);
    if (subject->pins_missing) {
        buf_puts (&page->doc.line, drift_sentence_pins_missing);
        put_line (page, PAINT_WARN, "", NULL);
    }
    for (uint32_t i = drift->findings; page->all && i < drift->n; i++) {
        drift_sentence_all_values (drift, &drift->items[i], &page->limits, &page->doc.line);
        put_line (page, PAINT_NONE, drift->items[i].verdict == DRIFT_TOO_FEW ? "  too few: " : "  expected: ", NULL);
    }
}

void drift_print (const struct drift *drift, const struct drift_subject *subject, bool all, const struct style *style,
                  struct buf *out)
{
    struct page page = { .drift = drift, .doc = doc_begin (out, style == NULL), .all = all };
    if (style)
        page.doc.style = *style;
    if (style && style->columns > DRIFT_TEXT_COLUMNS)
        page.doc.style.columns = DRIFT_TEXT_COLUMNS;
    if (!style || style->columns)
        page.limits = style ? narrow : in_markdown;
    put_findings (&page);
    put_silences (&page);
    if (style)
        put_history (&page);
    put_subject (&page, subject);
    if (style)
        put_rest (&page, subject);
    doc_end (&page.doc);
}

/* ---- for scripts ---- */

enum { FOLDED_BYTES_MAX = 1 << 20 };
static const char schema[] = "sliceup.drift/1";
static const struct drift_sentence_limits whole = { 0 };

static json_t *hosts_json (const struct drift *drift, const uint32_t *hosts, uint32_t n)
{
    LOCAL_MEM struct text *names = mem_array (n, sizeof (*names));
    for (uint32_t i = 0; i < n; i++)
        names[i] = drift->names[hosts[i]];
    return folded_hosts_json (names, n);
}

static json_t *said_json (const struct drift *drift, const struct drift_group *group)
{
    return json_pack ("{s:o, s:o}", "value", group->absent ? json_null () : text_json (group->value), "hosts",
                      hosts_json (drift, group->hosts, group->hosts_n));
}

static json_t *sentences_json (const struct drift *drift, const struct drift_item *item)
{
    json_t *array = json_array ();
    const struct drift_group *group;
    LOCAL_BUF sentence = { .max = FOLDED_BYTES_MAX };
    for (uint32_t at = 0; (group = drift_minority_next (item, &at));) {
        buf_clear (&sentence);
        drift_sentence (drift, item, group, &whole, &sentence);
        json_array_append_new (array, text_json (buf_as_text (&sentence)));
    }
    return array;
}

static json_t *drift_json_of_item (const struct drift *drift, const struct drift_item *item)
{
    json_t *groups = json_array ();
    for (const struct drift_group *group = item->groups; group < item->groups + item->groups_n; group++) {
        json_t *said = said_json (drift, group);
        json_object_set_new (said, "count", json_integer (group->hosts_n));
        json_object_set_new (said, "reference", json_boolean (group->reference));
        if (item->verdict == DRIFT_CHANGED)
            json_object_set_new (said, "before", group->before_absent ? json_null () : text_json (group->before));
        json_array_append_new (groups, said);
    }
    bool finding = item < drift->items + drift->findings;
    json_t *json = json_pack ("{s:o, s:s, s:s, s:s, s:o, s:o}", "fact", text_json (item->fact), "compared",
                              enum_name_of (&drift_kind_names, item->kind), "verdict",
                              enum_name_of (&drift_verdict_names, item->verdict), "severity",
                              enum_name_of (&drift_severity_names, item->severity), "groups", groups, "why",
                              text_json (item->why));
    if (finding)
        json_object_set_new (json, "sentences", sentences_json (drift, item));
    if (item->pinned.len)
        json_object_set_new (json, "pinned", text_json (item->pinned));
    if (item->next.len)
        json_object_set_new (json, "next", text_json (item->next));
    if (item->measured && item->verdict != DRIFT_CHANGED) {
        json_object_set_new (json, "median", json_real (item->median));
        json_object_set_new (json, "mad", json_real (item->spread));
        json_object_set_new (json, "measured", json_integer (item->measured));
    }
    return json;
}

static json_t *silences_json (const struct drift *drift)
{
    json_t *array = json_array ();
    if (drift->silent_n)
        json_array_append_new (array, json_pack ("{s:s, s:o}", "what", "everything", "hosts",
                                                 hosts_json (drift, drift->silent, drift->silent_n)));
    if (drift->no_facts)
        json_array_append_new (array, json_pack ("{s:s, s:o}", "what", "facts", "hosts",
                                                 folded_hosts_json (drift->names, drift->hosts_n)));
    for (uint32_t i = 0; i < drift->silences_n; i++)
        json_array_append_new (array,
                               json_pack ("{s:s, s:o}", "what", drift->silences[i].what, "hosts",
                                          hosts_json (drift, drift->silences[i].hosts, drift->silences[i].hosts_n)));
    return array;
}

static json_t *first_sentence (const struct drift *drift)
{
    struct buf sentence = { .max = FOLDED_BYTES_MAX };
    drift_sentence_summary (drift, &whole, &sentence);
    return buf_take_json (&sentence);
}

static json_t *counts_json (const struct drift *drift)
{
    return json_pack ("{s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "hosts", (int) drift->hosts_n, "compared",
                      (int) drift->compared, "findings", (int) drift->findings, "left_out", (int) drift->left_out,
                      "expected", (int) drift->expected, "ignored", (int) drift->ignored, "too_few",
                      (int) drift->too_few);
}

void drift_json (const struct drift *drift, const struct drift_subject *subject, struct buf *out)
{
    json_t *findings = json_array (), *others = json_array ();
    for (uint32_t i = 0; i < drift->n; i++)
        json_array_append_new (i < drift->findings ? findings : others, drift_json_of_item (drift, &drift->items[i]));
    const char *verdict = drift->findings ? "drift" : drift_is_incomplete (drift) ? "incomplete" : "none";
    json_t *json = json_pack ("{s:s, s:o, s:o, s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "schema", schema, "run",
                              text_json (subject->name), "slice", text_json (subject->slice), "policy", subject->policy,
                              "verdict", verdict, "sentence", first_sentence (drift), "counts", counts_json (drift),
                              "findings", findings, "not_findings", others, "unreported", silences_json (drift));
    json_object_set_new (json, "against", subject->against ? json_string (subject->against) : json_null ());
    json_object_set_new (json, "reference",
                         drift->reference_n ? hosts_json (drift, drift->reference, drift->reference_n) : json_null ());
    json_object_set_new (json, "reference_tie", json_boolean (drift->tie));
    json_object_set_new (json, "by_group", json_boolean (drift->by_group));
    json_object_set_new (json, "versions_unknown", json_boolean (drift->no_versions));
    json_object_set_new (json, "pins_missing", json_boolean (subject->pins_missing));
    json_object_set_new (json, "only_here", hosts_json (drift, drift->only_now, drift->only_now_n));
    json_object_set_new (json, "only_before", folded_hosts_json (drift->only_before, drift->only_before_n));
    json_print_release (json, JSON_INDENT (1) | JSON_SORT_KEYS | JSON_REAL_PRECISION (15) | JSON_ENSURE_ASCII, out);
}

json_t *drift_json_next (const void *list, uint32_t *at)
{
    const struct drift *drift = list;
    while (*at < drift->n && drift->items[*at].verdict == DRIFT_TOO_FEW)
        (*at)++;
    if (*at >= drift->n)
        return NULL;
    const struct drift_item *item = &drift->items[(*at)++];
    json_t *groups = json_array ();
    for (uint32_t g = 0; g < item->groups_n; g++)
        json_array_append_new (groups,
                               json_pack ("{s:o, s:o}", "value",
                                          item->groups[g].absent ? json_null () : text_json (item->groups[g].value),
                                          "hosts", hosts_json (drift, item->groups[g].hosts, item->groups[g].hosts_n)));
    return json_pack ("{s:o, s:o, s:s}", "fact", text_json (item->fact), "groups", groups, "verdict",
                      enum_name_of (&drift_verdict_names, item->verdict));
}

/* ---- the baseline ---- */

/* A receipt kept to be compared with: what no comparison looks at is left out, and a digest over the rest shows a file
 * that was cut, edited or merged by a version control. */

static const char baseline_schema[] = "sliceup.drift-baseline/2";
enum { CANONICAL = JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION (17) | JSON_ENSURE_ASCII };

static struct rung_receipt *kept_rung (const struct rung_receipt *rung, struct arena *arena)
{
    struct rung_receipt kept = { .rung = rung->rung,
                                 .pass = rung->pass,
                                 .attempt = rung->attempt,
                                 .outcome = rung->outcome,
                                 .duration_ms = rung->duration_ms,
                                 .cache = rung->cache,
                                 .memory = rung->memory,
                                 .backend = rung->backend,
                                 .purpose = rung->purpose };
    kept.counters = rung->counters;
    kept.programs = rung->programs;
    kept.phases = rung->phases;
    return arena_copy (arena, &kept, sizeof kept);
}

static struct host_receipt kept_host (const struct host_receipt *host, struct arena *arena)
{
    struct host_receipt kept = *host;
    kept.notes.n = 0;
    kept.rungs.items = arena_array (arena, host->rungs.n, sizeof (*kept.rungs.items));
    for (uint32_t i = 0; i < host->rungs.n; i++)
        kept.rungs.items[i] = kept_rung (host->rungs.items[i], arena);
    return kept;
}

static struct slice_receipt kept_receipt (const struct slice_receipt *receipt, struct arena *arena)
{
    struct slice_receipt kept = { 0 };
    kept.headers = receipt->headers;
    kept.generations = receipt->generations;
    kept.hosts.items = arena_array (arena, receipt->hosts.n, sizeof (*kept.hosts.items));
    kept.hosts.n = receipt->hosts.n;
    for (uint32_t i = 0; i < receipt->hosts.n; i++)
        kept.hosts.items[i] = kept_host (&receipt->hosts.items[i], arena);
    return kept;
}

/* Of the canonical text: spaces and line ends of the file do not count. */
static bool digest_of_json (const json_t *json, char hex[DIGEST_HEX_BYTES])
{
    LOCAL_MEM char *text = json_dumps (json, CANONICAL);
    if (!text)
        return false;
    struct digest digest = digest_of (text, strlen (text));
    digest_hex (&digest, hex);
    return true;
}

void drift_baseline_print (const struct slice_receipt *receipt, struct buf *out)
{
    LOCAL_ARENA arena = { 0 };
    char hex[DIGEST_HEX_BYTES] = "";
    struct slice_receipt kept = kept_receipt (receipt, &arena);
    json_t *body = record_to_json (&slice_receipt_record, &kept);
    digest_of_json (body, hex);
    json_t *file = json_pack ("{s:s, s:s, s:o}", "schema", baseline_schema, "sha256", hex, "receipt", body);
    json_print_release (file, JSON_INDENT (1) | JSON_SORT_KEYS | JSON_REAL_PRECISION (17) | JSON_ENSURE_ASCII, out);
}

static int read_baseline (const json_t *file, struct slice_receipt *out, struct arena *arena, struct err *err)
{
    char hex[DIGEST_HEX_BYTES] = "";
    const json_t *body = json_object_get (file, "receipt");
    const char *told = json_string_value (json_object_get (file, "sha256"));
    if (!json_is_object (body) || !told || json_object_size (file) != 3)
        return err_set (
            err, ERR_DAMAGE,
            "the baseline lacks its receipt or its sha256, or has a member too many; save it again with --save");
    if (!digest_of_json (body, hex) || strcmp (hex, told) != 0)
        return err_set (
            err, ERR_DAMAGE,
            "the baseline was changed after it was saved (sha256 %.12s, expected %.12s); save it again with --save",
            hex, strlen (told) >= 12 ? told : "?");
    if (record_from_json (&slice_receipt_record, body, out, arena, err) < 0 || receipt_check_names (out, err) < 0)
        return -1;
    merge_normalise (out);
    return 0;
}

int drift_baseline_read (struct text bytes, struct slice_receipt *out, struct arena *arena, struct err *err)
{
    json_error_t where;
    int rc;
    if (bytes.len > DRIFT_FILE_MAX_BYTES)
        return err_set (err, ERR_LIMIT, "larger than %d MiB", DRIFT_FILE_MAX_BYTES >> 20);
    json_auto_t *json = json_loadb (bytes.len ? bytes.ptr : "", bytes.len, JSON_REJECT_DUPLICATES, &where);
    if (json == NULL)
        return err_set (err, ERR_PARSE, "neither a baseline nor a receipt: line %d, column %d: %s", where.line,
                        where.column, where.text);
    const char *found = json_string_value (json_object_get (json, "schema"));
    if (found && strcmp (found, baseline_schema) == 0)
        rc = read_baseline (json, out, arena, err);
    else if (found && strncmp (found, "sliceup.drift-baseline/", 23) == 0)
        rc = err_set (err, ERR_PARSE,
                      "the baseline is of another version (%.60s), expected %s; save it again with --save", found,
                      baseline_schema);
    else
        rc = receipt_from_json (bytes, out, arena, err);
    return rc;
}
