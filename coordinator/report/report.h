/* report.h - what a report is made of: the receipt and the scene of one run, with every host of it opened.
 *
 * Made from the run's facts, as they stand in its journal: same facts, same report; the time is that of the newest one.
 * One thread. No errors. */
#ifndef SLICEUP_COORDINATOR_REPORT_REPORT_H
#define SLICEUP_COORDINATOR_REPORT_REPORT_H

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

/* ---- attempts ---- */

/* What hosts did, attempt by attempt, and whose failure each cascade followed. Pure. */

/* One attempt of a host, where a report has it: an attempt never begins before the one before it has ended, also when
 * the host's own clock counted more than passed on the run's. */
struct report_attempt {
    const struct scene_attempt *of;     /* NULL: not an attempt; the run, as the cause of cascades without another */
    const struct rung_receipt *receipt; /* NULL: the receipt has no place for it */
    uint32_t host;
    uint64_t began_ms, ended_ms;
    uint64_t phases_ms; /* when its first phase began: those before it ended before, too */
    /* Indices; SCENE_NOBODY: none. Of a cascade its cause, and the next cascade of that; of a cause its first one. */
    uint32_t cause, next, follower;
    uint64_t followed_ms; /* of a cause: when it or a follower of it ended first */
};
struct report_attempts {
    struct report_attempt *items; /* by host, then as they began; items[n] is the run */
    uint32_t n;
    struct report_attempt **by_pass; /* those of a pass one behind the other, by rank */
};
/* The cause of a cascade: scene.h. */
struct report_attempts report_attempts_of (const struct report *report, struct arena *arena);
/* Its phases are the spans, one behind the other. What a worker still reads when the program has ended counts for them,
 * and not for the attempt, so together they may be longer or shorter than it. */
uint64_t report_phase_ms (const struct report_attempt *attempt, uint32_t phase);

/* ---- passes ---- */

/* What every host did in every pass, short enough for a file: how it ended, and how long it took. JSON of
 * numbers and letters (docs/spec/report.md). Pure.
 *
 * A file takes as many of them as it has room for: of each pass of a rung the last attempt first, then what was run
 * again after it, and of these the newest first. */

struct passes {
    struct passes_item {
        struct text json;
        bool again; /* it was run again later, or was of a part of the slice alone */
        bool taken;
    } * items; /* by rung, pass and attempt, the last first */
    uint32_t n;
};

/* None of them is taken. Lives in the arena. */
struct passes passes_of (const struct report *report, struct arena *arena);
/* Takes those that fit into `room` bytes, and says how many bytes they need together. */
size_t passes_take (struct passes *passes, bool again, size_t room);
uint32_t passes_left_out (const struct passes *passes, bool again);
void passes_json (const struct passes *passes, struct buf *out); /* what was taken */

#endif
