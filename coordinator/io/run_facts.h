/* run_facts.h - a run's journal, decoded. */
#ifndef SLICEUP_IO_RUN_FACTS_H
#define SLICEUP_IO_RUN_FACTS_H

#include "common/model/fact.h"
#include "coordinator/io/run_dir.h"

/* Calls `fn` for every fact of the run's journal, in order. The fact lives until `fn` returns. */
typedef void run_fact_fn (void *owner, const struct fact *fact);
int run_facts (const struct run_dir *dir, run_fact_fn *fn, void *owner, struct err *err);
/* What a worker knew of this run's journal that it lacks, as damage; always -1. For whoever comes upon FACT_LOSS_TOLD. */
int run_facts_doubt (const char *run_id, struct text why, struct err *err);

#endif
