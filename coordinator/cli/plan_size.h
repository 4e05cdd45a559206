/* plan_size.h - does a plan fit what it has to be said in: the journal's first fact, and for each rung one message? */
#ifndef SLICEUP_COORDINATOR_CLI_PLAN_SIZE_H
#define SLICEUP_COORDINATOR_CLI_PLAN_SIZE_H

#include "common/base/err.h"
#include "common/model/plan.h"

int plan_size_check (const struct plan *plan, struct err *err); /* ERR_USAGE, with what takes the room */

#endif
