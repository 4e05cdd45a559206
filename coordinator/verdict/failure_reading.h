/* failure_reading.h - what the words of one result say of its failure: its own sentence, known texts in its output,
 * its last lines.
 *
 * Knows the signatures of the plan and no other host. Pure; texts live in the arena, the plan or the result. */
#ifndef SLICEUP_COORDINATOR_VERDICT_FAILURE_READING_H
#define SLICEUP_COORDINATOR_VERDICT_FAILURE_READING_H

#include "common/logs/classify.h"
#include "common/model/fact.h"

struct failure_reading {
    struct cause_decision of; /* what decides, of all that was read */
    bool in_failure;          /* it stands in the program's own sentence */
    struct text evidence;     /* the line that decides; or those that look most like an error */
    struct text peers;        /* the lines that speak of other hosts, one after the other */
};

/* `set`: of the plan's signatures; NULL: built for this once. */
void failure_read_result (const struct plan *plan, const struct signature_set *set, const struct result *result,
                          struct arena *arena, struct failure_reading *out);

/* ---- error line ---- */

/* Of what is quoted of a failure, the one line by which it is told, and which causes are told as one.
 * Pure; texts are borrowed. */

/* The first line of `evidence` that looks like an error. Without one: of a program that failed the last, with which it
 * ended; of any other the first, which tells where it stood. */
struct text error_line_find (enum outcome outcome, struct text evidence);
/* The same; empty where the words about the cause have it already. */
struct text error_line_beside (enum outcome outcome, struct text evidence, struct text cause);
/* Is it one cause? The hosts' own names may differ (empty: not known), and numbers that only say which of several:
 * ranks, pids, ports, addresses. Values may not: what is told of the first host would be untrue of the second. */
bool cause_equal (struct text a, struct text host_a, struct text b, struct text host_b);
/* Do two verdicts say the same: outcome, owner, signature and cause? */
bool verdict_same_cause (const struct verdict *a, struct text host_a, const struct verdict *b, struct text host_b);

#endif
