/* frontier.h - where hosts and slice stand: computed from receipts, never stored in them. */
#ifndef SLICEUP_COORDINATOR_STORY_FRONTIER_H
#define SLICEUP_COORDINATOR_STORY_FRONTIER_H

#include "common/model/receipt.h"

/* The latest attempt of a pass counts; earlier ones are its history. A rung passed on a host when each of its passes
 * there did. NULL: the host never came to it. */
const struct rung_receipt *frontier_latest_attempt (const struct host_receipt *host, struct text rung, enum pass pass);
/* Worst of the rung's passes on this host; NOT_REACHED when there are none. */
enum outcome frontier_rung_outcome (const struct host_receipt *host, struct text rung);
/* Worst of the rungs that were reached; NOT_REACHED when none was. */
enum outcome frontier_host_outcome (const struct run_header *header, const struct host_receipt *host);

struct frontier {
    int first_passing, highest_passing, next_failing;
}; /* indices into header.rungs; -1: none */
struct frontier frontier_of_host (const struct run_header *header, const struct host_receipt *host);
/* Over all hosts of `receipt`: a rung passes when it passed on every host that came to it and on at least one. Who is
 * absent has a verdict without an attempt: it counts where nobody began one. */
struct frontier frontier_of_slice (const struct run_header *header, const struct slice_receipt *receipt);
/* CANCELLED when the user ended the run; else the worst over the rungs that were reached anywhere. */
enum outcome frontier_slice_outcome (const struct run_header *header, const struct slice_receipt *receipt);
/* What is told of it: nothing has passed, or was not reached, before the run has ended: NONE. */
enum outcome frontier_told_outcome (const struct run_header *header, enum outcome outcome);

/* ---- merge: receipts of the same or of different runs into one: the union of their sets ----
 *
 * Commutative, associative, idempotent. Different receipts of one host in a run both stay (merge_host_has_conflict). */

/* Sorts every set and drops repeated items. What the other functions give and take is in this form. */
void merge_normalise (struct slice_receipt *receipt);
/* The union, in `arena`; shares what `a` and `b` point at. */
void merge_receipts (const struct slice_receipt *a, const struct slice_receipt *b, struct arena *arena,
                     struct slice_receipt *out);
/* Does host `i` disagree with another receipt of the same run and host in this slice receipt? */
bool merge_host_has_conflict (const struct slice_receipt *receipt, uint32_t i);

#endif
