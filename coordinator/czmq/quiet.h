/* quiet.h - private to coordinator/czmq: starts czmq so that it does not change the process's signals, environment and
 * output. / */
#ifndef SLICEUP_COORDINATOR_CZMQ_QUIET_H
#define SLICEUP_COORDINATOR_CZMQ_QUIET_H

#include "common/base/err.h"

/* Before the first socket; again: nothing. ERR_LIMIT: libzmq would be refused what it takes, and end the process. */
int quiet_begin (struct err *err);

#endif
