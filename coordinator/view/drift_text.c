#include "coordinator/view/drift_text.h"

#include "coordinator/view/drift_sentence.h"

enum { SENTENCE_BYTES_MAX = 1 << 20, HISTORY_SHOWN = 8 };
static const struct drift_sentence_limits narrow = { .value_bytes = 40, .hosts_bytes = 40 };

struct page {
    const struct drift *drift;
    struct style style;
    struct drift_sentence_limits limits; /* none, where lines are not cut */
    struct buf *out;
    struct buf sentence; /* of the line being made */
    bool all;
};

/* The sentence, as a line. */
static void put_line (struct page *page, enum paint paint, const char *indent)
{
    struct line line = line_begin (page->out, &page->style);
    line_puts (&line, indent);
    line_paint (&line, paint);
    line_text (&line, buf_as_text (&page->sentence));
    line_end (&line);
    buf_clear (&page->sentence);
}

static void put_finding (struct page *page, const struct drift_item *item)
{
    enum { GROUPS_SHOWN = 4 };
    const struct drift_group *group;
    uint32_t told = 0;
    for (uint32_t at = 0; (group = drift_minority_next (item, &at)) && (told < GROUPS_SHOWN || page->all); told++) {
        drift_sentence (page->drift, item, group, &page->limits, &page->sentence);
        put_line (page, item->severity == DRIFT_BREAKS ? PAINT_BAD : PAINT_WARN, "");
        if (page->all && item->why.len && told == 0) {
            buf_add_text (&page->sentence, item->why);
            put_line (page, PAINT_FAINT, "    ");
        }
    }
    if (group && !page->all) {
        buf_printf (&page->sentence, "%.*s: %u more values; --all lists them", TEXT_ARG (item->fact),
                    drift_minorities (item) - told);
        put_line (page, PAINT_FAINT, "    ");
    }
    if (item->next.len) {
        buf_printf (&page->sentence, "next: %.*s", TEXT_ARG (item->next));
        put_line (page, PAINT_NONE, "    ");
    }
}

static void put_findings (struct page *page)
{
    const struct drift *drift = page->drift;
    uint32_t most = page->all ? drift->findings : DRIFT_TEXT_FINDINGS;
    if (drift->silent_n || !drift->findings) {
        drift_sentence_summary (drift, &page->limits, &page->sentence);
        put_line (page, drift->silent_n ? PAINT_BAD : drift_is_incomplete (drift) ? PAINT_NONE : PAINT_GOOD, "");
    }
    for (uint32_t i = 0; i < drift->findings && i < most; i++)
        put_finding (page, &drift->items[i]);
    uint32_t more = drift->findings - (drift->findings < most ? drift->findings : most);
    if (more + drift->left_out) {
        buf_printf (&page->sentence, "... differences not shown: %u%s", more + drift->left_out,
                    more ? "; --all lists them" : ", too many to list");
        put_line (page, PAINT_FAINT, "");
    }
}

static void put_silences (struct page *page)
{
    const struct drift *drift = page->drift;
    if (drift->no_facts && (drift->findings || drift->silent_n)) {
        buf_puts (&page->sentence, "not compared: facts of the machines: no host reported any");
        put_line (page, PAINT_WARN, "");
    }
    for (uint32_t i = 0; i < drift->silences_n; i++) {
        const struct drift_silent_hosts *silence = &drift->silences[i];
        buf_puts (&page->sentence, "not compared: ");
        drift_sentence_hosts (drift, silence->hosts, silence->hosts_n, &page->limits, &page->sentence);
        if (silence->told)
            buf_printf (&page->sentence, " did not report %s, %u host%s did", silence->what, silence->told,
                        silence->told == 1 ? "" : "s");
        else
            buf_printf (&page->sentence, ": only one of the two runs has %s", silence->what);
        put_line (page, PAINT_WARN, "");
    }
}

