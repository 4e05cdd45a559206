/* receipt_text.h - the receipt to paste into a ticket: at most about 100 columns, all that hosts said escaped. */
#ifndef SLICEUP_COORDINATOR_VIEW_RECEIPT_TEXT_H
#define SLICEUP_COORDINATOR_VIEW_RECEIPT_TEXT_H

#include "coordinator/story/board.h"
#include "coordinator/view/drift_view.h"

/* `drift`: how the run compares its hosts. */
void receipt_text (const struct slice_receipt *receipt, const struct drift_query *drift, struct buf *out);

/* The same to paste into an issue: a table of the rungs, the causes, and the rest as text. */
/* Of the text what is said of the run, its cache and its hosts: a label of RECEIPT_LABEL_COLUMNS before each line. */
enum { RECEIPT_LABEL_COLUMNS = 9 };
void receipt_text_head (const struct slice_receipt *receipt, struct buf *out);
void receipt_markdown (const struct slice_receipt *receipt, const struct drift_query *drift, struct buf *out);

/* " (slice 1)" where these hosts, in the order of the run's, are all of one slice or of some, and nobody else. */
void receipt_name_slices (const struct run_header *header, const struct text *names, uint32_t names_n, struct buf *out);

/* Of that, what hosts are: those alike are one line. */
void receipt_text_hosts (const struct slice_receipt *receipt, struct buf *out);

/* ---- receipt_lines.c: one metric and what was proved of it, in one line. Pure ---- */

/* "collective loss = 3.5  local over data, model (tolerance 0.001%: float32, 4 devices): why, missing h2, on h1; earlier
 * values ...". Without newline. */
void reduction_text (const struct reduction_receipt *metric, struct buf *out);

/* receipt_cache.c - what follows from a receipt about its compile cache: which generation counts, and what kept
 * programs from writing it, as each host's latest rung with a cache saw it. Derived, never stored. Pure; any thread. */
/* What holds in a mode of the cache, as a sentence; NULL: of no mode that is known. */
const char *receipt_cache_holds (struct text mode);
/* The newest one that is not dropped; NULL: there is none. */
const struct generation_receipt *receipt_newest_generation (const struct slice_receipt *receipt, struct text run);
/* Names of the run's hosts with this level, in receipt order, in `names` (room for receipt->hosts.n); how many. */
uint32_t receipt_hosts_at_level (const struct slice_receipt *receipt, struct text run, enum enforcement level,
                                 struct text names[]);

/* The text report's paragraphs about the cache of one run. */
void receipt_text_cache (const struct slice_receipt *receipt, const struct run_header *header, struct buf *out);

/* ---- receipt lines ---- */

/* The hosts of a rung, folded: those with the same outcome and the same cause are one line. Pure. */

struct receipt_line {
    const struct rung_receipt *rung; /* of one of them; of a part of the slice by itself, one that failed */
    struct text *hosts;
    uint32_t hosts_n, room;     /* in `hosts` */
    uint64_t least_ms, most_ms; /* most_ms 0: no host told how long it ran */
    bool varies;                /* others than the first have other numbers */
};

/* Do two attempts at one rung belong to one line? */
bool receipt_same_line (const struct rung_receipt *a, struct text host_a, const struct rung_receipt *b,
                        struct text host_b);
/* How many; they live in the arena. */
uint32_t receipt_lines_of_rung (const struct slice_receipt *receipt, struct text run, struct text rung,
                                struct receipt_line **lines, struct arena *arena);
const char *receipt_line_outcome (const struct rung_receipt *rung); /* "not judged yet" while its pass runs */
/* Of an attempt of a cold pass that did not compile; else "". */
const char *receipt_cold_remark (const struct rung_receipt *rung);
const char *receipt_line_remark (const struct rung_receipt *rung); /* the same, behind the outcome of one that passed */
/* Of a rung without lines: "running", "not reached". */
const char *receipt_untried_rung (const struct run_header *header, struct text rung);
/* "1.2 s", "1.2 s to 3 min 4 s": of these hosts, by their own clocks. Nothing, when none of them told. */
void receipt_line_durations (const struct receipt_line *line, struct buf *out);

/* "native at tiny, dense; pallas at attention": of each rung what its last attempt ran, those of `without` left out. Of a
 * receipt that does not tell it by rung: what the host reported last. */
void receipt_kernels (const struct host_receipt *host, struct text without, struct buf *out);
/* Empty: the host reported none at that rung. */
struct text receipt_kernel_at (const struct host_receipt *host, struct text rung);
bool receipt_tells_kernels (const struct host_receipt *host); /* by rung */
/* "executed, not copied: dense, since it made no copy in 5 s; tiny, since ..."; nothing of programs that were to be executed. */
void receipt_executed (const struct host_receipt *host, struct buf *out);

/* What has to stand behind the name of a platform: that a rehearsal's stand-in gave it; else "". */
const char *receipt_backend_remark (const struct observed_backend *seen);

/* ---- receipt json ---- */

/* A slice receipt as JSON, and back. Schema: docs/spec/receipt.schema.json. Same input, same bytes. */

/* Appends the JSON text, indented, with a newline at the end. `drift`: how the run compares its hosts. */
void receipt_json (const struct slice_receipt *receipt, const struct drift_query *drift, struct buf *out);
/* Reads what receipt_json wrote (for merging): the stored sets; derived members are skipped. */
int receipt_from_json (struct text json, struct slice_receipt *out, struct arena *arena, struct err *err);
/* A file may come from anybody: host names of a form that no slice has are refused. Views print names as they are. */
int receipt_check_names (const struct slice_receipt *receipt, struct err *err);

/* ---- explain.c ----
 *
 * Why a run ended as it did: the causes, who failed because of them, and the five questions in the order in
 * which one debugs (which frontend did the program use; is the device held by another process; which policy was set
 * before import; which backend really ran; where did the program end), each answered with this run's evidence.
 *
 * An answer that nobody gave is `unknown`, never `clear`: absence is no evidence. Pure; everything lives in the arena
 * or is borrowed from the receipt. docs/spec/explain.md. */

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
    struct explain_cause *causes; /* what tells most first (failure_worth), then the largest group */
    uint32_t causes_n, causes_room;
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
