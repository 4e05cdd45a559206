/* retry.h - is a pass that fell run again? Only when each cause is of a class known to pass by itself, and while the
 * pass has budget: one for all hosts, so that an initiator with seven that fell with it touches it once. Pure.
 * docs/spec/retries.md. Texts live in the arena given. */
#ifndef SLICEUP_COORDINATOR_VERDICT_RETRY_H
#define SLICEUP_COORDINATOR_VERDICT_RETRY_H

#include "common/model/fact.h"

/* Of the verdicts that are neither passed nor a cascade; false when there is none. */
bool retry_all_transient (const struct verdict *verdicts, uint32_t n);
/* "metadata on host3": what it was that passes by itself, and where. */
struct text retry_why (const struct plan *plan, const struct verdict *verdicts, uint32_t n, struct arena *arena);
/* The signature of the first cause; empty: it has none. */
struct text retry_signature (const struct verdict *verdicts, uint32_t n);
/* Before the n-th retry, from 1: doubled each time. */
uint64_t retry_wait_ms (const struct limits *limits, uint32_t nth);

#endif
