/* judge.h - one host's result against what the rung asked for: evidence in, verdict out.
 *
 * Knows one host at a time; blame.h says who made whom fail. Absence is never evidence: what the contract asks for and
 * the result does not hold fails it. A verdict's texts live in the arena, the plan or the result. */
#ifndef SLICEUP_COORDINATOR_VERDICT_JUDGE_H
#define SLICEUP_COORDINATOR_VERDICT_JUDGE_H

#include "common/model/fact.h"
#include "common/signature/signature.h"

struct judge_case {
    const struct plan *plan;
    const struct rung *rung;
    struct attempt_key key;
    uint32_t host, world; /* world: hosts that took part */
    bool writer;          /* this host held the write token */
    uint64_t token;
    const struct fact_generation *sealed; /* what the pass could restore from; its token 0: nothing */
    struct text storage;                  /* id of the one that the slice's cache lies on; empty: not known */
    const struct result *result;
    const struct signature_set *signatures; /* of the plan; NULL: built when they are needed */
};

/* A verdict that is no pass: false, as of a step that did not let the result through. `cause` and `next` are borrowed. */
bool verdict_set (struct verdict *out, enum outcome outcome, enum owner owner, struct text cause, const char *next);
void judge_result (const struct judge_case *of, struct arena *arena, struct verdict *out);

#endif
