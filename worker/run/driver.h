/* driver.h - the main loop of a worker in a run: one loop, one connection, one member, at most one attempt.
 *
 * It performs what the member decides, in order, and tells it what happened. Nothing in the loop waits for anything
 * else: what may take long is a process of its own. Runs until the member says that the worker is to end. */
#ifndef SLICEUP_WORKER_RUN_DRIVER_H
#define SLICEUP_WORKER_RUN_DRIVER_H

#include "common/io/log.h"
#include "worker/core/member.h"
#include "worker/run/join.h"

/* From the main thread, before any other was started. 0: it ended as it was told to. */
int driver_run (const struct join_config *join, const char *version, const struct log *log, struct err *err);

#endif
