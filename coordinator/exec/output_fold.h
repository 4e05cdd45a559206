/* output_fold.h - what hosts printed: the beginning and the end of each output, and which outputs are equal.
 *
 * Pure. A newline that its last line lacks is added. Of an output that is larger than what is kept its middle is dropped, and still counts when outputs are compared.
 * Once an output has ended it is kept once for all hosts that have the same. */
#ifndef SLICEUP_COORDINATOR_EXEC_OUTPUT_FOLD_H
#define SLICEUP_COORDINATOR_EXEC_OUTPUT_FOLD_H

#include "common/base/text.h"

/* Of one host; less where all hosts together would be kept with more than the second. */
enum { OUTPUT_KEPT_BYTES = 1 << 20, OUTPUTS_KEPT_BYTES = 256 << 20, OUTPUT_KEPT_LEAST_BYTES = 16 << 10 };
enum { OUTPUT_NO_GROUP = UINT32_MAX };

struct output_group {
    struct text head, tail;
    uint64_t dropped_bytes; /* between them */
    uint32_t hosts_n;
};

struct output_fold;
struct output_fold *output_fold_create (uint32_t hosts_n, uint32_t kept_bytes);
void output_fold_destroy (struct output_fold *fold); /* NULL is fine */
uint32_t output_fold_kept_bytes (uint32_t hosts_n);  /* what fits */
void output_fold_add (struct output_fold *fold, uint32_t host, struct text bytes);
void output_fold_end (struct output_fold *fold, uint32_t host); /* once: its output is whole */
uint32_t output_fold_groups (const struct output_fold *fold);
const struct output_group *output_fold_group (const struct output_fold *fold, uint32_t group);
uint32_t output_fold_group_of (const struct output_fold *fold, uint32_t host); /* NO_GROUP: it has not ended */

#endif
