/* judge.h - one host's result against what the rung asked for: evidence in, verdict out.
 *
 * Knows one host at a time; blame.h says who made whom fail. Absence is never evidence: what the contract asks for and
 * the result does not hold fails it. A verdict's texts live in the arena, the plan or the result. */
#ifndef SLICEUP_COORDINATOR_VERDICT_JUDGE_H
#define SLICEUP_COORDINATOR_VERDICT_JUDGE_H

#include "common/logs/signature.h"
#include "common/model/fact.h"

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

/* command_evidence.c - what is asked of a command beside its exit status: nothing known in its log, and its limits kept.
 * A limit is judged from counters of the result (docs/spec/canary.md, "Counters of a step"). What no counter shows is not
 * kept. False: *out has the verdict. Pure. */
/* Of one that ended badly, and nobody knows why: what it printed that no program may print which does what it should. */
void command_adopt_warning (const struct judge_case *of, struct verdict *out);
/* Of a silent one no metric may be asked; what others said of it is judged with all hosts. */
bool command_reports_metrics (const struct judge_case *of, struct arena *arena, struct verdict *out);
/* A text whose signature says `always`. */
bool command_log_is_clean (const struct judge_case *of, struct arena *arena, struct verdict *out);
/* The backend that the rung asks for, as its program reports it, a canary's too: on all devices of the host, with all
 * other hosts. A command that is asked for none, where the rung does not say `any`, must not report another than the
 * profile's. */
bool evidence_ran_where_asked (const struct judge_case *of, struct arena *arena, struct verdict *out);
bool command_keeps_limits (const struct judge_case *of, struct arena *arena, struct verdict *out);

#endif
