/* error_line.h - of what is quoted of a failure, the one line by which it is told, and which causes are told as one.
 * Pure; texts are borrowed. */
#ifndef SLICEUP_COORDINATOR_VERDICT_ERROR_LINE_H
#define SLICEUP_COORDINATOR_VERDICT_ERROR_LINE_H

#include "common/model/outcome.h"

/* The first line of `evidence` that looks like an error. Without one: of a program that failed the last, with which it
 * ended; of any other the first, which tells where it stood. */
struct text error_line_find (enum outcome outcome, struct text evidence);
/* The same; empty where the words about the cause have it already. */
struct text error_line_beside (enum outcome outcome, struct text evidence, struct text cause);
/* Is it one cause? The hosts' own names may differ (empty: not known), and numbers that only say which of several:
 * ranks, pids, ports, addresses. Values may not: what is told of the first host would be untrue of the second. */
bool cause_equal (struct text a, struct text host_a, struct text b, struct text host_b);

#endif
