/* log_store.h - writes what programs printed, from the bulk channel: one bounded file for each attempt and host.
 * Writing is a task. A chunk that cannot be written, or finds the queue full, is lost, and told once for each attempt
 * of a host, as far as a maximum. What follows is written where it belongs once that is told, so a hole stays. */
#ifndef SLICEUP_COORDINATOR_RUN_LOG_STORE_H
#define SLICEUP_COORDINATOR_RUN_LOG_STORE_H

#include "coordinator/home/run_dir.h"
#include "coordinator/workqueue/workqueue.h"

struct log_store;
/* On the loop's thread; `why` lives until it returns. True: it is recorded. */
typedef bool log_store_lost_fn (void *owner, uint32_t host, const struct attempt_key *key, struct text why);
struct log_store *log_store_open (const struct run_dir *dir, const struct plan *plan, struct workqueue *workqueue,
                                  log_store_lost_fn *lost, void *owner);
void log_store_close (struct log_store *store); /* after workqueue_close */
void log_store_add (struct log_store *store, uint32_t host, const struct msg_log *chunk);

#endif
