/* receipt_text.h - the receipt to paste into a ticket: at most about 100 columns, all that hosts said escaped. */
#ifndef SLICEUP_COORDINATOR_VIEW_RECEIPT_TEXT_H
#define SLICEUP_COORDINATOR_VIEW_RECEIPT_TEXT_H

#include "common/base/err.h"
#include "common/model/receipt.h"
#include "coordinator/story/drift.h"

/* `drift`: how the run compares its hosts. */
void receipt_text (const struct slice_receipt *receipt, const struct drift_query *drift, struct buf *out);

/* The same to paste into an issue: a table of the rungs, the causes, and the rest as text. */
void receipt_markdown (const struct slice_receipt *receipt, const struct drift_query *drift, struct buf *out);

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
    uint32_t hosts_n;
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

#endif
