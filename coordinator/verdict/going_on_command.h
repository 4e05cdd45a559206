/* going_on_command.h - the command line with which a run whose hosts are not all up goes on. */
#ifndef SLICEUP_COORDINATOR_VERDICT_GOING_ON_COMMAND_H
#define SLICEUP_COORDINATOR_VERDICT_GOING_ON_COMMAND_H

#include "common/model/plan.h"

/* The run's own, as a POSIX shell reads it, with --min-hosts `up`. Secrets in it are redacted. */
struct text going_on_command (const struct plan *plan, uint32_t up, struct arena *arena);

/* What to do about hosts that are gone: that command, where `up` others are there, and where to look. */
struct text going_on_advice (const struct plan *plan, uint32_t up, struct arena *arena);

#endif
