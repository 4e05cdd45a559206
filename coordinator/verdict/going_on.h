/* going_on.h - how a failed run goes on: whether a pass is run again (docs/spec/retries.md), and the command line for a
 * run without all hosts. Pure. Texts live in the arena given. */
#ifndef SLICEUP_COORDINATOR_VERDICT_GOING_ON_H
#define SLICEUP_COORDINATOR_VERDICT_GOING_ON_H

#include "common/model/fact.h"
#include "common/model/plan.h"

/* A pass is run again if every cause is transient and retries are left, which all its hosts share. */

/* Are all verdicts that are neither passed nor cascades transient? False if there is none. */
bool retry_all_transient (const struct verdict *verdicts, uint32_t n);
/* "metadata on host3": the transient cause, and its hosts. */
struct text retry_why (const struct plan *plan, const struct verdict *verdicts, uint32_t n, struct arena *arena);
/* The signature of the first cause; empty: none. */
struct text retry_first_signature (const struct verdict *verdicts, uint32_t n);
/* The wait before the nth retry, from 1: doubled each time. */
uint64_t retry_wait_ms (const struct limits *limits, uint32_t nth);

/* The run's command line, quoted for a POSIX shell, with --min-hosts `up`. Secrets are redacted. */
struct text going_on_command (const struct plan *plan, uint32_t up, struct arena *arena);

/* Advice about an absent host: that command, if `up` others are there, and where to look. */
struct text going_on_advice (const struct plan *plan, uint32_t host, uint32_t up, struct arena *arena);

#endif
