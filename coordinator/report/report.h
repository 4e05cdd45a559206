/* report.h - what a report is made of: the receipt and the scene of one run, with every host of it opened.
 *
 * Made from the run's facts, as they stand in its journal: same facts, same report; the time is that of the newest one.
 * One thread. No errors. */
#ifndef SLICEUP_COORDINATOR_REPORT_REPORT_H
#define SLICEUP_COORDINATOR_REPORT_REPORT_H

#include "common/base/buf.h"
#include "common/model/receipt.h"
#include "coordinator/picture/scene.h"
#include "coordinator/story/drift.h"

/* How many hosts were joined from then on. */
struct report_step {
    uint64_t at_ms; /* run clock */
    uint32_t n;
};
/* Lives until its book takes another fact or is destroyed. */
struct report {
    const struct plan *plan;
    bool held;                           /* the run has not ended, and a coordinator holds it */
    const struct slice_receipt *receipt; /* of this run */
    struct drift_query drift;            /* how its hosts are compared: by the plan's rules, and what the caller adds */
    const struct scene *scene;           /* every host is among its tiles */
    const struct scene_host *hosts;      /* scene->hosts_n, by rank */
    const struct report_step *joined;    /* in the order of time */
    uint32_t joined_n;
};

struct report_book;
struct report_book *report_book_create (enum board_keep keep); /* with evidence */
void report_book_destroy (struct report_book *book);           /* NULL is fine */
void report_book_apply (struct report_book *book, const struct fact *fact);
struct report *report_book_make (struct report_book *book, bool held);

/* ---- html ---- */

/* A run as one file that a browser opens from disk: the page of coordinator/picture with its script, its style and
 * its data in it, and a policy that lets nothing else run or load.
 *
 * In it are the state of the run, what every host did at every rung, and of hosts that stand out (failed, last to a
 * gate, slow) also phases and facts. It is at most HTML_MAX_BYTES large: what is old or ordinary is left out first, and
 * it says what. Pure: same report, same bytes. */

enum { HTML_MAX_BYTES = 2000000 };

void html_page (const struct report *report, struct buf *out);

/* ---- junit ---- */

/* A run as JUnit XML, for what reads the tests of others: docs/spec/report.md.
 *
 * One suite, a case for each rung of the ladder. A case holds at most one of <failure>, <error> and <skipped>, as every
 * reader of JUnit expects: that of the worst group of its hosts. Each further group of hosts that did not pass, cascades
 * among them, is a case behind it. Pure: same receipt, same bytes. What hosts said is escaped. */

/* Of the first run in the receipt. */
void junit_xml (const struct slice_receipt *receipt, struct buf *out);

/* ---- trace ---- */

/* A run as trace events in JSON, which Perfetto (ui.perfetto.dev) opens: what its tracks, slices, flows and counters are:
 * docs/spec/report.md.
 *
 * Pure: same report, same bytes. Its time is the run's clock. */

void trace_perfetto (const struct report *report, struct buf *out);

/* ---- what two formats of a report are written in ---- */

/* XML 1.0: texts made safe for a terminal first (buf_escaped), then for XML. Control characters, broken UTF-8 and what
 * XML 1.0 cannot hold at all (U+FFFE, U+FFFF) become visible. Pure. */

/* Between tags, or within quotes of either kind; at most `columns` columns wide, 0: whole. */
void xml_text (struct buf *out, struct text text, uint32_t columns);
/* The same of several lines, which stay lines. */
void xml_lines (struct buf *out, struct text lines);
/* " name="value"" */
void xml_attribute (struct buf *out, const char *name, struct text value, uint32_t columns);

#endif
