/* log_store.h - writes what programs printed, from the bulk channel: one bounded file for each attempt and host.
 * Writing is a task; a chunk that finds the queue full is dropped. */
#ifndef SLICEUP_COORDINATOR_RUN_LOG_STORE_H
#define SLICEUP_COORDINATOR_RUN_LOG_STORE_H

#include "coordinator/home/run_dir.h"
#include "coordinator/workqueue/workqueue.h"

struct log_store;
struct log_store *log_store_open (const struct run_dir *dir, const struct plan *plan, struct workqueue *workqueue);
void log_store_close (struct log_store *store); /* before workqueue_close */
void log_store_add (struct log_store *store, uint32_t host, const struct msg_log *chunk);

#endif