static void put_others (struct page *page)
{
    const struct drift *drift = page->drift;
    if (drift->only_now_n) {
        buf_puts (&page->sentence, "hosts only in this run: ");
        drift_sentence_hosts (drift, drift->only_now, drift->only_now_n, &page->limits, &page->sentence);
        put_line (page, PAINT_WARN, "");
    }
    if (drift->only_before_n) {
        buf_puts (&page->sentence, "hosts only in the run before: ");
        hostset_fold (drift->only_before, drift->only_before_n, &page->sentence);
        put_line (page, PAINT_WARN, "");
    }
}

/* Hosts that were lost for a while compare as well as the others; that they were is no less so. */
static void put_history (struct page *page)
{
    const struct slice_receipt *of = page->drift->of;
    for (uint32_t i = 0; i < of->recoveries.n && i <= HISTORY_SHOWN; i++) {
        if (i < HISTORY_SHOWN)
            buf_printf (&page->sentence, "history: %.*s", TEXT_ARG (of->recoveries.items[i].what));
        else
            buf_printf (&page->sentence, "history: %u more; the receipt has them", of->recoveries.n - HISTORY_SHOWN);
        put_line (page, PAINT_FAINT, "");
    }
}

static void put_subject (struct page *page, const struct drift_subject *subject)
{
    const struct drift *drift = page->drift;
    buf_printf (&page->sentence, "slice %.*s, %.*s: %u host%s, %u fact%s compared", TEXT_ARG (subject->slice),
                TEXT_ARG (subject->name), drift->hosts_n, drift->hosts_n == 1 ? "" : "s", drift->compared,
                drift->compared == 1 ? "" : "s");
    if (subject->against)
        buf_printf (&page->sentence, ", against %s%s", subject->against,
                    drift->by_group ? " (the two have no host in common: the values of most hosts were compared)" : "");
    put_line (page, PAINT_NONE, "");
    if (!subject->against && drift->findings && drift->reference_n) {
        buf_puts (&page->sentence, "reference: ");
        drift_sentence_hosts (drift, drift->reference, drift->reference_n, &page->limits, &page->sentence);
        buf_printf (&page->sentence, ", %s%s",
                    drift->reference_n == 1 ? "which nothing above names" : "which agree in all that was compared",
                    drift->tie ? "; another group is as large, but this one has the host of the lowest rank" : "");
        put_line (page, PAINT_FAINT, "");
    }
}

static void put_rest (struct page *page, const struct drift_subject *subject)
{
    const struct drift *drift = page->drift;
    buf_printf (&page->sentence,
                "drift policy %s: %u expected difference%s, %u ignored, %u on too few hosts to judge%s",
                subject->policy, drift->expected, drift->expected == 1 ? "" : "s", drift->ignored, drift->too_few,
                drift->expected + drift->too_few && !page->all ? "; --all lists them" : "");
    put_line (page, PAINT_FAINT, "");
    if (subject->pins_missing) {
        buf_puts (&page->sentence, drift_sentence_pins_missing);
        put_line (page, PAINT_WARN, "");
    }
    for (uint32_t i = drift->findings; page->all && i < drift->n; i++) {
        drift_sentence_all_values (drift, &drift->items[i], &page->limits, &page->sentence);
        put_line (page, PAINT_NONE, drift->items[i].verdict == DRIFT_TOO_FEW ? "  too few: " : "  expected: ");
    }
}

void drift_text (const struct drift *drift, const struct drift_subject *subject, bool all, const struct style *style,
                 struct buf *out)
{
    struct page page = { .drift = drift, .style = *style, .out = out, .all = all };
    if (style->columns)
        page.limits = narrow;
    if (page.style.columns > DRIFT_TEXT_COLUMNS)
        page.style.columns = DRIFT_TEXT_COLUMNS;
    buf_init (&page.sentence, SENTENCE_BYTES_MAX);
    put_findings (&page);
    put_silences (&page);
    put_others (&page);
    put_history (&page);
    put_subject (&page, subject);
    put_rest (&page, subject);
    buf_release (&page.sentence);
}
