/* run_facts.h - reads and decodes the journal of a run. */
#ifndef SLICEUP_COORDINATOR_JOURNAL_RUN_FACTS_H
#define SLICEUP_COORDINATOR_JOURNAL_RUN_FACTS_H

#include "common/model/fact.h"
#include "coordinator/journal/run_dir.h"

/* Calls `fn` for every fact of the run's journal, in order. The fact lives until `fn` returns. */
typedef void run_fact_fn (void *owner, const struct fact *fact);
int run_facts_each (const struct run_dir *dir, run_fact_fn *fn, void *owner, struct err *err);
/* The same for only the first fact, which holds the plan. ERR_STATE: there is none. */
int run_facts_read_first (const struct run_dir *dir, run_fact_fn *fn, void *owner, struct err *err);
/* The plan, from the first fact; copied into `arena`. */
int run_facts_read_plan (const struct run_dir *dir, struct arena *arena, struct plan *plan, struct err *err);
/* Sets whether the run has ended. */
int run_facts_read_end (const struct run_dir *dir, bool *ended, struct err *err);
/* Calls `fn` for only the last fact, without verifying those before it. */
int run_facts_read_last (const struct run_dir *dir, run_fact_fn *fn, void *owner, struct err *err);
/* Decodes the journal's fact `index` into `arena`, which is reset first. ERR_DAMAGE: not a fact. */
int run_facts_decode (const char *run_id, uint64_t index, struct text bytes, struct arena *arena, struct fact *fact,
                      struct err *err);
/* Call it after checking all facts: names hosts that contradict the record on standard error, each once for a run. Not
 * while a terminal is drawn. */
void run_facts_warn (const char *run_id);
/* Readers call this for every fact. ERR_DAMAGE: another run's, or the journal lacks what several workers knew. */
int run_facts_check_fact (const char *run_id, const struct fact *fact, struct err *err);
/* Sets the error for a journal that lacks what a worker knew; always -1. */
int run_facts_set_lost_error (const char *run_id, struct text why, struct err *err);

#endif
