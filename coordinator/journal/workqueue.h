/* workqueue.h - runs work that may wait for a disk on a separate thread, so that the loop never waits.
 *
 * Tasks run one by one, in order: `work` on the task thread, touching only what it got; then `done` on the loop's. */
#ifndef SLICEUP_COORDINATOR_JOURNAL_WORKQUEUE_H
#define SLICEUP_COORDINATOR_JOURNAL_WORKQUEUE_H

#include "common/io/loop.h"

typedef void work_item_fn (void *job);
struct workqueue;
struct workqueue *workqueue_open (struct loop *loop, struct err *err);
/* Finishes every task first; their `done` are called. */
void workqueue_close (struct workqueue *workqueue);
uint32_t workqueue_length (struct workqueue *workqueue); /* tasks whose `done` was not called yet */
/* `job` belongs to the task until `done` got it; `done` may be NULL if `work` frees it. False: too many are queued. */
bool workqueue_submit (struct workqueue *workqueue, work_item_fn *work, work_item_fn *done, void *job);

#endif
