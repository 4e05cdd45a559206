/* run_facts.h - reads and decodes the journal of a run. */
#ifndef SLICEUP_COORDINATOR_JOURNAL_RUN_FACTS_H
#define SLICEUP_COORDINATOR_JOURNAL_RUN_FACTS_H

#include "common/model/fact.h"
#include "coordinator/journal/run_dir.h"

/* Calls `fn` for every fact of the run's journal, in order. The fact lives until `fn` returns. */
typedef void run_fact_fn (void *owner, const struct fact *fact);
int run_facts_each (const struct run_dir *dir, run_fact_fn *fn, void *owner, struct err *err);
/* The same for the first fact alone, which holds the plan. ERR_STATE: there is none. */
int run_facts_read_first (const struct run_dir *dir, run_fact_fn *fn, void *owner, struct err *err);
/* And for the last one that is there, without reading on to it: what is before it is believed. */
int run_facts_read_last (const struct run_dir *dir, run_fact_fn *fn, void *owner, struct err *err);
/* One fact as a journal holds it at `index`; it lives in `arena`, which is reset first. ERR_DAMAGE: it is none. */
int run_facts_decode (const char *run_id, uint64_t index, struct text bytes, struct arena *arena, struct fact *fact,
                      struct err *err);
/* Whoever checked all of them: the hosts that contradict the record are named on standard error, each once for a run.
 * Not while a terminal is drawn on. */
void run_facts_warn (const char *run_id);
/* Whoever reads facts asks this of each. ERR_DAMAGE: it is another run's, or lacks what several workers knew. */
int run_facts_check_fact (const char *run_id, const struct fact *fact, struct err *err);
/* What a worker knew that the journal lacks, as a sentence; always -1. */
int run_facts_set_lost_error (const char *run_id, struct text why, struct err *err);

#endif
