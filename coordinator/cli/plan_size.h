/* plan_size.h - checks that a plan fits into the journal's first fact, and the start of each rung into one message. */
#ifndef SLICEUP_COORDINATOR_CLI_PLAN_SIZE_H
#define SLICEUP_COORDINATOR_CLI_PLAN_SIZE_H

#include "common/base/err.h"
#include "common/model/plan.h"

int plan_size_check (const struct plan *plan, struct err *err); /* ERR_USAGE, with what takes the room */

#endif
