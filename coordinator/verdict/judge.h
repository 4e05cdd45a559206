/* judge.h - judges one host's result by its rung: evidence in, verdict out.
 *
 * Knows one host at a time; blame.h finds causes among hosts. Absence is never evidence: a missing required value fails
 * it. A verdict's texts live in the arena, the plan or the result. */
#ifndef SLICEUP_COORDINATOR_VERDICT_JUDGE_H
#define SLICEUP_COORDINATOR_VERDICT_JUDGE_H

#include "common/logs/signature.h"
#include "common/model/fact.h"
#include "coordinator/verdict/topology.h"

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
/* Is every number that the program, also a canary, told at least what the rung and the profile ask for? */
bool floors_are_reached (const struct judge_case *of, struct arena *arena, struct verdict *out);
bool command_keeps_limits (const struct judge_case *of, struct arena *arena, struct verdict *out);

/* ---- slice_variables.c ----
 *
 * Compares among hosts the variables that give a TPU runtime its place in the slice: equal ones,
 * each host's own, and the number of hosts. One host with a value of another slice or an earlier job makes the runtime
 * of all hosts wait silently. Pure. Texts live in the arena. Sources:
 * jax-ml/jax:jax/_src/clusters/cloud_tpu_cluster.py, pytorch/xla:torch_xla/_internal/tpu.py. */

/* Judges facts of the plan's hosts, by rank; adds findings to `out`, which has room for one a host, for hosts without
 * one. `prefix`: "tpu.": the cloud's facts about the whole slice; else the prefix of variable names ("env.", or "")
 * that programs of scope slice inherit. Skips variables that the profile sets: they differ on purpose. */
void slice_variables_judge_hosts (const struct plan *plan, const struct topology_host *hosts, const char *prefix,
                                  struct arena *arena, struct topology_findings *out);

/* ---- bundle_rules.c ----
 *
 * Are the installed versions known to work together, or not to? The rules are data of the plan
 * (configs/bundles, docs/spec/bundles.md), compared with observed versions, never with pins. Pure. */

/* The first rule of this word whose parts all match; NULL: none. `backend`: the profile's. */
const struct bundle_rule *bundle_rules_find (const struct plan *plan, const var_list *bundle, struct text backend,
                                             enum bundle_word word);
/* "jax 0.4.32 with libtpu 0.0.2": the observed versions of a rule's parts. */
struct text bundle_rules_versions_text (const struct bundle_rule *rule, const var_list *bundle, struct arena *arena);
/* Makes the note on an environment: known good, or in no list. False: no note, because no rule for the backend names
 * its packages, or because it is known bad and gets a verdict. */
bool bundle_rules_make_note (const struct plan *plan, const var_list *bundle, struct arena *arena,
                             struct result_note *out);

/* ---- preliminary_verdict.c: judges one host's result when it comes, while others of the pass still run ----
 *
 * The verdicts of the pass compare all hosts and may correct it: failures because of another host, unproved metrics. So
 * it is only for watchers, decides nothing and is not recorded. A fold over the facts of a run; each view makes its
 * own. One thread. */

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
