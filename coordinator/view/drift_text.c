/* drift_text.c - how hosts differ, as lines, or in Markdown with a table of what was found. */
#include "coordinator/view/doc.h"
#include "coordinator/view/drift_view.h"

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
        buf_printf (line, ", %s%s",
                    drift->reference_n == 1 ? "which nothing above names" : "which agree in all that was compared",
                    drift->tie ? "; another group is as large, but this one has the host of the lowest rank" : "");
        put_line (page, PAINT_FAINT, "reference: ", NULL);
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
