/* driver.h - the main loop of a worker in a run: one loop, one connection, one member, at most one attempt.
 *
 * It performs the member's effects in order, and reports events to it. Nothing in the loop blocks: slow work is a
 * process of its own. Runs until the member ends the worker. */
#ifndef SLICEUP_WORKER_RUN_DRIVER_H
#define SLICEUP_WORKER_RUN_DRIVER_H

#include "common/io/log.h"
#include "worker/run/join.h"

/* Call it on the main thread, before any other was started. 0: it ended as told. */
int driver_run (const struct join_config *join, const char *version, const struct log *log, struct err *err);

#endif
