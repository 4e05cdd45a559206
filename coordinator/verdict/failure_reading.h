/* failure_reading.h - reads why one result failed: its own sentence, known texts in its output, its last lines.
 *
 * Knows the signatures of the plan and no other host. Pure; texts live in the arena, the plan or the result. */
#ifndef SLICEUP_COORDINATOR_VERDICT_FAILURE_READING_H
#define SLICEUP_COORDINATOR_VERDICT_FAILURE_READING_H

#include "common/logs/classify.h"
#include "common/model/fact.h"

struct failure_reading {
    struct cause_decision of; /* the text that decides */
    bool in_failure;          /* that text is in the program's own sentence */
    struct text evidence;     /* the line that decides, or the lines most like an error */
    struct text peers;        /* all lines about other hosts */
};

/* `set`: of the plan's signatures; NULL: built for this call. */
void failure_read_result (const struct plan *plan, const struct signature_set *set, const struct result *result,
                          struct arena *arena, struct failure_reading *out);

/* ---- error line ---- */

/* Finds the one line that shows a failure, and causes that are equal. Pure; texts are borrowed. */

/* The first line of `evidence` that looks like an error. Without one: the last line of a failed program, since it ended
 * with it; else the first, which shows where it was. */
struct text error_line_find (enum outcome outcome, struct text evidence);
/* The same; empty if `cause` has it already. */
struct text error_line_beside (enum outcome outcome, struct text evidence, struct text cause);
/* Are the causes equal? The hosts' own names (empty: not known), ranks, pids, ports and addresses may differ. Values
 * may not: the sentence of the first host would be untrue for the second. */
bool cause_equal (struct text a, struct text host_a, struct text b, struct text host_b);
/* Do two verdicts say the same: outcome, owner, signature and cause? */
bool verdict_same_cause (const struct verdict *a, struct text host_a, const struct verdict *b, struct text host_b);

#endif
