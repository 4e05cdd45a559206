/* explain.h - why a run ended as it did: the causes, who failed because of them, and the five questions in the order in
 * which one debugs (which frontend did the program use; is the device held by another process; which policy was set
 * before import; which backend really ran; where did the program end), each answered with this run's evidence.
 *
 * An answer that nobody gave is `unknown`, never `clear`: absence is no evidence. Pure; everything lives in the arena
 * or is borrowed from the receipt. docs/spec/explain.md. */
#ifndef SLICEUP_COORDINATOR_VIEW_EXPLAIN_H
#define SLICEUP_COORDINATOR_VIEW_EXPLAIN_H

#include "coordinator/story/board.h"
#include "coordinator/view/drift_view.h"
#include "coordinator/view/line.h"

enum explain_mark {
    EXPLAIN_NONE = 0,
    EXPLAIN_CLEAR,
    EXPLAIN_UNKNOWN,
    EXPLAIN_SUSPECT
}; /* the worst of the answers is the step's */

struct explain_host_names {
    struct text *items;
    uint32_t n;
}; /* in rank order */
struct explain_answer {
    enum explain_mark mark;
    struct text text;
    struct explain_host_names hosts;
};
enum { EXPLAIN_PRINTED_MAX = 3 };
struct explain_cause {
    struct explain_host_names hosts;
    struct explain_answer
        printed[EXPLAIN_PRINTED_MAX]; /* different evidence of the same cause, in rank order; no mark */
    uint32_t printed_n, printed_more; /* hosts whose evidence is none of these */
    enum outcome outcome;
    enum pass pass;
    struct cause cause;   /* owner, signature, sentence, evidence, next */
    struct text bad_line; /* of the first of them that broke the canary protocol besides: the rule and the line */
    bool recognised;      /* its text is known, or it was told by something that knows */
    bool varies;          /* the sentence is the first host's, which it names, and the others' have other numbers */
};
struct explain_question {
    const char *id, *question;
    enum explain_mark mark;
    struct explain_answer *answers; /* suspects first; equal answers folded */
    uint32_t answers_n;
};
enum { EXPLAIN_STEPS = 5, EXPLAIN_HISTORY_MAX = 64, EXPLAIN_DIFFERENCES_MAX = 5 };
struct explanation {
    const struct run_header *header;
    struct text rung;             /* where it ended; empty: the top was reached, or nothing was climbed */
    struct text program;          /* of that rung; empty: not known */
    struct explain_cause *causes; /* the largest group first */
    uint32_t causes_n;
    struct explain_host_names cascades, passed; /* at that rung */
    bool preliminary; /* that rung runs now: of its hosts, who still runs, and who ended without an error of its own */
    struct explain_host_names running, ended;
    const struct reduction_receipt *
        *metrics; /* that are not proved there, or have earlier values that are contradicted */
    uint32_t metrics_n;
    struct explain_question steps[EXPLAIN_STEPS]; /* those that apply */
    uint32_t steps_n;
    struct drift_sentence_list differences; /* of the hosts, by what they said */
    struct text *history; /* what went before: recoveries, and what of outputs is cut or lost, equal notes once */
    uint32_t history_n, history_more; /* more: that found no room */
};

/* Of the first run in the receipt. `now`: how it stands, and its plan, which says which questions apply; it has to
 * outlive `out`. NULL: nothing is known but the receipt. `drift`: how its hosts are compared; NULL: they are not. */
void explain_make (const struct slice_receipt *receipt, const struct board *now, const struct drift_query *drift,
                   struct arena *arena, struct explanation *out);

/* ---- explain_print.c ---- */

/* As a page for a person, text or to paste into an issue, and as JSON (docs/spec/explain.md). What hosts said is
 * escaped. */
void explain_print (const struct explanation *explanation, bool markdown, struct buf *out);
void explain_json (const struct explanation *explanation, struct buf *out);
/* Of the page, whose fault it is. */
void explain_print_causes (struct doc *doc, const struct explanation *explanation);

#endif
