/* retry.h - whether a failed pass is run again: if every cause is transient, and while the pass has budget, which all
 * its hosts share. Pure. docs/spec/retries.md. Texts live in the arena given. */
#ifndef SLICEUP_COORDINATOR_VERDICT_RETRY_H
#define SLICEUP_COORDINATOR_VERDICT_RETRY_H

#include "common/model/fact.h"

/* Of the verdicts that are neither passed nor a cascade; false when there is none. */
bool retry_all_transient (const struct verdict *verdicts, uint32_t n);
/* "metadata on host3": the transient cause, and its hosts. */
struct text retry_why (const struct plan *plan, const struct verdict *verdicts, uint32_t n, struct arena *arena);
/* The signature of the first cause; empty: it has none. */
struct text retry_first_signature (const struct verdict *verdicts, uint32_t n);
/* Before the n-th retry, from 1: doubled each time. */
uint64_t retry_wait_ms (const struct limits *limits, uint32_t nth);

#endif
