/* drift_markdown.c - how hosts differ, as a table to paste into a ticket. */
#include "coordinator/view/drift_sentence.h"
#include "coordinator/view/drift_text.h"
#include "coordinator/view/markdown.h"

enum { SENTENCE_BYTES_MAX = 1 << 20 };
static const struct drift_sentence_limits limits = { .value_bytes = 120, .hosts_bytes = 200 };

static void drift_markdown_add_row (const struct drift *drift, const struct drift_item *item,
                                    const struct drift_group *group, struct buf *out)
{
    struct buf sentence;
    buf_init (&sentence, SENTENCE_BYTES_MAX);
    drift_sentence_hosts (drift, group->hosts, group->hosts_n, &limits, &sentence);
    markdown_cell (out, buf_as_text (&sentence));
    markdown_cell (out, item->fact);
    buf_clear (&sentence);
    drift_sentence (drift, item, group, &limits, &sentence);
    markdown_cell (out, buf_as_text (&sentence));
    markdown_cell (out, text_of (enum_name_of (&drift_verdict_names, item->verdict)));
    markdown_cell (out, text_of (enum_name_of (&drift_severity_names, item->severity)));
    markdown_row_end (out);
    buf_release (&sentence);
}

static void add_silences (const struct drift *drift, struct buf *out)
{
    struct buf hosts;
    buf_init (&hosts, SENTENCE_BYTES_MAX);
    if (drift->no_facts)
        markdown_paragraph (out, "", "", TEXT_LIT ("Not compared: facts of the machines: no host reported any"));
    for (uint32_t i = 0; i < drift->silences_n; i++) {
        buf_clear (&hosts);
        drift_sentence_hosts (drift, drift->silences[i].hosts, drift->silences[i].hosts_n, &limits, &hosts);
        buf_printf (&hosts, " did not report %s", drift->silences[i].what);
        markdown_paragraph (out, "", "Not compared: ", buf_as_text (&hosts));
    }
    if (drift->only_now_n) {
        buf_clear (&hosts);
        drift_sentence_hosts (drift, drift->only_now, drift->only_now_n, &limits, &hosts);
        markdown_paragraph (out, "", "Hosts only in this run: ", buf_as_text (&hosts));
    }
    if (drift->only_before_n) {
        buf_clear (&hosts);
        hostset_fold (drift->only_before, drift->only_before_n, &hosts);
        markdown_paragraph (out, "", "Hosts only in the run before: ", buf_as_text (&hosts));
    }
    buf_release (&hosts);
}

void drift_markdown (const struct drift *drift, const struct drift_subject *subject, bool all, struct buf *out)
{
    const struct drift_group *group;
    struct buf sentence;
    uint32_t most = all ? drift->findings : DRIFT_TEXT_FINDINGS;
    buf_init (&sentence, SENTENCE_BYTES_MAX);
    drift_sentence_summary (drift, &limits, &sentence);
    markdown_paragraph (out, "**", "", buf_as_text (&sentence));
    for (uint32_t i = 0; i < drift->findings && i < most; i++) {
        if (i == 0)
            markdown_table (out, "hosts | fact | what | verdict | severity");
        for (uint32_t at = 0; (group = drift_minority_next (&drift->items[i], &at));)
            drift_markdown_add_row (drift, &drift->items[i], group, out);
    }
    if (drift->findings)
        buf_byte (out, '\n');
    if (drift->left_out + (drift->findings > most ? drift->findings - most : 0))
        buf_printf (out, "%u more differences are not shown.\n\n",
                    drift->left_out + (drift->findings > most ? drift->findings - most : 0));
    add_silences (drift, out);
    buf_clear (&sentence);
    buf_printf (&sentence, "slice %.*s, %.*s: %u host%s, %u fact%s compared by drift policy %s%s%s",
                TEXT_ARG (subject->slice), TEXT_ARG (subject->name), drift->hosts_n, drift->hosts_n == 1 ? "" : "s",
                drift->compared, drift->compared == 1 ? "" : "s", subject->policy, subject->against ? ", against " : "",
                subject->against ? subject->against : "");
    markdown_text (out, buf_as_text (&sentence));
    buf_byte (out, '\n');
    buf_release (&sentence);
}
