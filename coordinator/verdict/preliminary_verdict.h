/* preliminary_verdict.h - judges one host's result when it comes, while others of the pass still run.
 *
 * The verdicts of the pass compare all hosts and may correct it: failures because of another host, unproved metrics. So
 * it is only for watchers, decides nothing and is not recorded. A fold over the facts of a run; each view makes its
 * own. One thread. */
#ifndef SLICEUP_COORDINATOR_VERDICT_PRELIMINARY_VERDICT_H
#define SLICEUP_COORDINATOR_VERDICT_PRELIMINARY_VERDICT_H

#include "common/model/fact.h"

struct preliminary_judge;
struct preliminary_judge *preliminary_judge_create (const struct plan *plan); /* `plan` must outlive it */
void preliminary_judge_destroy (struct preliminary_judge *judge);             /* NULL is fine */
/* Takes facts that judging needs: what the cache holds, and who may write it. */
void preliminary_judge_learn (struct preliminary_judge *judge, const struct fact *fact);
/* `hosts_n`: hosts in the pass. True: it failed, and `out`, in the arena, says how. False: it passed, or was stopped,
 * which says nothing about the host itself. */
bool preliminary_verdict (struct preliminary_judge *judge, const struct fact_attempt_ended *ended, uint32_t hosts_n,
                          struct arena *arena, struct verdict *out);

#endif
