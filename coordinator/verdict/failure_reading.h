/* failure_reading.h - what the words of one result say of its failure: its own sentence, known texts in its output,
 * its last lines.
 *
 * Knows the signatures of the plan and no other host. Pure; texts live in the arena, the plan or the result. */
#ifndef SLICEUP_COORDINATOR_VERDICT_FAILURE_READING_H
#define SLICEUP_COORDINATOR_VERDICT_FAILURE_READING_H

#include "common/logs/decide.h"

struct failure_reading {
    struct cause_decision of; /* what decides, of all that was read */
    bool in_failure;          /* it stands in the program's own sentence */
    struct text evidence;     /* the line that decides; or those that look most like an error */
    struct text peers;        /* the lines that speak of other hosts, one after the other */
};

/* `set`: of the plan's signatures; NULL: built for this once. */
void failure_read_result (const struct plan *plan, const struct signature_set *set, const struct result *result,
                          struct arena *arena, struct failure_reading *out);

#endif
