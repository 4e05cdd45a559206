/* receipt_lines.h - the hosts of a rung, folded: those with the same outcome and the same cause are one line. Pure. */
#ifndef SLICEUP_COORDINATOR_VIEW_RECEIPT_LINES_H
#define SLICEUP_COORDINATOR_VIEW_RECEIPT_LINES_H

#include "common/model/receipt.h"

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
bool receipt_same_kernels (const struct host_receipt *a, const struct host_receipt *b);
/* Empty: the host reported none at that rung. */
struct text receipt_kernel_at (const struct host_receipt *host, struct text rung);
bool receipt_tells_kernels (const struct host_receipt *host); /* by rung */

/* What has to stand behind the name of a platform: that a rehearsal's stand-in gave it; else "". */
const char *receipt_backend_remark (const struct observed_backend *seen);

#endif
