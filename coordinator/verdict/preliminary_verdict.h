/* preliminary_verdict.h - what one host's result says at the moment it comes, while others of the pass still run.
 *
 * The verdicts of the pass compare all hosts and may correct it: who failed because of another, what is not proved. So
 * it is for those who watch, decides nothing and is not recorded. A fold over the facts of a run, made by each view for
 * itself. One thread. */
#ifndef SLICEUP_COORDINATOR_VERDICT_PRELIMINARY_VERDICT_H
#define SLICEUP_COORDINATOR_VERDICT_PRELIMINARY_VERDICT_H

#include "common/model/fact.h"

struct preliminary_judge;
struct preliminary_judge *preliminary_judge_create (const struct plan *plan); /* which has to outlive it */
void preliminary_judge_destroy (struct preliminary_judge *judge);             /* NULL is fine */
/* Takes what a result is judged against: what the cache holds, and who may write it. */
void preliminary_judge_learn (struct preliminary_judge *judge, const struct fact *fact);
/* `hosts_n`: that take part in the pass. True: it failed, and `out`, in the arena, says how. False: it did not, or was
 * stopped, which shows nothing of the host itself. */
bool preliminary_verdict (struct preliminary_judge *judge, const struct fact_attempt_ended *ended, uint32_t hosts_n,
                          struct arena *arena, struct verdict *out);

#endif
