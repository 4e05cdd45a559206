/* judge.h - judges one host's result by its rung: evidence in, verdict out.
 *
 * Knows one host at a time; blame.h finds causes among hosts. Absence is never evidence: a missing required value fails
 * it. A verdict's texts live in the arena, the plan or the result. */
#ifndef SLICEUP_COORDINATOR_VERDICT_JUDGE_H
#define SLICEUP_COORDINATOR_VERDICT_JUDGE_H

#include "common/logs/signature.h"
#include "common/model/fact.h"

struct judge_case {
    const struct plan *plan;
    const struct rung *rung;
    struct attempt_key key;
    uint32_t host, world; /* world: hosts that took part */
    bool writer;          /* this host had the write token */
    uint64_t token;
    const struct fact_generation *sealed; /* the generation to restore from; token 0: none */
    struct text storage;                  /* id of the storage of the slice's cache; empty: not known */
    const struct result *result;
    const struct signature_set *signatures; /* of the plan; NULL: built when needed */
};

/* Sets a verdict other than passed; returns false, as a step that ends the judging. Borrows `cause` and `next`. */
bool verdict_set (struct verdict *out, enum outcome outcome, enum owner owner, struct text cause, const char *next);
void judge_result (const struct judge_case *of, struct arena *arena, struct verdict *out);

/* command_evidence.c - judges a command beyond its exit status: no known error in its log, and its limits kept.
 * Counters of the result decide about limits (docs/spec/canary.md, "Counters of a step"); a limit without a counter is
 * not kept. False: *out has the verdict. Pure. */
/* For a bad end without a known reason: adopts a text that no healthy program prints as the cause. */
void command_adopt_warning (const struct judge_case *of, struct verdict *out);
/* False if metrics are asked of a silent command; metrics of others are judged with all hosts. */
bool command_reports_metrics (const struct judge_case *of, struct arena *arena, struct verdict *out);
/* False if the log has a text whose signature says `always`. */
bool command_log_is_clean (const struct judge_case *of, struct arena *arena, struct verdict *out);
/* Did the program, also a canary, report the rung's backend, on all devices of the host and with all other hosts? If
 * the rung names none, and not `any`, a command must not report another than the profile's. */
bool evidence_ran_where_asked (const struct judge_case *of, struct arena *arena, struct verdict *out);
bool command_keeps_limits (const struct judge_case *of, struct arena *arena, struct verdict *out);

#endif
