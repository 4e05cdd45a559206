/* made_plan.h - what is measured: a plan of no-op rungs, and what a plain command leaves behind. */
#ifndef SLICEUP_TESTS_BENCH_MADE_PLAN_H
#define SLICEUP_TESTS_BENCH_MADE_PLAN_H

#include "project.h"

void bench_make_plan (struct plan *plan, const struct bench_options *options, struct arena *arena);
struct result bench_result_of (const struct attempt_key *key); /* of constant texts */

#endif
