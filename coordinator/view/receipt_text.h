/* receipt_text.h - the receipt to paste into a ticket: at most about 100 columns, all that hosts said escaped. */
#ifndef SLICEUP_COORDINATOR_VIEW_RECEIPT_TEXT_H
#define SLICEUP_COORDINATOR_VIEW_RECEIPT_TEXT_H

#include "coordinator/receipt/drift.h"

/* `drift`: how the run compares its hosts. */
void receipt_text (const struct slice_receipt *receipt, const struct drift_query *drift, struct buf *out);

/* Its parts above the ladder, with the sentence of the run or without, */
void receipt_text_head (const struct slice_receipt *receipt, const struct run_header *header, bool with_result,
                        struct buf *out);
/* and below it: metrics, launch policy, versions, backends, setup, drift, history, notes. */
void receipt_text_rest (const struct slice_receipt *receipt, const struct drift_query *drift, struct buf *out);
/* receipt_markdown.c: the same to paste into an issue: a table of the rungs, the causes, and the rest as text. */
void receipt_markdown (const struct slice_receipt *receipt, const struct drift_query *drift, struct buf *out);

/* Of that, what hosts are: those alike are one line. */
void receipt_text_hosts (const struct slice_receipt *receipt, struct buf *out);

/* ---- reduction_text.c: one metric and what was proved of it, in one line. Pure ---- */

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
/* The same for the hosts on which a way to write was open; all such ways, once each, are appended to `ways`. */
uint32_t receipt_hosts_with_open_ways (const struct slice_receipt *receipt, struct text run, struct text names[],
                                       struct buf *ways);

/* The text report's paragraphs about the cache of one run. */
void receipt_text_cache (const struct slice_receipt *receipt, const struct run_header *header, struct buf *out);

#endif
